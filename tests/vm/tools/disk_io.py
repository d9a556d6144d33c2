#!/usr/bin/python3 -BES
# SPDX-License-Identifier: GPL-2.0-or-later
"""I/O that no tool of the system does.

  disk_io.py extents NODE SEED ROUNDS    writes and reads of odd sizes, over all borders
  disk_io.py vectors NODE SEED           vectors with pieces at odd places in their pages
  disk_io.py zeroing NODE SEED           discard and write-zeroes, around all borders
  disk_io.py read NODE OFFSET [MARK]     4 KiB, direct; counts SIGUSR1; touches MARK at the start
  disk_io.py nowait NODE [read|write OFFSET BYTES]...   prints the bytes, or the error, of each
  disk_io.py discard NODE OFFSET BYTES   prints "done", or the error
  disk_io.py dsync NODE OFFSET           4 KiB, direct, O_DSYNC

The first three read a table of linear segments from standard input, and
compare what is on NODE and on each lower disk with what should be.
"""

import errno
import fcntl
import mmap
import os
import random
import signal
import struct
import sys

SECTOR = 512
PAGE = mmap.PAGESIZE
BLKDISCARD, BLKZEROOUT = 0x1277, 0x127F


def buffer(length):
    return mmap.mmap(-1, max(length, PAGE))


def direct(node, flags=os.O_RDWR):
    return os.open(node, flags | os.O_DIRECT | os.O_CLOEXEC)


def read_at(fd, offset, length):
    room = buffer(length)
    got = os.preadv(fd, [memoryview(room)[:length]], offset)
    if got != length:
        raise SystemExit(f"read of {length} at {offset}: got {got}")
    return room[:length]


def write_at(fd, offset, data):
    room = buffer(len(data))
    room[:len(data)] = data
    done = os.pwritev(fd, [memoryview(room)[:len(data)]], offset)
    if done != len(data):
        raise SystemExit(f"write of {len(data)} at {offset}: did {done}")


class Mirror:
    """What should be on the map, and where it lies below"""

    def __init__(self, node, seed):
        self.random = random.Random(seed)
        self.map = direct(node)
        self.segments = []  # start, length, fd, offset; bytes
        disks = {}
        for line in sys.stdin:
            start, length, target, number, offset = line.split()
            assert target == "linear"
            if number not in disks:
                with open(f"/sys/dev/block/{number}/uevent") as uevent:
                    name = dict(pair.strip().split("=", 1) for pair in uevent)["DEVNAME"]
                disks[number] = direct("/dev/" + name)
            self.segments.append((int(start) * SECTOR, int(length) * SECTOR, disks[number],
                                  int(offset) * SECTOR))
        self.size = self.segments[-1][0] + self.segments[-1][1]
        self.borders = [start for start, *_ in self.segments] + [self.size]
        self.data = bytearray(self.random.randbytes(self.size))
        write_at(self.map, 0, self.data)
        self.check("the first fill")

    def check(self, what):
        if read_at(self.map, 0, self.size) != self.data:
            raise SystemExit(f"{what}: wrong data on the map")
        for n, (start, length, fd, offset) in enumerate(self.segments):
            if read_at(fd, offset, length) != self.data[start:start + length]:
                raise SystemExit(f"{what}: wrong data below segment {n}")

    def extent(self):
        """Around a border in half of the cases, else anywhere"""
        sectors = self.size // SECTOR
        length = min(self.random.choice((1, 2, 3, 7, 8, 9, 31, 64, 129, 300)), sectors)
        if self.random.random() < 0.5:
            start = self.random.choice(self.borders) // SECTOR - self.random.randint(0, length)
        else:
            start = self.random.randint(0, sectors)
        start = min(max(start, 0), sectors - length)
        return start * SECTOR, length * SECTOR


def extents(node, seed, rounds):
    m = Mirror(node, int(seed))
    for n in range(int(rounds)):
        offset, length = m.extent()
        if n % 3 < 2:
            data = m.random.randbytes(length)
            write_at(m.map, offset, data)
            m.data[offset:offset + length] = data
        elif read_at(m.map, offset, length) != m.data[offset:offset + length]:
            raise SystemExit(f"round {n}: {length} bytes at {offset} read back wrong")
        if n % 40 == 0:
            m.check(f"round {n}")
    # The other way: written below, read through the map.
    for start, length, fd, offset in m.segments:
        data = m.random.randbytes(length)
        write_at(fd, offset, data)
        m.data[start:start + length] = data
    m.check("written below")


