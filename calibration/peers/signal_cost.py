#!/usr/bin/env python3
"""What it costs a GEMM of ours to tell of its tiles: groups that raise counters, for which kernels wait beside it.

    calibration/peers/signal_cost.py WEFT --machine NAME [--seed S] [--shapes N] > COST.jsonl

WEFT: the program weft. N GEMMs (18) in bf16 whose rows, columns and depth are drawn as a contest draws them, in multiples of
256, on one GPU of this machine: each with the tiles, the order and the groups that a gather of its result by signaling has,
and the same without groups. Each runs alone under load, in turns: one with, one without, a row of four with, a row of four
without, and all once more; the mean of two counts. In a row the next GEMM does not wait for who waits for the last group of the
one before. One line a shape: {"m": ..., "n": ..., "k": ..., "groups": ..., "tiles": ..., "with_us": ..., "without_us": ...,
"row_with_us": ..., "row_without_us": ...}; the first line has the conditions.
"""
import argparse
import copy
import json
import pathlib
import random
import subprocess
import tempfile

from contest_draw import drawn
from fused_norms import run


def signaling(weft, machine, shape):
    """The schedule whose GEMM is wanted: its groups are those that weft would choose."""
    case = {"id": "signaling", "gpus": 2, "workload": {"op": "gemm+all_reduce", **shape, "dtype": "bf16"},
            "schedule": {"family": "signaling", "groups": "searched", "collectives": "two_shot"}}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([weft, "predict", "--machine", machine, "--schedules", folder], input=json.dumps(case), text=True,
                       check=True, stdout=subprocess.DEVNULL)
        return json.loads((pathlib.Path(folder) / "signaling.json").read_text())


def alone(schedule):
    """On one GPU, without what is sent."""
    lone = {key: schedule[key] for key in ("format", "buffers", "streams", "counters", "operations")}
    lone |= {"name": "gemm", "gpus": 1}
    lone["operations"] = [one for one in lone["operations"] if "collective" not in one]
    lone["operations"][0]["gemm"].pop("max_sms", None)
    return lone


def without_groups(schedule):
    bare = copy.deepcopy(schedule)
    gemm = bare["operations"][0]["gemm"]
    del gemm["tile_groups"], gemm["signals"], bare["counters"]
    bare["operations"] = bare["operations"][:1]
    return bare


def in_a_row(schedule, gemms=4):
    """So many of it, one after the other, each with counters of its own."""
    row = copy.deepcopy(schedule)
    if "counters" in row:
        row["counters"] = [one | {"name": f"{one['name']} of {i}"} for i in range(gemms) for one in schedule["counters"]]
    row["operations"] = []
    for i in range(gemms):
        for one in copy.deepcopy(schedule["operations"]):
            for told in one.get("gemm", {}).get("signals", []) + [one.get("wait", {})]:
                if "counter" in told:
                    told["counter"] += f" of {i}"
            one["name"] += f" of {i}"
            row["operations"].append(one)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shapes", type=int, default=18)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    for number in range(arguments.shapes):
        shape = {"m": drawn(generator, 2048, 16384, 256), "n": drawn(generator, 1280, 14336, 256),
                 "k": drawn(generator, 1024, 14336, 256)}
        told = alone(signaling(arguments.weft, arguments.machine, shape))
        bare = without_groups(told)
        variants = (told, bare, in_a_row(told), in_a_row(bare))
        times = [run(arguments.weft, schedule, "--no-check") for schedule in variants * 2]
        if number == 0:
            print(json.dumps({"conditions": times[0]["conditions"]}), flush=True)
        gemm = told["operations"][0]["gemm"]
        mean_us = [round((times[i]["time_us"] + times[i + 4]["time_us"]) / 2, 3) for i in range(4)]
        print(json.dumps(shape | {"groups": len(gemm["tile_groups"]), "tiles": sum(gemm["tile_groups"]),
                                  "with_us": mean_us[0], "without_us": mean_us[1], "row_with_us": mean_us[2],
                                  "row_without_us": mean_us[3]}), flush=True)


if __name__ == "__main__":
    main()
