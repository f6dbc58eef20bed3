"""Holds docs/schema and the readers together. Argument: the program weft.

The readers name the keys and words that they know when they meet one that they do not. So each object of a schema is given
to the reader with an unknown key, without each required key, and with an unknown word; and every file that is there has to
follow its schema.
"""

import copy
import functools
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEFT = ROOT / "build/release/bin/weft"
MACHINE = "h200x8-nvswitch"


class Schema:
    """A JSON Schema of the few keywords that docs/schema uses."""

    def __init__(self, name):
        self.root = json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text())

    def resolved(self, schema):
        """What a reference stands for; it may be to another file, as "case.schema.json#/$defs/NAME"."""
        if "$ref" not in schema:
            return schema
        file, name = schema["$ref"].split("#/$defs/")
        root = Schema(file.removesuffix(".schema.json")).root if file else self.root
        return root["$defs"][name]

    def fits(self, value, schema=None):
        schema = self.resolved(self.root if schema is None else schema)
        if "oneOf" in schema:
            return sum(self.fits(value, one) for one in schema["oneOf"]) == 1
        if "const" in schema:
            return value == schema["const"]
        if "enum" in schema:
            return value in schema["enum"]
        if schema["type"] == "object":
            if "properties" not in schema:  # other schemas say what it holds
                return isinstance(value, dict)
            known = schema["properties"]
            return (
                isinstance(value, dict)
                and set(schema.get("required", [])) <= value.keys() <= known.keys()
                and all(self.fits(value[key], known[key]) for key in value)
            )
        if schema["type"] == "array":
            if not isinstance(value, list):
                return False
            is_long_enough = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
            return is_long_enough and all(self.fits(item, schema["items"]) for item in value)
        if schema["type"] in ("integer", "number"):
            kinds = int if schema["type"] == "integer" else (int, float)
            return (
                isinstance(value, kinds)
                and not isinstance(value, bool)
                and schema.get("minimum", value) <= value <= schema.get("maximum", value)
                and value > schema.get("exclusiveMinimum", value - 1)
            )
        return isinstance(value, {"string": str, "boolean": bool}[schema["type"]])

    def samples(self, schema=None, inside=()):
        """Values that fit: the first has all keys, and every alternative is in one of them."""
        schema = self.root if schema is None else schema
        inside = (*inside, schema.get("$ref", ""))
        schema = self.resolved(schema)
        if "examples" in schema:
            return schema["examples"]
        if "oneOf" in schema:
            return [sample for one in schema["oneOf"] for sample in self.samples(one, inside)]
        if "const" in schema:
            return [schema["const"]]
        if "enum" in schema:
            return [schema["enum"][0]]
        if schema["type"] == "object":
            by_key = {key: self.samples(value, inside) for key, value in schema["properties"].items()}
            first = {key: samples[0] for key, samples in by_key.items()}
            return [first] + [{**first, key: sample} for key, samples in by_key.items() for sample in samples[1:]]
        if schema["type"] == "array":
            if schema["items"].get("$ref", " ") in inside:
                return [[]]
            return [[sample] * schema.get("minItems", 1) for sample in self.samples(schema["items"], inside)]
        if schema["type"] in ("integer", "number"):
            return [max(1, schema.get("minimum", 1))]
        return [{"string": "x", "boolean": True}[schema["type"]]]

    def objects(self, value, schema=None, path=()):
        """(path, schema) of each object in a value that fits."""
        schema = self.resolved(self.root if schema is None else schema)
        if "oneOf" in schema:
            schema = self.resolved(next(one for one in schema["oneOf"] if self.fits(value, one)))
            yield from self.objects(value, schema, path)
        elif schema.get("type") == "object" and "properties" in schema:
            yield path, schema
            for key in value:
                yield from self.objects(value[key], schema["properties"][key], (*path, key))
        elif schema.get("type") == "array":
            for i, item in enumerate(value):
                yield from self.objects(item, schema["items"], (*path, i))

    def says_keys(self, found, keys):
        """Are these the keys of an object? Readers of operations and scenarios look for those of its alternatives too."""
        places = [self.root, self.root["$defs"].get("operation", {})]
        alternatives = next((p["oneOf"] for p in places if any(found is one for one in p.get("oneOf", []))), [found])
        most = set().union(*(one["properties"] for one in alternatives))
        return keys is not None and found["properties"].keys() <= keys <= most

    def says_words(self, known, words):
        """Are these the words of a key? The reader of scenarios names the ops of all cases."""
        return words is not None and (known <= words if "oneOf" in self.root else known == words)

    def words(self, key, schema):
        """All words of a key, over all alternatives that have it beside the same keys that must be there."""
        found = set(schema["properties"][key].get("enum", []))
        for place in [self.root, *self.root["$defs"].values()]:
            alternatives = [self.resolved(one) for one in place.get("oneOf", [])]
            if any(one is schema for one in alternatives) and key in ("op", "family"):
                for one in alternatives:
                    found |= set(one.get("properties", {}).get(key, {}).get("enum", []))
        return found


def at(value, path):
    for key in path:
        value = value[key]
    return value


def changed(value, path, change):
    result = copy.deepcopy(value)
    change(at(result, path))
    return result


