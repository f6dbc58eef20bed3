"""The Python package: the same bits as the command, errors as exceptions, columns of numpy. Arguments: the program weft."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

import numpy
import weft

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
WEFT = ROOT / "build/release/bin/weft"
MACHINE = "h200x8-nvswitch"
PAIR = {"gpus": 4, "workload": {"op": "gemm+all_reduce", "m": 4096, "n": 4096, "k": 2048}}
CHUNKED = {**PAIR, "schedule": {"family": "decomposition", "chunks": 2}}


def command(*arguments, given=""):
    return subprocess.run([WEFT, *arguments], input=given, capture_output=True, text=True, check=True).stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = weft.machine(MACHINE)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def test_machines_are_those_of_the_command(self):
        self.assertIn(MACHINE, weft.machines())
        self.assertEqual((self.machine.name, self.machine.gpus), (MACHINE, 8))
        self.assertEqual(weft.machine(self.machine), self.machine)
        self.assertEqual(weft.machine(pathlib.Path(self.machine.path)).name, MACHINE)
        self.assertIn("H200", self.machine.description)

    def test_numbers_have_unit_and_source(self):
        numbers = {one["number"]: one for one in weft.numbers(MACHINE)}
        self.assertEqual(numbers["gpu.max_clock"]["unit"], "MHz")
        self.assertTrue(numbers["gpu.max_clock"]["source"])

    def test_a_prediction_is_the_line_of_the_command(self):
        line = command("predict", "--machine", MACHINE, given=json.dumps({"id": "a", **CHUNKED}))
        self.assertEqual(weft.predict({"id": "a", **CHUNKED}, MACHINE), json.loads(line))

    def test_a_list_is_answered_in_its_order(self):
        cases = [{**PAIR, "workload": {**PAIR["workload"], "m": m}} for m in range(64, 64 * 100, 64)]
        together = weft.predict(cases, self.machine)
        self.assertEqual([one["time_us"] for one in together],
                         [weft.predict(one, self.machine)["time_us"] for one in cases])
        self.assertEqual(weft.predict([], self.machine), [])

    def test_numbers_of_numpy_are_numbers(self):
        sizes = {**PAIR["workload"], "m": numpy.int64(4096), "n": numpy.arange(4097)[-1]}
        self.assertEqual(weft.predict({**PAIR, "workload": sizes}, self.machine), weft.predict(PAIR, self.machine))

    def test_what_is_wrong_is_an_input_error_with_its_field(self):
        wrong = {**PAIR, "workload": {**PAIR["workload"], "m": 0}}
        with self.assertRaises(weft.InputError) as raised:
            weft.predict(wrong, self.machine)
        self.assertEqual(raised.exception.field, "workload.m")
        self.assertRegex(str(raised.exception), r"^workload\.m: expected an integer from 1 to .*, got 0$")
        self.assertIsInstance(raised.exception, ValueError)
        with self.assertRaisesRegex(weft.InputError, r'^machine: expected a path or one of .*, got "dgx9000"$'):
            weft.machine("dgx9000")
        with self.assertRaisesRegex(weft.InputError, "colour: expected one of the keys|colour"):
            weft.predict({**PAIR, "colour": 1}, self.machine)
        with self.assertRaisesRegex(weft.InputError, "expected what JSON can hold: got a set"):
            weft.predict({**PAIR, "gpus": {4}}, self.machine)
        with self.assertRaisesRegex(weft.InputError, "expected what JSON can hold"):
            weft.predict({**PAIR, "gpus": float("nan")}, self.machine)

    def test_a_list_names_the_wrong_case_or_returns_its_error_beside_the_others(self):
        wrong = {**PAIR, "gpus": 9}
        with self.assertRaisesRegex(weft.InputError, r"^case\[1\]: gpus: expected at most 8"):
            weft.predict([PAIR, wrong], self.machine)
        answers = weft.predict([wrong, PAIR], self.machine, errors="return")
        self.assertIn("gpus: expected at most 8", answers[0]["error"])
        self.assertGreater(answers[1]["time_us"], 0)
        with self.assertRaisesRegex(ValueError, "errors: expected"):
            weft.predict([PAIR], self.machine, errors="ignore")

    def test_explore_says_what_the_command_writes(self):
        scenario = {"format": "weft.scenario/1", "op": "gemm+reduce_scatter", "m": [1024, 2048], "n": 2048, "k": 1024,
                    "gpus": 2, "chunks": [2], "max_ctas": []}
        file = self.path / "scenario.json"
        file.write_text(json.dumps(scenario))
        command("explore", file, "--machine", MACHINE, "--json", self.path / "out.json")
        written = json.loads((self.path / "out.json").read_text())
        self.assertEqual(weft.explore(scenario, self.machine), written)
        self.assertEqual(weft.explore(file, self.machine), written)

    def test_explore_takes_a_config_and_words(self):
        config = ROOT / "scenarios/models/llama-3.3-70b.config.json"
        answers = weft.explore(config, self.machine, gpus=4, tokens=[numpy.int64(512)])["answers"]
        self.assertEqual({one["size"] for one in answers}, {512})
        words = weft.explore("m=512 n=1024 k=1024 op=gemm+all_reduce", self.machine, gpus=2)
        self.assertEqual((words["gpus"], len(words["answers"])), (2, 1))
        with self.assertRaisesRegex(weft.InputError, "gpus: expected in the dict"):
            weft.explore(PAIR, self.machine, gpus=2)

    def test_explore_takes_a_case_and_asks_about_its_workload(self):
        answer = weft.explore({"id": "mlp", **CHUNKED}, self.machine)["answers"][0]
        self.assertEqual(answer["size"], 4096)
        schedules = [one["schedule"]["family"] for one in answer["schedules"]]
        self.assertIn("serial", schedules)
        self.assertIn("decomposition", schedules)
        with self.assertRaisesRegex(weft.InputError, "gpus: expected at most 8"):
            weft.explore({**PAIR, "gpus": 16}, self.machine)

    def test_a_schedule_is_built_checked_and_simulated(self):
        schedule = weft.build(CHUNKED, self.machine)
        self.assertEqual(schedule["format"], "weft.schedule/1")
        self.assertIn("gemm+all_reduce", weft.check(schedule))
        trace = weft.simulate(schedule, self.machine)
        self.assertEqual(trace["time_us"], weft.predict(CHUNKED, self.machine)["time_us"])
        spans = trace["spans"]
        self.assertEqual(len({len(column) for column in spans.values()}), 1)
        self.assertEqual(spans["start_us"].dtype, numpy.float64)
        self.assertTrue((spans["end_us"] >= spans["start_us"]).all())
        self.assertEqual(set(spans["gpu"]), set(range(4)))
        self.assertEqual(numpy.count_nonzero((spans["kind"] == "gemm") & (spans["gpu"] == 0)), 2)

    def test_a_schedule_may_be_a_file_and_a_trace_is_written_for_perfetto(self):
        file = self.path / "schedule.json"
        file.write_text(json.dumps(weft.build(CHUNKED, self.machine)))
        trace = weft.simulate(file, self.machine, perfetto=self.path / "trace.json")
        command("simulate", file, "--machine", MACHINE, "--trace", self.path / "same.json")
        self.assertEqual((self.path / "trace.json").read_text(), (self.path / "same.json").read_text())
        self.assertGreater(trace["time_us"], 0)
        with self.assertRaisesRegex(weft.InputError, "nowhere.json: expected a readable file"):
            weft.check("nowhere.json")
        with self.assertRaises(OSError):
            weft.simulate(file, self.machine, perfetto="/nowhere/trace.json")

    def test_a_race_and_another_machine_are_refused(self):
        schedule = weft.build(CHUNKED, self.machine)
        with self.assertRaisesRegex(weft.InputError, "machine: expected a schedule for h100x8-nvswitch"):
            weft.simulate(schedule, "h100x8-nvswitch")
        for operation in schedule["operations"]:
            operation.pop("after", None)
        with self.assertRaisesRegex(weft.InputError, "got a race"):
            weft.simulate(schedule, self.machine)

    def test_a_report_says_what_the_command_prints(self):
        words = "m=4096 n=4096 k=2048 op=gemm+all_reduce"
        arguments = ("explore", words, "--machine", MACHINE, "--gpus", "4")
        report = weft.report(words, self.machine, gpus=4)
        self.assertEqual(str(report), command(*arguments))
        for format in ("text", "markdown", "csv", "json"):
            self.assertEqual(report.written(format), command(*arguments, "--format", format))
        self.assertIn(report.verdict[0], str(report))
        self.assertTrue(report.losses_picture().startswith("<svg"))
        self.assertEqual(weft.report(PAIR, MACHINE).verdict, report.verdict)
        with self.assertRaisesRegex(weft.InputError, "format: expected one of text, json, csv, markdown"):
            report.written("xml")

    def test_a_report_has_the_page_where_the_build_has_it(self):
        report = weft.report("m=4096 n=4096 k=2048 op=gemm+all_reduce", self.machine, gpus=2)
        if (WEFT.parent.parent / "share/weft/report.html").exists():
            self.assertIn("weft.report/1", report.page())
        else:
            with self.assertRaisesRegex(weft.InputError, "page: expected a weft built where npm is"):
                report.page()

    def test_a_simulation_is_drawn(self):
        weft.simulate(weft.build(CHUNKED, self.machine), self.machine, svg=self.path / "lanes.svg")
        self.assertTrue((self.path / "lanes.svg").read_text().startswith("<svg"))

    def test_other_threads_go_on_while_one_asks(self):
        """The interpreter changes threads only where one lets go of it, so nothing is counted in a call that does not."""
        lines = "\n".join(json.dumps({"id": str(i), **CHUNKED}) for i in range(3000))
        counted, in_call = [0], []

        def ask():
            before = counted[0]
            weft._weft.predict_lines(lines, self.machine)
            in_call.append(counted[0] - before)

        usual = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        try:
            asking = threading.Thread(target=ask)
            asking.start()
            while asking.is_alive():
                counted[0] += 1
                time.sleep(0)
        finally:
            sys.setswitchinterval(usual)
        self.assertGreater(in_call[0], 10)

    def test_the_stub_says_what_the_extension_has(self):
        stub = (pathlib.Path(weft.__file__).parent / "_weft.pyi").read_text()
        declared = {line.split()[1].split("(")[0].rstrip(":") for line in stub.splitlines()
                    if line.startswith(("def ", "class "))}
        self.assertEqual(declared, {name for name in vars(weft._weft) if not name.startswith("__")})

    def test_everything_public_says_what_it_is(self):
        self.assertEqual([name for name in weft.__all__ if not getattr(weft, name).__doc__], [])


class Wheel(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("setuptools"), "needs python3-setuptools")
    def test_a_wheel_of_the_build_answers_alone(self):
        """As pip builds it, unpacked where nothing else of weft is around."""
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "WEFT_BUILD": str(WEFT.parent.parent), "PYTHONPATH": ""}
            built = subprocess.run(
                [sys.executable, "setup.py", "-q", "build", "--build-base", f"{folder}/base", "egg_info", "--egg-base",
                 folder, "bdist_wheel", "--bdist-dir", f"{folder}/tree", "--dist-dir", folder],
                cwd=ROOT / "scenarios/python", env=environment, capture_output=True, text=True)
            self.assertEqual(built.returncode, 0, built.stderr)
            (wheel,) = pathlib.Path(folder).glob("weft-*.whl")
            zipfile.ZipFile(wheel).extractall(f"{folder}/site")
            asked = subprocess.run(
                [sys.executable, "-c", f"import weft; print(weft.__file__, weft.machine('{MACHINE}').path)"],
                env={**environment, "PYTHONPATH": f"{folder}/site"}, cwd=folder, capture_output=True, text=True)
            self.assertEqual(asked.returncode, 0, asked.stderr)
            self.assertEqual([pathlib.Path(file).is_relative_to(f"{folder}/site") for file in asked.stdout.split()],
                             [True, True])


class Examples(unittest.TestCase):
    def printed(self, name, *arguments):
        example = ROOT / "scenarios/python/examples" / name
        return subprocess.run([sys.executable, example, *arguments], capture_output=True, text=True, check=True).stdout

    def test_crossover_has_a_row_for_each_size(self):
        rows = self.printed("crossover.py").splitlines()
        self.assertEqual(len(rows), 7)
        self.assertTrue(rows[1].endswith("serial"))
        self.assertFalse(rows[-1].endswith("serial"))

    def test_timeline_sees_kernels_at_the_same_time_and_writes_a_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            printed = self.printed("timeline.py", folder)
            self.assertRegex(printed, r"both for [1-9]\d* us")
            self.assertIn("traceEvents", json.loads((pathlib.Path(folder) / "trace.json").read_text()))

    def test_own_schedule_is_timed_and_its_race_is_named(self):
        self.assertIn("without its edges: operations: expected conflicting operations to be ordered",
                      self.printed("own_schedule.py"))


if __name__ == "__main__":
    WEFT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else WEFT
    unittest.main()
