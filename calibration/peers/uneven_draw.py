#!/usr/bin/env python3
"""Draws pairs of a GEMM and an all-to-all in which one rank has more rows than the others, as the experts of a mixture
give them: cases for `weft measure --in-turn`.

    calibration/peers/uneven_draw.py WEFT --machine NAME --gpus N --seed S [--workloads M] > CASES.jsonl

WEFT: the program weft. M workloads (12) of each of both orders in bf16: rows from 1,024 to 16,384 in steps of 512, columns
from 2,048 to 8,192 and a depth from 1,024 to 14,336 in steps of 256, each uniform in its logarithm; the busiest rank has
1.1 to W of the mean rows on W GPUs, uniformly. Each runs serial over NCCL's sends and receives and over peer memory, and in
chunks and by signaling, or by FiCCO. What is searched is written down as it was found.
"""
import random

from contest_draw import drawn, parser_of, print_as_found

TWO_SHOT = {"collectives": "two_shot", "max_ctas": 24}
SERIAL = [{"family": "serial"}, {"family": "serial"} | TWO_SHOT]
CHUNKS = [{"family": "decomposition", "chunks": 2}, {"family": "decomposition", "chunks": 2} | TWO_SHOT,
          {"family": "decomposition", "chunks": 4} | TWO_SHOT]
SIGNALING = [{"family": "signaling", "groups": "searched"}, {"family": "signaling", "groups": "searched"} | TWO_SHOT]
FICCO = [{"family": "ficco", "compute": compute, "gemm": gemm, "chunks": chunks, "transport": "copy_engine"}
         for compute, gemm, chunks in (("uniform", "fused", "1d"), ("hetero", "unfused", "1d"),
                                       ("uniform", "fused", "2d"))]


def main():
    parser = parser_of(__doc__, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--workloads", type=int, default=12)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    cases = []
    for number in range(2 * arguments.workloads):
        op = ("gemm+all_to_all", "all_to_all+gemm")[number // arguments.workloads]
        workload = {"op": op, "m": drawn(generator, 1024, 16384, 512), "n": drawn(generator, 2048, 8192, 256),
                    "k": drawn(generator, 1024, 14336, 256), "dtype": "bf16",
                    "imbalance": round(generator.uniform(1.1, arguments.gpus), 2)}
        schedules = SERIAL + (CHUNKS + SIGNALING if op == "gemm+all_to_all" else FICCO)
        cases += [{"id": f"u{number:02}.{place}", "gpus": arguments.gpus, "workload": workload, "schedule": schedule}
                  for place, schedule in enumerate(schedules)]
    print_as_found(arguments.weft, arguments.machine, cases)


if __name__ == "__main__":
    main()
