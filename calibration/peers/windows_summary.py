#!/usr/bin/env python3
"""How NCCL's collectives on symmetric memory do beside its default ones and ours over peer memory.

    calibration/peers/windows_summary.py COLLECTIVES.jsonl[.gz] > SUMMARY.json

The file holds collectives alone, in turns: microseconds by kind and size of each way, of ours the fastest.
"""
import argparse
import gzip
import json


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collectives")
    path = parser.parse_args().collectives
    kinds = {}
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        for line in map(json.loads, file):
            if "time_us" not in line:
                continue
            workload, schedule = line["case"]["workload"], line["case"]["schedule"]
            ways = kinds.setdefault(workload["op"], {}).setdefault(str(workload["bytes"]), {})
            way = schedule.get("collectives", "nccl") + "_us"
            ways[way] = min(ways.get(way, float("inf")), round(line["time_us"], 1))
    print(json.dumps(kinds, indent=1))


if __name__ == "__main__":
    main()
