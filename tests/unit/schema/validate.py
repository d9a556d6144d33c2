# SPDX-License-Identifier: GPL-2.0-or-later
"""validate.py SCHEMAS DOCUMENTS: holds each VERB.json to VERB.schema.json.

A schema without a document, or the other way round, is a failure as well: a reader without a
schema must not pass. Exit status 77: python3-jsonschema is not installed.
"""

import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)


def main(schemas, documents):
    by_verb = {path.name.removesuffix(".schema.json"): path for path in schemas.glob("*.schema.json")}
    printed = {path.stem: path for path in documents.glob("*.json")}
    # Other tools keep their schemas beside ours; what they print is for their tests.
    ours = {verb: path for verb, path in by_verb.items()
            if json.loads(path.read_text()).get("$comment") == "tallyctl"}
    failures = [f"{verb}: no schema" for verb in sorted(printed.keys() - ours.keys())]
    failures += [f"{verb}: no document" for verb in sorted(ours.keys() - printed.keys())]
    for verb in sorted(ours.keys() & printed.keys()):
        schema = json.loads(ours[verb].read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        validator = jsonschema.Draft7Validator(schema)
        for error in validator.iter_errors(json.loads(printed[verb].read_text())):
            failures.append(f"{verb}: {'/'.join(map(str, error.path))}: {error.message}")
    print("\n".join(failures) or f"{len(printed)} documents are valid")
    return 1 if failures or not printed else 0


sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
