#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares blktally.txt with the ABI header, as far as that goes without syzkaller.

    tests/fuzz/syzkaller/compare.py [--cc CC] [--write]

Reads the part of syzlang that blktally.txt uses, and lays its structures out. Each structure of the
header must be there with the same members, offsets and sizes; each command once, with the structure
whose size is in its number; every name must be declared and used; every constant must have in
blktally.txt.const the value that the compiler gives it (--write writes that file). The words that
the modules know must be offered.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tests/unit/abi"))
import layout  # noqa: E402

HEADER = ROOT / "kmod/uapi/blktally.h"
DESCRIPTION = HERE / "blktally.txt"
CONSTANTS = HERE / "blktally.txt.const"
NODE = '"/dev/blktally/control"'

# flags of strings: (source, pattern of the words there)
WORDS = {
    "tally_profiles": ("kmod/acct/modes.c", r'\{ "([^"]+)",\s+MODES\('),
    "tally_mode_words": ("kmod/acct/modes.c", r'\]\s*= \{ "([^"]+)", "'),
    "tally_ram_words": ("kmod/ram/options.c", r'\[[A-Z]+_[A-Z]+\]\s*= "([^"]+)"'),
}

TOKEN = re.compile(r'("[^"]*")|(0x[0-9a-f]+|-?\d+)|(\w+)|(\S)')
INTS = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}
BASED = {"const", "flags", "len", "bytesize"}  # sized by their last argument
BUILTIN = {"in", "out", "inout", "opt", "dec", "fd", "ptr", "ptr64", "array", "string",
           "stringnoz", "fmt", "packed", "varlen", *INTS, *BASED}


class Wrong(Exception):
    pass


class Type:
    """NAME[ARGS]:END; a number or a string is a name without arguments"""

    def __init__(self, name, args=(), end=None):
        self.name, self.args, self.end = name, list(args), end

    def names(self):
        yield self.name
        for part in [*self.args, *([self.end] if self.end else [])]:
            yield from part.names()

    def with_arguments(self, arguments):
        if self.name in arguments:
            return arguments[self.name]
        return Type(self.name, [arg.with_arguments(arguments) for arg in self.args], self.end)


class Line:
    """The tokens of a line, taken from the left"""

    def __init__(self, text):
        self.text = text
        self.tokens = [match.group() for match in TOKEN.finditer(text)]

    def take(self, wanted=None):
        if not self.tokens or wanted not in (None, self.tokens[0]):
            raise Wrong(f"{wanted or 'something more'} is missing in: {self.text}")
        return self.tokens.pop(0)

    def comes(self, wanted):
        return self.tokens[:1] == [wanted] and bool(self.tokens.pop(0))

    def list(self, take, end):
        found = [take()]
        while self.comes(","):
            found.append(take())
        if end:
            self.take(end)
        return found

    def type(self):
        kind = Type(self.take())
        if self.comes("["):
            kind.args = self.list(self.type, "]")
        if self.comes(":"):
            kind.end = self.type()
        return kind

    def field(self):
        return self.take(), self.type()


class Record:
    """A structure, a union, or a template of a structure"""

    def __init__(self, params, union):
        self.params, self.union = params, union
        self.fields, self.packed = [], False

    def types(self):
        return [kind for _, kind in self.fields]


class Description:
    def __init__(self, text):
        self.records, self.aliases, self.resources = {}, {}, {}
        self.flags, self.calls = {}, {}
        self.uses = set()
        self.lines = [line for line in text.splitlines()
                      if line.strip() and not line.startswith(("#", "include "))]
        while self.lines:
            line = Line(self.lines.pop(0))
            self.declaration(line)
            if line.tokens:
                raise Wrong(f"{line.tokens[0]} was not understood in: {line.text}")

    def declare(self, table, name, value):
        if any(name in known for known in (self.records, self.aliases, self.resources, self.flags,
                                           self.calls)):
            raise Wrong(f"{name} is declared twice")
        table[name] = value

    def use(self, kind, params=()):
        self.uses.update(set(kind.names()) - set(params))
        return kind

    def declaration(self, line):
        name = line.take()
        if name == "resource":
            name = line.take()
            line.take("[")
            self.declare(self.resources, name, self.use(line.type()))
            line.take("]")
            if line.comes(":"):
                line.list(line.take, None)
        elif name == "type":
            name = line.take()
            params = line.list(line.take, "]") if line.comes("[") else []
            if line.comes("{"):
                self.record(name, Record(params, False), "}")
            else:
                self.declare(self.aliases, name, self.use(line.type()))
        elif line.comes("{"):
            self.record(name, Record([], False), "}")
        elif line.comes("["):
            self.record(name, Record([], True), "]")
        elif line.comes("="):
            self.declare(self.flags, name,
                         [self.use(kind).name for kind in line.list(line.type, None)])
        else:
            line.take("$")
            call = name, line.take()
            line.take("(")
            arguments = line.list(line.field, ")")
            for _, kind in arguments:
                self.use(kind)
            if line.tokens:
                self.use(line.type())
            self.declare(self.calls, call, dict(arguments))

    def record(self, name, record, end):
        while not (line := Line(self.lines.pop(0))).comes(end):
            member, kind = line.field()
            record.fields.append((member, self.use(kind, record.params)))
            if line.comes("("):
                if line.take() not in ("in", "out", "inout"):
                    raise Wrong(f"no such direction: {line.text}")
                line.take(")")
            if line.tokens:
                raise Wrong(f"{line.tokens[0]} was not understood in: {line.text}")
        if line.comes("["):
            record.packed = "packed" in line.list(line.take, "]")
        # A length names a neighbour, parent structures apart.
        for _, kind in record.fields:
            if kind.name in ("len", "bytesize"):
                target = kind.args[0].name
                if target not in dict(record.fields) and target not in record.params:
                    raise Wrong(f"{name}: {kind.name} of {target}, which is not there")
                self.uses.discard(target)
        self.declare(self.records, name, record)


