#!/usr/bin/env python3
"""How fast our own GEMM kernels are beside the library's, from cases that took turns under one load.

    calibration/peers/own_gemm_summary.py GEMM.jsonl[.gz]... > SUMMARY.json

Files of what own_gemm_draw.py drew, a GPU each: GEMMs of the layers of three models ("l…") and random ones ("r…"). By GPU
and kind, the library's time over that of the own kernel that was predicted fastest, and over that of the fastest of the
three that ran.
"""
import argparse
import json

from contest_summary import geometric_mean, lines

KINDS = {"l": "layers", "r": "random"}


def read(measured):
    """The GPU's name; and by kind and GEMM {"library" or rank: time}."""
    gpu, gemms = None, {kind: {} for kind in KINDS.values()}
    for line in lines(measured):
        gpu = line["conditions"]["gpu"] if "conditions" in line else gpu
        if "time_us" in line:
            number, rank = line["case"]["id"].split(".")
            gemms[KINDS[number[0]]].setdefault(number, {})[rank] = line["time_us"]
    return gpu, gemms


def ratio(values):
    return {"gemms": len(values), "geometric_mean": round(geometric_mean(values), 4), "worst": round(min(values), 4)}


def summary(gemms):
    own = lambda of: [time_us for rank, time_us in of.items() if rank != "library"]
    return {"predicted": ratio([of["library"] / of["0"] for of in gemms.values()]),
            "fastest": ratio([of["library"] / min(own(of)) for of in gemms.values()])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="+")
    gpus = map(read, parser.parse_args().measured)
    print(json.dumps({gpu: {kind: summary(of) for kind, of in gemms.items()} for gpu, gemms in gpus}, indent=1))


if __name__ == "__main__":
    main()
