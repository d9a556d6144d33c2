#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Known faults of systems like this one: is there a test for each, wherever it can occur?

    tests/cases.py [--list ID... | --later | --self-test]

tests/cases.json tells for each fault and each way to it the tests that show that
we do not have it, or why it cannot occur there; "about" in it explains the form.
Without option: complains about gaps, about names and reasons that mean nothing
(any more), and about tests that carry a fault's ID and are not named there.
"""

import itertools
import json
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ID = re.compile(r"(?<![A-Za-z0-9])[A-S][0-9]{2}(?![A-Za-z0-9])")
ALWAYS = ("path", "device", "mode")

# Files that are each a value of an axis, so that a new one is noticed.
FAMILIES = {
    "device": "kmod/map/target-*.c",
    "engine": "userspace/lib/measure/engine_*.cpp",
}


class Broken(Exception):
    pass


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise Broken(f"given twice: {', '.join(sorted(twice))}")
    return dict(pairs)


def names_in(path, pattern):
    return re.findall(pattern, path.read_text(encoding="utf-8"), re.M) if path.is_file() else []


def test_names(root):
    """All tests that have names, as cases.json writes them"""
    tests = root / "tests"
    for file in sorted(tests.glob("vm/[0-9][0-9]-*.sh")):
        for name in names_in(file, r"^test_(\w+)\(\)"):
            yield f"vm:{file.stem}:{name}"
        for name in " ".join(names_in(file, r'^BEHIND_MQ="([^"]*)"')).split():
            yield f"vm:{file.stem}:{name}.mq"
    for name in names_in(tests / "vm-runner/run", r"^test_(\w+)\(\)"):
        yield f"runner:{name}"
    for file in sorted(tests.glob("unit/**/*.cpp")):
        for title in names_in(file, r'\bTEST_CASE\(\s*"((?:[^"\\]|\\.)*)"'):
            yield f"unit:{file.relative_to(tests / 'unit')}:{title.replace(chr(92), '')}"
    for file in sorted(tests.glob("unit/**/*.py")):
        # One that ctest does not know of is no test.
        if file.name in "".join(names_in(file.parent / "CMakeLists.txt", r".+")):
            script = f"unit:{file.relative_to(tests / 'unit')}"
            yield script
            for name in names_in(file, r"^\s+def (test_\w+)\("):
                yield f"{script}:{name}"


class Check:
    def __init__(self, root, text=None):
        self.root = root
        self.complaints = []
        if text is None:
            text = (root / "tests/cases.json").read_text(encoding="utf-8")
        self.book = json.loads(text, object_pairs_hook=no_duplicates)
        self.axes = self.book["axes"]
        self.later = self.book.get("later", {})
        self.known = set(test_names(root))
        self.count = dict.fromkeys(("shown", "excused", "later", "planned"), 0)
        self.used = set()
        self.signs = {}

    def complain(self, where, what):
        self.complaints.append(f"{where}: {what}")

    def there(self, sign):
        """SIGN is a file, or "file: regular expression"; files may have wildcards"""
        if sign not in self.signs:
            pattern, _, text = sign.partition(": ")
            files = [file for file in self.root.glob(pattern) if file.is_file()]
            self.signs[sign] = any(
                not text or re.search(text, file.read_text(encoding="utf-8", errors="replace"))
                for file in files)
        return self.signs[sign]

    # ------------------------------------------------------------ the parts

    def families(self):
        for axis, pattern in FAMILIES.items():
            signs = {sign.partition(": ")[0] for sign in self.axes.get(axis, {}).values()}
            for file in sorted(self.root.glob(pattern)):
                name = str(file.relative_to(self.root))
                if name not in signs:
                    self.complain(name, f"is no {axis} that cases.json knows")

    def reason(self, where, entry):
        why = entry.get("why", "").strip()
        if not why:
            self.complain(where, "an excuse without a reason")
        if not why.startswith("later"):
            return "excused"
        feature = why.removeprefix("later:").strip()
        signs = {**self.later, **{v: s for values in self.axes.values() for v, s in values.items()}}
        self.used.add(feature)
        if not why.startswith("later: ") or feature not in signs:
            self.complain(where, f"later what? {why!r}")
        elif self.there(signs[feature]):
            self.complain(where, f"{feature} is there now: show it, or say why not")
        return "later"

    def tests(self, where, entry):
        if not entry.get("tests"):
            self.complain(where, "applies without tests")
        for test in entry.get("tests", ()):
            if test not in self.known:
                self.complain(where, f"no test {test!r}")
        return "shown"

    def axes_of(self, where, case):
        axes = {axis: list(self.axes[axis]) for axis in ALWAYS}
        for axis, values in case.get("axes", {}).items():
            axes[axis] = list(self.axes[axis]) if values == "*" else values.split()
            if not axes[axis]:
                self.complain(where, f"axis {axis} without values")
        return axes

    def selection(self, where, entry, axes, complete):
        """The values of each axis that an entry is about"""
        chosen = {}
        for axis in entry.keys() - {"tests", "why"} - axes.keys():
            self.complain(where, f"no such axis: {axis}")
        for axis, values in axes.items():
            if complete and axis not in entry:
                self.complain(where, f"tests that do not say which {axis} (\"*\": it does not matter)")
            words = entry.get(axis, "*").split()
            chosen[axis] = values if words == ["*"] else words
            for word in chosen[axis]:
                if word not in values:
                    self.complain(where, f"no such {axis}: {word}")
        return chosen

    def planned(self, axes, combination):
        """Whether it needs what is not there yet"""
        return any(value in self.axes.get(axis, {}) and not self.there(self.axes[axis][value])
                   for axis, value in zip(axes, combination))

    def case(self, name, case):
        if not case.get("what", "").strip() or "\n" in case["what"]:
            self.complain(name, "says in no line of its own what the fault is")
        for key in case.keys() - {"what", "axes", "applies", "not"}:
            self.complain(name, f"what is {key!r}?")
        axes = self.axes_of(name, case)
        verdicts = {}
        for kind, judge in (("applies", self.tests), ("not", self.reason)):
            for n, entry in enumerate(case.get(kind, ()), 1):
                where = f"{name}, {kind} {n}"
                verdict = judge(where, entry)
                chosen = self.selection(where, entry, axes, kind == "applies")
                for combination in itertools.product(*(chosen[axis] for axis in axes)):
                    before = verdicts.setdefault(combination, (kind, verdict))
                    if before[0] != kind:
                        self.complain(where, f"{' '.join(combination)} is both shown and excused")
        gaps = []
        for combination in itertools.product(*axes.values()):
            if self.planned(axes, combination):
                verdict = "planned"
            elif combination in verdicts:
                verdict = verdicts[combination][1]
            else:
                gaps.append(" ".join(combination))
                continue
            self.count[verdict] += 1
        if gaps:
            self.complain(name, f"neither shown nor excused: {', '.join(gaps)}")

    def behind_mq(self):
        for test in sorted(self.known):
            if test.endswith(".mq") and test.removesuffix(".mq") not in self.known:
                self.complain(test, "is to run behind blk-mq, and there is no such test")

    def named_after_cases(self, ids):
        listed = {(name, test) for name, case in self.book["cases"].items()
                  for entry in case.get("applies", ()) for test in entry.get("tests", ())}
        for test in sorted(self.known):
            for name in ID.findall(test.replace("_", " ")):
                if name not in ids:
                    self.complain(test, f"{name} is no case")
                elif (name, test) not in listed:
                    self.complain(test, f"carries {name}, which does not name it")

    def whole(self):
        ids = " ".join(self.book["ids"]).split()
        cases = self.book["cases"]
        for name in {name for name in ids if ids.count(name) > 1}:
            self.complain(name, "is twice in the list")
        for name in ids:
            if name not in cases:
                self.complain(name, "has no entry")
        for name in cases.keys() - ids:
            self.complain(name, "is not in the list of cases")
        self.families()
        for name, case in cases.items():
            self.case(name, case)
        for feature in self.later.keys() - self.used:
            self.complain(f"later: {feature}", "nobody waits for it")
        self.behind_mq()
        self.named_after_cases(ids)
        return self.complaints


# ------------------------------------------------------------------ self-test

TREE = {
    "kmod/map/target-linear.c": "",
    "kmod/ram/bio.c": "",
    "kmod/ram/main.c": "module_param(size)",
    "tests/vm/10-one.sh": "test_A01_counts()\n{\n}\ntest_other()\n{\n}\n",
    "tests/vm-runner/run": "test_boots()\n",
    "tests/unit/one.cpp": 'TEST_CASE("a \\"title\\"") {\n}\n',
    "tests/unit/two/check.py": "class T:\n    def test_it(self):\n",
    "tests/unit/two/CMakeLists.txt": "add_test(check.py)\n",
    "tests/unit/two/helper.py": "",
}

BOOK = """{
  "axes": {
    "path": {"parameter": "kmod/ram/main.c: module_param", "ioctl": "kmod/ram/main.c"},
    "device": {"ram": "kmod/ram/main.c", "linear": "kmod/map/target-linear.c",
               "striped": "kmod/map/target-striped.c"},
    "mode": {"bio": "kmod/ram/bio.c", "mq": "kmod/ram/mq.c"}
  },
  "later": {"rename": "kmod/ram/main.c: RENAME"},
  "ids": ["A01", "B02"],
  "cases": {
    "A01": {"what": "counts are wrong",
      "applies": [
        {"path": "*", "device": "ram", "mode": "bio", "tests": ["vm:10-one:A01_counts"]},
        {"path": "ioctl", "device": "linear", "mode": "bio",
         "tests": ["unit:one.cpp:a \\"title\\"", "unit:two/check.py:test_it", "runner:boots"]}],
      "not": [{"path": "parameter", "device": "linear", "why": "takes none"}]},
    "B02": {"what": "an empty name", "axes": {"operation": "create rename"},
      "applies": [{"path": "*", "device": "*", "mode": "*", "operation": "create",
                   "tests": ["unit:two/check.py"]}],
      "not": [{"operation": "rename", "why": "later: rename"}]}
  }
}"""

# What is changed in the book, or made in the tree, and what must be said then.
BROKEN = (
    ((', "B02"]', "]"), None, "B02: is not in the list of cases"),
    (('"B02"]', '"B02", "B02"]'), None, "B02: is twice in the list"),
    (('"B02"]', '"B02", "C03"]'), None, "C03: has no entry"),
    (('"path": "*", "device": "ram"', '"path": "ioctl", "device": "ram"'), None,
     "A01: neither shown nor excused: parameter ram bio"),
    (('"takes none"', '" "'), None, "A01, not 1: an excuse without a reason"),
    (('"counts are wrong"', '""'), None, "A01: says in no line of its own"),
    (("10-one:A01_counts", "10-one:A01_count"), None, "no test 'vm:10-one:A01_count'"),
    (("10-one:A01_counts", "10-one:other"), None,
     "vm:10-one:A01_counts: carries A01, which does not name it"),
    (('["unit:two/check.py"]', '["unit:two/helper.py"]'), None, "no test 'unit:two/helper.py'"),
    (('["unit:two/check.py"]', "[]"), None, "B02, applies 1: applies without tests"),
    (('"device": "ram", "mode": "bio", "tests"', '"device": "ram", "tests"'), None,
     "A01, applies 1: tests that do not say which mode"),
    (('"path": "parameter", "device": "linear", "why"', '"device": "linear", "why"'), None,
     "A01, not 1: ioctl linear bio is both shown and excused"),
    (('"device": "linear", "why"', '"device": "zero", "why"'), None, "no such device: zero"),
    (('"device": "linear", "why"', '"disk": "linear", "why"'), None, "no such axis: disk"),
    (("later: rename", "later: renaming"), None, "B02, not 1: later what?"),
    (("later: rename", "later"), None, "B02, not 1: later what?"),
    (('"why": "later: rename"', '"why": "never"'), None, "later: rename: nobody waits"),
    (('"what": "an empty', '"what": "", "what": "an empty'), None, "given twice: what"),
    (('"B02": {', '"A01": {'), None, "given twice: A01"),
    (('"what": "an empty name"', '"what": "an empty name", "test": 1'), None, "what is 'test'?"),
    (None, ("kmod/ram/main.c", "RENAME module_param"), "B02, not 1: rename is there now"),
    (None, ("kmod/map/target-striped.c", ""),
     "A01: neither shown nor excused: parameter striped bio, ioctl striped bio"),
    (None, ("kmod/map/target-zero.c", ""), "kmod/map/target-zero.c: is no device"),
    (None, ("kmod/ram/mq.c", ""), "A01: neither shown nor excused: parameter ram mq"),
    (None, ("tests/vm/20-two.sh", "test_B02_Z_G07_names()\n"), "vm:20-two:B02_Z_G07_names: G07 is no case"),
    (None, ("tests/vm/20-two.sh", 'BEHIND_MQ="gone"\n'), "vm:20-two:gone.mq: is to run behind"),
    (None, ("tests/unit/three.cpp", 'TEST_CASE("B02: names") {'),
     "unit:three.cpp:B02: names: carries B02, which does not name it"),
)


def complaints_of(root, text):
    try:
        return Check(root, text).whole()
    except Broken as e:
        return [str(e)]


def self_test():
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in TREE.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        fine = Check(root, BOOK)
        if fine.whole():
            failed.append(f"nothing is wrong, and yet: {fine.complaints}")
        if fine.count != {"shown": 3 + 4, "excused": 1, "later": 4, "planned": 8 + 16}:
            failed.append(f"counted {fine.count}")
        for change, file, wanted in BROKEN:
            text = BOOK
            if change:
                if BOOK.count(change[0]) != 1:
                    failed.append(f"not once in the book: {change[0]}")
                text = BOOK.replace(*change)
            if file:
                old = TREE.get(file[0])
                (root / file[0]).write_text(file[1], encoding="utf-8")
            got = complaints_of(root, text)
            if not any(wanted in line for line in got):
                failed.append(f"{change or file}: nothing like {wanted!r} in {got}")
            if file and old is None:
                (root / file[0]).unlink()
            elif file:
                (root / file[0]).write_text(old, encoding="utf-8")
    for line in failed:
        print(line, file=sys.stderr)
    return bool(failed)


# ----------------------------------------------------------------------- main


def tell(check, ids):
    for name in ids:
        case = check.book["cases"][name]
        print(f"{name}  {case['what']}")
        for entry in case.get("applies", []) + case.get("not", []):
            at = " ".join(f"{axis}={value.replace(' ', ',')}" for axis, value in entry.items()
                          if isinstance(value, str) and axis != "why" and value != "*")
            print(f"    {at or 'everywhere'}: {entry.get('why') or ', '.join(entry['tests'])}")


def main(words):
    if words == ["--self-test"]:
        return self_test()
    try:
        check = Check(ROOT)
        complaints = check.whole()
    except (Broken, json.JSONDecodeError) as e:
        print(f"tests/cases.json: {e}", file=sys.stderr)
        return 1
    if words[:1] == ["--list"]:
        tell(check, words[1:] or check.book["cases"])
    elif words == ["--later"]:
        waiting = [name for name, case in check.book["cases"].items()
                   if any(e["why"].startswith("later") for e in case.get("not", ()))]
        tell(check, waiting)
    elif words:
        print(__doc__, file=sys.stderr)
        return 2
    for line in complaints:
        print(line, file=sys.stderr)
    print("{} cases: {shown} ways to them are shown by tests, {excused} are none, {later} wait for a "
          "feature; {planned} more with all that is planned".format(len(check.book["cases"]), **check.count))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
