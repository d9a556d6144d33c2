#!/usr/bin/python3 -BES
# SPDX-License-Identifier: GPL-2.0-or-later
"""No memory: every allocation of every operation fails once.

  faults.py GROUP...

For n = 1, 2, 3 ... the n-th allocation of one system call fails, until the call
ends without having come to its n-th. After each failure the error must be one
of those allowed, and everything must be as before; after a success the thing
must work. In the end kmemleak must know of nothing that was left behind.

Prints for each operation how many allocations failed, and what came of it. An
operation in which none failed is a failed test.
"""

import contextlib
import ctypes
import errno
import gc
import mmap
import os
import re
import struct
import subprocess
import sys
import threading
import time
from collections import Counter

from blktally import (CONTROL, HEAD, INFO_RECORD, NUMBER, READONLY, SHARED_TAGS, SIZE, Control,
                      libc, ram_add, ram_added, ref, request, same, set_modes, text)

libc.syscall.argtypes = [ctypes.c_long] * 4
libc.pwrite.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64]
libc.pwrite.restype = ctypes.c_ssize_t
libc.open.argtypes = [ctypes.c_void_p, ctypes.c_int]

DEBUG = "/sys/kernel/debug"
MODULES = ("tally_core", "tally_ram", "tally_map", "tally_gen")
KMOD = os.environ.get("KMOD", f"build/kmod/{os.uname().release}")
PEERS = f"/lib/modules/{os.uname().release}/kernel/drivers"
FINIT_MODULE, DELETE_MODULE = 313, 176
BLKRRPART = 0x125F
NO_LIMIT = (1 << 64) - 1

# What an operation may fail with when there is no memory; all others: ENOMEM.
# EINVAL is the core's for a disk whose name found none: add_disk() looks at the
# name, not at why it is missing. peers shows the same of device-mapper.
ERRORS = {
    "add disk": {"ENOMEM", "EINVAL"},
    "register major": {"ENOMEM", "EIO"},  # brd says so, whatever it was
    "dm create": {"ENOMEM", "ENXIO"},  # and dm this
    "direct write": {"ENOMEM", "EIO"},
    "partition scan": {"ENOMEM", "EIO"},  # what could not be read is an I/O error
}


# ---------------------------------------------------------------- injection


def say(line):
    """To the kernel log as well, where it stays when the test succeeds"""
    print(line, flush=True)
    put("/dev/kmsg", f"<6>faults: {line}")


def put(path, value):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


