#!/usr/bin/env python3
"""How gathers whose one GEMM waits for flags of shards do beside the same gathers run otherwise.

    calibration/peers/flagged_summary.py MEASURED.jsonl[.gz] > SUMMARY.json

The file holds pairs in turns, each with hybrids of trigger tile_group and pieces shards, and with others. Of all, and of
those that take less and more than 100 us: workloads, how many such a hybrid is the fastest of, and how much faster the
fastest of them is than the fastest of the others, as a geometric mean and at most. Signaling of a gather is left out:
before 2026-11-28 18:30 UTC it was another program.
"""
import argparse
import json

from contest_summary import geometric_mean, lines

SHORT_US = 100


def is_flagged(schedule):
    return schedule.get("trigger") == "tile_group" and schedule["pieces"] == "shards"


def summary(ratios):
    return {"workloads": len(ratios), "fastest": sum(ratio > 1 for ratio in ratios),
            "over_others": round(geometric_mean(ratios), 4), "most": round(max(ratios), 4)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    fastest = {}
    for line in lines(parser.parse_args().measured):
        if "time_us" not in line or line["case"]["schedule"]["family"] == "signaling":
            continue
        ways = fastest.setdefault(json.dumps(line["case"]["workload"]), {})
        way = is_flagged(line["case"]["schedule"])
        ways[way] = min(ways.get(way, float("inf")), line["time_us"])
    def of(is_among):
        return summary([ways[False] / ways[True] for ways in fastest.values() if is_among(ways[False])])

    print(json.dumps({"all": of(lambda time_us: True), "short": of(lambda time_us: time_us < SHORT_US),
                      "long": of(lambda time_us: time_us >= SHORT_US)}, indent=1))


if __name__ == "__main__":
    main()
