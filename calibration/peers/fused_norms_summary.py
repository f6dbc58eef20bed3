#!/usr/bin/env python3
"""What fusing the all-reduce with the norm gains, from what fused_norms.py printed and from layers that were measured.

    calibration/peers/fused_norms_summary.py NORMS.jsonl ... --layers LAYERS.jsonl.gz ... > SUMMARY.json

By number of GPUs: of the kernels alone microseconds by shape, of the layers, which took turns, how many times as fast as
serial each token split is, by hidden size and tokens.
"""
import argparse
import json

from contest_summary import lines


def kernels(files):
    shapes = {}
    for line in (line for file in files for line in lines(file) if "rows" in line):
        times = {"nccl": line["nccl_us"], "peer": line["peer_us"], **line["fused_us"]}
        shape = f"{line['rows']} x {line['columns']}"
        shapes.setdefault(str(line["gpus"]), {})[shape] = {way: round(time, 1) for way, time in times.items()}
    return shapes


def way_of(schedule):
    if schedule["family"] != "token_split":
        return schedule["family"]
    return str(schedule["comm_ctas"]) if schedule.get("fused_norm") else "nccl"


def layers(files):
    times = {}
    for line in (line for file in files for line in lines(file) if "time_us" in line):
        case = line["case"]
        layer = f"{case['workload']['hidden']}, {case['workload']['tokens']} tokens"
        of_gpus = times.setdefault(str(case["gpus"]), {})
        of_gpus.setdefault(layer, {})[way_of(case["schedule"])] = line["time_us"]
    return {gpus: {layer: {way: round(of["serial"] / time, 3) for way, time in of.items() if way != "serial"}
                   for layer, of in of_gpus.items()}
            for gpus, of_gpus in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("norms", nargs="+")
    parser.add_argument("--layers", nargs="+", required=True)
    arguments = parser.parse_args()
    print(json.dumps({"kernels": kernels(arguments.norms), "over_serial": layers(arguments.layers)}, indent=1))


if __name__ == "__main__":
    main()
