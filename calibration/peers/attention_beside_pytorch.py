#!/usr/bin/env python3
"""Causal attention of three models by our kernel, and by PyTorch's scaled_dot_product_attention with cuDNN and with
FlashAttention, each alone under load on one GPU.

    calibration/peers/attention_beside_pytorch.py WEFT --machine NAME > ATTENTION.jsonl

WEFT: the program weft; PyTorch is imported here. Heads of 128 as a GPU has them with tensor parallelism: of Llama-3.1-8B on one
and two GPUs, of Qwen3-32B and Llama-3.3-70B (64 query heads, 8 of keys) on 2, 4 and 8, for 1,024 to 16,384 tokens. Ours runs
before and after PyTorch's and the mean counts. One line a shape: {"tokens": ..., "heads": ..., "kv_heads": ..., "weft_us": ...,
"cudnn_us": ..., "flash_us": ...}; the first line has the conditions.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

HEADS, TOKENS, HEAD_DIM = ((32, 8), (16, 4), (32, 4), (16, 2), (8, 1)), (1024, 2048, 4096, 8192, 16384), 128
BACKENDS = {"cudnn_us": SDPBackend.CUDNN_ATTENTION, "flash_us": SDPBackend.FLASH_ATTENTION}
LAUNCHES, WINDOW_MS, WINDOWS, WARM_MS = 10, 50, 6, 300


def of_pytorch(backend, tokens, heads, kv_heads):
    """Microseconds of one call: graphs of several, again and again without a pause; the mean of the last windows."""
    made = [torch.randn(1, tokens, count, HEAD_DIM, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
            for count in (heads, kv_heads, kv_heads)]

    def call():
        with sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(*made, is_causal=True, enable_gqa=True)

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            call()

    def replayed_ms(times):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(times):
            graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    replayed_ms(1)
    of_a_window = max(1, round(WINDOW_MS / replayed_ms(1)))
    replayed_ms(max(1, round(WARM_MS / WINDOW_MS)) * of_a_window)
    times_ms = [replayed_ms(of_a_window) for _ in range(WINDOWS)]
    return 1e3 * sum(times_ms) / (WINDOWS * of_a_window * LAUNCHES)


def of_weft(weft, machine, shapes):
    with tempfile.TemporaryDirectory() as name:
        cases, out = pathlib.Path(name) / "cases.jsonl", pathlib.Path(name) / "out.jsonl"
        cases.write_text("".join(json.dumps({
            "id": str(number), "gpus": 1, "schedule": {"family": "serial"},
            "workload": {"op": "attention", "tokens": tokens, "heads": heads, "kv_heads": kv_heads, "head_dim": HEAD_DIM}})
            + "\n" for number, (tokens, heads, kv_heads) in enumerate(shapes)))
        subprocess.run([weft, "measure", cases, "--machine", machine, "--no-check", "--out", out], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        conditions, *lines = map(json.loads, out.read_text().splitlines())
        return conditions, [line["time_us"] for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--machine", required=True)
    arguments = parser.parse_args()
    shapes = [(tokens, *heads) for heads in HEADS for tokens in TOKENS]
    conditions, first = of_weft(arguments.weft, arguments.machine, shapes)
    print(json.dumps(conditions | {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}), flush=True)
    peers = [{key: round(of_pytorch(backend, *shape), 3) for key, backend in BACKENDS.items()} for shape in shapes]
    _, again = of_weft(arguments.weft, arguments.machine, shapes)
    for (tokens, heads, kv_heads), before_us, after_us, others in zip(shapes, first, again, peers):
        print(json.dumps({"tokens": tokens, "heads": heads, "kv_heads": kv_heads,
                          "weft_us": round((before_us + after_us) / 2, 3), **others}), flush=True)


if __name__ == "__main__":
    main()
