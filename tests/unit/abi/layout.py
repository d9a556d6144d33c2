# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the layout of every structure of blktally.h with that of 64-bit C.

The reference is a program that prints sizeof and offsetof. The other arm (C for 32 bits, C++ for
64 and 32) only has to compile assertions of the same numbers, so no 32-bit C library is needed.
Exit status 77: this compiler cannot do that arm.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile


def structures(header):
    """[(structure, [member])] of the header."""
    text = re.sub(r"/\*.*?\*/", "", open(header, encoding="utf-8").read(), flags=re.S)
    found = []
    for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", text, flags=re.S | re.M):
        members = []
        for declaration in filter(None, (part.strip() for part in body.split(";"))):
            declarators = re.sub(r"^(struct )?\w+\s+", "", declaration)
            members += [re.match(r"\w+", part.strip()).group() for part in declarators.split(",")]
        found.append((name, members))
    return found


def expressions(found):
    for name, members in found:
        yield f"sizeof(struct {name})"
        for member in members:
            yield f"offsetof(struct {name}, {member})"


def commands(header):
    """ioctl numbers hold sizes too."""
    text = open(header, encoding="utf-8").read()
    return re.findall(r"^#define (\w+)\s+_IOWR\(", text, flags=re.M)


def compile_with(command, source, *more):
    return subprocess.run([*command, *more, source], capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("arm", choices=["c32", "cxx64", "cxx32"])
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--header", required=True)
    args = parser.parse_args()

    asked = list(expressions(structures(args.header))) + commands(args.header)
    if len(structures(args.header)) < 20 or len(commands(args.header)) < 15:
        sys.exit("the header was not understood: too few structures or commands were found")
    include = ["-I", os.path.dirname(args.header)]
    prologue = '#include <stddef.h>\n#include "blktally.h"\n'

    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "print.c")
        program = os.path.join(work, "print")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\n" + prologue + "int main(void)\n{\n")
            for expression in asked:
                file.write(f'\tprintf("%lu\\n", (unsigned long)({expression}));\n')
            file.write("\treturn 0;\n}\n")
        built = compile_with([args.cc, *include, "-o", program], source)
        if built.returncode:
            sys.exit(built.stderr)
        values = subprocess.run(
            [program], capture_output=True, text=True, check=True
        ).stdout.split()
        if len(values) != len(asked):
            sys.exit("the reference printed too little")

        cxx = args.arm.startswith("cxx")
        source = os.path.join(work, "assert.cpp" if cxx else "assert.c")
        word = "static_assert" if cxx else "_Static_assert"
        with open(source, "w", encoding="utf-8") as file:
            file.write(prologue)
            for expression, value in zip(asked, values):
                file.write(f'{word}(({expression}) == {value}UL, "{expression} is not {value}");\n')

        command = [args.cxx, "-std=c++20"] if cxx else [args.cc, "-std=gnu11"]
        command += ["-ffreestanding", "-fsyntax-only", *include]
        if args.arm.endswith("32"):
            command.append("-m32")
            # asm/ headers are the same for both, but lie where only one looks.
            triplet = subprocess.run(
                [args.cc, "-print-multiarch"], capture_output=True, text=True, check=False
            ).stdout.strip()
            command += ["-idirafter", f"/usr/include/{triplet}"]
            probe = os.path.join(work, "probe.cpp" if cxx else "probe.c")
            with open(probe, "w", encoding="utf-8") as file:
                file.write("#include <stddef.h>\n#include <linux/types.h>\n")
            result = compile_with(command, probe)
            if result.returncode:
                print("skipped: this compiler does not do -m32\n" + result.stderr)
                return 77
        result = compile_with(command, source)
        sys.stderr.write(result.stderr)
        print(f"{len(asked)} values compared")
        return 1 if result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
