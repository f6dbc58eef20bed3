#!/usr/bin/env python3
"""Grouped GEMMs of layers with experts: our kernel beside PyTorch's, each under its own sustained load, on one GPU.

    calibration/peers/grouped_gemms.py WEFT > GROUPED.jsonl

WEFT: the program weft. Of Mixtral-8x22B and Qwen3-235B, tensor-parallel over two GPUs, both products of a GPU's experts with 16 to
8,192 tokens in bf16, with as many rows for each expert and with up to three times as many for one as for another. weft runs
a schedule of that one operation as `weft run` does, and compares it with a reference. Of PyTorch 2.11 there are
torch._grouped_mm and a loop of torch.mm (cuBLAS), as CUDA graphs, timed for 0.5 s after 0.5 s of the same load. One line a
product: {"model": ..., "tokens": ..., "even": true, "n": ..., "k": ..., "rows": [...], "weft_us": ..., "grouped_mm_us": ...,
"loop_us": ...}; the first line has the conditions.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import torch

MODELS = {"Mixtral-8x22B": {"experts": 8, "of_a_token": 2, "hidden": 6144, "width": 16384},
          "Qwen3-235B": {"experts": 128, "of_a_token": 8, "hidden": 4096, "width": 1536}}
TOKENS, GPUS, LOAD_S = (16, 64, 256, 1024, 2048, 4096, 8192), 2, 0.5


def rows_of(experts, rows, even):
    """Of each expert; where they are uneven, weights from 1 to 3 in an order that mixes large and small."""
    weights = [1 if even else 1 + 2 * (expert * 37 % experts) / experts for expert in range(experts)]
    ends = [round(rows * sum(weights[:expert + 1]) / sum(weights)) for expert in range(experts)]
    return [end - first for first, end in zip([0, *ends], ends)]


def products():
    for model, sizes in MODELS.items():
        for tokens in TOKENS:
            for even in (True, False):
                rows = rows_of(sizes["experts"], tokens * sizes["of_a_token"], even)
                for n, k in ((2 * sizes["width"] // GPUS, sizes["hidden"]), (sizes["hidden"], sizes["width"] // GPUS)):
                    yield {"model": model, "tokens": tokens, "even": even, "n": n, "k": k, "rows": rows}


def schedule_of(product):
    rows, n, k = product["rows"], product["n"], product["k"]
    buffers = {"A": (sum(rows), k), "B": (len(rows) * n, k), "C": (sum(rows), n)}
    return {"format": "weft.schedule/1", "name": "grouped", "gpus": 1,
            "buffers": [{"name": name, "rows": size[0], "columns": size[1]} for name, size in buffers.items()],
            "streams": [{"name": "compute"}],
            "operations": [{"name": "grouped", "stream": "compute",
                            "grouped_gemm": {"a": "A", "b": "B", "c": "C", "group_rows": rows}}],
            "meaning": {"op": "grouped_gemm", "m": sum(rows), "n": n, "k": k, "a": "A", "b": "B", "result": "C"}}


def weft_us(weft, product):
    with tempfile.TemporaryDirectory() as name:
        schedule, out = pathlib.Path(name) / "schedule.json", pathlib.Path(name) / "out.json"
        schedule.write_text(json.dumps(schedule_of(product)))
        subprocess.run([weft, "run", schedule, "--json", out], check=True, stdout=subprocess.DEVNULL)
        return json.loads(out.read_text())["time_us"]


def call_us(call):
    """Of one call, from graphs of a few that follow one another without a pause."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph, calls = torch.cuda.CUDAGraph(), 4
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()

    def replayed_s(replays):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(replays):
            graph.replay()
        last.record()
        torch.cuda.synchronize()
        return first.elapsed_time(last) / 1e3

    replays = max(1, round(LOAD_S / replayed_s(2) * 2))
    end = time.time() + LOAD_S
    while time.time() < end:
        replayed_s(max(1, replays // 8))
    return replayed_s(replays) / replays / calls * 1e6


def torch_us(product):
    rows, n, k = product["rows"], product["n"], product["k"]
    a = torch.randn(sum(rows), k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(len(rows), n, k, device="cuda", dtype=torch.bfloat16)
    c = torch.empty(sum(rows), n, device="cuda", dtype=torch.bfloat16)
    ends = torch.tensor(rows).cumsum(0).to(device="cuda", dtype=torch.int32)
    parts = list(zip(a.split(rows), b, c.split(rows)))

    def loop():
        for some, weights, result in parts:
            torch.mm(some, weights.t(), out=result)

    return {"grouped_mm_us": call_us(lambda: torch._grouped_mm(a, b.transpose(-2, -1), offs=ends)),
            "loop_us": call_us(loop)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    weft = parser.parse_args().weft
    print(json.dumps({"conditions": {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
                                     "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}), flush=True)
    for product in products():
        times = {"weft_us": weft_us(weft, product), **torch_us(product)}
        print(json.dumps({**product, **{key: round(value, 1) for key, value in times.items()}}), flush=True)


if __name__ == "__main__":
    main()
