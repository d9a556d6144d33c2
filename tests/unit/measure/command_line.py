# SPDX-License-Identifier: GPL-2.0-or-later
"""tallybench from outside: exit status, and one document of its schema on stdout.

usage: command_line.py TALLYBENCH SCHEMA_FOLDER DOCUMENTS
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed", file=sys.stderr)
    sys.exit(77)

BENCH, SCHEMAS, DOCUMENTS = sys.argv[1:4]
BLOCK = 4096


def strict(text):
    """The one document in text; NaN and infinity are refused."""
    def refuse(word):
        raise ValueError(f"{word} in JSON")
    return json.loads(text, parse_constant=refuse)


def check_schema(case, document):
    name = document["schema"].removeprefix("blktally/").replace("/", "-")
    schema = json.loads((pathlib.Path(SCHEMAS) / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    # A schema that takes anything would prove nothing.
    broken = dict(document)
    del broken["environment" if "environment" in broken else "experiments"]
    with case.assertRaises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema, cls=jsonschema.Draft202012Validator)


def bench(*arguments):
    return subprocess.run([BENCH, *arguments], capture_output=True, text=True, timeout=120)


class Documents(unittest.TestCase):
    def test_made_with_fakes(self):
        for arguments in (["experiment"], ["experiment", "partial"], ["cost"], ["cost", "partial"]):
            with self.subTest(arguments):
                done = subprocess.run([DOCUMENTS, *arguments], capture_output=True, text=True, check=True)
                document = strict(done.stdout)
                check_schema(self, document)
                self.assertEqual(document["partial"], "partial" in arguments)

    def test_experiments(self):
        for arguments in (["list"], ["show", "percpu-2018"]):
            with self.subTest(arguments):
                done = bench("experiment", *arguments, "--json")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                check_schema(self, strict(done.stdout))


class Usage(unittest.TestCase):
    def refused(self, *arguments, names):
        done = bench(*arguments)
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, "")
        self.assertIn(names, done.stderr)
        self.assertTrue(done.stderr.startswith("tallybench: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_numbers(self):
        for option in ("--depth", "--jobs", "--ios"):
            for value in ("", "0", "-1", "x", "1x", "1e9", " 1", str(2**64)):
                with self.subTest(option=option, value=value):
                    self.refused("run", "--device", "/dev/null", f"{option}={value}", names=option)
        for option in ("--depth", "--jobs"):
            self.refused("run", "--device", "/dev/null", f"{option}=1000000000", names="1000000000")
        for option in ("--rounds", "--slice", "--jobs", "--margin", "--budget", "--size"):
            self.refused("experiment", "run", "percpu-2018", f"{option}=-1", names=option)
        for option in ("--repeats", "--ios"):
            self.refused("cost", f"{option}=0", names=option)

    def test_cpus(self):
        for cpus in ("0-", "3-1", "a", "8000"):
            with self.subTest(cpus):
                self.refused("run", "--device", "/dev/null", f"--cpus={cpus}", names="CPU")
        self.refused("run", "--device", "/dev/null", "--cpus=", names="--cpus")

    def test_words(self):
        self.refused("run", "--device", "/dev/null", "--engine", "aio", names="aio")
        self.refused("run", "--device", "/dev/null", "--rw", "trim", names="trim")
        self.refused("run", names="--device")
        self.refused("experiment", "show", "nothing-2018", names="percpu-2018")
        self.refused("experiment", "run", "percpu-2018", "--quick", "--rounds", "5", names="--quick")
        self.refused("frobnicate", names="frobnicate")
        self.refused(names="subcommand")

    def test_json_takes_no_word(self):
        done = bench("experiment", "show", "--json", "percpu-2018")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(strict(done.stdout)["experiments"][0]["name"], "percpu-2018")
        self.refused("experiment", "list", "--json", "list.json", names="list.json")

    def test_help(self):
        done = bench("run", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--device", done.stdout)

    def test_version(self):
        done = bench("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^tallybench \d+\.\d+\.\d+\n$")


class Run(unittest.TestCase):
    def setUp(self):
        self.file = tempfile.NamedTemporaryFile(dir=".")
        self.file.truncate(1 << 20)
        self.direct = self.has_direct()

    def tearDown(self):
        self.file.close()

    def has_direct(self):
        try:
            os.close(os.open(self.file.name, os.O_RDONLY | os.O_DIRECT))
            return True
        except OSError:
            return False

    def run_bench(self, *arguments):
        if not self.direct:
            self.skipTest("no direct I/O here")
        return bench("run", "--device", self.file.name, f"--bs={BLOCK}", *arguments)

    def test_document(self):
        done = self.run_bench("--ios=100", "--jobs=2", "--json", "--seed=7")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        document = strict(done.stdout)
        check_schema(self, document)
        self.assertEqual(sum(job["read"]["total_ios"] for job in document["jobs"]), 200)
        self.assertEqual(document["total"]["read"]["total_ios"], 200)
        self.assertEqual(document["environment"]["seed"], 7)

    def test_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            done = self.run_bench("--ios=1", f"--json={path}")
            self.assertEqual(done.returncode, 0)
            self.assertIn("IOPS", done.stdout)
            check_schema(self, strict(pathlib.Path(path).read_text()))

    def test_unwritable_file(self):
        for arguments in (["run", "--device", self.file.name, "--runtime=3600"],
                          ["experiment", "run", "percpu-2018"], ["cost"]):
            with self.subTest(arguments):
                done = bench(*arguments, "--json=/nowhere/at/all.json")
                self.assertEqual((done.returncode, done.stdout), (3, ""))
                self.assertIn("/nowhere/at/all.json", done.stderr)
        self.assertNotEqual(bench("cost", "--json=.").returncode, 0)

    def test_tiny(self):
        done = self.run_bench("--runtime=1us", "--json")
        self.assertEqual(done.returncode, 0)
        check_schema(self, strict(done.stdout))

    def test_locale(self):
        environment = {**os.environ, "LC_ALL": "de_DE.UTF-8"}
        if not self.direct:
            self.skipTest("no direct I/O here")
        done = subprocess.run([BENCH, "run", "--device", self.file.name, "--bs=4k", "--ios=3", "--json"],
                              env=environment, capture_output=True, text=True)
        check_schema(self, strict(done.stdout))

    def test_interrupted(self):
        if not self.direct:
            self.skipTest("no direct I/O here")
        process = subprocess.Popen([BENCH, "run", "--device", self.file.name, "--bs=4k", "--runtime=3600",
                                    "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        document = strict(out)
        check_schema(self, document)
        self.assertTrue(document["partial"])
        self.assertGreater(document["total"]["read"]["total_ios"], 0)
        self.assertEqual(err, "")

    def test_write_guard(self):
        done = self.run_bench("--rw=write", "--ios=1")
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertIn("not a disk of ours", done.stderr)
        self.assertEqual(self.run_bench("--rw=write", "--ios=1", "--force-device").returncode, 0)

    def test_missing(self):
        done = bench("run", "--device", "/nowhere/at/all", "--ios=1")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("/nowhere/at/all", done.stderr)

    def test_full_output(self):
        if not self.direct:
            self.skipTest("no direct I/O here")
        with open("/dev/full", "w") as full:
            done = subprocess.run([BENCH, "run", "--device", self.file.name, "--bs=4k", "--ios=1"],
                                  stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdout", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
