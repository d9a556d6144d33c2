#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Do the tests of the counting core and of the drain object when these are wrong?

    tests/unit/mutants.py [--texts | NAME...]

Each mutant is the source with one mistake of a kind that kernels have made. It
is compiled in a copy as build/user-release compiles test-acct or, where only
ThreadSanitizer can object, as build/user-tsan compiles test-acct or test-drain,
and must fail. Prints "ok NAME SECONDS" or "not ok NAME SECONDS REASON", and
what the first failing test was. The unchanged sources run first, and must pass.
--texts only looks whether each mutant's text is still there, once.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# name: (file below kmod/acct, text, what it becomes), for test-acct
WRONG = {
    "dropped-decrement": (
        "inflight.h", "		tally_cell_add(bdev_whole(bdev), dir, -1);", "		(void)0;"),
    "decrement-of-the-other-direction": (
        "inflight.h", "atomic_dec(&a->shared.inflight.n[io->dir])",
        "atomic_dec(&a->shared.inflight.n[!io->dir])"),
    "clamp-before-sum": (
        "inflight.h", "		sum += (int)part_stat_local_read_cpu(bdev, in_flight[dir], cpu);",
        "	{\n		int n = (int)part_stat_local_read_cpu(bdev, in_flight[dir], cpu);\n\n"
        "		sum += n > 0 ? n : 0;\n	}"),
    "sum-of-the-last-cpu-missing": (
        "inflight.h", "	for_each_possible_cpu(cpu)\n		sum += (int)",
        "	for (cpu = 0; cpu < 3; cpu++)\n		sum += (int)"),
    "no-clamp": ("inflight.h", "inflight[dir] = n > 0 ? n : 0;", "inflight[dir] = n;"),
    "mode-of-the-disk-at-the-end": (
        "acct.h", "	const union tally_modes m = io->modes;",
        "	const union tally_modes m = { .all = READ_ONCE(a->modes.all) };"),
    "node-of-the-end": (
        "inflight.h", "atomic_dec(&a->nodes[io->node].pair.n[io->dir])",
        "atomic_dec(&a->nodes[numa_node_id()].pair.n[io->dir])"),
    "modes-latched-too-late": (
        "acct.h", "	io->modes = m;\n	if (!m.all)\n		return;",
        "	if (!m.all)\n		return;\n	io->modes = m;"),
    "partition-not-on-the-whole-disk": (
        "inflight.h", "		tally_cell_add(bdev_whole(bdev), dir, 1);", "		(void)0;"),
    "stamp-not-kept": ("inflight.h", "	tally_stamp(bdev, m, now);\n	tally_cell_add",
                       "	tally_cell_add"),
    "whole-stamp-not-kept": ("inflight.h", "		tally_stamp(bdev_whole(bdev), m, now);\n", ""),
    "start-hides-elapsed": (
        "ticks.h", "m.ticks == TICKS_SAMPLED || (m.ticks == TICKS_ELAPSED && !end)",
        "m.ticks == TICKS_SAMPLED"),
    "idle-time-counts": ("ticks.h", "	else if (end || tally_inflight_total(a, m))\n", "	else\n"),
    "every-cpu-wins": (
        "ticks.h", "	if (cmpxchg(&a->shared.stamp, stamp, now) != stamp)\n		return 0;\n",
        "	WRITE_ONCE(a->shared.stamp, now);\n"),
    "rounding-without-the-stamp": ("ticks.h", "	WRITE_ONCE(a->shared.stamp, now);\n}", "}"),
    "exact-forgets-readers": ("ticks.h", "			had = stamp - settled;", "			had = 0;"),
    "exact-begins-late": ("ticks.h", "	if (x->count++ == 0) {", "	if (x->count++ <= 1) {"),
    "discards-are-reads": ("acct.h", "const int group = op_stat_group(op);",
                           "const int group = io->dir;"),
    "flushes-are-writes": ("acct.h", "	io->dir = op_is_write(op);",
                           "	io->dir = op != REQ_OP_READ;"),
    "shadow-of-the-other-direction": (
        "shadow.h", "atomic_dec(&a->shadow.pair.n[op_is_write(op)])",
        "atomic_dec(&a->shadow.pair.n[!op_is_write(op)])"),
    "shadow-bit-left-in-at-the-begin": (
        "acct.h", "	tally_shadow_begin(a, op);\n	m = tally_modes_axes(m);\n",
        "	tally_shadow_begin(a, op);\n"),
    "shadow-bit-left-in-at-the-end": (
        "acct.h", "(__force enum req_op)io->op);\n	m = tally_modes_axes(m);\n",
        "(__force enum req_op)io->op);\n"),
    "shadow-blind-to-partitions": ("shadow.h", " &&\n	       tally_parts_idle(a->whole);", ";"),
    "shadow-blind-to-pending": (
        "shadow.h", "return !cells && !atomic_read(&a->pending.n[0])",
        "return !atomic_read(&a->pending.n[0])"),
    "shadow-looks-at-itself": (
        "shadow.h", " &&\n			 !tally_inflight_one(a, m, dir);", ";"),
    "native-blind-to-partitions": (
        "inflight.h", "	if (TALLY_NATIVE_ON_WHOLE)\n", "	if (!TALLY_NATIVE_ON_WHOLE)\n"),
    "pending-leaks": ("pending.h", "		this_cpu_dec(*a->pending_cells);", "		(void)0;"),
}

