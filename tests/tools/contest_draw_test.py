#!/usr/bin/env python3
"""What a contest draws: contest_draw_test.py WEFT."""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRAW = ROOT / "calibration/peers/contest_draw.py"
MACHINE = "h200x8-nvswitch"
SERIAL = {"family": "serial"}
WEFT = ""


def drawn():
    text = subprocess.run([sys.executable, DRAW, WEFT, "--machine", MACHINE, "--gpus", "2", "--seed", "7", "--workloads", "1"],
                          check=True, capture_output=True, text=True).stdout
    cases = [json.loads(line) for line in text.splitlines()]
    workloads = collections.defaultdict(dict)
    for case in cases:
        workload, name = case["id"].split(".")
        workloads[workload][name] = case
    return workloads


def in_turn_us(cases):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("".join(json.dumps(case) + "\n" for case in cases))
        file.flush()
        answers = subprocess.run([WEFT, "predict", "--machine", MACHINE, "--in-turn", "--in", file.name], check=True,
                                 capture_output=True, text=True).stdout
    return {answer["id"]: answer["time_us"] for answer in map(json.loads, answers.splitlines())}


class Contest(unittest.TestCase):
    def test_has_a_workload_of_each_pattern_with_serial_and_five_others(self):
        workloads = drawn()
        self.assertEqual(list(workloads), ["w00", "w01", "w02", "w03"])
        self.assertEqual(len({cases["serial"]["workload"]["op"] for cases in workloads.values()}), 4)
        for cases in workloads.values():
            self.assertEqual(set(cases), {"serial", "0", "1", "2", "3", "4"})
            self.assertEqual([name for name in cases if cases[name]["schedule"] == SERIAL], ["serial"])

    def test_names_them_by_what_they_take_in_turn_beside_what_stands_for_the_peers(self):
        for cases in drawn().values():
            serial = cases["serial"]
            peers = [serial | {"id": f"peer{i}", "schedule": {"implementation": "pytorch"} | family}
                     for i, family in enumerate([SERIAL, {"family": "decomposition", "chunks": 2},
                                                 {"family": "decomposition", "chunks": 4}, {"family": "async_tp"}])]
            if serial["workload"]["op"] not in ("all_gather+gemm", "gemm+reduce_scatter"):
                peers.pop()
            times = in_turn_us([*cases.values(), *peers])
            ranked = [times[cases[str(rank)]["id"]] for rank in range(5)]
            self.assertEqual(ranked, sorted(ranked))


if __name__ == "__main__":
    WEFT = sys.argv.pop()
    unittest.main()
