#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts what each accounting mode compiles to, against tests/perf/bodies.txt.

bodies/bodies.c has a function for the begin and the end of each mode. It is built as kernel code,
disassembled, and for each function counted:

  path   instructions on the shortest way through: the disk itself, no new jiffy
  all    instructions of the whole body
  locks  locked operations (lock prefix, or xchg with memory) on that way, so at every I/O
  jiffy  locked operations off that way: the cmpxchg of a busy-time model and of the stamp for
         the kernel's readers, once a jiffy
  calls  functions called on that way

Locks must be those of the table, instructions at most its numbers. Instructions and calls are
compared only for the kernel series and the compiler of the table. Rules that no update of the table
can bend are in check_rules().

Prints "ok NAME SECONDS", "not ok NAME SECONDS REASON" or "skip NAME REASON".
"""

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BODIES = os.path.join(ROOT, "tests/perf/bodies")
TABLE = os.path.join(ROOT, "tests/perf/bodies.txt")
COLUMNS = ("path", "all", "locks", "jiffy")


# ------------------------------------------------------------------ building


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
        raise RuntimeError(f"{' '.join(command[:2])} failed: status {done.returncode}")
    return done.stdout


def build(kdir):
    """(object file, kernel release), built where the Makefile builds modules."""
    with open(os.path.join(kdir, "include/generated/utsrelease.h"), encoding="ascii") as header:
        release = re.search(r'UTS_RELEASE "(.*)"', header.read()).group(1)
    out = os.path.join(ROOT, "build/kmod", release)
    work = os.path.join(out, "bodies")
    os.makedirs(work, exist_ok=True)
    run("cp", "-rsf", os.path.join(ROOT, "kmod"), out)
    run(os.path.join(ROOT, "scripts/probe"), kdir, os.path.join(ROOT, "kmod/compat/probe"), out)
    run("cp", "-rsf", BODIES + "/.", work)
    kmod = os.path.join(work, "kmod")
    if not os.path.lexists(kmod):
        os.symlink("../kmod", kmod)
    run("make", "-C", kdir, f"M={work}", "bodies.o")
    return os.path.join(work, "bodies.o"), release


# --------------------------------------------------------------- disassembly


@dataclass
class Instruction:
    address: int
    mnemonic: str
    operands: str
    symbol: str = ""  # what a relocation puts in

    def is_padding(self):
        return self.text() == "xchg %ax,%ax" or "nop" in self.text() or self.mnemonic == "int3"

    def text(self):
        return f"{self.mnemonic} {self.operands}".strip()

    def is_locked(self):
        if self.mnemonic == "lock":
            return True
        memory = "(" in self.operands or "%gs:" in self.operands
        return self.mnemonic.startswith("xchg") and memory

    def target(self):
        found = re.match(r"([0-9a-f]+)\b", self.operands)
        return int(found.group(1), 16) if found else None


@dataclass
class Count:
    path: int = 0
    all: int = 0
    locks: int = 0
    jiffy: int = 0
    calls: list = field(default_factory=list)
    jiffy_text: list = field(default_factory=list)  # the locked operations off the path


def disassemble(path):
    """{function: [Instruction]}, without the padding between functions."""
    functions, current = {}, None
    for line in run("objdump", "-dr", "--no-show-raw-insn", path).splitlines():
        if found := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            current = functions.setdefault(found.group(1), [])
        elif found := re.match(r"\s+[0-9a-f]+: R_\S+\s+([^\s+-]+)", line):
            current[-1].symbol = found.group(1)
        elif found := re.match(r"\s+([0-9a-f]+):\s+(\S+)\s*(.*?)\s*(#.*)?$", line):
            current.append(Instruction(int(found.group(1), 16), found.group(2), found.group(3)))
    for code in functions.values():
        while code and code[-1].is_padding():
            code.pop()
    return functions


class Counter:
    def __init__(self, functions):
        self.functions = functions
        self.starts = {code[0].address: name for name, code in functions.items() if code}
        self.counts = {}

    def callee(self, instruction):
        return instruction.symbol or self.starts.get(instruction.target())

    def successors(self, code, index, places):
        """Indices that may run next; None stands for the return."""
        here = code[index]
        following = index + 1 if index + 1 < len(code) else None
        if here.mnemonic.startswith("ret"):
            return [None]
        if not here.mnemonic.startswith("j"):
            return [following]
        target = None if here.symbol else places.get(here.target())
        if here.mnemonic == "jmp":
            return [target]  # out of the function is a return: a thunk or a tail call
        return [following] + ([] if target is None else [target])  # else into a cold part

    def shortest(self, code):
        """Indices of the instructions on the shortest way from the entry to a return."""
        places = {instruction.address: index for index, instruction in enumerate(code)}
        before, level = {0: None}, [0]
        while level:
            following = []
            for index in level:
                for to in self.successors(code, index, places):
                    if to is None:
                        way = [index]
                        while before[way[-1]] is not None:
                            way.append(before[way[-1]])
                        return set(way)
                    if to not in before:
                        before[to] = index
                        following.append(to)
            level = following
        raise RuntimeError("a function that does not return")

    def count(self, name):
        if name in self.counts:
            return self.counts[name]
        code, total = self.functions[name], Count()
        path = self.shortest(code)
        parts = [(index in path, instruction) for index, instruction in enumerate(code)]
        parts += [(False, instruction) for instruction in self.functions.get(name + ".cold", [])]
        seen = set()
        for on_path, instruction in parts:
            total.all += 1
            total.path += on_path
            if instruction.is_locked():
                total.locks += on_path
                if not on_path:
                    total.jiffy += 1
                    total.jiffy_text.append(instruction.text())
            callee = self.callee(instruction)
            out = instruction.mnemonic in ("call", "jmp") and callee
            if not out or callee in ("__fentry__", "__x86_return_thunk", name, name + ".cold"):
                continue
            if callee in self.functions:
                self.add_callee(total, self.count(callee), on_path, callee in seen)
                seen.add(callee)
            elif on_path:
                total.calls.append(callee)
        self.counts[name] = total
        return total

    @staticmethod
    def add_callee(total, callee, on_path, seen):
        """What the compiler moved out of the body is part of it."""
        total.all += 0 if seen else callee.all
        total.jiffy += callee.jiffy
        total.jiffy_text += callee.jiffy_text
        if on_path:
            total.path += callee.path
            total.locks += callee.locks
            total.calls += callee.calls
        else:
            total.jiffy += callee.locks
            total.jiffy_text += ["(in a callee)"] * callee.locks


# --------------------------------------------------------------------- table


def compiler_of(path):
    text = run("readelf", "-p", ".comment", path)
    found = re.search(r"GCC: \(.*\) (\d+)", text)
    if found:
        return "gcc " + found.group(1)
    found = re.search(r"clang version (\d+)", text)
    return "clang " + found.group(1) if found else "unknown compiler"


def calls_text(count):
    return ",".join(count.calls) or "-"


def format_table(made_by, counts):
    lines = [
        "# SPDX-License-Identifier: GPL-2.0-or-later",
        "# Written by tests/perf/bodies.py --update, which says what the columns are.",
        f"# {made_by}",
        f"{'# body':<30} {'path':>5} {'all':>5} {'locks':>5} {'jiffy':>5}  calls",
    ]
    for name, count in counts.items():
        numbers = " ".join(f"{getattr(count, column):>5}" for column in COLUMNS)
        lines.append(f"{name:<30} {numbers}  {calls_text(count)}")
    return "\n".join(lines) + "\n"


def read_table():
    made_by, rows = "", {}
    with open(TABLE, encoding="ascii") as table:
        for line in table:
            if found := re.match(r"# (kernel .*)", line):
                made_by = found.group(1)
            if not line.startswith("#"):
                name, *numbers, calls = line.split()
                rows[name] = Count(
                    *map(int, numbers), calls=[] if calls == "-" else calls.split(",")
                )
    return made_by, rows


def compare(name, count, row, with_instructions):
    """What is wrong with a function, or nothing."""
    if row is None:
        return [f"{name} is not in the table"]
    wrong = []
    for column in COLUMNS:
        now, then = getattr(count, column), getattr(row, column)
        if column in ("locks", "jiffy"):
            if now != then:
                wrong.append(f"{name}: {column} {now}, not {then}")
        elif with_instructions and now > then:
            wrong.append(f"{name}: {column} {now}, more than {then}")
    if with_instructions and count.calls != row.calls:
        wrong.append(f"{name}: calls {calls_text(count)}, not {calls_text(row)}")
    return wrong


# --------------------------------------------------------------------- rules


def bodies_of(counts):
    """Names without the side, in order."""
    return list(dict.fromkeys(name.split("_", 1)[1] for name in counts))


def check_rules(counts):
    """[(rule, what is wrong)], whatever the table says."""

    def locks(name):
        sides = (counts["begin_" + name], counts["end_" + name])
        return [(side.locks, side.jiffy) for side in sides]

    def each(names, expected):
        found = {name: locks(name) for name in names}
        return [f"{name}: {is_}, not {expected}" for name, is_ in found.items() if is_ != expected]

    def on_path(name, expected):
        found = [count for count, _ in locks(name)]
        return [] if found == expected else [f"{name}: {found} on the path, not {expected}"]

    def off_path(names):
        """Off the path nothing is locked but a cmpxchg."""
        return [
            f"{side}{name}: {text}"
            for name in names
            for side in ("begin_", "end_")
            for text in counts[side + name].jiffy_text
            if not text.startswith("lock cmpxchg")
        ]

    def on_path(name, expected):
        found = [count for count, _ in locks(name)]
        return [] if found == expected else [f"{name}: {found} on the path, not {expected}"]

    def off_path(names):
        """Off the path nothing is locked but a cmpxchg."""
        return [
            f"{side}{name}: {text}"
            for name in names
            for side in ("begin_", "end_")
            for text in counts[side + name].jiffy_text
            if not text.startswith("lock cmpxchg")
        ]

    none = [(0, 0), (0, 0)]
    one = [(1, 0), (1, 0)]
    per_cpu = ["inflight_off", "inflight_percpu", "pending_percpu", "clock_jiffies", "clock_ns"]
    shared = ["inflight_shared", "inflight_split", "inflight_pernode", "pending_shared"]
    alone = ["ticks_sampled", "ticks_elapsed"]
    winners = alone + ["ticks_checked", "profile_linux_5_0", "profile_linux_5_18"]
    winners += ["profile_linux_6_10"]

    return [
        ("per-cpu-has-no-locks", each(per_cpu, none)),
        ("shared-has-one-lock-a-side", each(shared, one)),
        ("linux-4.20-has-four-locks", each(["profile_linux_4_20"], [(2, 0), (2, 0)])),
        ("models-have-one-cmpxchg-a-side", each(alone, [(0, 1), (0, 1)])),
        ("cmpxchg-only-once-a-jiffy", off_path(bodies_of(counts)) + [
            f"{name}: {locks(name)}"
            for name in winners
            for at_each_io, once_a_jiffy in locks(name)
            if at_each_io or not once_a_jiffy
        ]),
        ("round-has-no-locks", on_path("ticks_round", [0, 0])),
        ("percpu-v1-keeps-pending-locks", on_path("profile_percpu_v1", [1, 1])),
        ("exact-has-one-spinlock-a-side", [
            f"{side}ticks_exact calls {calls}"
            for side in ("begin_", "end_")
            if (calls := counts[side + "ticks_exact"].calls).count("_raw_spin_lock_irqsave") != 1
        ]),
    ]


def check_complete():
    """Every mode of acct.h has a body, every profile of modes.c is as it is there."""
    texts = {}
    for name in ("kmod/acct/acct.h", "kmod/acct/modes.c", "tests/perf/bodies/bodies.c"):
        with open(os.path.join(ROOT, name), encoding="ascii") as source:
            texts[os.path.basename(name)] = source.read()
    rows = re.findall(r"^BODY\((\w+),([^)]*)\)", texts["bodies.c"], re.M)
    bodies = {name: re.findall(r"\w+", modes) for name, modes in rows}

    wrong = []
    for axis in ("inflight", "pending", "ticks", "clock"):
        modes = set(re.findall(rf"\b{axis.upper()}_([A-Z]+)\b", texts["acct.h"])) - {"MODES", "OFF"}
        wrong += [f"{axis}={mode.lower()} has no body" for mode in sorted(modes)
                  if f"{axis}_{mode.lower()}" not in bodies]
    profiles = re.findall(r'\{ "([\w.-]+)",\s*MODES\(([^)]*)\)', texts["modes.c"])
    for name, modes in profiles:
        body = "profile_" + re.sub(r"\W", "_", name)
        if name != "none" and bodies.get(body) != re.findall(r"\w+", modes):
            wrong.append(f"profile {name} and body {body} differ")
    return wrong if profiles else ["no profiles found in modes.c"]


# ---------------------------------------------------------------------- main


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kdir", help="kernel build directory (default: what scripts/kdir says)")
    parser.add_argument("--update", action="store_true", help="write the table anew")
    arguments = parser.parse_args()

    failed = False
    since = time.monotonic()

    def report(name, wrong):
        nonlocal failed, since
        now = time.monotonic()
        failed = failed or bool(wrong)
        word, reason = ("not ok", " " + "; ".join(wrong)) if wrong else ("ok", "")
        print(f"{word} {name} {now - since:.2f}{reason}", flush=True)
        since = now

    try:
        kdir = arguments.kdir or run(os.path.join(ROOT, "scripts/kdir")).strip()
        path, release = build(kdir)
        if "elf64-x86-64" not in run("objdump", "-f", path):
            print("skip build only x86-64 has a table")
            return 0
        counter = Counter(disassemble(path))
        names = [name for name in counter.functions if name.startswith(("begin_", "end_"))]
        counts = {name: counter.count(name) for name in names if not name.endswith(".cold")}
    except (RuntimeError, OSError) as error:
        report("build", [str(error)])
        return 1
    report("build", [])

    made_by = f"kernel {'.'.join(release.split('.')[:2])}, {compiler_of(path)}"
    if arguments.update:
        with open(TABLE, "w", encoding="ascii") as table:
            table.write(format_table(made_by, counts))

    table_made_by, rows = read_table()
    if table_made_by != made_by:
        print(f"skip instructions the table is of {table_made_by}, this is {made_by}")
    for body in bodies_of(counts):
        report(body, [
            wrong
            for name in ("begin_" + body, "end_" + body)
            for wrong in compare(name, counts[name], rows.get(name), table_made_by == made_by)
        ])
    report("table", [f"{name} is in the table only" for name in rows if name not in counts])
    report("complete", check_complete())
    for rule, wrong in check_rules(counts):
        report(rule, wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
