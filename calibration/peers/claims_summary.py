#!/usr/bin/env python3
"""What of claims_draw.py gains over serial, from what was measured: tables for docs/on_gpus.md.

    calibration/peers/claims_summary.py CLAIMS.jsonl.gz > SUMMARY.json

All schedules of a workload took turns. "layers": by model and tokens how many times as fast as serial in the same form
(all-reduce, or sequence parallel) each schedule is. "signaling": by pattern the geometric mean, the least and the most over
serial and over two chunks. "attention": the same of stages with a kernel barrier over stages without, and over serial.
"""
import argparse
import json

from claims_draw import MODELS
from contest_summary import geometric_mean, lines


def groups(path):
    """The lines of each workload, by what is done."""
    found = {}
    for line in (line for line in lines(path) if "time_us" in line):
        found.setdefault(json.dumps(line["case"]["workload"]), {})[way_of(line["case"]["schedule"])] = line["time_us"]
    return [(json.loads(workload), times) for workload, times in found.items()]


def way_of(schedule):
    family = schedule["family"]
    if family == "serial":
        return "no communication" if schedule.get("collectives") == "none" else "serial"
    if family == "token_split":
        return "split, fused" if schedule["fused_norm"] else "split"
    if family == "async_tp":
        return f"async TP, {schedule['input']}"
    if family == "signaling":
        return "signaling, peer memory" if schedule.get("collectives") == "two_shot" else "signaling"
    if family == "staged":
        return f"{'barrier' if schedule['kernel_barrier'] else 'no barrier'}, margin {schedule['sm_margin']}"
    return "two chunks"


def spread(ratios):
    return {"geometric_mean": round(geometric_mean(ratios), 3), "least": round(min(ratios), 3), "most": round(max(ratios), 3),
            "workloads": len(ratios)}


def layers(found):
    names = {values[0]: name for name, values in MODELS.items()}
    table = {}
    for workload, times in found:
        if workload["op"] == "transformer_layer":
            form = "sequence parallel" if workload.get("sequence_parallel") else "all-reduce"
            of_layer = table.setdefault(f"{names[workload['hidden']]}, {workload['tokens']} tokens", {})
            of_layer[form] = {way: round(times["serial"] / time, 3) for way, time in times.items() if way != "serial"}
    return table


def over(found, op, slower, faster):
    return spread([times[slower] / times[faster] for workload, times in found if workload["op"] == op])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims")
    found = groups(parser.parse_args().claims)
    signaling = {op: {way: {"over serial": over(found, op, "serial", way), "over two chunks": over(found, op, "two chunks", way)}
                      for way in ("signaling", "signaling, peer memory")}
                 | {"two chunks": {"over serial": over(found, op, "serial", "two chunks")}}
                 for op in ("gemm+all_reduce", "gemm+reduce_scatter", "gemm+all_to_all")}
    attention = "distributed_attention"
    stages = {"barrier over none": over(found, attention, "no barrier, margin 0", "barrier, margin 0"),
              "margin of 8 over none": over(found, attention, "no barrier, margin 0", "no barrier, margin 8"),
              "barrier over serial": over(found, attention, "serial", "barrier, margin 0")}
    print(json.dumps({"layers": layers(found), "signaling": signaling, "attention": stages}, indent=1))


if __name__ == "__main__":
    main()
