#!/usr/bin/env python3
"""How far predictions of PyTorch's own schedules are from what they took in a contest.

    calibration/peers/pytorch_predicted.py WEFT --machine NAME FOLDER > PREDICTED.json

WEFT: the program weft. FOLDER: a contest's, with what PyTorch took (pytorch.jsonl.gz) and what weft took in the same turns
(weft.jsonl.gz). Each of PyTorch's schedules is predicted as a variant of the family that it is of ("implementation":
"pytorch"), at the clock that was read over the turns of its workload: {"pytorch serial": {"cases": ..., "mean_error": ...,
"bias": ...}, ...}.
"""
import collections
import json
import pathlib

from contest_draw import parser_of, predicted
from contest_summary import lines

VARIANTS = {
    "pytorch serial": {"family": "serial"},
    "pytorch chunks 2": {"family": "decomposition", "chunks": 2},
    "pytorch chunks 4": {"family": "decomposition", "chunks": 4},
    "pytorch async_tp": {"family": "async_tp"},
    "pytorch two_shot": {"family": "serial", "collectives": "two_shot"},
    "pytorch one_shot": {"family": "serial", "collectives": "one_shot"},
}


def workload_of(line):
    return json.dumps(line["workload"], sort_keys=True)


def main():
    arguments = parser_of(__doc__, "folder").parse_args()
    folder = pathlib.Path(arguments.folder)
    clocks_MHz = {workload_of(line["case"]): line["sm_clock_MHz"]
                  for line in lines(str(folder / "weft.jsonl.gz")) if "sm_clock_MHz" in line}
    measured = [line for line in lines(str(folder / "pytorch.jsonl.gz"))
                if line.get("peer") in VARIANTS and "time_us" in line and workload_of(line) in clocks_MHz]
    cases = [{"id": str(number), "gpus": line["gpus"], "workload": line["workload"],
              "schedule": VARIANTS[line["peer"]] | {"implementation": "pytorch"},
              "condition": {"clock_MHz": clocks_MHz[workload_of(line)]}} for number, line in enumerate(measured)]
    answers = predicted(arguments.weft, arguments.machine, cases)
    errors = collections.defaultdict(list)
    for case, line in zip(cases, measured):
        errors[line["peer"]].append(answers[case["id"]]["time_us"] / line["time_us"] - 1)
    print(json.dumps({peer: {"cases": len(of), "mean_error": sum(map(abs, of)) / len(of), "bias": sum(of) / len(of)}
                      for peer, of in sorted(errors.items())}, indent=2))


if __name__ == "__main__":
    main()
