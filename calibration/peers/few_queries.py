#!/usr/bin/env python3
"""What PyTorch's attention takes for few new tokens behind cached keys, which heads share (scaled_dot_product_attention by
FlashAttention 2 and by cuDNN), under load on one GPU.

    python3 calibration/peers/few_queries.py OUT.jsonl

The first line says what it ran on; the others have the shape and microseconds of each.
"""
import json
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

HEAD_DIM = 128
LAUNCHES, REPLAYS = 10, 10  # of a graph, and timed
WARM_S = 0.15
SHAPES = [(32, 8, 1, 8192), (1, 8, 1, 8192), (8, 32, 8, 4096), (1, 32, 8, 32768), (64, 8, 1, 2048)]
QUERIES = [1, 2, 3, 4, 8, 16, 17, 32, 64, 127, 128, 256]
BACKENDS = {"flash_us": SDPBackend.FLASH_ATTENTION, "cudnn_us": SDPBackend.CUDNN_ATTENTION}


def time_us(run):
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            run()
    until = time.time() + WARM_S
    while time.time() < until:
        graph.replay()
        torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(REPLAYS):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e3 / REPLAYS / LAUNCHES


def times_of(sequences, heads, kv_heads, keys, queries):
    def make(count, rows):
        return torch.randn(sequences, count, rows, HEAD_DIM, device="cuda", dtype=torch.bfloat16)

    q, k, v = make(heads, queries), make(kv_heads, keys), make(kv_heads, keys)
    times = {}
    for name, backend in BACKENDS.items():
        with sdpa_kernel(backend):
            times[name] = round(time_us(lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)), 2)
    return times


def main():
    torch.manual_seed(0)
    with open(sys.argv[1], "w") as out:
        def write(line):
            out.write(json.dumps(line) + "\n")
            out.flush()

        write({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version()})
        for sequences, heads, kv_heads, prefix in SHAPES:
            for queries in QUERIES:
                write({"sequences": sequences, "heads": heads, "kv_heads": kv_heads, "prefix": prefix, "queries": queries,
                       **times_of(sequences, heads, kv_heads, prefix + queries, queries)})


if __name__ == "__main__":
    main()