def get(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def extent_of(symbol):
    """Where a function of the kernel begins and ends"""
    start = None
    with open("/proc/kallsyms", encoding="ascii") as file:
        for line in file:
            address, _, name = line.split()[:3]
            if start is not None and int(address, 16) > start:
                return start, int(address, 16)
            if name == symbol:
                start = int(address, 16)
    raise AssertionError(f"the kernel has no {symbol}")


class Injector:
    """Fails the n-th allocation of this thread"""

    KINDS = ("failslab", "fail_page_alloc")

    def __init__(self):
        self.nth = os.open(f"/proc/self/task/{threading.get_native_id()}/fail-nth", os.O_RDWR)
        put(f"{DEBUG}/fail_page_alloc/ignore-gfp-highmem", "N")
        put(f"{DEBUG}/fail_page_alloc/min-order", 0)
        # kmemleak's own records are no part of any operation: it has a reserve.
        start, end = extent_of("__alloc_object")
        for kind in self.KINDS:
            put(f"{DEBUG}/{kind}/ignore-gfp-wait", "N")
            put(f"{DEBUG}/{kind}/verbose", 0)
            put(f"{DEBUG}/{kind}/probability", 0)
            put(f"{DEBUG}/{kind}/stacktrace-depth", 32)
            put(f"{DEBUG}/{kind}/reject-start", hex(start))
            put(f"{DEBUG}/{kind}/reject-end", hex(end))
        self.require(0, NO_LIMIT)

    def require(self, start, end):
        for kind in self.KINDS:
            put(f"{DEBUG}/{kind}/require-start", hex(start))
            put(f"{DEBUG}/{kind}/require-end", hex(end))

    @contextlib.contextmanager
    def below_modules(self):
        """Only what a module asks for, itself or through what it calls"""
        with open("/proc/modules", encoding="ascii") as file:
            lowest = min(int(line.split()[5], 16) for line in file)
        self.require(lowest & ~0x1FFFFFFF, 0xFFFFFFFFFF000000)  # 512 or 1024 MiB at the end
        try:
            yield
        finally:
            self.require(0, NO_LIMIT)

    def run(self, n, call):
        """Error of the call, and whether its n-th allocation came and failed"""
        os.pwrite(self.nth, b"%d" % n, 0)
        error = call()
        left = int(os.pread(self.nth, 16, 0))
        os.pwrite(self.nth, b"0", 0)
        return error, left == 0


class Workers:
    """The same for what one of the unbound kworkers does, whichever takes it"""

    def __init__(self):
        self.known = {}

    def _find(self):
        there = {pid for pid in os.listdir("/proc") if pid.isdigit()}
        for pid in self.known.keys() - there:
            if fd := self.known.pop(pid):
                os.close(fd)
        for pid in there - self.known.keys():
            with contextlib.suppress(OSError):  # it may be gone
                worker = get(f"/proc/{pid}/comm").startswith("kworker/u")
                self.known[pid] = worker and os.open(f"/proc/{pid}/fail-nth", os.O_RDWR)
        return [fd for fd in self.known.values() if fd]

    @staticmethod
    def _set(files, n):
        for file in files:
            with contextlib.suppress(ProcessLookupError):
                os.pwrite(file, b"%d" % n, 0)

    def run(self, n, call):
        left = []
        files = self._find()
        self._set(files, n)
        error = call()
        for file in files:
            with contextlib.suppress(ProcessLookupError):
                left.append(int(os.pread(file, 16, 0)))
        self._set(files, 0)
        if all(value == n for value in left):
            return error, None  # a worker that was not there before took it
        return error, 0 in left


class Kmemleak:
    FILE = f"{DEBUG}/kmemleak"

    def __init__(self):
        put("/sys/module/kmemleak/parameters/min_unref_scans", 1)

    def check(self, last):
        """An object counts when it is 5 s old, and unchanged since a scan before.

        A scan takes many seconds, so each group has one, which reports what
        the groups before it left; who comes last waits for what is its own.
        """
        put(self.FILE, "scan")
        if last:
            time.sleep(5.5)
            put(self.FILE, "scan")
        leaks = get(self.FILE)
        assert not leaks, f"left behind, by this group or the one before:\n{leaks[:6000]}"


# -------------------------------------------------------------- system calls


class Syscall:
    """One system call, made ready before: nothing happens between it and the injection"""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def reset(self):
        pass

    def __call__(self):
        self.result = self.function(*self.arguments)
        return 0 if self.result >= 0 else ctypes.get_errno()


class Command(Syscall):
    """A command of the control node"""

    def __init__(self, control, name, body=b"", flags=0):
        known = SIZE[name]
        self.reason = ctypes.create_string_buffer(256)
        self.image = (struct.pack("<IIIIQ", known, 1, flags, 256, ctypes.addressof(self.reason)) +
                      body.ljust(known - HEAD, b"\0"))
        self.data = ctypes.create_string_buffer(self.image, known)
        super().__init__(libc.ioctl, control.fd, request(NUMBER[name], known),
                         ctypes.addressof(self.data))

    def reset(self):
        ctypes.memmove(self.data, self.image, len(self.image))
        ctypes.memset(self.reason, 0, 1)


class Store(Syscall):
    """A word into a sysfs file"""

    def __init__(self, path, word):
        self.word = ctypes.create_string_buffer(word.encode())
        self.fd = os.open(path, os.O_WRONLY)
        super().__init__(libc.pwrite, self.fd, ctypes.addressof(self.word), len(word), 0)

    def __del__(self):
        os.close(self.fd)


class Open(Syscall):
    def __init__(self, path, flags):
        self.path = ctypes.create_string_buffer(path.encode())
        super().__init__(libc.open, ctypes.addressof(self.path), flags)

    def __call__(self):
        error = super().__call__()
        if not error:
            os.close(self.result)
        return error


class Load(Syscall):
    """A module from its file"""

    def __init__(self, path, parameters=""):
        self.fd = os.open(path, os.O_RDONLY)
        self.parameters = ctypes.create_string_buffer(parameters.encode())
        super().__init__(libc.syscall, FINIT_MODULE, self.fd, ctypes.addressof(self.parameters), 0)

    def __del__(self):
        os.close(self.fd)


class Unload(Syscall):
    def __init__(self, name):
        self.name = ctypes.create_string_buffer(name.encode())
        super().__init__(libc.syscall, DELETE_MODULE, ctypes.addressof(self.name), os.O_NONBLOCK, 0)


def must(call):
    call.reset()
    error = call()
    assert error == 0, os.strerror(error)


# ------------------------------------------------------------------ the world


def names(directory, *prefixes):
    try:
        return sorted(n for n in os.listdir(directory) if n.startswith(prefixes or ""))
    except FileNotFoundError:
        return None


def numbers(directory):
    """Minors of major 259 come back late, after a grace period: only how many there are"""
    return sorted(n.partition(":")[0] + ":" if n.startswith("259:") else n
                  for n in os.listdir(directory))


def references():
    counts = {}
    for module in (*MODULES, "brd", "dm_mod"):
        with contextlib.suppress(FileNotFoundError):
            counts[module] = int(get(f"/sys/module/{module}/refcnt"))
    return counts


def world(control=None):
    """What an operation that failed must not have changed"""
    return {
        "disks": names("/sys/block"),
        "numbers": numbers("/sys/dev/block"),
        "control": os.path.exists(CONTROL),
        "nodes": names("/dev", "tram", "tnull", "tmap", "ram", "dm-"),
        "bdi": numbers("/sys/class/bdi"),
        "debugfs": names(f"{DEBUG}/block"),
        "references": references(),
        "listed": control.disks() if control else None,
    }


def as_before(before, control, what):
    """At once, but for threads that are on their way out"""
    now = world(control)
    end = time.monotonic() + 10
    while now != before:
        assert time.monotonic() < end, f"{what}: {differences(before, now)}"
        time.sleep(0.01)
        now = world(control)


def differences(before, now):
    return "; ".join(f"{key}: wanted {before[key]}, got {now[key]}"
                     for key in before if before[key] != now[key])


wrong = []
outcomes = {}  # operation: how often it failed, by error


def judge(here, call, error, injected, allowed, end):
    name = errno.errorcode.get(error, str(error)) if error else "OK"
    if error and error != end:
        assert injected, f"{here}: {name} without an injection"
        assert name in allowed, f"{here}: {name}, allowed: {allowed}"
        reason = getattr(call, "reason", None)
        assert not reason or b"index" not in reason.value, f"{here}: {reason.value}"
    elif injected is False:
        same(errno.errorcode.get(end, "OK"), name, here)


def exhaust(what, call, *, injector, control=None, prepare=None, undo=None, check=None, end=0,
            kind=None, first=1, step=1, whole=True):
    """Fail each allocation of call in turn.

    prepare: before each round, without injection. undo: after a success, back
    to what prepare left. check: after a failure. end: what the call ends with
    when all allocations succeed. first, step: of n, where another operation goes
    through the same allocations of the core one by one. whole: a failure
    changes nothing in the world.
    """
    allowed = ERRORS.get(kind, {"ENOMEM"})
    failed, passed = Counter(), 0
    before = None
    begun = time.monotonic()
    n = first
    while True:
        if prepare:
            prepare()
        if before is None:
            before = world(control)
        call.reset()
        error, injected = injector.run(n, call)
        here = f"{what}, allocation {n}"
        try:
            judge(here, call, error, injected, allowed, end)
            if error and whole:
                as_before(before, control, here)
            if error and check:
                check(here)
        except AssertionError as fault:
            say(f"FAULT: {fault}")
            wrong.append(str(fault))
            assert len(wrong) < 20, "and so on"
        if not error:
            if undo:
                undo()
            if whole:
                as_before(before, control, f"{here}, undone")
        if injected:
            failed.update([errno.errorcode.get(error, str(error))] if error else [])
            passed += not error
        elif injected is False:
            break
        n += step if injected is not None else 0
        assert n < 3000, f"{what}: no end of it"
    assert failed or passed, f"{what}: nothing was injected"
    outcomes[what] = failed
    errors = ", ".join(f"{count} {name}" for name, count in failed.most_common())
    say(f"{what}: {failed.total() + passed} injected: {errors + ', ' if errors else ''}"
        f"{passed} did without ({time.monotonic() - begun:.1f} s)")
    return n


# ----------------------------------------------------------------- our disks


class Ram:
    def __init__(self, control, name, flags=0, **options):
        self.control, self.name = control, name
        out = control.must("RAM_ADD", ram_add(name=name, **options), flags)
        number, self.disk = ram_added(out)
        self.dev = "%u:%u" % number
        self.node = f"/dev/{self.disk}"

    def remove(self):
        self.control.must("RAM_REMOVE", ref(self.name))


def direct(node, data=None, offset=0, length=4096):
    """Read or write past the cache"""
    fd = os.open(node, (os.O_RDONLY if data is None else os.O_RDWR) | os.O_DIRECT)
    try:
        buffer = mmap.mmap(-1, max(length if data is None else len(data), mmap.PAGESIZE))
        if data is None:
            same(length, os.preadv(fd, [memoryview(buffer)[:length]], offset), f"bytes of {node}")
            return bytes(buffer[:length])
        buffer[:len(data)] = data
        same(len(data), os.pwritev(fd, [memoryview(buffer)[:len(data)]], offset), node)
        return None
    finally:
        os.close(fd)


def marked(sector):
    return struct.pack("<Q", sector ^ 0xB10C) * 64


class Map:
    """A map over one RAM disk whose sectors are marked"""

    SECTORS = 2048

    def __init__(self, control, name="fmap"):
        self.control, self.name = control, name
        self.lower = Ram(control, "lower", sectors=self.SECTORS)
        direct(self.lower.node, b"".join(map(marked, range(self.SECTORS))))
        dev = self.lower.dev
        self.one = f"0 1024 linear {dev} 0\n"
        self.several = f"0 512 linear {dev} 1024\n512 8 linear {dev} 0\n520 504 linear {dev} 8\n"
        self.keep = []

    def create(self):
        out = self.control.must("MAP_CREATE", self.creation())
        self.node = "/dev/" + out[328:360].split(b"\0")[0].decode()

    def creation(self, profile=""):
        return text(self.name, 128) + text("", 136) + text(profile, 32)

    def loading(self, table):
        self.keep.append(ctypes.create_string_buffer(table.encode()))
        return ref(self.name) + struct.pack("<QII", ctypes.addressof(self.keep[-1]), len(table), 0)

    def load(self, table):
        self.control.must("MAP_LOAD", self.loading(table))

    def op(self, name):
        self.control.must("MAP_" + name, ref(self.name))

    def live(self, table=None):
        self.create()
        self.load(table or self.one)
        self.op("RESUME")

    def table(self, flags=0):
        room = ctypes.create_string_buffer(1024)
        out = self.control.must("MAP_TABLE", ref(self.name) +
                                struct.pack("<QII", ctypes.addressof(room), 1024, 0), flags)
        return room.raw[:struct.unpack_from("<I", out, 172)[0]].decode()

    def state(self):
        """What there is to see of it, with a read where it would not wait"""
        info = self.control.must("DISK_GET", ref(self.name))[HEAD + 136:]
        flags = struct.unpack_from("<I", info, 4)[0]
        live, suspended = flags & 4, flags & 2
        return (flags, self.table(), self.table(1), self.table(2), info[40:600],
                direct(self.node) if live and not suspended else None)

    def close(self):
        self.lower.remove()


# ------------------------------------------------------------------- groups

# name: options, and whether add_disk is gone through as well. Where not, the
# name is taken, which is found out after everything else was allocated.
RAM_VARIANTS = {
    "null inline 512": (dict(backing="null"), True),
    "ram sparse softirq 4096 readonly": (dict(store="sparse", completion="softirq",
                                              block_size=4096), False),
    "null softirq 2048": (dict(backing="null", completion="softirq", block_size=2048), False),
    "null timer 1024": (dict(backing="null", completion="timer", block_size=1024,
                             completion_ns=5000), False),
    "ram flat inline 512": (dict(sectors=32), False),
    "ram flat timer 4096": (dict(sectors=32, completion="timer", block_size=4096), False),
    "ram flat inline of a node": (dict(sectors=32, node=0), False),
    "ram sparse inline linux-5.0": (dict(store="sparse", profile="linux-5.0"), False),
    "ram sparse timer": (dict(store="sparse", completion="timer"), False),
    "null mq timer": (dict(backing="null", queue="mq", completion="timer", depth=8), True),
    "ram sparse mq polled": (dict(store="sparse", queue="mq", poll_queues=2, submit_queues=2,
                                  depth=4), False),
    "null mq shared": (dict(backing="null", queue="mq", depth=8), False),
}


def ram_add_group(injector):
    control = Control()
    taken = Ram(control, "taken", backing="null")
    for what, (options, whole) in RAM_VARIANTS.items():
        flags = READONLY if "readonly" in what else SHARED_TAGS if "shared" in what else 0
        add = Command(control, "RAM_ADD",
                      ram_add(name="new" if whole else "taken", **options), flags)

        def undo():
            disk = ram_added(add.data.raw)[1]
            same(bytes(4096), direct(f"/dev/{disk}"), disk)
            same("new", get(f"/sys/block/{disk}/tally/name").strip(), disk)
            control.must("RAM_REMOVE", ref("new"))

        if "null" in what:
            def undo_null():
                control.must("RAM_REMOVE", ref("new"))
        exhaust(f"ram add, {what}", add, injector=injector, control=control,
                undo=undo_null if "null" in what else undo, end=0 if whole else errno.EEXIST,
                kind="add disk")
    taken.remove()


def ram_set_group(injector):
    """The first cap of an inline disk: its I/O needs more than its caller's stack from there on"""
    control = Control()
    made = []

    def prepare():
        if not made:
            made.append(Ram(control, "capped", backing="null"))

    def check(_):
        same("0", get(f"/sys/block/{made[0].disk}/ram/iops").strip())
        same(bytes(4096), direct(made[0].node), "read without a cap")

    def undo():
        disk = made.pop()
        same("100000", get(f"/sys/block/{disk.disk}/ram/iops").strip())
        same(bytes(4096), direct(disk.node), "read with a cap")
        disk.remove()
        prepare()

    cap = Command(control, "RAM_SET", ref("capped") + text("iops", 32) + text("100000", 64))
    exhaust("ram set, a cap", cap, injector=injector, control=control, prepare=prepare, check=check,
            undo=undo)
    made.pop().remove()


def ram_remove_group(injector):
    control = Control()
    for what, options in (("null", dict(backing="null")),
                          ("sparse with data", dict(store="sparse", completion="timer"))):
        made = []

        def prepare():
            if not made:
                made.append(Ram(control, "victim", **options))
                if "data" in what:
                    direct(made[0].node, marked(1))

        def check(_):
            if "data" in what:
                same(marked(1), direct(made[0].node, length=512))

        remove = Command(control, "RAM_REMOVE", ref("victim"))

        def gone():
            disk = made.pop()
            assert not os.path.exists(disk.node), f"{disk.node} is still there"
            prepare()

        exhaust(f"ram remove, {what}", remove, injector=injector, control=control,
                prepare=prepare, check=check, undo=gone)
        made.pop().remove()
    sparse_writes(injector, control)


def sparse_writes(injector, control):
    """A write that finds no memory fails; what is there is old or new, page by page"""
    size, page = 64 << 20, mmap.PAGESIZE
    for completion in ("inline", "softirq"):
        disk = Ram(control, "sparse", store="sparse", completion=completion,
                   sectors=size >> 9)
        write_to(injector, control, f"direct write, sparse {completion}", disk.node, (
            0, 64 * page, size - 2 * page, 4095 * page))
        disk.remove()
    disk = Ram(control, "sparse", store="sparse", sectors=size >> 9)
    control.must("MAP_CREATE", text("split", 128))
    keep = ctypes.create_string_buffer(
        f"0 8 linear {disk.dev} 0\n8 8 linear {disk.dev} 65536\n".encode())
    control.must("MAP_LOAD", ref("split") + struct.pack("<QII", ctypes.addressof(keep),
                                                        len(keep.value), 0))
    control.must("MAP_RESUME", ref("split"))
    node = "/dev/" + names("/sys/block", "tmap")[0]
    write_to(injector, control, "direct write, map of two segments", node, (0,), disk.node,
             (0, 32 << 20))
    control.must("MAP_REMOVE", ref("split"))
    disk.remove()


def write_to(injector, control, what, node, offsets, lower=None, places=None):
    page = mmap.PAGESIZE
    buffer = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    fd = os.open(node, os.O_RDWR | os.O_DIRECT)
    raw = os.open(lower or node, os.O_RDWR)
    for offset in offsets:
        new = marked(offset >> 9) * 16
        buffer[:] = new
        write = Syscall(libc.pwrite, fd, address, 2 * page, offset)

        def fresh():
            for place in places or (offset,):
                libc.ioctl(raw, 0x1277, struct.pack("<QQ", place, page if places else 2 * page))
            same(bytes(2 * page), direct(node, offset=offset, length=2 * page), "discarded")

        def check(here):
            for at in (0, page):
                got = direct(node, offset=offset + at)
                assert got in (bytes(page), new[at:at + page]), f"{here}: neither old nor new"
            direct(node, new, offset)
            written()

        def written():
            same(2 * page, write.result if write.result >= 0 else 2 * page, what)
            same(new, direct(node, offset=offset, length=2 * page), "what was written")

        exhaust(f"{what} at {offset >> 10} KiB", write, injector=injector, control=control,
                prepare=fresh, check=check, undo=written, kind="direct write")
    os.close(raw)
    os.close(fd)


def map_life_group(injector):
    control = Control()
    m = Map(control)

    def op(what, name, prepare, undo):
        state = []

        def ready():
            prepare()
            state[:] = [m.state()]

        exhaust(what, Command(control, "MAP_" + name, ref(m.name)), injector=injector,
                control=control, prepare=ready, undo=undo,
                check=lambda here: same(state[0], m.state(), here))

    # As a RAM disk: first with a name that is taken, then through add_disk().
    create = Command(control, "MAP_CREATE", m.creation("linux-4.20"))
    taken = Ram(control, m.name, backing="null")
    n = exhaust("map create, name taken", create, injector=injector, control=control,
                kind="add disk", end=errno.EEXIST)
    taken.remove()
    exhaust("map create", create, injector=injector, control=control, kind="add disk",
            first=n, step=7, undo=lambda: m.op("REMOVE"))

    m.live()
    op("map suspend", "SUSPEND", lambda: m.op("RESUME"), lambda: m.op("RESUME"))
    op("map resume, no new table", "RESUME", lambda: m.op("SUSPEND"), lambda: m.op("SUSPEND"))
    op("map clear", "CLEAR", lambda: m.load(m.several), lambda: m.load(m.several))
    tables = [m.several, m.one]

    def replaced():
        same(tables[0], m.table(), "the live table")
        same(marked(1024 if tables[0] == m.several else 0), direct(m.node, length=512))
        tables.reverse()
        m.load(tables[0])

    op("map resume, replacing", "RESUME", lambda: m.load(tables[0]), replaced)
    m.op("REMOVE")

    def first():
        if "fmap" in control.disks():
            m.op("REMOVE")
        m.create()
        m.load(m.several)

    op("map resume, first", "RESUME", first, first)
    m.op("REMOVE")

    def living():
        if "fmap" not in control.disks():
            m.live()

    op("map remove", "REMOVE", living, living)
    m.op("REMOVE")
    m.close()


def table_load_group(injector):
    control = Control()
    m = Map(control)
    m.live()
    other = Ram(control, "other", sectors=1024)
    mixed = m.several + f"1024 1024 linear {other.dev} 0\n"
    for what, table, flags, inactive in (
            ("1 segment", m.one, 0, None), ("3 segments", m.several, 0, None),
            ("4 segments of 2 disks, in place of one", mixed, 0, m.one),
            ("400 segments, readonly",
             "".join(f"{8 * i} 8 linear {m.lower.dev} {8 * (i % 7)}\n" for i in range(400)), 1,
             None)):
        def prepare():
            m.op("CLEAR")
            if inactive:
                m.load(inactive)

        prepare()
        state = m.state()

        def loaded():
            if len(table) < 1000:
                same(table, m.table(1), "the inactive table")
            prepare()

        exhaust(f"map load, {what}", Command(control, "MAP_LOAD", m.loading(table), flags),
                injector=injector, control=control, prepare=prepare, undo=loaded,
                check=lambda here: same(state, m.state(), here))
    m.op("REMOVE")
    other.remove()
    m.close()


PROFILES = ("linux-4.20", "percpu-v1", "linux-5.0", "linux-5.18", "linux-6.10", "native")
AXES = {
    "inflight": ("off", "split", "percpu", "pernode", "native"),
    "pending": ("shared", "percpu"),
    "ticks": ("round", "sampled", "elapsed", "checked", "exact"),
    "clock": ("jiffies", "ns"),
}


def switches_group(injector):
    control = Control()
    m = Map(control)
    m.live()
    sysfs = "/sys/block/" + os.path.basename(m.node) + "/tally/"
    base = {"inflight": "shared", "pending": "off", "ticks": "off", "clock": "off"}
    held = {}

    def modes():
        return {axis: get(f"{sysfs}mode_{axis}").strip() for axis in AXES}

    def stat():
        direct(m.node)
        return [int(field) for field in get(sysfs + "stat").split()]

    def ready():
        if modes() != base:
            control.must("SET", set_modes(m.name, **base))
        held["stat"] = stat()

    def unchanged(here):
        same(base, modes(), here)
        forwards(here)

    def forwards(here):
        now = stat()
        back = [i for i in range(17) if i != 8 and now[i] < held["stat"][i]]
        assert not back, f"{here}: fields {back} of {held['stat']} went back: {now}"
        assert now[0] > held["stat"][0] or modes()["inflight"] == "off", f"{here}: not counted"

    def each(what, call, wanted):
        def switched():
            for file, word in wanted.items():
                same(word, get(sysfs + file).strip(), what)
            forwards(what)

        exhaust(f"switch to {what}", call, injector=injector, control=control, prepare=ready,
                check=unchanged, undo=switched)

    for profile in PROFILES:
        each(f"{profile}, ioctl", Command(control, "SET", set_modes(m.name, profile=profile)),
             {"profile": profile})
        each(f"{profile}, sysfs", Store(sysfs + "profile", profile), {"profile": profile})
    for axis, words in AXES.items():
        for word in words:
            wanted = {f"mode_{axis}": word}
            each(f"{axis}={word}, ioctl",
                 Command(control, "SET", set_modes(m.name, **{axis: word})), wanted)
            each(f"{axis}={word}, sysfs", Store(f"{sysfs}mode_{axis}", word), wanted)
    base["inflight"] = "pernode"
    each("inflight=split from pernode, sysfs", Store(sysfs + "mode_inflight", "split"),
         {"mode_inflight": "split"})

    def unshadowed():
        put(sysfs + "shadow", 0)
        ready()

    exhaust("the shadow beside pernode, sysfs", Store(sysfs + "shadow", "1"), injector=injector,
            control=control, prepare=unshadowed, check=unchanged,
            undo=lambda: same("1 0 0 0", get(sysfs + "shadow").strip(), "the shadow"))
    m.op("REMOVE")
    ram = Ram(control, "victim", backing="null", completion="softirq")
    ram_sysfs = f"/sys/block/{ram.disk}/tally/"

    def to(word):
        put(ram_sysfs + "mode_inflight", word)

    exhaust("switch of a RAM disk to pernode, sysfs",
            Store(ram_sysfs + "mode_inflight", "pernode"), injector=injector, control=control,
            check=lambda here: same("off", get(ram_sysfs + "mode_inflight").strip(), here),
            undo=lambda: to("off"))
    ram.remove()
    m.close()


def generator_group(injector):
    control = Control()
    m = Map(control)
    m.live()
    fd = os.open(m.node, os.O_RDWR)
    results = ctypes.create_string_buffer(40 * 4)
    for what, threads, depth, block, flags in (("1 thread, depth 1", 1, 1, 512, 0),
                                               ("2 threads, depth 4, 16 KiB", 2, 4, 16384, 2)):
        body = struct.pack("<iIIIQQQQQQQ", fd, threads, depth, block, 8, 0, 0, 0, 1, 0,
                           ctypes.addressof(results))
        run = Command(control, "GEN_RUN", body, flags)

        def done():
            ios, _, errors = struct.unpack_from("<QQQ", run.data.raw, HEAD + 72)
            same((8 * threads, 0), (ios, errors), "I/Os and errors")

        exhaust(f"generator run, {what}", run, injector=injector, control=control, undo=done,
                check=lambda here: same(marked(0), direct(m.node, length=512), here))
    os.close(fd)
    m.op("REMOVE")
    m.close()


def partition_table():
    """An MBR with one partition of 8 sectors from sector 8 on"""
    entry = struct.pack("<B3sB3sII", 0, b"\0\2\0", 0x83, b"\0\2\0", 8, 8)
    return entry.rjust(446 + 16, b"\0").ljust(510, b"\0") + b"\x55\xaa"


def control_and_listings_group(injector):
    control = Control()
    m = Map(control)
    m.live(m.several)
    m.load(m.one)
    state = m.state()
    room = ctypes.create_string_buffer(1 << 15)
    records = struct.pack("<IIQII", 0, 600, ctypes.addressof(room), len(room), 0)
    answer = struct.pack("<QII", ctypes.addressof(room), len(room), 0)

    def usable(here):
        same(state, m.state(), here)

    for what, call in (
            ("open the control node", Open(CONTROL, os.O_RDWR)),
            ("INFO", Command(control, "INFO")),
            ("LIST", Command(control, "LIST", records)),
            ("DISK_GET", Command(control, "DISK_GET", ref(m.name))),
            ("PROFILES", Command(control, "PROFILES", records)),
            ("MODES", Command(control, "MODES", records)),
            ("MAP_TARGETS", Command(control, "MAP_TARGETS", records)),
            ("MAP_TABLE", Command(control, "MAP_TABLE", ref(m.name) + answer)),
            ("MAP_TABLE, inactive", Command(control, "MAP_TABLE", ref(m.name) + answer, 1)),
            ("MAP_TABLE, status", Command(control, "MAP_TABLE", ref(m.name) + answer, 2)),
            ("MAP_DEPS", Command(control, "MAP_DEPS", ref(m.name) + answer)),
            ("MAP_DEPS, inactive", Command(control, "MAP_DEPS", ref(m.name) + answer, 1)),
            ("open a map", Open(m.node, os.O_RDWR | os.O_DIRECT)),
            ("open a RAM disk, shared", Open(m.lower.node, os.O_RDONLY | os.O_DIRECT))):
        exhaust(what, call, injector=injector, control=control, check=usable)
    m.op("REMOVE")
    m.close()

    disk = Ram(control, "parts", sectors=2048)
    direct(disk.node, partition_table())
    direct(disk.node, marked(8), 4096)
    fd = os.open(disk.node, os.O_RDONLY)
    scan = Syscall(libc.ioctl, fd, BLKRRPART, None)

    def scanned(here="partition scan"):
        must(scan)
        same(marked(8), direct(f"{disk.node}p1", length=512), here)

    scanned()
    exhaust("partition scan", scan, injector=injector, control=control, kind="partition scan",
            whole=False, check=scanned, undo=scanned)
    os.close(fd)
    direct(disk.node, bytes(512))
    disk.remove()


def path_of(module):
    return f"{KMOD}/{module}.ko"


def module_load_group(injector):
    def unload(name):
        return lambda: must(Unload(name))

    def load(name, parameters=""):
        return lambda: must(Load(path_of(name), parameters))

    for name in reversed(MODULES[1:]):
        unload(name)()
    # The loader's own allocations are the core's alone (and its jump labels warn
    # when there is no memory for them); the others' init functions have none.
    with injector.below_modules():
        for parameters in ("nr_devices=1 backing=null", "nr_devices=1 backing=null queue=mq"):
            exhaust(f"load tally_ram {parameters}", Load(path_of("tally_ram"), parameters),
                    injector=Workers(), undo=unload("tally_ram"), kind="add disk", step=5)
        unload("tally_core")()
        exhaust("load tally_core", Load(path_of("tally_core")), injector=injector,
                undo=unload("tally_core"))
        load("tally_core")()
    for name, parameters in (("tally_gen", ""), ("tally_map", ""),
                             ("tally_ram", "nr_devices=2 backing=null"),
                             ("tally_ram", "nr_devices=2 backing=null queue=mq")):
        exhaust(f"unload {name} {parameters}".strip(), Unload(name), injector=injector,
                prepare=lambda: os.path.exists(f"/sys/module/{name}") or load(name, parameters)(),
                undo=load(name, parameters))
        unload(name)()
    exhaust("unload tally_core", Unload("tally_core"), injector=injector, undo=load("tally_core"))


# What the core says of an allocation that failed below it, so that scripts/klog-scan
# must let it pass. Each is said of stock disks as well: peers sees to that.
EXCUSED = {
    "a directory of sysfs": r"kobject_add_internal failed for \S+ \(error: -12 ",
}


class Dm(Syscall):
    """A command of device-mapper on a device "peer", or a load of its table"""

    NUMBERS = {"CREATE": 3, "REMOVE": 4, "RESUME": 6, "LOAD": 9}

    def __init__(self, fd, name, sectors=0, target=b"", arguments=b""):
        spec = b""
        if target:
            spec = struct.pack("<QQiI16s", 0, sectors, 0, 0, target) + arguments.ljust(64, b"\0")
        size = 312 + len(spec)
        self.image = struct.pack("<IIIIIIiIIIQ128s129s7s", 4, 0, 0, size, 312, bool(target), 0, 0,
                                 0, 0, 0, b"peer", b"", b"") + spec
        self.data = ctypes.create_string_buffer(self.image, size)
        super().__init__(libc.ioctl, fd, request(self.NUMBERS[name], 312, kind=0xFD),
                         ctypes.addressof(self.data))

    def reset(self):
        ctypes.memmove(self.data, self.image, len(self.image))


def peers_group(injector):
    """Stock brd and device-mapper under the same faults: what is the core's, is theirs too"""
    Kmemleak().check(last=True)
    mark = "faults: peers begin"
    put("/dev/kmsg", f"<6>{mark}")
    load = Load(f"{PEERS}/block/brd.ko", "rd_nr=1 rd_size=64")
    with injector.below_modules():
        exhaust("peer: load brd", load, injector=injector, kind="register major",
                step=5, undo=lambda: must(Unload("brd")))
    must(load)
    exhaust("peer: unload brd", Unload("brd"), injector=injector, undo=lambda: must(load))
    must(Load(f"{PEERS}/md/dm-mod.ko"))
    fd = os.open("/dev/mapper/control", os.O_RDWR)
    create, remove, resume = (Dm(fd, name) for name in ("CREATE", "REMOVE", "RESUME"))
    table = Dm(fd, "LOAD", 8, b"linear", b"1:0 0")
    exhaust("peer: dm create", create, injector=injector, kind="dm create",
            undo=lambda: must(remove))
    must(create)

    def anew():
        must(remove)
        must(create)

    exhaust("peer: dm load", table, injector=injector, kind="add disk", undo=anew)
    assert outcomes["peer: dm load"]["EINVAL"], "add_disk() tells dm what it was: so it must us"
    must(table)
    must(resume)
    must(remove)
    os.close(fd)
    must(Unload("dm_mod"))
    must(Unload("brd"))
    log = subprocess.run(["dmesg"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for what, pattern in EXCUSED.items():
        count = len(re.findall(pattern, log.rpartition(mark)[2]))
        assert count, f"{what}: no peer says so: no excuse any more"
        say(f"peers: {what}: {count} times in the log")


GROUPS = {name[:-len("_group")]: function for name, function in list(globals().items())
          if name.endswith("_group")}


def main():
    gc.disable()
    injector = Injector()
    leaks = Kmemleak()
    for name in sys.argv[1:]:
        GROUPS[name](injector)
        begun = time.monotonic()
        leaks.check(last=name == "peers")
        say(f"{name}: no leak ({time.monotonic() - begun:.1f} s)")
    if wrong:
        sys.exit("\n".join(wrong))


main()