class Probes:
    """Changed values of one format, each with what the error of the reader must say."""

    def __init__(self, schema, values):
        self.probes = []  # (value, what was done, check of the error)
        seen = set()
        for value in values:
            for path, found in schema.objects(value):
                if id(found) not in seen:
                    seen.add(id(found))
                    self.probe(schema, value, path, found)

    def probe(self, schema, value, path, found):
        where = ".".join(map(str, path)) or "the top"
        add = self.probes.append
        unknown = changed(value, path, lambda object: object.update(no_such_key=1))
        add((unknown, f"unknown key at {where}", lambda error: schema.says_keys(found, keys_of(error))))
        for key, one in found["properties"].items():
            if key in found.get("required", []):
                missing = changed(value, path, lambda object: object.pop(key))
                add((missing, f"no {key} at {where}", lambda error, key=key: key in error or "it is missing" in error))
            is_size_asked_first = key == "op" and {"format", "tokens"} <= found["properties"].keys()
            if "enum" in one and not is_size_asked_first:
                wrong = changed(value, path, lambda object: object.update({key: "no_such_word"}))
                says = functools.partial(schema.says_words, schema.words(key, found))
                add((wrong, f"unknown word of {key} at {where}", lambda error, says=says: says(words_of(error))))
            for limit, step in (("minimum", -1), ("maximum", 1)):
                if limit in one and one["type"] == "integer":
                    beyond = changed(value, path, lambda object: object.update({key: one[limit] + step}))
                    add((beyond, f"{key} beyond its {limit} at {where}", lambda error, key=key: key in error))


def keys_of(error):
    match = re.search(r"no_such_key: expected one of the keys (.*), got this unknown one", error)
    return set(match[1].split(", ")) if match else None


def words_of(error):
    match = re.search(r"expected (?:one of )?(.*?), got", error)
    return set(re.split(r", | or ", match[1])) if match else None


class Schemas(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def error_of(self, command, value):
        """What the command says of a file of this value."""
        file = self.path / "value.json"
        file.write_text(json.dumps(value))
        line = [WEFT, command, file, "--machine", MACHINE]
        return subprocess.run(line, capture_output=True, text=True, check=False).stderr

    def assert_probes(self, probes, errors):
        wrong = [f"{what}: {error.strip()}" for (_, what, is_right), error in zip(probes, errors) if not is_right(error)]
        self.assertEqual(wrong, [])

    def test_the_reader_of_cases_knows_the_keys_and_words_of_the_schema(self):
        schema = Schema("case")
        values = schema.samples()
        for value in values:
            if "+" not in value["workload"]["op"]:
                value.pop("measured")
        probes = Probes(schema, values).probes
        self.assertGreater(len(probes), 100)
        lines = "\n".join(json.dumps(value) for value, _, _ in probes)
        command = [WEFT, "predict", "--machine", MACHINE]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(probes))
        self.assert_probes(probes, [answer.get("error", "") for answer in answers])

    def test_the_reader_of_scenarios_knows_the_keys_and_words_of_the_schema(self):
        schema = Schema("scenario")
        shutil.copytree(ROOT / "scenarios/models", self.path / "models")
        values = schema.samples()
        for value in values:
            if "model" in value:
                value["model"] = "models/llama-3.3-70b.config.json"
        probes = Probes(schema, values).probes
        self.assertGreater(len(probes), 50)
        self.assert_probes(probes, [self.error_of("explore", value) for value, _, _ in probes])

    def test_the_reader_of_schedules_knows_the_keys_and_words_of_the_schema(self):
        schema = Schema("schedule")
        first = {"name": "first", "stream": "x", "barrier": {}}
        values = schema.samples()
        for value in values:
            operation = dict(value["operations"][0])
            follows = operation["after"][0]
            operation["after"] = ["first" if follows == "x" else {**follows, "operation": "first"}]
            value["operations"] = [first, operation]
        probes = Probes(schema, values).probes
        self.assertGreater(len(probes), 150)
        self.assert_probes(probes, [self.error_of("simulate", value) for value, _, _ in probes])

    def test_the_reader_of_sweeps_knows_the_keys_and_words_of_the_schema(self):
        schema = Schema("sweep")
        shutil.copytree(ROOT / "scenarios/models", self.path / "models")
        probes = Probes(schema, schema.samples()).probes
        self.assertGreater(len(probes), 20)
        errors = []
        for value, _, _ in probes:
            file = self.path / "value.json"
            file.write_text(json.dumps(value))
            line = [WEFT, "sweep", file, "--store", self.path / "store.sqlite"]
            errors.append(subprocess.run(line, capture_output=True, text=True, check=False).stderr)
        self.assert_probes(probes, errors)

    def test_files_follow_their_schemas(self):
        files = {
            "scenario": [*ROOT.glob("scenarios/*.json"), ROOT / "docs/example/scenario.json"],
            "sweep": [*ROOT.glob("scenarios/sweeps/*.json")],
            "schedule": [*ROOT.glob("tests/schedules/*.json"), *ROOT.glob("scenarios/launch_control/*.json"),
                         ROOT / "docs/example/schedule.json", ROOT / "docs/example/worked_example.json"],
        }
        for name, paths in files.items():
            schema = Schema(name)
            self.assertTrue(paths)
            for path in paths:
                self.assertTrue(schema.fits(json.loads(path.read_text())), path)
        schema = Schema("case")
        for path in ROOT.glob("calibration/measurements/validation-cases/*.jsonl.gz"):
            for line in gzip.decompress(path.read_bytes()).splitlines():
                self.assertTrue(schema.fits(json.loads(line)), line)

    def test_schemas_refuse_what_is_wrong(self):
        schema = Schema("case")
        case = {"id": "a", "gpus": 1, "workload": {"op": "gemm", "m": 1, "n": 1, "k": 1}}
        self.assertTrue(schema.fits(case))
        for wrong in ({"m": 0}, {"m": 1.5}, {"op": "gem"}, {"bytes": 1}, {"dtype": "fp16"}):
            self.assertFalse(schema.fits({**case, "workload": {**case["workload"], **wrong}}), wrong)


if __name__ == "__main__":
    WEFT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else WEFT
    unittest.main()
