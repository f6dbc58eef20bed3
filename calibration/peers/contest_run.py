#!/usr/bin/env python3
"""Measures the cases of a contest and, in turn with them, what PyTorch makes of the same workloads.

    calibration/peers/contest_run.py WEFT CASES.jsonl --machine NAME --gpus N --out OUT.jsonl --pytorch PYTORCH.jsonl

WEFT: the program weft; CASES: what contest_draw.py drew for N GPUs. All schedules of a workload, weft's and PyTorch's, take
turns under one load, so that all find the same clock. Interrupted, it goes on where it stopped. Exit status: that of
`weft measure`.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

PYTORCH = pathlib.Path(__file__).resolve().parent / "pytorch_pairs.py"
END_S = 20  # for PyTorch, which ends with weft


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("cases")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--pytorch", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # In our process group: who kills this kills the guest, too.
        guest = subprocess.Popen(["torchrun", "--standalone", "--nproc-per-node", str(arguments.gpus), PYTORCH, "--guest-of",
                                  folder, "--out", arguments.pytorch])
        try:
            status = subprocess.run([arguments.weft, "measure", arguments.cases, "--machine", arguments.machine, "--in-turn",
                                     "--guests", folder, "--out", arguments.out]).returncode
            guest.wait(END_S if status == 0 else 0)
        except subprocess.TimeoutExpired:
            pass
        finally:
            guest.terminate()  # torchrun ends its ranks
            guest.wait()
    return status


if __name__ == "__main__":
    sys.exit(main())
