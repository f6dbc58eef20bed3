#!/usr/bin/env python3
"""Attention of three models by our kernel, and by PyTorch's scaled_dot_product_attention with cuDNN and with
FlashAttention, each alone under load on one GPU.

    calibration/peers/attention_beside_pytorch.py WEFT --machine NAME [--decoding] > ATTENTION.jsonl

WEFT: the program weft; PyTorch is imported here. Heads of 128 as a GPU has them with tensor parallelism: of Llama-3.1-8B on one
and two GPUs, of Qwen3-32B and Llama-3.3-70B (64 query heads, 8 of keys) on 2, 4 and 8. By default causal attention of a prompt
of 1,024 to 16,384 tokens; with --decoding one new token of each of 1 to 128 sequences, all of whose cached keys it sees, where
these do not fit the L2. Ours runs before and after PyTorch's and the mean counts. One line a shape: {"tokens": ..., "heads": ...,
"kv_heads": ..., "sequences": ..., "prefix": ..., "weft_us": ..., "cudnn_us": ..., "flash_us": ...}, null where a backend refuses;
the first line has the conditions.
"""
import argparse
import json
import sys
import pathlib
import subprocess
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

HEADS, TOKENS, HEAD_DIM = ((32, 8), (16, 4), (32, 4), (16, 2), (8, 1)), (1024, 2048, 4096, 8192, 16384), 128
BACKENDS = {"cudnn_us": SDPBackend.CUDNN_ATTENTION, "flash_us": SDPBackend.FLASH_ATTENTION}
DECODING = ((1, 131072), (1, 524288), (4, 32768), (4, 131072), (16, 8192), (16, 32768), (64, 2048), (64, 8192), (128, 4096))
LEAST_BYTES = 128 << 20  # of keys and values: twice the L2 of an H200 and more
LAUNCHES, WINDOW_MS, WINDOWS, WARM_MS = 10, 50, 6, 300


def prompts():
    return [{"tokens": tokens, "heads": heads, "kv_heads": kv_heads} for heads, kv_heads in HEADS for tokens in TOKENS]


def decoding():
    return [{"tokens": sequences, "heads": heads, "kv_heads": kv_heads, "sequences": sequences, "prefix": prefix}
            for heads, kv_heads in HEADS for sequences, prefix in DECODING
            if sequences * prefix * kv_heads * HEAD_DIM * 2 * 2 >= LEAST_BYTES]


def of_pytorch(backend, shape):
    """Microseconds of one call: graphs of several, again and again without a pause; the mean of the last windows."""
    sequences, prefix = shape.get("sequences", 1), shape.get("prefix", 0)
    queries = shape["tokens"] // sequences
    made = [torch.randn(sequences, rows, count, HEAD_DIM, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
            for rows, count in ((queries, shape["heads"]), *[(prefix + queries, shape["kv_heads"])] * 2)]

    def call():
        with sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(*made, is_causal=prefix == 0, enable_gqa=True)

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


def unless_refused(backend, shape):
    try:
        return round(of_pytorch(backend, shape), 3)
    except RuntimeError as error:
        print(shape, error, file=sys.stderr)
        return None


def of_weft(weft, machine, shapes):
    with tempfile.TemporaryDirectory() as name:
        cases, out = pathlib.Path(name) / "cases.jsonl", pathlib.Path(name) / "out.jsonl"
        cases.write_text("".join(json.dumps({
            "id": str(number), "gpus": 1, "schedule": {"family": "serial"},
            "workload": {"op": "attention", **shape, "head_dim": HEAD_DIM}}) + "\n" for number, shape in enumerate(shapes)))
        subprocess.run([weft, "measure", cases, "--machine", machine, "--no-check", "--out", out], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        conditions, *lines = map(json.loads, out.read_text().splitlines())
        return conditions, [line["time_us"] for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--decoding", action="store_true")
    arguments = parser.parse_args()
    shapes = decoding() if arguments.decoding else prompts()
    conditions, first = of_weft(arguments.weft, arguments.machine, shapes)
    print(json.dumps(conditions | {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}), flush=True)
    peers = [{key: unless_refused(backend, shape) for key, backend in BACKENDS.items()} for shape in shapes]
    _, again = of_weft(arguments.weft, arguments.machine, shapes)
    for shape, before_us, after_us, others in zip(shapes, first, again, peers):
        print(json.dumps({**shape, "weft_us": round((before_us + after_us) / 2, 3), **others}), flush=True)


if __name__ == "__main__":
    main()
