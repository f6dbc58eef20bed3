#!/usr/bin/env python3
"""The all-reduce fused with a residual add and an RMSNorm, beside an all-reduce and a norm one after the other.

    calibration/peers/fused_norms.py WEFT --gpus N > NORMS.jsonl

WEFT: the program weft. Rows of three lengths, 128 to 8,192 of them, in bf16, on N GPUs of this machine, each alone after a
pause as `weft run --condition short` does it: our fused kernel by 4, 8 and 16 CTAs, compared with a reference; our all-reduce
over peer memory by 24 CTAs, or NCCL's, then our norm of all rows on every GPU. One line a shape: {"gpus": ..., "rows": ...,
"columns": ..., "fused_us": {"4": ..., "8": ..., "16": ...}, "peer_us": ..., "nccl_us": ...}; the first line has the conditions.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

COLUMNS, ROWS, CTAS, PEER_CTAS = (4096, 8192, 16384), (128, 512, 2048, 8192), (4, 8, 16), 24


def fused(ctas):
    operation = {"partial": "partial", "residual": "residual", "normed": "normed", "transport": "peer_kernel", "ctas": ctas}
    return [{"name": "fused", "stream": "compute", "all_reduce_norm": operation}]


def one_after_the_other(collective):
    return [{"name": "sum", "stream": "compute",
             "collective": {"kind": "all_reduce", "input": "partial", "output": "partial", **collective}},
            {"name": "norm", "stream": "compute",
             "memory_bound": {"kernel": "add_rms_norm", "reads": ["partial", "residual"], "writes": ["normed", "residual"]}}]


def schedule_of(gpus, rows, columns, operations):
    def buffer(name, **more):
        return {"name": name, "rows": rows, "columns": columns, **more}
    schedule = {"format": "weft.schedule/1", "name": "norm", "gpus": gpus,
                "buffers": [buffer("partial", memory="symmetric"), buffer("residual"), buffer("normed", memory="symmetric")],
                "streams": [{"name": "compute"}], "operations": operations}
    if "all_reduce_norm" in operations[0]:
        schedule["meaning"] = {"op": "all_reduce_norm", "m": rows, "n": columns, "k": columns, "a": "partial", "b": "residual",
                               "result": "normed"}
    return schedule


def run(weft, schedule, *options):
    """What `weft run --json` writes of a schedule."""
    with tempfile.TemporaryDirectory() as name:
        file, out = pathlib.Path(name) / "schedule.json", pathlib.Path(name) / "out.json"
        file.write_text(json.dumps(schedule))
        subprocess.run([weft, "run", file, *options, "--json", out], check=True, stdout=subprocess.DEVNULL)
        return json.loads(out.read_text())


def result_of(weft, schedule):
    result = run(weft, schedule, "--condition", "short")
    if "meaning" in schedule and not result["checked"]:
        raise SystemExit(f"not compared with a reference: {schedule}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--gpus", type=int, required=True)
    arguments = parser.parse_args()
    has_conditions = False
    for columns in COLUMNS:
        for rows in ROWS:
            def measured(operations):
                return result_of(arguments.weft, schedule_of(arguments.gpus, rows, columns, operations))
            results = {ctas: measured(fused(ctas)) for ctas in CTAS}
            peer = measured(one_after_the_other({"transport": "peer_kernel", "max_ctas": PEER_CTAS}))
            nccl = measured(one_after_the_other({"transport": "nccl"}))
            if not has_conditions:
                print(json.dumps({"conditions": peer["conditions"]}))
                has_conditions = True
            print(json.dumps({"gpus": arguments.gpus, "rows": rows, "columns": columns,
                              "fused_us": {ctas: result["time_us"] for ctas, result in results.items()},
                              "peer_us": peer["time_us"], "nccl_us": nccl["time_us"]}), flush=True)


if __name__ == "__main__":
    main()
