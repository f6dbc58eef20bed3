#!/usr/bin/env python3
"""What came of schedules that random_draw.py drew: a line for docs/on_gpus.md.

    calibration/peers/random_summary.py MEASURED.jsonl.gz... > SUMMARY.json

"schedules": how many ran; "failed": those with an error or a wrong result; "compared": with a reference, by op; "layers":
how many of those are decoder layers, and how many of them agree with the serial schedule to the bit.
"""
import argparse
import collections
import json

from contest_summary import lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="+")
    found = [line for path in parser.parse_args().measured for line in lines(path) if "case" in line]
    compared = [line for line in found if line.get("checked")]
    layers = [line for line in compared if line["case"]["workload"]["op"] == "transformer_layer"]
    print(json.dumps({
        "schedules": len(found), "failed": sum("error" in line for line in found),
        "eager": sum(line["case"]["schedule"].get("launch") == "eager" for line in found),
        "compared": dict(sorted(collections.Counter(line["case"]["workload"]["op"] for line in compared).items())),
        "families": dict(sorted(collections.Counter(line["case"]["schedule"]["family"] for line in found).items())),
        "layers": {"compared": len(layers), "equal": sum(line["max_error"] == 0 for line in layers),
                   "largest_error": max(line["max_error"] for line in layers)}}, indent=1))


if __name__ == "__main__":
    main()
