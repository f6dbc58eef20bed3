"""GEMMs of PyTorch with weights of four bits (tinygemm, groups of 128) beside those of bf16, on one GPU under load.

    python3 calibration/peers/packed_weights.py > packed_weights_h200.jsonl

A graph multiplies as many different weights as take 400 MB, so that they come from memory; times are those of one, in us.
"""
import json
import time

import torch

BYTES_OF_ALL = 400e6
GROUP = 128
SHAPES = [(28672, 8192), (8192, 28672), (57344, 8192), (8192, 8192), (5120, 25600), (3584, 8192), (8192, 3584), (10240, 8192)]
ROWS = [1, 4, 8, 16, 32, 64, 128]
REPLAYS = 4


def time_us(product, weights):
    """Median time of one of the products, over a third of a second."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for weight in weights:
            product(weight)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for weight in weights:
                product(weight)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    times, end = [], time.time() + 0.35
    while time.time() < end:
        begin_event, end_event = torch.cuda.Event(True), torch.cuda.Event(True)
        begin_event.record()
        for _ in range(REPLAYS):
            graph.replay()
        end_event.record()
        torch.cuda.synchronize()
        times.append(begin_event.elapsed_time(end_event) * 1e3 / REPLAYS / len(weights))
    return sorted(times)[len(times) // 2]


def packed_weight(n, k):
    bits = torch.randint(0, 255, (n, k // 2), dtype=torch.uint8, device="cuda")
    scales_and_zeros = torch.rand(k // GROUP, n, 2, dtype=torch.bfloat16, device="cuda")
    return torch.ops.aten._convert_weight_to_int4pack(bits, 8), scales_and_zeros


def main():
    torch.manual_seed(1)
    print(json.dumps({"conditions": {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}}))
    for n, k in SHAPES:
        packed = [packed_weight(n, k) for _ in range(max(2, int(BYTES_OF_ALL / (n * k / 2))))]
        plain = [
            torch.randn(n, k, dtype=torch.bfloat16, device="cuda") for _ in range(max(2, int(BYTES_OF_ALL / (n * k * 2))))
        ]
        for m in ROWS:
            x = torch.randn(m, k, dtype=torch.bfloat16, device="cuda")
            row = {
                "m": m,
                "n": n,
                "k": k,
                "int4_us": time_us(lambda weight: torch.ops.aten._weight_int4pack_mm(x, weight[0], GROUP, weight[1]), packed),
                "bf16_us": time_us(lambda weight: torch.nn.functional.linear(x, weight), plain),
            }
            print(json.dumps(row), flush=True)
        del packed, plain
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
