"""tools/measure_server on a device part without GPUs: every step measures its cases, and a run that is cut off goes on."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEFT, DEVICE_PART = sys.argv.pop(1), sys.argv.pop(1)

# PyTorch's part, with serial alone: the ranks' guests, of which the first writes.
TORCHRUN = """#!/usr/bin/env python3
import json, os, socket, sys, threading
ranks, folder, out = int(sys.argv[sys.argv.index("--nproc-per-node") + 1]), sys.argv[-3], sys.argv[-1]

def guest(rank):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.join(folder, f"rank-{rank}"))
        listening.listen()
        connection, _ = listening.accept()
    with connection, connection.makefile() as lines, open(out if rank == 0 else os.devnull, "a") as file:
        for line in lines:
            order, _, rest = line.rstrip().partition(" ")
            if order == "mix":
                workload, turns = json.loads(rest)["workload"], 0
            turns += order == "turn"
            if order == "end":
                assert (turns, rest) == (3, "2 2")
                file.write(json.dumps({"workload": workload, "gpus": ranks, "peer": "pytorch serial", "time_us": 100}) + "\\n")
                file.flush()
            connection.sendall(b"done\\n")

for thread in [threading.Thread(target=guest, args=(rank,)) for rank in range(ranks)]:
    thread.start()
"""


class MeasureServer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        torchrun = self.path / "bin/torchrun"
        torchrun.parent.mkdir()
        torchrun.write_text(TORCHRUN)
        torchrun.chmod(0o755)

    def run_script(self, *options, pace_ms=0):
        environment = dict(os.environ, WEFT=WEFT, WEFT_DEVICE_PART=DEVICE_PART, WEFT_FAKE_DEVICE_MS=str(pace_ms),
                           PATH=f"{self.path / 'bin'}:{os.environ['PATH']}")
        command = [ROOT / "tools/measure_server", "--machine", "h200x8-nvswitch", "--out", self.path / "out", *options]
        return subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def lines(self, name):
        return [json.loads(line) for line in (self.path / "out" / name).read_text().splitlines()]

    def measured(self, name):
        return [line["case"]["id"] for line in self.lines(name) if "time_us" in line]

    def test_says_what_it_would_do_and_that_each_step_takes_ten_minutes_at_most(self):
        done = self.run_script("--gpus", "8", "--dry-run")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        steps = re.findall(r"^# (\w+): about (\d+) s$", done.stdout, re.MULTILINE)
        self.assertEqual([step for step, _ in steps], ["calibrate", "validate", "contest", "ranks", "random"])
        for step, seconds in steps:
            self.assertLessEqual(int(seconds), 600, step)
        self.assertIn("--gpus 1,2,4,8", done.stdout)
        self.assertFalse((self.path / "out").exists())

    def test_every_step_measures_all_its_cases(self):
        done = self.run_script("--gpus", "2", "random", "contest", "ranks")
        self.assertEqual(done.returncode, 0, done.stderr)
        for cases, measured in (("contest_cases", "contest"), ("drawn/copies_2gpu", "ranks"), ("random_cases", "random")):
            self.assertEqual(sorted(case["id"] for case in self.lines(f"{cases}.jsonl")),
                             sorted(self.measured(f"{measured}.jsonl")))
        [summary] = [json.loads((self.path / "out/contest_summary.json").read_text())["summary"]]
        self.assertEqual(summary["all"]["workloads"], 40)
        self.assertTrue(all(line["beside_guests"] for line in self.lines("contest.jsonl") if "time_us" in line))

    def test_goes_on_where_its_time_was_over(self):
        done = self.run_script("--gpus", "2", "--seconds", "3", "validate", pace_ms=20)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("3 s are over in step validate", done.stderr)
        first = self.measured("validation.jsonl")
        self.assertTrue(0 < len(first) < 400)
        self.assertEqual(self.run_script("--gpus", "2", "validate").returncode, 0)
        for name in ("validation.jsonl", "validation_in_turn.jsonl"):
            ids = self.measured(name)
            self.assertEqual(len(ids), len(set(ids)))
            self.assertEqual(set(ids), {case["id"] for case in self.lines("validation_cases.jsonl")})
        self.assertEqual(self.measured("validation.jsonl")[:len(first)], first)

    def test_refuses_what_it_cannot_do(self):
        for options, words in ((("--gpus", "2", "dance"), 'STEP: expected some of calibrate, validate, contest, ranks, random, got "dance"'),
                               (("--gpus", "3"), "argument --gpus: invalid choice")):
            done = self.run_script(*options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
