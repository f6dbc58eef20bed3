#!/usr/bin/env python3
"""Draws decoder layers with hybrids inside, beside the serial ones: cases for `weft measure --in-turn`.

    calibration/peers/layer_pairs_draw.py WEFT --machine NAME --gpus N > CASES.jsonl

WEFT: the program weft. Layers of three models with 2,048 and 8,192 tokens, with all-reduces and sequence-parallel: serial,
and for each of three movers with the hybrid inside each pair that `weft explore --space all` predicts fastest for that
pair alone, of those that keep a rank's rows in order. Draw before measuring.
"""
import json

from claims_draw import MODELS
from contest_draw import answered, explored, parser_of
from random_draw import inside_layer, pairs_of

MOVERS = (("nccl",), ("pull", "push", "peer_kernel"), ("store", "fetch"))


def layers():
    for hidden, heads, kv_heads, head_dim, intermediate in MODELS.values():
        for tokens in (2048, 8192):
            layer = {"op": "transformer_layer", "tokens": tokens, "hidden": hidden, "heads": heads, "kv_heads": kv_heads,
                     "head_dim": head_dim, "intermediate": intermediate, "dtype": "bf16"}
            yield layer
            yield layer | {"sequence_parallel": True}


def fastest_inside(schedules, movers, sequence_parallel):
    """Of hybrids by these movers; in chunks ranks of a sequence-parallel layer would own other rows."""
    hybrids = [one for one in schedules if one["schedule"]["family"] == "hybrid"
               and one["schedule"]["mover"] in movers and "collectives" not in one["schedule"]
               and not (sequence_parallel and one["schedule"]["pieces"] == "chunks")]
    if not hybrids:
        return None
    return inside_layer(min(hybrids, key=lambda one: one["time_us"])["schedule"])


def main():
    arguments = parser_of(__doc__, required=True).parse_args()
    for number, layer in enumerate(layers()):
        found = {name: explored(arguments.weft, arguments.machine, arguments.gpus, pair, "--space", "all")
                 for name, pair in pairs_of(layer, arguments.gpus).items()}
        schedules = [{"family": "serial"}]
        for movers in MOVERS:
            inside = {name: fastest_inside(one, movers, "sequence_parallel" in layer) for name, one in found.items()}
            inside = {name: schedule for name, schedule in inside.items() if schedule}
            if inside:
                schedules.append({"family": "pairs"} | inside)
        for place, schedule in enumerate(schedules):
            case = {"id": f"{number:02}.{place}", "gpus": arguments.gpus, "workload": layer, "schedule": schedule}
            if answered(arguments.weft, arguments.machine, case):
                print(json.dumps(case))


if __name__ == "__main__":
    main()
