#!/usr/bin/env python3
"""The committed summaries of calibration/peers are what the scripts there make of the committed measurements."""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "calibration/peers"


def printed(script, *files):
    return subprocess.run([sys.executable, PEERS / script, *map(str, files)], check=True, capture_output=True,
                          text=True).stdout


class Summaries(unittest.TestCase):
    def test_of_contests(self):
        folders = sorted(path for path in PEERS.iterdir() if (path / "summary.json").exists())
        self.assertGreaterEqual(len(folders), 2)
        for folder in folders:
            with self.subTest(folder=folder.name):
                found = printed("contest_summary.py", folder / "weft.jsonl.gz", folder / "pytorch.jsonl.gz")
                self.assertEqual(found, (folder / "summary.json").read_text())

    def test_of_own_gemms(self):
        files = [ROOT / "calibration/measurements/own-kernels-2026-11-28" / f"gemm_{gpu}.jsonl.gz"
                 for gpu in ("h200", "h100")]
        found = printed("own_gemm_summary.py", *files)
        self.assertEqual(found, (PEERS / "own_gemm_summary.json").read_text())

    def test_of_collectives(self):
        files = [ROOT / "calibration/measurements/own-kernels-2026-11-22" / f"{name}.jsonl.gz"
                 for name in ("two_shot", "graph_mixing_on", "graph_mixing_off")]
        self.assertEqual(printed("collectives_summary.py", *files), (PEERS / "collectives_summary.json").read_text())

    def test_of_windows(self):
        found = printed("windows_summary.py",
                        ROOT / "calibration/measurements/windows-2026-11-25/collectives_h200.jsonl.gz")
        self.assertEqual(found, (PEERS / "windows_summary.json").read_text())

    def test_of_flagged_shards(self):
        found = printed("flagged_summary.py",
                        ROOT / "calibration/measurements/hybrids-2026-11-28/flagged_shards_h200_2gpu.jsonl.gz")
        self.assertEqual(found, (PEERS / "flagged_summary.json").read_text())

    def test_of_grouped_gemms(self):
        found = printed("grouped_gemms_summary.py", PEERS / "grouped_gemms_h200.jsonl.gz")
        self.assertEqual(found, (PEERS / "grouped_gemms_summary.json").read_text())

    def test_of_fused_norms(self):
        kernels = [PEERS / f"fused_norms_h200x{gpus}.jsonl" for gpus in (2, 4)]
        layers = [ROOT / "calibration/measurements/fused-norm-2026-11-27" / f"layers_{name}.jsonl.gz"
                  for name in ("h200", "h200_4gpu")]
        found = printed("fused_norms_summary.py", *kernels, "--layers", *layers)
        self.assertEqual(found, (PEERS / "fused_norms_summary.json").read_text())

    def test_of_random_schedules(self):
        for gpus, name in ((2, "random_summary_h200"), (4, "random_summary_h200_4gpu")):
            files = sorted((ROOT / "calibration/measurements/random-2026-11-28").glob(f"h200_{gpus}gpu_*.jsonl.gz"))
            self.assertEqual(printed("random_summary.py", *files), (PEERS / f"{name}.json").read_text())

    def test_of_placement(self):
        files = [ROOT / "calibration/measurements/gemms-2026-11-25" / f"h200_{name}.jsonl.gz" for name in ("first", "again")]
        self.assertEqual(printed("placement_summary.py", *files), (PEERS / "placement_summary.json").read_text())


if __name__ == "__main__":
    unittest.main()