# Pieces as (offset in the page, bytes); all multiples of a sector.
VECTORS = [
    [(512, 512), (3584, 512), (512, 512), (3584, 512)],
    [(3584, 1024), (3584, 1024), (3584, 1024)],  # each over two pages
    [(512, 512)] * 17,
    [(3584, 512), (0, 4096), (512, 512)],
    [(1024, 7168), (2560, 512), (3584, 8192)],
    [(512 * n, 512) for n in range(8)],
]


def vectors(node, seed):
    m = Mirror(node, int(seed))
    for pieces in VECTORS:
        length = sum(size for _, size in pieces)
        pages = 4 * PAGE  # apart, so that no piece touches the next
        room = buffer(pages * len(pieces))
        views, at = [], 0
        for n, (inside, size) in enumerate(pieces):
            at = n * pages + inside
            views.append(memoryview(room)[at:at + size])
        for border in m.borders:
            for before in (0, 512, 1024, length // 2 // SECTOR * SECTOR, length - 512, length):
                offset = border - before
                if offset < 0 or offset + length > m.size:
                    continue
                data = m.random.randbytes(length)
                done = 0
                for view in views:
                    view[:] = data[done:done + len(view)]
                    done += len(view)
                if os.pwritev(m.map, views, offset) != length:
                    raise SystemExit(f"short write at {offset} of {pieces}")
                m.data[offset:offset + length] = data
                for view in views:
                    view[:] = bytes(len(view))
                if os.preadv(m.map, views, offset) != length or b"".join(views) != data:
                    raise SystemExit(f"wrong data at {offset} of {pieces}")
        m.check(f"vector {pieces}")


def zeroing(node, seed):
    m = Mirror(node, int(seed))
    inner = m.borders[1:-1]
    ranges = [(0, m.size), (m.size - SECTOR, SECTOR), (0, SECTOR)]
    for border in inner:
        ranges += [(border - SECTOR, SECTOR), (border, SECTOR), (border - SECTOR, 2 * SECTOR)]
    ranges += [(start, length) for start, length, *_ in m.segments]
    ranges += [(SECTOR, m.size - 2 * SECTOR), (0, inner[0]), (inner[0], m.size - inner[0])]
    for command in (BLKDISCARD, BLKZEROOUT):
        for start, length in ranges:
            fcntl.ioctl(m.map, command, struct.pack("<QQ", start, length))
            m.data[start:start + length] = bytes(length)
            m.check(f"{command:#x} of {length} at {start}")
            m.data[start:start + length] = m.random.randbytes(length)
            write_at(m.map, start, m.data[start:start + length])


def read(node, offset, mark=None):
    signals = []
    signal.signal(signal.SIGUSR1, lambda *_: signals.append(1))
    fd = direct(node, os.O_RDONLY)
    room = buffer(4096)
    if mark:
        open(mark, "w").close()
    got = os.preadv(fd, [room], int(offset))
    print(got, len(signals))


def attempt(function):
    try:
        print(function())
    except OSError as e:
        print(errno.errorcode[e.errno])


def nowait(node, *words):
    fd = direct(node)
    for how, offset, length in zip(*[iter(words)] * 3):
        room = memoryview(buffer(int(length)))[:int(length)]
        do = os.pwritev if how == "write" else os.preadv
        attempt(lambda: do(fd, [room], int(offset), os.RWF_NOWAIT))


def discard(node, offset, length):
    fd = os.open(node, os.O_RDWR)
    attempt(lambda: fcntl.ioctl(fd, BLKDISCARD, struct.pack("<QQ", int(offset), int(length))) and ""
            or "done")


def dsync(node, offset):
    write_at(direct(node, os.O_RDWR | os.O_DSYNC), int(offset), bytes(4096))


{f.__name__: f for f in (extents, vectors, zeroing, read, nowait, discard, dsync)}[
    sys.argv[1]](*sys.argv[2:])
