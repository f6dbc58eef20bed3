#!/usr/bin/env python3
"""What of our own GEMM kernels weft would take for the GEMMs of a file, beside the library's: cases in turn.

    calibration/peers/own_gemm_draw.py WEFT MEASURED.jsonl[.gz] --machine NAME > CASES.jsonl

WEFT: the program weft. Of each GEMM in MEASURED, in its order, "N.library" and "N.R" of the three own kernels that are
predicted fastest where they take turns, R = 0 of the first: N begins with the letter that the file's cases begin with.
own_gemm_summary.py takes what `weft measure --in-turn` makes of them.
"""
import json

from contest_draw import parser_of, predicted
from contest_summary import lines

KERNELS = [f"own_{columns}{clusters}{scheduler}" for columns in (256, 192, 128) for clusters in ("_pairs", "")
           for scheduler in ("", "_stream_k")]
TAKEN = 3


def case(name, workload, **schedule):
    return {"id": name, "gpus": 1, "workload": workload, "schedule": {"family": "serial"} | schedule}


def main():
    arguments = parser_of(__doc__, "measured").parse_args()
    gemms = {json.dumps(line["case"]["workload"]): line["case"]["id"][0]
             for line in lines(arguments.measured) if "time_us" in line}
    for number, (workload, letter) in enumerate(gemms.items()):
        name, gemm = f"{letter}{number:03d}", json.loads(workload)
        asked = [case(kernel, gemm, gemm=kernel) for kernel in KERNELS]
        answers = predicted(arguments.weft, arguments.machine, asked)
        fastest = sorted((one for one in KERNELS if "time_us" in answers[one]), key=lambda one: answers[one]["time_us"])
        print(json.dumps(case(f"{name}.library", gemm)))
        for rank, kernel in enumerate(fastest[:TAKEN]):
            print(json.dumps(case(f"{name}.{rank}", gemm, gemm=kernel)))


if __name__ == "__main__":
    main()
