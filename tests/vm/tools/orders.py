#!/usr/bin/python3 -BES
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of a map in many orders, from a map without a table (E01, E05).

  orders.py MAP LOWER     each must have the result that a model foretells
  orders.py MAP LOWER race SECONDS    two processes; any defined result will do

MAP is there, without a table; LOWER (major:minor) has room for 64 sectors.
"""

import itertools
import os
import sys
import time

import control

M, D = sys.argv[1].encode(), sys.argv[2]
TEXT = f"0 64 linear {D} 0\n"
c = control.Control()

COMMANDS = {
    "suspend": lambda: c.op(control.SUSPEND, M),
    "resume": lambda: c.op(control.RESUME, M),
    "load": lambda: c.load(M, TEXT.encode()),
    "clear": lambda: c.op(control.CLEAR, M),
}


class Model:
    def __init__(self):
        self.live = self.inactive = False

    def expect(self, word):
        if word == "load":
            self.inactive = True
        elif word == "clear":
            self.inactive = False
        elif word == "resume":
            if not self.inactive and not self.live:
                return "EINVAL"
            self.live, self.inactive = True, False
        return "OK"


def orders():
    count = 0
    # Each command comes first, and last; under emulation all would take long.
    for order in list(itertools.permutations(COMMANDS))[::3]:
        answer = c.create(M)
        assert not answer.error, answer
        model = Model()
        for word in order:
            want, answer = model.expect(word), COMMANDS[word]()
            got = (answer.text, c.table(M), c.table(M, control.TABLE_INACTIVE))
            if got != (want, TEXT * model.live, TEXT * model.inactive):
                sys.exit(f"{word} in {order}: wanted {want} {vars(model)}, got {answer} {got}")
            count += 1
        # udevd may look at it.
        for _ in range(3000):
            answer = c.op(control.REMOVE, M)
            if answer.text != "EBUSY":
                break
            time.sleep(0.02)
        if answer.error:
            sys.exit(f"remove after {order}: {answer}")
    print(count)


def race(seconds):
    end = time.monotonic() + seconds
    mine = ["load", "clear"] if os.fork() else ["suspend", "resume"]
    seen = {}
    while time.monotonic() < end:
        for word in mine:
            answer = COMMANDS[word]()
            seen[word, answer.text] = seen.get((word, answer.text), 0) + 1
            if answer.text not in ("OK", "EINVAL" if word == "resume" else "OK"):
                sys.exit(f"{word}: {answer}")
            if c.table(M) not in ("", TEXT):
                sys.exit(f"odd table: {c.table(M)}")
    if "load" in mine:
        _, status = os.wait()
        sys.exit(status != 0)


if len(sys.argv) > 3:
    race(float(sys.argv[4]))
else:
    orders()
