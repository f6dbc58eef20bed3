#!/usr/bin/env python3
"""How our collectives over peer memory do beside NCCL's, and what NCCL's support for several graphs costs.

    calibration/peers/collectives_summary.py TWO_SHOT.jsonl[.gz] MIXING_ON.jsonl[.gz] MIXING_OFF.jsonl[.gz] > SUMMARY.json

The first holds collectives alone, by NCCL and by our kernels with several numbers of CTAs, in turns: NCCL's time over
that of the fastest of ours, by kind and size, and with how many CTAs. The others hold the same pairs with
NCCL_GRAPH_MIXING_SUPPORT left alone and set to 0: the time without over the time with it, by family.
"""
import argparse
import gzip
import json
import math


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return [line for line in map(json.loads, file) if "time_us" in line]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def of_collectives(lines):
    kinds = {}
    for line in lines:
        workload, schedule = line["case"]["workload"], line["case"]["schedule"]
        sizes = kinds.setdefault(workload["op"], {}).setdefault(str(workload["bytes"]), {})
        sizes[schedule["max_ctas"] if schedule.get("collectives") == "two_shot" else "nccl"] = line["time_us"]
    for sizes in kinds.values():
        for size, times in sizes.items():
            nccl_us = times.pop("nccl")
            ctas = min(times, key=times.get)
            sizes[size] = {"nccl_us": round(nccl_us, 1), "own_us": round(times[ctas], 1), "own_ctas": ctas,
                           "nccl_over_own": round(nccl_us / times[ctas], 3)}
    return kinds


def of_mixing(with_it, without):
    time_us = {line["case"]["id"]: line["time_us"] for line in without}
    families = {}
    for line in with_it:
        family = line["case"]["schedule"]["family"]
        families.setdefault(family, []).append(time_us[line["case"]["id"]] / line["time_us"])
    return {family: {"pairs": len(ratios), "geometric_mean": round(geometric_mean(ratios), 4),
                     "least": round(min(ratios), 4), "most": round(max(ratios), 4)}
            for family, ratios in families.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("collectives", "mixing_on", "mixing_off"):
        parser.add_argument(name)
    options = parser.parse_args()
    print(json.dumps({"collectives": of_collectives(read(options.collectives)),
                      "graph_mixing": of_mixing(read(options.mixing_on), read(options.mixing_off))}, indent=1))


if __name__ == "__main__":
    main()
