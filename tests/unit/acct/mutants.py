#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Do the tests of the counting core object when the core is wrong?

    tests/unit/acct/mutants.py BUILD-DIR [NAME...]

Each mutant is the core with one mistake of a kind that kernels have made. It is
compiled as BUILD-DIR compiles test-acct, in a copy, and must fail. Prints "ok
NAME SECONDS" or "not ok NAME SECONDS REASON", and what the first failing test
was. The unchanged core runs first, and must pass.
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

ROOT = Path(__file__).resolve().parents[3]

# name: (file below kmod/acct, text, what it becomes)
MUTANTS = {
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
        "acct.h", "const union tally_modes m = io->modes;",
        "const union tally_modes m = { .all = READ_ONCE(a->modes.all) };"),
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
    "shadow-bit-left-in": (
        "acct.h", "		tally_shadow_end(a, (__force enum req_op)io->op);\n		m = tally_modes_axes(m);\n",
        "		tally_shadow_end(a, (__force enum req_op)io->op);\n"),
    "shadow-looks-at-itself": (
        "shadow.h", " &&\n			 !tally_inflight_one(a, m, dir);", ";"),
    "pending-leaks": ("pending.h", "		this_cpu_dec(*a->pending_cells);", "		(void)0;"),
}


def compile_commands(build):
    entries = json.loads((build / "compile_commands.json").read_text())
    own = [e for e in entries if "/tests/unit/acct/" in e["file"]]
    if not own:
        sys.exit(f"mutants: {build} does not build test-acct")
    return own


def build_and_run(commands, kmod, work):
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
    program = work / "test-acct"
    link = subprocess.run(["c++", "-pthread", "-o", program, *objects, "-lCatch2WithMain"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if link.returncode:
        return None, link.stdout
    try:
        run = subprocess.run([program, "--abort"], text=True, errors="replace", timeout=120,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        return 124, "it never ended"
    return run.returncode, run.stdout


def first_failure(output):
    match = re.search(r"^-{20,}\n(.+)\n-{20,}$", output, re.M)
    return match[1] if match else output.strip().splitlines()[-1] if output.strip() else "nothing said"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    commands = compile_commands(Path(sys.argv[1]).resolve())
    wanted = sys.argv[2:] or MUTANTS
    failed = 0
    for name in ("unchanged", *wanted):
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as tmp:
            kmod = Path(tmp) / "kmod"
            shutil.copytree(ROOT / "kmod", kmod)
            if name != "unchanged":
                file, old, new = MUTANTS[name]
                text = (kmod / "acct" / file).read_text()
                if text.count(old) != 1:
                    print(f"not ok {name} 0.00 {file} does not have the text once")
                    failed += 1
                    continue
                (kmod / "acct" / file).write_text(text.replace(old, new))
            status, output = build_and_run(commands, kmod, Path(tmp))
        took = time.monotonic() - start
        good = status == 0 if name == "unchanged" else status not in (None, 0)
        verdict = "ok" if good else "not ok"
        reason = ("" if good and name == "unchanged" else
                  f"caught by: {first_failure(output)}" if good else
                  "does not compile" if status is None else
                  "not caught" if status == 0 else first_failure(output))
        print(f"{verdict} {name} {took:.2f} {reason}".rstrip(), flush=True)
        if not good:
            failed += 1
            if status is None:
                print(output[-1500:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