# The same under ThreadSanitizer: the sums come out right on most machines.
RACY = {
    "busy-time-read-unmarked": (
        "ticks.h", "jiffs += READ_ONCE(per_cpu_ptr(a->busy, cpu)->ticks);",
        "jiffs += per_cpu_ptr(a->busy, cpu)->ticks;"),
    "stamp-stored-unmarked": (
        "ticks.h", "	WRITE_ONCE(a->shared.stamp, now);\n}", "	a->shared.stamp = now;\n}"),
    "stamp-read-unmarked": (
        "ticks.h", "READ_ONCE(a->shared.stamp);\n\n	if (m.ticks",
        "a->shared.stamp;\n\n	if (m.ticks"),
    "counts-in-the-cells-of-another-cpu": (
        "pending.h", "		this_cpu_inc(*a->pending_cells);",
        "		WRITE_ONCE(*per_cpu_ptr(a->pending_cells, 0), *per_cpu_ptr(a->pending_cells, 0) + 1);"),
    "exact-ends-without-its-lock": (
        "ticks.h", "	raw_spin_lock_irqsave(&x->lock, flags);\n	now = jiffies;",
        "	now = jiffies;"),
}

# name: (file below kmod/map, text, what it becomes), for test-drain under ThreadSanitizer
UNORDERED = {
    "no-barrier-after-tryget": ("drain.h", "		smp_rmb();\n", ""),
    "no-barrier-before-the-gate-opens": ("drain.h", "	smp_mb();	/* pairs", "	/* pairs"),
    "no-barrier-after-the-last-put": ("drain.h", "	smp_acquire__after_ctrl_dep();\n", ""),
    "put-outside-of-the-grace-period": (
        "drain.h", "		this_cpu_dec(*count);\n		preempt_enable();\n",
        "		preempt_enable();\n		this_cpu_dec(*count);\n"),
}
SUITES = (("release", "acct", "acct", WRONG), ("tsan", "acct", "acct", RACY),
          ("tsan", "drain", "map", UNORDERED))


def compile_commands(preset, suite):
    """Those of the suite's sources; its precompiled header knows the place it was made for"""
    build = ROOT / "build" / f"user-{preset}"
    entries = json.loads((build / "compile_commands.json").read_text())
    own = [e for e in entries if f"/tests/unit/{suite}/" in e["file"]]
    if not own:
        sys.exit(f"mutants: {build} does not build test-{suite}")
    return own


def build_and_run(commands, preset, kmod, work):
    """(exit status, output); None when it does not compile"""
    objects = []

    def build(entry):
        words = shlex.split(entry["command"])
        own = f"-I{ROOT / 'kmod'}"
        words[words.index(own)] = f"-I{kmod}"  # that of another tree would be no mutant
        at = words.index("-o") + 1
        words[at] = str(work / (Path(entry["file"]).name + ".o"))
        objects.append(words[at])
        return subprocess.run(words + ["-O1"], cwd=entry["directory"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(build, commands):
            if result.returncode:
                return None, result.stdout
    program = work / "test"
    sanitizer = ["-fsanitize=thread"] if preset == "tsan" else []
    link = subprocess.run(["c++", "-pthread", *sanitizer, "-o", program, *objects,
                           "-lCatch2WithMain"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if link.returncode:
        return None, link.stdout
    try:
        # ThreadSanitizer cannot place its shadow under every randomised layout.
        run = subprocess.run(["setarch", "-R", program, "--abort"], text=True, errors="replace",
                             timeout=120, env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        return 124, "it never ended"
    return run.returncode, run.stdout


def first_failure(output):
    for pattern in (r"^SUMMARY: (.+)$", r"^-{20,}\n(.+)\n-{20,}$"):
        if match := re.search(pattern, output, re.M):
            return match[1].replace(f"{ROOT}/", "")
    return output.strip().splitlines()[-1] if output.strip() else "nothing said"


def judge(name, commands, preset, directory, change):
    """Print the result of one mutant, or of the unchanged source"""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as tmp:
        kmod = Path(tmp) / "kmod"
        shutil.copytree(ROOT / "kmod", kmod)
        if change:
            file, old, new = change
            text = (kmod / directory / file).read_text()
            if text.count(old) != 1:
                print(f"not ok {name} 0.00 {file} does not have the text once")
                return False
            (kmod / directory / file).write_text(text.replace(old, new))
        status, output = build_and_run(commands, preset, kmod, Path(tmp))
    took = time.monotonic() - start
    good = status not in (None, 0) if change else status == 0
    reason = ("does not compile" if status is None else
              "not caught" if status == 0 and change else
              f"caught by: {first_failure(output)}" if good and change else
              "" if good else first_failure(output))
    print(f"{'ok' if good else 'not ok'} {name} {took:.2f} {reason}".rstrip(), flush=True)
    if status is None:
        print(output[-1500:])
    return good


def texts():
    gone = [name for _, _, directory, mutants in SUITES for name, (file, old, _) in mutants.items()
            if (ROOT / "kmod" / directory / file).read_text().count(old) != 1]
    for name in gone:
        print(f"{name}: its text is not there once")
    return 1 if gone else 0


def main():
    wanted = sys.argv[1:]
    if wanted == ["--texts"]:
        return texts()
    known = {name for *_, mutants in SUITES for name in mutants}
    if unknown := set(wanted) - known:
        sys.exit(f"{__doc__}\nno such mutant: {' '.join(unknown)}")
    failed = 0
    for preset, suite, directory, mutants in SUITES:
        chosen = [name for name in mutants if not wanted or name in wanted]
        if not chosen:
            continue
        commands = compile_commands(preset, suite)
        for name in (None, *chosen):
            failed += not judge(name or f"{suite}-{preset}-unchanged", commands, preset, directory,
                                name and mutants[name])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
