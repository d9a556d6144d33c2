#!/usr/bin/python3 -BES
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two processes create a map of the same name, or UUID, again and again (D05).

  twins.py ROUNDS     exactly one must win each time
"""

import os
import sys
import time

import control

c = control.Control()


def patiently_remove(name):
    for _ in range(3000):  # udevd may look at it
        answer = c.op(control.REMOVE, name)
        if answer.text != "EBUSY":
            return answer
        time.sleep(0.02)
    return answer


for n in range(int(sys.argv[1])):
    names = (b"twin", b"twin") if n % 2 else (b"one", b"two")
    gate_read, gate_write = os.pipe()
    children = []
    for name in names:
        pid = os.fork()
        if not pid:
            os.close(gate_write)
            os.read(gate_read, 1)
            answer = c.create(name, b"same UUID")
            os._exit({"OK": 0, "EEXIST": 1}.get(answer.text, 2))
        children.append(pid)
    os.close(gate_read)
    os.close(gate_write)
    results = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    if sorted(results) != [0, 1]:
        sys.exit(f"round {n}: {results}, wanted one winner")
    if c.names() != [names[results.index(0)]]:
        sys.exit(f"round {n}: {c.names()}, the winner was {names[results.index(0)]}")
    answer = patiently_remove(c.names()[0])
    if answer.error or c.names():
        sys.exit(f"round {n}: remove: {answer}, {c.names()}")
