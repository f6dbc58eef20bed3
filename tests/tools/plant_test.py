"""Does tools/plant keep its promises? In a small project of its own, whose tests are shell scripts."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("plant", str(ROOT / "tools/plant"))
plant = importlib.util.module_from_spec(importlib.util.spec_from_loader("plant", LOADER))
LOADER.exec_module(plant)

FAULT = {"fault": "a turned comparison", "file": "models/a.cpp", "old": "a < b", "new": "a > b"}


class Faults(unittest.TestCase):
    def test_stand_in_every_folder_of_the_source_and_are_at_least_sixty(self):
        faults = plant.read_faults(plant.FAULTS)
        self.assertGreaterEqual(len(faults), 60)
        for folder in ("models", "sim", "scenarios", "calibration", "tools"):
            self.assertTrue(any(fault["file"].startswith(folder) for fault in faults), folder)

    def test_have_names_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "faults.json"
            path.write_text(json.dumps([FAULT, FAULT]))
            with self.assertRaisesRegex(plant.Unfit, "two faults"):
                plant.read_faults(path)

    def test_fit_where_their_text_stands_once(self):
        self.assertEqual(plant.with_fault("return a < b;", FAULT), "return a > b;")
        for text in ("return b > a;", "return a < b || a < b;"):
            with self.assertRaisesRegex(plant.Unfit, "times, expected once"):
                plant.with_fault(text, FAULT)
        with self.assertRaisesRegex(plant.Unfit, "changes nothing"):
            plant.with_fault("a < b", {**FAULT, "new": "a < b"})

    def test_that_do_not_fit_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("a turned comparison: ", list(plant.unfit_faults([FAULT], pathlib.Path(folder)))[0])


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "results.jsonl"

    def tearDown(self):
        self.folder.cleanup()

    def test_of_what_was_found_stay_and_survivors_are_tried_again_on_another_tree(self):
        other = {**FAULT, "old": "b"}
        results = plant.Results(self.path)
        results.add(FAULT, "tree 1", "models: Order.IsTotal", 1)
        results.add(other, "tree 1", "", 1)
        again = plant.Results(self.path)
        self.assertIsNotNone(again.known(FAULT, "tree 2"))
        self.assertIsNotNone(again.known(other, "tree 1"))
        self.assertIsNone(again.known(other, "tree 2"))

    def test_are_those_of_the_change_and_not_of_its_name(self):
        results = plant.Results(self.path)
        results.add(FAULT, "tree", "models: Order.IsTotal", 1)
        self.assertIsNotNone(results.known({**FAULT, "fault": "another name"}, "tree"))
        self.assertIsNone(results.known({**FAULT, "new": "a <= b"}, "tree"))


class Planting(unittest.TestCase):
    """Test programs are scripts that look at the source themselves; there is nothing to compile."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tree = plant.Tree(pathlib.Path(self.folder.name))
        self.tree.compile = lambda targets, jobs: None
        self.tree.other_failure = lambda: ""
        self.source = self.tree.root / FAULT["file"]
        for folder in (self.source.parent, self.tree.build / "bin", self.tree.sound):
            folder.mkdir(parents=True)
        self.source.write_text("return a < b;")
        for name in plant.FOLDERS:
            self.program(name, "exit 0")

    def tearDown(self):
        self.folder.cleanup()

    def program(self, name, script, folder=None):
        for place in [folder] if folder else [self.tree.build / "bin", self.tree.sound]:
            path = place / f"weft_{name}_tests"
            path.write_text(f"#!/bin/bash\n{script}\n")
            path.chmod(0o755)

    def found_by(self):
        found = self.tree.examined(FAULT, 1)
        self.assertEqual(self.source.read_text(), "return a < b;")
        return found

    def failing_where_planted(self):
        return f"grep -q 'a < b' {self.source} || {{ echo '[  FAILED  ] Order.IsTotal (1 ms)'; exit 1; }}"

    def test_names_the_test_that_fails(self):
        self.program("scenarios", self.failing_where_planted(), self.tree.build / "bin")
        self.assertEqual(self.found_by(), "scenarios: Order.IsTotal")

    def test_runs_the_tests_of_the_file_first(self):
        self.assertIn("*Footprint.*", plant.tests_of("models/schedule/footprint.cpp").split(":"))
        self.assertEqual(plant.tests_of("models/no_such_file.cpp"), "")
        said = pathlib.Path(self.folder.name) / "said"
        self.program("models", f'echo "$*" >> {said}', self.tree.build / "bin")
        plant.tests_of, before = (lambda source: "*Order.*"), plant.tests_of
        self.found_by()
        plant.tests_of = before
        filters = [line.split("--gtest_filter=")[1] for line in said.read_text().splitlines()]
        self.assertEqual(filters, ["*Order.*", "*"])

    def test_says_nothing_where_all_pass(self):
        self.assertEqual(self.found_by(), "")

    def test_does_not_count_a_test_that_fails_anyway(self):
        self.program("models", 'case "$*" in *-Order*) exit 0;; esac; echo "[  FAILED  ] Order.IsTotal (1 ms)"; exit 1')
        self.assertEqual(self.found_by(), "")

    def test_counts_a_program_that_dies_or_does_not_end(self):
        self.program("models", "kill -SEGV $$", self.tree.build / "bin")
        self.assertEqual(self.found_by(), f"models: {plant.DIES}")
        self.program("models", "exec sleep 60", self.tree.build / "bin")
        plant.WAITING_SECONDS, before = 0.3, plant.WAITING_SECONDS
        self.assertEqual(self.found_by(), f"models: {plant.DOES_NOT_END}")
        plant.WAITING_SECONDS = before
        self.program("models", "while :; do :; done", self.tree.build / "bin")
        plant.TEST_SECONDS, before = 1, plant.TEST_SECONDS
        self.assertEqual(self.found_by(), f"models: {plant.DOES_NOT_END}")
        plant.TEST_SECONDS = before


if __name__ == "__main__":
    unittest.main()
