#!/usr/bin/env python3
"""Draws the workloads of a contest with PyTorch, and what weft would run of each: cases for `weft measure --in-turn`.

    calibration/peers/contest_draw.py WEFT --machine NAME --gpus N --seed S [--workloads M] > CASES.jsonl

WEFT: the program weft. M workloads (15) of each of four patterns in bf16: rows from 1,024 to 16,384 in steps of 512,
columns from 1,280 to 14,336 in steps of 128, a depth from 768 to 14,336 in steps of 64, each uniform in its logarithm.
A workload gives "W.serial" and "W.R" of the five schedules that `weft run --best 5` would try, R = 0 of the one that
is predicted fastest where they, serial and PyTorch's take turns, as they will be measured. Draw before measuring: a choice
made afterwards knows the answer. contest_run.py takes the file.
"""
import argparse
import collections
import itertools
import json
import math
import os
import random
import subprocess
import tempfile

PATTERNS = ("gemm+all_reduce", "gemm+reduce_scatter", "all_gather+gemm", "gemm+all_to_all")
SCHEDULES, OF_A_KIND = 5, 2  # as calibration/evidence/choice_by_running.cpp


def parser_of(documentation, *files, **gpus):
    """What every draw is told, besides names of files; `gpus`: how that option is, where there is one."""
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("weft", *files):
        parser.add_argument(name)
    parser.add_argument("--machine", required=True)
    if gpus:
        parser.add_argument("--gpus", type=int, **gpus)
    return parser


def drawn(generator, least, most, step):
    return round(math.exp(generator.uniform(math.log(least), math.log(most))) / step) * step


def explored(weft, machine, gpus, workload, *options):
    """What explore says of the schedules that run."""
    words = " ".join(f"{key}={str(value).lower()}" for key, value in workload.items() if key != "dtype")
    rows = workload["m"] if "m" in workload else workload["tokens"]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "explored.json")
        subprocess.run([weft, "explore", words, "--machine", machine, "--gpus", str(gpus), "--tokens",
                        str(rows), "--json", out, *options], check=True, stdout=subprocess.DEVNULL)
        with open(out) as file:
            [answer] = json.load(file)["answers"]
    return [one for one in answer["schedules"] if one["runnable"]]


def ranked(weft, machine, gpus, workload):
    """Those that it predicts fastest."""
    run = [one for one in explored(weft, machine, gpus, workload) if one["schedule"] != {"family": "serial"}]
    chosen, seen = [], collections.Counter()
    for schedule in (one["schedule"] for one in sorted(run, key=lambda one: one["time_us"])):
        kind = tuple(schedule.get(key) for key in ("family", "collectives", "trigger", "mover"))
        seen[kind] += 1
        if seen[kind] <= OF_A_KIND:
            chosen.append(schedule)
    return chosen[:SCHEDULES]


def peers_of(case):
    """What stands for PyTorch's schedules, whose turns have a part in the clock of all."""
    families = [{"family": "serial"}, {"family": "decomposition", "chunks": 2}, {"family": "decomposition", "chunks": 4}]
    if case["workload"]["op"] in ("all_gather+gemm", "gemm+reduce_scatter"):
        families.append({"family": "async_tp"})
    return [case | {"schedule": family | {"implementation": "pytorch"}} for family in families]


def predicted(weft, machine, cases, *options, errors=None):
    """By id, what weft says of each; `errors`: where its own words go."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("".join(json.dumps(case) + "\n" for case in cases))
        file.flush()
        answers = subprocess.run([weft, "predict", "--machine", machine, *options, "--in", file.name], check=True,
                                 stdout=subprocess.PIPE, stderr=errors, text=True).stdout
    return {answer["id"]: answer for answer in map(json.loads, answers.splitlines())}


def answered(weft, machine, case):
    """What weft says of one case; None where it cannot be built or run."""
    try:
        [answer] = predicted(weft, machine, [case], errors=subprocess.DEVNULL).values()
    except subprocess.CalledProcessError:
        return None
    return None if "not_runnable" in answer else answer


def print_as_found(weft, machine, cases):
    """With what weft searches, of each that leaves something open, written down."""
    answers = predicted(weft, machine, cases)
    for case in cases:
        print(json.dumps(case | {"schedule": answers[case["id"]]["schedule"]}))


def fastest_first(weft, machine, cases):
    """The cases of each workload by what they are predicted to take under one clock, where they take turns."""
    peers = [peer for case in cases if case["schedule"] == {"family": "serial"} for peer in peers_of(case)]
    numbered = [case | {"id": str(number)} for number, case in enumerate(cases + peers)]
    answers = predicted(weft, machine, numbered, "--in-turn")
    time_us = {int(number): answer["time_us"] for number, answer in answers.items()}
    ranked_cases = {json.dumps(case["workload"]): [] for case in cases}
    for number in sorted(range(len(cases)), key=time_us.get):
        ranked_cases[json.dumps(cases[number]["workload"])].append(cases[number])
    return ranked_cases


def main():
    parser = parser_of(__doc__, default=2)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--workloads", type=int, default=15)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    cases = []
    for number in range(arguments.workloads * len(PATTERNS)):
        workload = {"op": PATTERNS[number // arguments.workloads], "m": drawn(generator, 1024, 16384, 512),
                    "n": drawn(generator, 1280, 14336, 128), "k": drawn(generator, 768, 14336, 64), "dtype": "bf16"}
        schedules = ranked(arguments.weft, arguments.machine, arguments.gpus, workload)
        cases += [{"gpus": arguments.gpus, "workload": workload, "schedule": schedule}
                  for schedule in [{"family": "serial"}, *schedules]]
    for number, of_workload in enumerate(fastest_first(arguments.weft, arguments.machine, cases).values()):
        names = itertools.count()
        for case in of_workload:
            name = "serial" if case["schedule"] == {"family": "serial"} else next(names)
            print(json.dumps({"id": f"w{number:02}.{name}"} | case))


if __name__ == "__main__":
    main()
