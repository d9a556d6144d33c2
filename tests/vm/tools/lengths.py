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
# name, ms, how many
LENGTHS = (("short", 0.5, 400), ("long", 20, 25))
MODES = (("percpu", "exact", "ns"), ("shared", "round", "jiffies"),
         ("percpu", "sampled", "jiffies"), ("percpu", "checked", "jiffies"),
         ("native", "off", "off"))


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
    # Only exact sees what lies within one jiffy; sampled counts one at the end of an I/O, not all.
    busy_least = {"exact": ios * each - 8, "sampled": min(least, ios)}.get(ticks, least)
    assert busy_least <= busy <= elapsed + 100, what
