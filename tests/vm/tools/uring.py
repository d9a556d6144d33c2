# SPDX-License-Identifier: GPL-2.0-or-later
"""io_uring by its system calls: reads that are submitted and not polled for."""
import ctypes
import mmap
import os
import struct

from blktally import direct_buffer, syscall

SETUP, ENTER = 425, 426
IOPOLL = 1
GETEVENTS = 1
READ = 22
# Offsets of the three maps.
SQ_RING, CQ_RING, SQES = 0, 0x8000000, 0x10000000
SQE, CQE = 64, 16


class Uring:
    """A ring whose I/O is polled, on one disk."""

    def __init__(self, node, depth=8, block=4096):
        params = ctypes.create_string_buffer(120)
        struct.pack_into("<I", params, 8, IOPOLL)
        self.ring = syscall(SETUP, ctypes.c_uint(depth), params)
        sq_entries, cq_entries = struct.unpack_from("<II", params, 0)
        self.sq = dict(zip(("head", "tail", "mask", "entries", "flags", "dropped", "array"),
                           struct.unpack_from("<7I", params, 40)))
        self.cq = dict(zip(("head", "tail", "mask", "entries", "overflow", "cqes"),
                           struct.unpack_from("<6I", params, 80)))
        self.sq_ring = mmap.mmap(self.ring, self.sq["array"] + 4 * sq_entries, offset=SQ_RING)
        self.cq_ring = mmap.mmap(self.ring, self.cq["cqes"] + CQE * cq_entries, offset=CQ_RING)
        self.sqes = mmap.mmap(self.ring, SQE * sq_entries, offset=SQES)
        self.fd = os.open(node, os.O_RDWR | os.O_DIRECT)
        self.block = block
        self.buffer = direct_buffer(block)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.buffer))

    @staticmethod
    def _get(ring, at):
        return struct.unpack_from("<I", ring, at)[0]

    def submit(self, offset=0):
        tail = self._get(self.sq_ring, self.sq["tail"])
        index = tail & self._get(self.sq_ring, self.sq["mask"])
        struct.pack_into("<BBHiQQII", self.sqes, SQE * index, READ, 0, 0, self.fd, offset,
                         self.address, self.block, 0)
        self.sqes[SQE * index + 32:SQE * (index + 1)] = bytes(SQE - 32)
        struct.pack_into("<I", self.sq_ring, self.sq["array"] + 4 * index, index)
        struct.pack_into("<I", self.sq_ring, self.sq["tail"], tail + 1)
        assert self._enter(1, 0, 0) == 1

    def _enter(self, submit, least, flags):
        return syscall(ENTER, ctypes.c_uint(self.ring), ctypes.c_uint(submit), ctypes.c_uint(least),
                       ctypes.c_uint(flags), None, ctypes.c_size_t(0))

    def reap(self, count):
        """Polls until COUNT have ended: bytes read or, negative, the error of each"""
        results = []
        while len(results) < count:
            self._enter(0, 1, GETEVENTS)
            head, tail = (self._get(self.cq_ring, self.cq[end]) for end in ("head", "tail"))
            while head != tail:
                at = self.cq["cqes"] + CQE * (head & self._get(self.cq_ring, self.cq["mask"]))
                results.append(struct.unpack_from("<i", self.cq_ring, at + 8)[0])
                head += 1
            struct.pack_into("<I", self.cq_ring, self.cq["head"], head & 0xFFFFFFFF)
        return results

    def close(self):
        for ring in (self.sq_ring, self.cq_ring, self.sqes):
            ring.close()
        os.close(self.ring)
        os.close(self.fd)
