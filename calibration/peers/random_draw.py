#!/usr/bin/env python3
"""Draws schedules that have to run and to compute the right thing: cases for `weft measure --condition short`.

    calibration/peers/random_draw.py WEFT --machine NAME --gpus N --seed S [--cases M] [--uneven] > CASES.jsonl

WEFT: the program weft. Of M small pairs (500) in bf16 whose sides are multiples of few things, each with one of all
the schedules that `weft explore --space all` says can run, whatever it predicts of it. With --uneven all are pairs of a
GEMM and an all-to-all of which one rank has up to all rows, and none is a hybrid, which gives every rank as many.
"""
import json
import random

from contest_draw import explored, parser_of

PATTERNS = ("gemm+all_reduce", "gemm+reduce_scatter", "all_gather+gemm", "gemm+all_to_all", "all_to_all+gemm")


def main():
    parser = parser_of(__doc__, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--uneven", action="store_true")
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    of_a_pair = 10
    for first in range(0, arguments.cases, of_a_pair):
        patterns = [op for op in PATTERNS if "all_to_all" in op] if arguments.uneven else PATTERNS
        workload = {"op": generator.choice(patterns), "m": 8 * arguments.gpus * generator.randint(1, 64),
                    "n": 8 * arguments.gpus * generator.randint(1, 64), "k": 8 * generator.randint(8, 256),
                    "dtype": "bf16"}
        if arguments.uneven:
            workload["imbalance"] = round(generator.uniform(1, arguments.gpus), 2)
        schedules = explored(arguments.weft, arguments.machine, arguments.gpus, workload, "--space", "all")
        if arguments.uneven:
            schedules = [one for one in schedules if one["schedule"]["family"] != "hybrid"]
        for number in range(first, min(first + of_a_pair, arguments.cases)):
            print(json.dumps({"id": f"r{number:04}", "gpus": arguments.gpus, "workload": workload,
                              "schedule": generator.choice(schedules)["schedule"]}))


if __name__ == "__main__":
    main()
