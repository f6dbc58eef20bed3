#!/usr/bin/env python3
"""Draws schedules that have to run and to compute the right thing: cases for `weft measure --condition short`.

    calibration/peers/random_draw.py WEFT --machine NAME --gpus N --seed S [--cases M] [--of KINDS] > CASES.jsonl

WEFT: the program weft. M small workloads (500) in bf16 of KINDS, in turn of ten schedules each: pairs whose sides are
multiples of few things, uneven pairs (a GEMM and an all-to-all of which one rank has up to all rows; none is a
hybrid, which gives every rank as many), decoder layers, also sequence-parallel and with experts, and attention over
one sequence on all GPUs. Left out, KINDS are pairs,pairs,uneven,layers,attention. Each has one of the schedules that
`weft explore --space all` says can run, whatever it predicts of it, of a family that is drawn first, and of hybrids
the trigger; half of the layers have pairs of their own inside, each with a schedule drawn for that pair alone; one in
seven is launched without a graph. What is searched is written down as it was found.
"""
import json
import random

from contest_draw import answered, explored, parser_of

PATTERNS = ("gemm+all_reduce", "gemm+reduce_scatter", "all_gather+gemm", "gemm+all_to_all", "all_to_all+gemm")
OF_A_WORKLOAD = 10
SHARED = ("launch", "priority", "host", "collectives", "implementation", "max_connections")  # by the pairs of a layer


def pairs(generator, gpus, patterns=PATTERNS):
    unit, most = generator.choice(((8, 64), (256, 8)))  # 256: whole tiles, as signals need them
    return {"op": generator.choice(patterns), "m": unit * gpus * generator.randint(1, most),
            "n": unit * gpus * generator.randint(1, most), "k": 8 * generator.randint(8, 256)}


def uneven(generator, gpus):
    workload = pairs(generator, gpus, [op for op in PATTERNS if "all_to_all" in op])
    return workload | {"imbalance": round(generator.uniform(1, gpus), 2)}


def layers(generator, gpus):
    head_dim, kv_heads = generator.choice((64, 128)), gpus * generator.randint(1, 2)
    workload = {"op": "transformer_layer", "tokens": 16 * gpus * generator.randint(1, 64),
                "hidden": 128 * generator.randint(2, 24), "heads": kv_heads * generator.randint(1, 4),
                "kv_heads": kv_heads, "head_dim": head_dim, "intermediate": 128 * gpus * generator.randint(1, 16)}
    if generator.random() < 0.25:
        workload |= {"experts": 8, "experts_per_token": generator.randint(1, 2)}
    elif generator.random() < 0.5:
        workload["sequence_parallel"] = True
    return workload


def attention(generator, gpus):
    kv_heads = generator.randint(1, 8)
    return {"op": "distributed_attention", "tokens": 128 * gpus * generator.randint(1, 32),
            "heads": kv_heads * generator.randint(1, 4), "kv_heads": kv_heads, "head_dim": generator.choice((64, 128)),
            "mask": generator.choice(("causal", "full"))}


def pairs_of(layer, gpus):
    """By name, as questions of a pair alone."""
    heads = (layer["heads"] + 2 * layer["kv_heads"]) // gpus * layer["head_dim"]
    width, hidden = layer["intermediate"] // gpus, layer["hidden"]
    sum_of = "gemm+reduce_scatter" if "sequence_parallel" in layer else "gemm+all_reduce"
    sizes = {"qkv": ("all_gather+gemm", heads, hidden),
             "o": (sum_of, hidden, layer["heads"] // gpus * layer["head_dim"]),
             "gate_up": ("all_gather+gemm", 2 * width, hidden), "down": (sum_of, hidden, width)}
    return {name: {"op": op, "m": layer["tokens"], "n": n, "k": k} for name, (op, n, k) in sizes.items()
            if (sum_of != "gemm+all_reduce" or op == sum_of) and ("experts" not in layer or name in ("qkv", "o"))}


def one_of(generator, schedules):
    """Of a family, and of what hybrids wait for, whichever: most schedules are hybrids, and most of them wait alike."""
    for key in ("family", "trigger"):
        chosen = generator.choice(sorted({one.get(key, "") for one in schedules}))
        schedules = [one for one in schedules if one.get(key, "") == chosen]
    return generator.choice(schedules)


def inside_layer(schedule):
    """Of a pair, without what a layer says of all of its pairs."""
    return {key: value for key, value in schedule.items() if key not in SHARED}


def with_pairs_inside(generator, explore, layer, gpus):
    """Some of its pairs, each by a schedule of its own."""
    return {"family": "pairs"} | {name: inside_layer(one_of(generator, explore(pair)))
                                  for name, pair in pairs_of(layer, gpus).items() if generator.random() < 0.7}


def main():
    parser = parser_of(__doc__, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--of", default="pairs,pairs,uneven,layers,attention")
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    kinds = [{"pairs": pairs, "uneven": uneven, "layers": layers, "attention": attention}[one]
             for one in arguments.of.split(",")]

    def explore(workload):
        schedules = explored(arguments.weft, arguments.machine, arguments.gpus, workload, "--space", "all")
        schedules = [one["schedule"] for one in schedules]
        return [one for one in schedules if "imbalance" not in workload or one["family"] != "hybrid"]

    def closed(case):
        """None where it cannot be built: pairs of a layer may order rows in different ways."""
        answer = answered(arguments.weft, arguments.machine, case)
        return answer and case | {"schedule": answer["schedule"]}

    number = 0
    while number < arguments.cases:
        workload = kinds[number // OF_A_WORKLOAD % len(kinds)](generator, arguments.gpus)
        schedules = explore(workload)
        for _ in range(min(OF_A_WORKLOAD, arguments.cases - number)):
            of_pairs = workload["op"] == "transformer_layer" and number % 2 == 1
            schedule = (with_pairs_inside(generator, explore, workload, arguments.gpus) if of_pairs
                        else one_of(generator, schedules))
            if generator.random() < 0.15:
                schedule = schedule | {"launch": "eager"}
            case = closed({"id": f"r{number:04}", "gpus": arguments.gpus, "workload": workload, "schedule": schedule})
            if case is not None:
                print(json.dumps(case), flush=True)
                number += 1


if __name__ == "__main__":
    main()
