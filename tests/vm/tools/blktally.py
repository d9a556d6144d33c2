# SPDX-License-Identifier: GPL-2.0-or-later
"""What the VM tests in Python share: the ABI as bytes, disks, asynchronous I/O.

It knows kmod/uapi/blktally.h by itself, so that a mistake in the library of
the tools is not made twice. Direct I/O goes through the system calls of libaio:
one thread holds as many I/Os in flight as a test wants.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import struct
import subprocess
import time

CONTROL = "/dev/blktally/control"
# Of RAM disks that are made without saying which; tests/vm/run sets it.
QUEUE = os.environ.get("QUEUE", "")
IOC_TYPE = 0xBC
ABI = 1
HEAD = 24
INFO_RECORD = 600

# number: (name, bytes of its structure)
COMMANDS = {
    0x00: ("INFO", 80), 0x01: ("LIST", 48), 0x02: ("DISK_GET", 760),
    0x03: ("SET", 256), 0x04: ("PROFILES", 48), 0x05: ("MODES", 48),
    0x10: ("RAM_ADD", 360), 0x11: ("RAM_REMOVE", 160),
    0x12: ("RAM_SET", 256), 0x13: ("RAM_SETTINGS", 176),
    0x20: ("MAP_CREATE", 360), 0x21: ("MAP_LOAD", 176),
    0x22: ("MAP_RESUME", 160), 0x23: ("MAP_SUSPEND", 160),
    0x24: ("MAP_CLEAR", 160), 0x25: ("MAP_REMOVE", 160),
    0x26: ("MAP_TABLE", 176), 0x27: ("MAP_DEPS", 176),
    0x28: ("MAP_TARGETS", 48), 0x30: ("GEN_RUN", 144),
}
NUMBER = {name: nr for nr, (name, _) in COMMANDS.items()}
SIZE = {name: size for name, size in COMMANDS.values()}

PROFILES = ["none", "linux-4.20", "percpu-v1", "linux-5.0", "linux-5.18",
            "linux-6.10", "native"]
INFLIGHT = ["off", "shared", "split", "percpu", "pernode", "native"]
TICKS = ["off", "round", "sampled", "elapsed", "checked", "exact"]
CLOCK = ["off", "jiffies", "ns"]

libc = ctypes.CDLL(None, use_errno=True)
libc.ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
libc.syscall.restype = ctypes.c_long


def syscall(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def same(wanted, got, what=""):
    assert wanted == got, f"{what}: wanted {wanted!r}, got {got!r}"


def wait_until(condition, what):
    end = time.monotonic() + 60  # what comes true late, on a slow machine, is no fault of ours
    while not condition():
        assert time.monotonic() < end, f"never came true: {what}"
        time.sleep(0.005)


def settle():
    """Until udev has looked at all new disks, if it runs."""
    if os.path.exists("/run/udev/control"):
        subprocess.run(["udevadm", "settle", "--timeout=60"], check=True)


# ------------------------------------------------------------------ control


def request(nr, size, direction=3, kind=IOC_TYPE):
    return direction << 30 | (size & 0x3FFF) << 16 | kind << 8 | nr


class Buffer:
    """Memory that ends at a page that may not be touched."""

    flags = mmap.MAP_SHARED

    def __init__(self, size):
        self.pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
        self.map = mmap.mmap(-1, self.pages + mmap.PAGESIZE, self.flags)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        guard = ctypes.c_void_p(self.base + self.pages)
        assert libc.mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
        self.size = size
        self.skip = self.pages - size
        self.address = self.base + self.skip

    def put(self, data, offset=0):
        assert offset + len(data) <= self.size
        self.map[self.skip + offset:self.skip + offset + len(data)] = data

    def get(self, offset=0, length=None):
        length = self.size - offset if length is None else length
        return self.map[self.skip + offset:self.skip + offset + length]


class Control:
    def __init__(self):
        self.fd = os.open(CONTROL, os.O_RDWR)
        self.reason_buffer = Buffer(256)
        self.reason = ""

    def raw(self, code, address):
        """0 or the error number."""
        return 0 if libc.ioctl(self.fd, code, address) == 0 else ctypes.get_errno()

    def head(self, size, abi=ABI, flags=0, reason=None):
        length, address = (256, self.reason_buffer.address) if reason is None else reason
        return struct.pack("<IIIIQ", size & 0xFFFFFFFF, abi, flags, length, address)

    def call(self, name, body=b"", flags=0, abi=ABI, size=None, tail=b"", reason=None):
        """(error number, structure afterwards); the reason is left in self.reason."""
        known = SIZE[name]
        assert len(body) <= known - HEAD
        data = body.ljust(known - HEAD, b"\0") + tail
        size = HEAD + len(data) if size is None else size
        buffer = Buffer(HEAD + len(data))
        buffer.put(self.head(size, abi, flags, reason) + data)
        self.reason_buffer.put(b"\xa5" * 256)
        error = self.raw(request(NUMBER[name], known), buffer.address)
        text = self.reason_buffer.get()
        self.reason = "" if text[0] == 0xA5 else text.split(b"\0")[0].decode()
        return error, buffer.get()

    def must(self, name, body=b"", flags=0):
        error, out = self.call(name, body, flags)
        assert error == 0, f"{name}: {os.strerror(error)}: {self.reason}"
        return out

    def refused(self, wanted, name, body=b"", why=None, **more):
        error, _ = self.call(name, body, **more)
        same(errno.errorcode[wanted], errno.errorcode.get(error, error),
             f"{name} {more} ({self.reason})")
        if why is not None:
            assert why in self.reason, f"{name}: nothing like {why!r} in {self.reason!r}"

    def load(self, name, table):
        data = ctypes.create_string_buffer(table.encode())
        self.must("MAP_LOAD", ref(name) + struct.pack("<QII", ctypes.addressof(data), len(table), 0))

    def remove(self, name):
        settle()  # who looks at a new disk has it open
        self.must("RAM_REMOVE", ref(name))

    def disks(self):
        """Names of all disks of ours."""
        out = self.must("LIST", struct.pack("<IIQII", 0, INFO_RECORD, 0, 0, 0))
        used = struct.unpack_from("<I", out, 44)[0]
        if not used:
            return []
        buffer = Buffer(used)
        self.must("LIST", struct.pack("<IIQII", 0, INFO_RECORD, buffer.address, used, 0))
        return [buffer.get(i + 48, 128).split(b"\0")[0].decode()
                for i in range(0, used, INFO_RECORD)]


def text(value, size):
    value = value if isinstance(value, bytes) else value.encode()
    assert len(value) <= size
    return value.ljust(size, b"\0")


def ref(name=b"", major=0, minor=0):
    return text(name, 128) + struct.pack("<II", major, minor)


def ram_add(name="", profile="", backing="", store="", queue=QUEUE, completion="", jitter="",
            sectors=2048, completion_ns=0, jitter_ns=0, block_size=0, node=-1, submit_queues=0,
            poll_queues=0, depth=0, max_sectors=0, io_min=0, io_opt=0):
    return (text(name, 128) + text(profile, 32) +
            b"".join(text(word, 16) for word in (backing, store, queue, completion, jitter)) +
            struct.pack("<QQQIiIIIIII", sectors, completion_ns, jitter_ns, block_size, node,
                        submit_queues, poll_queues, depth, max_sectors, io_min, io_opt))


def ram_added(out):
    """The number and the name of a disk, from the answer"""
    return struct.unpack_from("<II", out, 320), out[328:360].split(b"\0")[0].decode()


# Flags of RAM_ADD
READONLY, SHARED_TAGS, TAG_BITMAP, NO_SCHED, BLOCKING, PER_NODE = 1, 4, 8, 16, 32, 64
VIRT_BOUNDARY, ROTATIONAL, NO_DISCARD = 128, 256, 512


def set_modes(name, profile="", inflight="", pending="", ticks="", clock=""):
    return (ref(name) + text(profile, 32) +
            b"".join(text(word, 16) for word in (inflight, pending, ticks, clock)))


# -------------------------------------------------------------------- disks


class Disk:
    """A disk of ours, by its kernel name."""

    def __init__(self, name):
        self.name = name
        self.node = f"/dev/{name}"
        self.sysfs = f"/sys/block/{name}"

    @classmethod
    def add(cls, control, flags=0, **options):
        if QUEUE and "queue" not in options:
            flags |= NO_SCHED  # as lib.sh has it
        return cls(ram_added(control.must("RAM_ADD", ram_add(**options), flags))[1])

    @classmethod
    def map(cls, control, name, table, profile=""):
        """A mapped device with a live table."""
        out = control.must("MAP_CREATE", text(name, 128) + text("", 136) + text(profile, 32))
        control.load(name, table)
        control.must("MAP_RESUME", ref(name))
        return cls(out[328:360].split(b"\0")[0].decode())

    def number(self):
        return self.read("dev")

    def read(self, file):
        with open(f"{self.sysfs}/{file}", encoding="utf-8") as f:
            return f.read().rstrip("\n")

    def store(self, file, value):
        """0 or the error number of one write()."""
        fd = os.open(f"{self.sysfs}/{file}", os.O_WRONLY)
        try:
            data = value if isinstance(value, bytes) else value.encode()
            same(len(data), os.write(fd, data), file)
        except OSError as e:
            return e.errno
        finally:
            os.close(fd)
        return 0

    def write(self, file, value):
        error = self.store(file, value)
        assert error == 0, f"{self.name}: {value} into {file}: {os.strerror(error)}"

    def modes(self):
        return tuple(self.read(f"tally/mode_{axis}")
                     for axis in ("inflight", "pending", "ticks", "clock"))

    def set_modes(self, inflight, ticks, clock):
        self.write("tally/profile", "none")
        for axis, word in (("inflight", inflight), ("ticks", ticks), ("clock", clock)):
            self.write(f"tally/mode_{axis}", word)

    def inflight(self):
        return self.read("tally/inflight")

    def stat(self, file="tally/stat"):
        fields = [int(field) for field in self.read(file).split()]
        same(17, len(fields), file)
        return fields

    def diskstats(self):
        with open("/proc/diskstats", encoding="ascii") as f:
            for line in f:
                words = line.split()
                if words[2] == self.name:
                    return [int(word) for word in words[3:]]
        raise AssertionError(f"{self.name} is not in /proc/diskstats")


def legal(inflight, ticks, clock):
    """Whether a disk without a pending counter takes these modes (design, combinations)."""
    if inflight == "native":
        return ticks == "off" and clock == "off"
    return inflight != "off" or ticks not in ("round", "checked")


COMBINATIONS = [(i, t, c) for i in INFLIGHT for t in TICKS for c in CLOCK]


# ----------------------------------------------------------------- requests

BLKDISCARD, BLKZEROOUT = 0x1277, 0x127F


def block_range(fd, command, start, length):
    """0 or the error number."""
    data = struct.pack("<QQ", start, length)
    try:
        fcntl.ioctl(fd, command, data)
    except OSError as e:
        return e.errno
    return 0


def direct_buffer(size):
    return mmap.mmap(-1, (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE)


class Image:
    """What a disk holds must be what was written to it: zeroes at first."""

    def __init__(self, disk, size, what):
        self.node, self.size, self.what = disk.node, size, what
        self.fd = os.open(disk.node, os.O_RDWR | os.O_DIRECT)
        self.wanted = bytearray(size)
        self.buffer = direct_buffer(size)

    def write(self, start, data):
        self.wanted[start:start + len(data)] = data
        self.buffer[:len(data)] = data
        same(len(data), os.pwritev(self.fd, [memoryview(self.buffer)[:len(data)]], start), self.what)

    def extent(self, chance, block, counts):
        """Where one of so many blocks may begin, and its length"""
        length = block * chance.choice(counts)
        return block * chance.randrange((self.size - length) // block + 1), length

    def clear(self, command, start, length):
        """BLKDISCARD or BLKZEROOUT"""
        self.wanted[start:start + length] = bytes(length)
        same(0, block_range(self.fd, command, start, length), self.what)

    def check(self, start=0, length=None):
        length = self.size if length is None else length
        same(length, os.preadv(self.fd, [memoryview(self.buffer)[:length]], start), self.what)
        assert self.buffer[:length] == self.wanted[start:start + length], f"{self.what}: at {start}"

    def check_cached(self):
        with open(self.node, "rb") as f:
            assert f.read() == self.wanted, f"{self.what}: buffered"

    def close(self):
        os.close(self.fd)


class Aio:
    """Asynchronous direct I/O on one disk; submission does not wait."""

    SETUP, DESTROY, GETEVENTS, SUBMIT = 206, 207, 208, 209
    READ, WRITE = 0, 1

    def __init__(self, node, depth=64, block=4096):
        self.fd = os.open(node, os.O_RDWR | os.O_DIRECT)
        self.block = block
        self.buffer = direct_buffer(block)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.buffer))
        self.context = ctypes.c_ulong(0)
        self.flying = 0
        syscall(self.SETUP, ctypes.c_int(depth), ctypes.byref(self.context))

    def submit(self, write, offset=0):
        iocb = ctypes.create_string_buffer(
            struct.pack("<QIIHhIQQqQII", 0, 0, 0, self.WRITE if write else self.READ, 0,
                        self.fd, self.address, self.block, offset, 0, 0, 0), 64)
        pointer = ctypes.c_void_p(ctypes.addressof(iocb))
        same(1, syscall(self.SUBMIT, self.context, ctypes.c_long(1), ctypes.byref(pointer)))
        self.flying += 1

    def reap(self, least=0):
        """How many have ended, all of them well; waits for that many."""
        if not self.flying:
            return 0
        events = ctypes.create_string_buffer(32 * self.flying)
        count = syscall(self.GETEVENTS, self.context, ctypes.c_long(least),
                           ctypes.c_long(self.flying), events, None)
        for i in range(count):
            same(self.block, struct.unpack_from("<q", events, 32 * i + 16)[0], "result of an I/O")
        self.flying -= count
        return count

    def drain(self):
        while self.flying:
            self.reap(self.flying)

    def close(self):
        self.drain()
        syscall(self.DESTROY, self.context)
        os.close(self.fd)
