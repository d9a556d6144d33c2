# SPDX-License-Identifier: GPL-2.0-or-later
"""I/O of a known length, one at a time, and what its times may come to.

A clock of jiffies gives an I/O of 0.5 ms a whole jiffy or nothing, as the timer
that ends it stands to the tick. The two may keep step, so nothing evens out and
there is no lower bound. One of 20 ms loses at most the jiffy that it began in.
"""
import json
import os
import subprocess

from blktally import *

LONGEST_JIFFY = 10
# ms, how many
LENGTHS = ((0.5, 400), (20, 25))
MODES = (("percpu", "exact", "ns"), ("shared", "round", "jiffies"),
         ("percpu", "sampled", "jiffies"), ("percpu", "checked", "jiffies"),
         ("native", "off", "off"))


def timed_disks(control):
    """A disk for each length, with the ms and the number of its I/Os."""
    return [(Disk.add(control, completion="timer", completion_ns=int(each * 1e6)), each, ios)
            for each, ios in LENGTHS]


def run(node, rw, ios):
    """Milliseconds that the I/Os took together."""
    out = subprocess.run([os.environ["BIN"] + "/tallybench/tallybench", "run", "--engine",
                          "kernel", "--device", node, "--rw", rw, "--bs", "4096",
                          "--ios", str(ios), "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(out.stdout)["total"]["ns"] / 1e6


def within(modes, each, ios, took, busy, elapsed, what):
    _, ticks, clock = modes
    lost = 0 if clock == "ns" else LONGEST_JIFFY
    least = ios * max(0, each - lost)
    assert least - 1 <= took <= elapsed + max(1, lost), what
    # Only exact sees what lies within one jiffy. sampled counts each in which something begins or
    # ends: of short I/O all that pass, of a long one at least its last, which is no less than 1 ms.
    busy_least = {"exact": ios * each - 8,
                  "sampled": ios * (1 if each > LONGEST_JIFFY else 0.15)}.get(ticks, least)
    assert busy_least <= busy <= elapsed + 100, what
