#!/usr/bin/python3 -BES
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input by ioctl, to a map that is in use.

  refusals.py MAP LOWER_NAME LOWER

MAP has a live table and no inactive one; LOWER_NAME and LOWER (major:minor)
are a disk of ours with room for 64 sectors. Each refusal must have its errno,
name what it refuses, and leave all tables and the list of disks as they were.
"""

import ctypes
import mmap
import os
import struct
import sys

import control

M, L, D = sys.argv[1].encode(), sys.argv[2].encode(), sys.argv[3]
MAJOR, MINOR = D.split(":")
c = control.Control()
wrong, count = [], 0


def state():
    return c.table(M), c.table(M, control.TABLE_INACTIVE), sorted(c.names())


before = state()


def refused(what, answer, text, reason=""):
    global count
    count += 1
    if answer.text not in text.split("|") or reason not in answer.reason:
        wrong.append(f"{what}: wanted {text} {reason!r}, got {answer}")
    if state() != before:
        wrong.append(f"{what}: changed something: {state()} was {before}")
        print("\n".join(wrong), file=sys.stderr)
        sys.exit(1)


def bad_table(table, text="EINVAL", reason=""):
    refused(repr(table[:60]), c.load(M, table.encode("latin-1")), text, reason)


def accepted(table, printed):
    answer = c.load(M, table.encode())
    got = c.table(M, control.TABLE_INACTIVE)
    c.op(control.CLEAR, M)
    if answer.error or got != printed:
        wrong.append(f"{table!r}: wanted {printed!r}, got {answer}, {got!r}")


def numbers():  # C07
    fields = {"start": "{}", "length": "0 {}", "offset": "0 8 linear %s {}" % D,
              "major": "0 8 linear {}:%s" % MINOR, "minor": "0 8 linear %s:{}" % MAJOR}
    rest = {"start": " 8 linear %s 0" % D, "length": " linear %s 0" % D, "offset": "",
            "major": " 0", "minor": " 0"}
    good = {"start": "0", "length": "8", "offset": "0", "major": MAJOR, "minor": MINOR}
    for field, line in fields.items():
        number = good[field]
        for junk in (number + "bla", "0x" + number, "+" + number, "-1", number + ".0",
                     number + ",", "\xb2", "'0'"):
            bad_table(line.format(junk) + rest[field], reason="line 1")
        bad_table(line.format(1 << 64) + rest[field], reason="line 1")
        bad_table(line.format("9" * 100) + rest[field], reason="line 1")
    accepted("000 0008 linear %s 0016" % D, f"0 8 linear {D} 16\n")
    accepted(f" \t 0 \t8  linear {D}   16 \r\n\n# end", f"0 8 linear {D} 16\n")


def words():  # C11
    line = f"0 8 linear {D} 0".split()
    for n in range(1, len(line)):
        bad_table(" ".join(line[:n]), reason="missing")
        bad_table(" ".join(line) + "\n8 " + " ".join(line[1:n]), reason="line 2")
    bad_table(" ".join(line) + " 0", reason="too many")
    bad_table(" ".join(line) + " \0", reason="too many")
    for empty in (" ", "\n", "\t\r\n", "# nothing\n"):
        bad_table(empty, reason="empty")
    bad_table(f"0 8 lineal {D} 0", reason="lineal")
    bad_table(f"0 8 LINEAR {D} 0", reason="LINEAR")
    bad_table(f"0 8 linear {MAJOR} 0", reason="major:minor")
    bad_table(f"0 8 linear {D}:0 0", reason="major:minor")
    bad_table(f"0 8 linear /dev/null 0", reason="major:minor")


def ranges():  # B06
    one = f"0 8 linear {D} 0\n"
    bad_table(one + f"9 8 linear {D} 0", reason="gap")
    bad_table(one + f"7 8 linear {D} 0", reason="overlap")
    bad_table(one + f"0 8 linear {D} 0", reason="overlap")
    bad_table(f"1 8 linear {D} 0", reason="gap")
    bad_table(f"0 0 linear {D} 0", reason="length is 0")
    for length in ((1 << 64) - 1, (1 << 64) - 8, 1 << 63, (1 << 63) >> 9, 1 << 55):
        bad_table(f"0 {length} linear {D} 0", reason=str(length))
        bad_table(one + f"8 {length} linear {D} 0", reason=str(length))
    for offset in ((1 << 64) - 1, (1 << 64) - 8, 1 << 63, (1 << 63) >> 9, 1 << 55, 1 << 54):
        bad_table(f"0 8 linear {D} {offset}", reason=str(offset))
    bad_table("0 8 linear 4000:77 0", "ENXIO|ENODEV", "4000:77")
    bad_table(one + "8 8 linear 4000:77 0", "ENXIO|ENODEV", "line 2")
    bad_table("0 8 linear 0:0 0", "ENXIO|ENODEV|EINVAL", "0:0")
    bad_table("0 8 linear 4096:0 0", reason="4096:0")
    bad_table("0 8 linear 1:1048576 0", reason="1:1048576")


def sizes():  # C01, O01
    limit = control.TABLE_MAX
    refused("no table", c.load(M, b"", length=0), "EINVAL", "empty")
    for length in (limit + 1, 5 << 20, (1 << 31) - 1, (1 << 32) - 1):
        refused(f"{length} bytes", c.load(M, b"0", length=length), "E2BIG", str(limit))
    refused("no memory there", c.load(M, b"0", address=0, length=4096), "EFAULT")
    page = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    libc = ctypes.CDLL(None, use_errno=True)
    assert not libc.mprotect(ctypes.c_void_p(at + mmap.PAGESIZE), mmap.PAGESIZE, 0)
    refused("half a table", c.load(M, b"0", address=at + mmap.PAGESIZE - 4, length=8), "EFAULT")
    refused("padding", c.load(M, f"0 8 linear {D} 0".encode(), pad=1), "EINVAL", "padding")
    line = "0 1 linear %s 0\n" % D
    bad_table(line * 65537, "E2BIG", "65536")
    bad_table("#" * limit, reason="empty")
    # The longest that is allowed: 4 MiB, most of it a comment.
    accepted(f"0 8 linear {D} 8\n" + "#" * (limit - len(f"0 8 linear {D} 8\n")),
             f"0 8 linear {D} 8\n")

    body = control.ref(M) + struct.pack("<QII", 0, 0, 0)
    for size in (0, 1, 23, 24, 175, 4097, 1 << 30, (1 << 31) - 1, (1 << 32) - 1):
        refused(f"size {size}", c.call(control.TABLE, body, size=size), "EINVAL")
    refused("bytes beyond", c.call(control.TABLE, body + b"\0\0\0\0\0\0\0\1"), "E2BIG")
    answer = c.call(control.TABLE, body + bytes(8))
    if answer.error:
        wrong.append(f"zero bytes beyond: {answer}")

    # C04: every length of the buffer, which ends at a page that cannot be touched.
    for flags in (0, control.TABLE_STATUS):
        whole = c.table(M, flags).encode()
        for length in range(0, len(whole) + 64):
            start = mmap.PAGESIZE - length
            page[:mmap.PAGESIZE] = b"\xa5" * mmap.PAGESIZE
            answer, used = c.text(M, flags, at + start, length)
            got = page[start:mmap.PAGESIZE]
            want = whole + got[len(whole):] if length >= len(whole) else b"\xa5" * length
            if answer.error or used != len(whole) or got != want or \
                    got[len(whole):].strip(b"\xa5") or page[:start].strip(b"\xa5"):
                wrong.append(f"{length} of {len(whole)} bytes, flags {flags}: {answer} "
                             f"used {used}, {got!r}")
    for nr in (control.TABLE, control.DEPS):
        refused("answer to nowhere", c.text(M, 0, at + mmap.PAGESIZE, 4096, nr)[0], "EFAULT")


def heads():
    body = control.ref(M)
    for abi in (0, 2, 0xFFFFFFFF):
        answer = c.call(control.SUSPEND, body, abi=abi)
        refused(f"ABI {abi}", answer, "EPROTONOSUPPORT", str(abi))
        if control.HEAD.unpack_from(answer.raw)[1] != control.ABI:
            wrong.append(f"ABI {abi}: the kernel's own was not written back")
    for nr in (control.CLEAR, control.SUSPEND, control.REMOVE):
        refused(f"flags of {nr:#x}", c.call(nr, body, flags=4), "EINVAL", "0x4")
        for direction in (0, 1, 2):
            refused(f"direction {direction}", c.call(nr, body, direction=direction), "ENOTTY")
    refused("flags of load", c.load(M, f"0 8 linear {D} 0".encode(), flags=2), "EINVAL", "0x2")
    refused("flags of create", c.create(b"n", flags=2), "EINVAL", "0x2")
    for nr in (control.REMOVE, control.SUSPEND, control.RESUME):
        refused("no such name", c.op(nr, b"nobody"), "ENXIO", "nobody")
        refused("of another kind", c.op(nr, L), "ENODEV", L.decode())
        refused("over-long", c.op(nr, b"x" * 128), "ENAMETOOLONG", "127")
        refused("name and number", c.call(nr, control.ref(M, int(MAJOR), int(MINOR))), "EINVAL",
                M.decode())
        refused("no such number", c.call(nr, control.ref(b"", 4000, 77)), "ENXIO", "4000:77")
        refused("wide number", c.call(nr, control.ref(b"", 1 << 31, 1 << 31)), "ENXIO")
        refused("nothing", c.call(nr, control.ref()), "ENXIO", "0:0")


def names():  # D05, D10
    refused("empty name", c.create(b""), "EINVAL", "empty")
    refused("128 bytes", c.create(b"n" * 128), "ENAMETOOLONG", "127")
    for name in (b"control", b".", b".."):
        refused(repr(name), c.create(name), "EINVAL", "reserved")
    for name in (b"/", b"a/b", b"/dev/null", b"a/"):
        refused(repr(name), c.create(name), "EINVAL", "slash")
    for byte in [*range(1, 32), 127]:
        refused(f"byte {byte}", c.create(b"a%cb" % byte), "EINVAL", f"0x{byte:02x}")
        refused(f"byte {byte} in a UUID", c.create(b"n", b"a%cb" % byte), "EINVAL", f"0x{byte:02x}")
    refused("UUID of 129 bytes", c.create(b"n", b"u" * 129), "ENAMETOOLONG", "128")
    refused("UUID without NUL", c.create(b"n", b"u" * 136), "ENAMETOOLONG", "128")
    refused("name of a map", c.create(M), "EEXIST", M.decode())
    refused("name of a RAM disk", c.create(L), "EEXIST", L.decode())
    refused("unknown profile", c.create(b"n", b"", b"linux-9.9"), "EINVAL", "linux-9.9")
    refused("profile without NUL", c.create(b"n", b"", b"p" * 32), "EINVAL", "profile")


def modes():
    off = (b"off",) * 4
    refused("profile", c.set(M, b"linux-9.9"), "EINVAL", "linux-9.9")
    refused("profile in capitals", c.set(M, b"NONE"), "EINVAL", "NONE")
    refused("custom", c.set(M, b"custom"), "EINVAL", "custom")
    refused("profile without NUL", c.set(M, b"p" * 32), "EINVAL", "profile")
    for axis, name in enumerate(("inflight", "pending", "ticks", "clock")):
        def on_axis(word):
            return c.set(M, b"", off[:axis] + (word,) + off[axis + 1:])
        refused(name, on_axis(b"fast"), "EINVAL", "fast")
        refused(f"{name} without NUL", on_axis(b"p" * 16), "EINVAL", name)
    for modes, axis in (((b"native", b"shared", b"off", b"off"), "pending"),
                        ((b"native", b"off", b"exact", b"off"), "ticks"),
                        ((b"native", b"off", b"off", b"ns"), "clock"),
                        ((b"off", b"off", b"round", b"off"), "inflight"),
                        ((b"off", b"off", b"checked", b"off"), "inflight")):
        refused(repr(modes), c.set(M, b"", modes), "EINVAL", axis)
    refused("nobody", c.set(b"nobody", b"none"), "ENXIO", "nobody")


def permission():
    os.seteuid(65534)
    try:
        answers = [c.op(nr, M) for nr in (control.SUSPEND, control.REMOVE)]
        answers += [c.create(b"n"), c.load(M, b"0"), c.set(M, b"none")]
        try:
            os.close(os.open(control.NODE, os.O_RDWR))
            wrong.append("anybody may open the control node")
        except PermissionError:
            pass
    finally:
        os.seteuid(0)
    for answer in answers:
        refused("without CAP_SYS_ADMIN", answer, "EPERM")


for group in (numbers, words, ranges, sizes, heads, names, modes, permission):
    group()
if wrong:
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(1)
print(count)
