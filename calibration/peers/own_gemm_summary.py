#!/usr/bin/env python3
"""How fast our own GEMM kernels are beside the library's, from cases that took turns under one load.

    calibration/peers/own_gemm_summary.py GEMM.jsonl[.gz] > SUMMARY.json

Cases named "l…" are GEMMs of the layers of three models, those named "r…" are random. Of each GEMM the library's time
over that of each own kernel, and over that of the fastest of them.
"""
import argparse
import gzip
import json
import math


def read(path):
    """By kind of shape and shape: {kernel: time}."""
    times = {}
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        for line in map(json.loads, file):
            if "time_us" not in line:
                continue
            case = line["case"]
            size = tuple(case["workload"][key] for key in "mnk")
            kernel = case["schedule"].get("gemm", "library")
            times.setdefault("layers" if case["id"].startswith("l") else "random", {}).setdefault(size, {})[kernel] = \
                line["time_us"]
    return times


def ratio(values):
    return {"gemms": len(values), "geometric_mean": round(math.exp(sum(map(math.log, values)) / len(values)), 4),
            "worst": round(min(values), 4)}


def summary(gemms):
    kernels = sorted({kernel for of in gemms.values() for kernel in of} - {"library"})
    rows = {kernel: ratio([of["library"] / of[kernel] for of in gemms.values() if kernel in of]) for kernel in kernels}
    rows["fastest"] = ratio([of["library"] / min(of[kernel] for kernel in of if kernel != "library")
                             for of in gemms.values() if len(of) > 1])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    times = read(parser.parse_args().measured)
    print(json.dumps({kind: summary(gemms) for kind, gemms in sorted(times.items())}, indent=1))


if __name__ == "__main__":
    main()
