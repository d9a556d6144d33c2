# SPDX-License-Identifier: GPL-2.0-or-later
"""The control node without tallyctl: whatever bytes a test wants to send.

kmod/uapi/blktally.h tells what they mean. Each command returns an Answer; a
refusal is no exception, because it is what the tests ask for.
"""

import ctypes
import errno
import fcntl
import os
import struct

NODE = "/dev/blktally/control"
ABI = 1
HEAD = struct.Struct("<IIIIQ")
REASON_MAX = 256

LIST, SET = 0x01, 0x03
CREATE, LOAD, RESUME, SUSPEND, CLEAR, REMOVE, TABLE, DEPS = range(0x20, 0x28)

TABLE_INACTIVE, TABLE_STATUS = 1, 2
TABLE_MAX = 4 << 20
DISK_INFO_SIZE = 600


class Answer:
    """What came back: error is an errno or 0, text its name"""

    def __init__(self, error, reason, raw):
        self.error = error
        self.text = errno.errorcode[error] if error else "OK"
        self.reason = reason
        self.raw = raw

    def __repr__(self):
        return f"{self.text} {self.reason!r}"


def request(nr, size, direction=3):
    return direction << 30 | (size & 0x3FFF) << 16 | 0xBC << 8 | nr


def ref(name=b"", major=0, minor=0):
    return struct.pack("<128sII", name, major, minor)


class Control:
    def __init__(self):
        self.fd = os.open(NODE, os.O_RDWR | os.O_CLOEXEC)

    def call(self, nr, body, flags=0, abi=ABI, size=None, direction=3):
        """BODY goes behind the head; SIZE is what the head says"""
        whole = HEAD.size + len(body)
        reason = ctypes.create_string_buffer(REASON_MAX)
        head = HEAD.pack(whole if size is None else size, abi, flags, REASON_MAX,
                         ctypes.addressof(reason))
        raw = bytearray(head + body)
        error = 0
        try:
            fcntl.ioctl(self.fd, request(nr, whole, direction), raw, True)
        except OSError as e:
            error = e.errno
        return Answer(error, reason.value.decode(errors="replace"), bytes(raw))

    def create(self, name, uuid=b"", profile=b"", flags=0):
        return self.call(CREATE, struct.pack("<128s136s32sII32s", name, uuid, profile, 0, 0, b""),
                         flags)

    def load(self, name, table, flags=0, address=None, length=None, pad=0):
        text = ctypes.create_string_buffer(bytes(table), max(len(table), 1))
        body = ref(name) + struct.pack(
            "<QII", ctypes.addressof(text) if address is None else address,
            len(table) if length is None else length, pad)
        return self.call(LOAD, body, flags)

    def op(self, nr, name):
        return self.call(nr, ref(name))

    def set(self, name, profile=b"", modes=(b"", b"", b"", b"")):
        return self.call(SET, ref(name) + struct.pack("<32s16s16s16s16s", profile, *modes))

    def text(self, name, flags=0, buf=0, length=0, nr=TABLE):
        """One TABLE or DEPS with the caller's buffer; also the bytes that it would take"""
        answer = self.call(nr, ref(name) + struct.pack("<QII", buf, length, 0), flags)
        return answer, struct.unpack_from("<I", answer.raw, 172)[0]

    def table(self, name, flags=0):
        room = ctypes.create_string_buffer(1 << 16)
        answer, used = self.text(name, flags, ctypes.addressof(room), len(room))
        if answer.error or used > len(room):
            return repr(answer)
        return room.raw[:used].decode()

    def names(self):
        """The names of all disks of ours"""
        room = ctypes.create_string_buffer(64 * DISK_INFO_SIZE)
        answer = self.call(LIST, struct.pack("<IIQII", 0, DISK_INFO_SIZE, ctypes.addressof(room),
                                             len(room), 0))
        assert not answer.error, answer
        used = struct.unpack_from("<I", answer.raw, 44)[0]
        records = (room.raw[at:at + DISK_INFO_SIZE] for at in range(0, used, DISK_INFO_SIZE))
        return [record[48:176].split(b"\0")[0] for record in records]