class Layout:
    """Sizes as syzkaller gives them, which are those of C"""

    def __init__(self, description, constants):
        self.described, self.constants = description, constants

    def number(self, kind):
        return self.constants[kind.name] if kind.name in self.constants else int(kind.name, 0)

    def of(self, kind):
        """(size, alignment); the size of what has none of its own is None"""
        name, known = kind.name, self.described
        if name in INTS:
            return INTS[name], INTS[name]
        if name in BASED:
            return self.of([arg for arg in kind.args if arg.name != "opt"][-1])
        if name == "ptr64":
            return 8, 8
        if name == "fd":
            return 4, 4
        if name == "array":
            size, align = self.of(kind.args[0])
            fixed = len(kind.args) == 2 and kind.args[1].end is None and size is not None
            return (size * self.number(kind.args[1]) if fixed else None), align
        if name == "string":
            return (self.number(kind.args[1]) if len(kind.args) == 2 else None), 1
        if name == "stringnoz":
            literal = kind.args[0].name
            return (len(literal) - 2 if literal.startswith('"') else None), 1
        if name == "fmt":
            return 20, 1
        if name in known.resources:
            return self.of(known.resources[name])
        if name in known.aliases:
            return self.of(known.aliases[name])
        if name in known.records:
            size, align, _ = self.record(name, kind.args)
            return size, align
        raise Wrong(f"{name} is not declared")

    def record(self, name, arguments=()):
        """(size, alignment, [(member, offset, size)])"""
        record = self.described.records[name]
        if len(arguments) != len(record.params):
            raise Wrong(f"{name} has {len(record.params)} parameters")
        given = dict(zip(record.params, arguments))
        at, widest, members = 0, 1, []
        for member, kind in record.fields:
            size, align = self.of(kind.with_arguments(given))
            align = 1 if record.packed else align
            widest = max(widest, align)
            start = 0 if record.union or at is None else -(-at // align) * align
            members.append((member, start, size))
            if record.union:
                at = None if None in (at, size) else max(at, size)
            else:
                at = None if None in (at, size) else start + size
        return (None if at is None else -(-at // widest) * widest), widest, members


def values_of(cc, expressions):
    """What the compiler makes of them, as unsigned 64-bit numbers"""
    with tempfile.TemporaryDirectory() as work:
        source, program = Path(work) / "print.c", Path(work) / "print"
        prints = "".join(f'\tprintf("%llu\\n", (unsigned long long)({expression}));\n'
                         for expression in expressions)
        source.write_text("#include <fcntl.h>\n#include <stddef.h>\n#include <stdio.h>\n"
                          "#include <sys/syscall.h>\n#include \"blktally.h\"\n"
                          f"int main(void)\n{{\n{prints}\treturn 0;\n}}\n")
        built = subprocess.run([cc, "-I", HEADER.parent, "-o", program, source],
                               capture_output=True, text=True, check=False)
        if built.returncode:
            raise Wrong(f"{cc}: {built.stderr}")
        output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return dict(zip(expressions, map(int, output.split())))


def structures_of(header, cc):
    """{structure: (size, [(member, offset, size)])}"""
    found = layout.structures(header)
    member_size = "sizeof(((struct {0} *)0)->{1})".format
    values = values_of(cc, [*layout.expressions(found),
                            *(member_size(name, member) for name, members in found
                              for member in members)])
    return {name: (values[f"sizeof(struct {name})"],
                   [(member, values[f"offsetof(struct {name}, {member})"],
                     values[member_size(name, member)]) for member in members])
            for name, members in found}


def structure_errors(described, laid, wanted):
    for name, (size, members) in wanted.items():
        record = described.records.get(name)
        if not record:
            yield f"struct {name} is missing"
            continue
        if record.union:  # of ways to fill in one structure
            shapes = [(kind.name, ()) for kind in record.types()]
        elif record.params:  # a template; every use of it
            shapes = {(name, tuple(kind.args)) for other in described.records.values()
                      for kind in other.types() if kind.name == name}
        else:
            shapes = [(name, ())]
        if not shapes:
            yield f"{name} is never used"
        for shape, arguments in shapes:
            got_size, _, got = laid.record(shape, arguments)
            if got != members or got_size != size:
                different = [pair for pair in zip(got, members) if pair[0] != pair[1]]
                yield (f"{shape}: {different[0][0]} should be {different[0][1]}" if different
                       else f"{shape}: {len(got)} members and {got_size} bytes, "
                            f"should be {len(members)} and {size}")


def head_errors(described):
    """Each head must tell the size of the structure that it begins"""
    for name, record in described.records.items():
        for member, kind in record.fields:
            if kind.name == "tally_head" and (member != "head" or kind.args[0].name != name):
                yield f"{name}: its head is that of {kind.args[0].name}"


def command_errors(described, laid, cc):
    text = HEADER.read_text()
    wanted = dict(re.findall(r"^#define (\w+)\s+_IOWR\(TALLY_IOC_TYPE, \w+, struct (\w+)\)", text,
                             flags=re.M))
    if set(wanted) != set(layout.commands(HEADER)):
        yield "not every _IOWR of the header was understood"
    described_commands = {name for verb, name in described.calls if verb == "ioctl"}
    for name in set(wanted) ^ described_commands:
        yield f"{name} is only in {'the header' if name in wanted else DESCRIPTION.name}"
    sizes = values_of(cc, [f"_IOC_SIZE({name})" for name in wanted])
    for name in sorted(set(wanted) & described_commands):
        call = described.calls["ioctl", name]
        command, argument = call["cmd"], call["arg"]
        if list(command.names()) != ["const", name]:
            yield f"ioctl${name}: its number is that of {list(command.names())[-1]}"
        structure = argument.args[1].name
        if structure != wanted[name]:
            yield f"ioctl${name}: takes {structure}, should be {wanted[name]}"
        elif laid.record(structure)[0] != sizes[f"_IOC_SIZE({name})"]:
            yield f"ioctl${name}: {structure} has not the size in the number"
        if call["fd"].name != "fd_blktally":
            yield f"ioctl${name}: on {call['fd'].name}"
    opened = described.calls.get(("openat", "blktally"), {}).get("file")
    if not opened or NODE not in opened.names():
        yield f"nothing opens {NODE}"


def name_errors(described, constants):
    declared = {*described.records, *described.aliases, *described.resources, *described.flags}
    params = {param for record in described.records.values() for param in record.params}
    for name in sorted(declared - described.uses):
        yield f"{name} is not used"
    for name in sorted(described.uses - declared - params - BUILTIN - set(constants)):
        if not re.match(r'["\d-]', name):
            yield f"{name} is not declared"


def word_errors(described):
    for name, (source, pattern) in WORDS.items():
        known = set(re.findall(pattern, (ROOT / source).read_text()))
        offered = {word.strip('"') for word in described.flags[name]} - {"", "unknown"}
        if len(known) < 5:
            yield f"{source}: too few words were found"
        for word in sorted(known ^ offered):
            yield f"{name}: \"{word}\" is only in {source if word in known else DESCRIPTION.name}"


def constants_of(described, cc):
    """Those that syz-extract would look for"""
    names = sorted(name for name in described.uses if re.fullmatch(r"[A-Z][A-Z0-9_]+", name)
                   and not any(name in record.params for record in described.records.values()))
    return values_of(cc, [*names, "__NR_ioctl", "__NR_openat"])


def text_of(constants):
    return ("# SPDX-License-Identifier: GPL-2.0-only\n"
            "# Written by compare.py --write; syz-extract writes the same for every architecture.\n"
            "arches = amd64\n" +
            "".join(f"{name} = {value}\n" for name, value in constants.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--write", action="store_true", help=f"write {CONSTANTS.name}")
    args = parser.parse_args()

    try:
        described = Description(DESCRIPTION.read_text())
        constants = constants_of(described, args.cc)
        if args.write:
            CONSTANTS.write_text(text_of(constants))
        laid = Layout(described, constants)
        wanted = structures_of(HEADER, args.cc)
        errors = [*structure_errors(described, laid, wanted),
                  *head_errors(described),
                  *command_errors(described, laid, args.cc),
                  *name_errors(described, constants),
                  *word_errors(described)]
        if CONSTANTS.read_text() != text_of(constants):
            errors.append(f"{CONSTANTS.name} is out of date: run compare.py --write")
        for name in described.records:  # also those that only syzkaller knows
            if not described.records[name].params:
                laid.record(name)
    except Wrong as wrong:
        errors = [str(wrong)]
    for error in errors:
        print(f"{DESCRIPTION.name}: {error}")
    if not errors:
        print(f"{len(wanted)} structures, {len(described.calls)} calls, "
              f"{len(constants)} constants compared")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
