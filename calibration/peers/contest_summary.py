#!/usr/bin/env python3
"""How weft's choices did against serial and against the best of PyTorch, from what was measured.

    calibration/peers/contest_summary.py WEFT.jsonl[.gz] PYTORCH.jsonl[.gz] [--each] > SUMMARY.json

WEFT.jsonl: what `weft measure --in-turn` wrote of cases named "W.serial" and "W.R", R = 0 of the schedule that weft
predicted fastest of those that run, 1 of the next. PYTORCH.jsonl: what pytorch_pairs.py wrote of the same workloads on
the same server. Beside guests all took turns under one load, and times are compared as they are. Until 2026-11-25 the two
ran one after the other, each under its own load: those are compared as speedups over each one's own serial, a matrix
product by cuBLAS and a collective by NCCL in both, whose times are compared too. With --each every workload gets a line of
its own instead.
"""
import argparse
import gzip
import json
import math


def lines(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return [json.loads(line) for line in file]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def weft_times(path):
    """By workload: {"serial" or rank: (time, schedule, checked, beside guests)}."""
    times = {}
    for line in lines(path):
        if "case" not in line or "time_us" not in line:
            continue
        case = line["case"]
        rank = case["id"].rsplit(".", 1)[1]
        workload = json.dumps(case["workload"], sort_keys=True)
        times.setdefault(workload, {})[rank] = (line["time_us"], case["schedule"], line["checked"],
                                                    line.get("beside_guests", False))
    return times


def pytorch_times(path):
    times = {}
    for line in lines(path):
        if "time_us" in line:
            times.setdefault(json.dumps(line["workload"], sort_keys=True), {})[line["peer"]] = line["time_us"]
    return times


def workloads_with_refused_peers(path):
    """Those of which a time of PyTorch is missing since its result was refused, and not since it cannot run them: who the
    best of PyTorch is, is not known there."""
    return {json.dumps(line["workload"], sort_keys=True) for line in lines(path)
            if line.get("error", "").startswith("the result is off by")}


def contest(workload, own, peers, is_peer_known):
    serial, ranks = own["serial"][0], sorted((rank for rank in own if rank != "serial"), key=int)
    best_rank = min(ranks + ["serial"], key=lambda rank: own[rank][0])
    peer_serial = peers["pytorch serial"]
    best_peer = min(peers, key=peers.get)
    # What it would take under our load, where it had its own.
    best_peer_us = peers[best_peer] if own["serial"][3] else peers[best_peer] * serial / peer_serial
    against_peer = {
        "best_peer": best_peer,
        "best_peer_over_serial": peer_serial / peers[best_peer],
        "choice_over_best_peer": best_peer_us / own[ranks[0]][0],
        "best_over_best_peer": best_peer_us / own[best_rank][0],
    }
    return {
        "workload": json.loads(workload),
        "choice": own[ranks[0]][1],
        "choice_over_serial": serial / own[ranks[0]][0],
        "regret": own[ranks[0]][0] / own[best_rank][0] - 1,
        "best_of_run": own[best_rank][1],
        "best_over_serial": serial / own[best_rank][0],
        **(against_peer if is_peer_known else dict.fromkeys(against_peer)),
        "serial_over_peer_serial": serial / peer_serial,
        "all_checked": all(checked for _, _, checked, _ in own.values()),
    }


def summary(contests):
    def of(key, some):
        values = [one[key] for one in some if one[key] is not None]
        return {"geometric_mean": round(geometric_mean(values), 4), "worst": round(min(values), 4)}

    def row(some):
        regrets = [one["regret"] for one in some]
        return {"workloads": len(some), "best_peer_known": sum(one["best_peer"] is not None for one in some),
                **{key: of(key, some) for key in ("choice_over_serial", "best_over_serial", "best_peer_over_serial",
                                                  "choice_over_best_peer", "best_over_best_peer",
                                                  "serial_over_peer_serial")},
                "regret": {"mean": round(sum(regrets) / len(regrets), 4), "worst": round(max(regrets), 4)},
                "all_checked": all(one["all_checked"] for one in some)}

    ops = sorted({one["workload"]["op"] for one in contests})
    return {"all": row(contests), **{op: row([one for one in contests if one["workload"]["op"] == op]) for op in ops}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("pytorch")
    parser.add_argument("--each", action="store_true")
    arguments = parser.parse_args()
    own, peers = weft_times(arguments.weft), pytorch_times(arguments.pytorch)
    refused = workloads_with_refused_peers(arguments.pytorch)
    contests = [contest(workload, own[workload], peers[workload], workload not in refused) for workload in own
                if "serial" in own[workload] and "0" in own[workload] and "pytorch serial" in peers.get(workload, {})]
    for one in contests:
        for key, value in one.items():
            if isinstance(value, float):
                one[key] = round(value, 4)
    if arguments.each:
        print("\n".join(map(json.dumps, contests)))
    else:
        print(json.dumps({"summary": summary(contests)}, indent=1))


if __name__ == "__main__":
    main()
