#!/usr/bin/env python3
"""How much of a GEMM's time is where its operands lie: the same shapes, measured in two processes.

    calibration/peers/placement_summary.py FIRST.jsonl[.gz] AGAIN.jsonl[.gz] > SUMMARY.json

Each case has its timed runs and the mean clock of each, so cycles are compared, which the clock does not change. The second
process measures in another order, and so has its buffers elsewhere in the GPU's memory.
"""
import argparse
import gzip
import json
import statistics

BINS_us = {"below_8_us": (0, 8), "of_8_to_25_us": (8, 25), "of_25_to_60_us": (25, 60), "of_60_to_200_us": (60, 200),
           "from_200_us": (200, float("inf"))}


def read(path):
    """By id: time in us, and the cycles of each run."""
    found = {}
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        for line in map(json.loads, file):
            if "case" in line:
                runs = zip(line["repeats_us"], line["repeat_clocks_MHz"])
                found[line["case"]["id"]] = (line["time_us"], [time * clock for time, clock in runs])
    return found


def spread(first, again, least_us, most_us):
    apart = sorted(abs(statistics.median(again[id][1]) / statistics.median(cycles) - 1)
                   for id, (time_us, cycles) in first.items() if least_us <= time_us < most_us)
    return {"gemms": len(apart), "mean": round(statistics.mean(apart), 4), "median": round(statistics.median(apart), 4),
            "p95": round(apart[int(0.95 * len(apart))], 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("again")
    arguments = parser.parse_args()
    first, again = read(arguments.first), read(arguments.again)
    repeats = [max(cycles) / min(cycles) - 1 for _, cycles in again.values()]
    print(json.dumps({"cases": len(first), "repeats": round(statistics.median(repeats), 4)} |
                     {name: spread(first, again, *bounds) for name, bounds in BINS_us.items()}, indent=1))


if __name__ == "__main__":
    main()
