#!/usr/bin/env python3
"""What PyTorch makes of a GEMM beside a collective, measured as `weft measure --in-turn` measures weft's schedules.

    torchrun --standalone --nproc-per-node N calibration/peers/pytorch_pairs.py CASES.jsonl --out OUT.jsonl

Of CASES (as `weft predict` reads them) the workloads count, each once: pairs in bf16 on N GPUs. Of each workload all
that PyTorch 2.11 offers takes turns under one sustained load, every schedule as a CUDA graph of its own: serial (a
matrix product and NCCL), the same in two and four chunks on two streams, its symmetric-memory all-reduces, and its
asynchronous tensor parallelism (fused_all_gather_matmul, fused_matmul_reduce_scatter). One line a schedule:
{"workload": {...}, "gpus": N, "peer": "pytorch two_shot", "time_us": ..., "noise": ..., "sm_clock_MHz": ...}.
Turns are 50 ms long, in four rounds of which the last three count; a time is that of the slowest rank. Results are
compared with those of serial; a schedule that fails or computes something else gets an "error". An existing OUT is
continued: workloads that it holds are left out. Switch multicast stays off.
"""
import argparse
import datetime
import json
import os

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

TURN_US, ROUNDS = 50e3, 4


class Pair:
    """The operands of one workload on this rank, and PyTorch's ways to compute it. Each way returns the result."""

    def __init__(self, workload, group):
        self.op, self.group = workload["op"], group
        self.ranks, self.rank = dist.get_world_size(), dist.get_rank()
        self.m, self.n, self.k = workload["m"], workload["n"], workload["k"]
        generator = torch.Generator(device="cuda").manual_seed(17 + self.rank)
        self.new = lambda rows, columns: torch.empty(rows, columns, device="cuda", dtype=torch.bfloat16)
        draw = lambda tensor: tensor.normal_(generator=generator)
        gathers = self.op == "all_gather+gemm"
        self.a = draw(self.new(self.m // self.ranks if gathers else self.m, self.k))
        self.b = draw(self.new(self.n, self.k))
        self.c, self.gathered = self.new(self.m, self.n), self.new(self.m, self.k)
        self.scattered = self.new(self.m // self.ranks, self.n)
        self.received = self.new(self.m, self.n)
        self.side = torch.cuda.Stream(priority=-1)
        self.shared = None

    def symmetric(self):
        if self.shared is None:
            self.shared = symmetric.empty(self.m, self.n, dtype=torch.bfloat16, device="cuda")
            symmetric.rendezvous(self.shared, self.group)
        return self.shared

    def communicate(self, rows):
        """The collective on rows of c, or of a where it comes first."""
        first, count = rows
        if self.op == "gemm+all_reduce":
            dist.all_reduce(self.c[first:first + count])
        elif self.op == "gemm+reduce_scatter":
            part = slice(first // self.ranks, (first + count) // self.ranks)
            dist.reduce_scatter_tensor(self.scattered[part], self.c[first:first + count])
        elif self.op == "gemm+all_to_all":
            dist.all_to_all_single(self.received[first:first + count], self.c[first:first + count])
        elif self.op == "all_gather+gemm":
            part = slice(first // self.ranks, (first + count) // self.ranks)
            dist.all_gather_into_tensor(self.gathered[first:first + count], self.a[part])
        else:
            dist.all_to_all_single(self.gathered[first:first + count], self.a[first:first + count])

    def multiply(self, rows):
        first, count = rows
        a = self.a if self.op.startswith("gemm") else self.gathered
        torch.mm(a[first:first + count], self.b.t(), out=self.c[first:first + count])

    def result(self):
        return {"gemm+reduce_scatter": self.scattered, "gemm+all_to_all": self.received}.get(self.op, self.c)

    def in_chunks(self, chunks):
        main, side = torch.cuda.current_stream(), self.side
        pieces = [(i * self.m // chunks, self.m // chunks) for i in range(chunks)]
        if chunks == 1:
            steps = [self.multiply, self.communicate]
            for step in steps if self.op.startswith("gemm") else reversed(steps):
                step(pieces[0])
            return self.result()
        side.wait_stream(main)
        for piece in pieces:
            if self.op.startswith("gemm"):
                self.multiply(piece)
                side.wait_stream(main)
                with torch.cuda.stream(side):
                    self.communicate(piece)
            else:
                with torch.cuda.stream(side):
                    self.communicate(piece)
                main.wait_stream(side)
                self.multiply(piece)
        main.wait_stream(side)
        return self.result()

    def by_symmetric_memory(self, kind):
        shared = self.symmetric()
        torch.mm(self.a, self.b.t(), out=shared)
        getattr(torch.ops.symm_mem, kind)(shared, "sum", self.group)
        return shared

    def async_tp(self):
        if self.op == "all_gather+gemm":
            return torch.ops.symm_mem.fused_all_gather_matmul(self.a, [self.b.t()], 0, self.group)[1][0]
        return torch.ops.symm_mem.fused_matmul_reduce_scatter(self.a, self.b.t(), "sum", 0, self.group)

    def ways(self):
        """By name; serial first. Rows in chunks are owned block-cyclically, so only one chunk is compared."""
        ways = {"pytorch serial": (lambda: self.in_chunks(1), True)}
        for chunks in (2, 4):
            if self.m % (chunks * self.ranks) == 0:
                is_same = self.op in ("gemm+all_reduce",)
                ways[f"pytorch chunks {chunks}"] = (lambda chunks=chunks: self.in_chunks(chunks), is_same)
        if self.op == "gemm+all_reduce":
            ways["pytorch two_shot"] = (lambda: self.by_symmetric_memory("two_shot_all_reduce_"), True)
            ways["pytorch one_shot"] = (self.one_shot, True)
        if self.op in ("all_gather+gemm", "gemm+reduce_scatter"):
            ways["pytorch async_tp"] = (self.async_tp, True)
        return ways

    def one_shot(self):
        shared = self.symmetric()
        torch.mm(self.a, self.b.t(), out=shared)
        return torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", self.group)


def slowest(value):
    tensor = torch.tensor([value], device="cuda", dtype=torch.float64)
    dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    return tensor.item()


def captured(way):
    """A graph of one iteration, and its result, after a warm-up on a stream of its own."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            way()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        result = way()
    return graph, result


def error_over(result, reference):
    """Largest difference of any rank in standard deviations of the reference."""
    difference = (result.float() - reference.float()).abs().max() / reference.float().std()
    return slowest(difference.item())


def windows(graphs, launches, rounds):
    dist.barrier()
    torch.cuda.synchronize()
    recorded = []
    for turn in range(rounds):
        for graph, count in zip(graphs, launches):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(count):
                graph.replay()
            end.record()
            recorded.append((start, end, count))
            if len(recorded) > 3:
                recorded[-3][1].synchronize()
    torch.cuda.synchronize()
    return [slowest(start.elapsed_time(end) * 1e3 / count) for start, end, count in recorded]


def clock_MHz():
    try:
        import pynvml
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
        return pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
    except Exception:
        return None


def measured(workload, group):
    pair = Pair(workload, group)
    lines, graphs = [], []
    reference = None
    for name, (way, is_compared) in pair.ways().items():
        line = {"workload": workload, "gpus": pair.ranks, "peer": name}
        lines.append(line)
        try:
            graph, result = captured(way)
            graph.replay()
            torch.cuda.synchronize()
            if reference is None:
                reference = result.clone()
            elif is_compared and (off := error_over(result, reference)) > 0.05:
                raise RuntimeError(f"the result is off by {off:.3g} standard deviations")
            graphs.append((line, graph))
        except Exception as error:  # a kernel that does not take these sizes is no reason to stop
            line["error"] = str(error).splitlines()[0][:200]
    alone = [graph for _, graph in graphs]
    first = windows(alone, [3] * len(alone), 2)[len(alone):]
    times = windows(alone, [max(3, int(TURN_US / us)) for us in first], ROUNDS)
    clock = clock_MHz()
    for i, (line, _) in enumerate(graphs):
        own = [times[turn * len(alone) + i] for turn in range(1, ROUNDS)]
        line["time_us"] = sum(own) / len(own)
        line["noise"] = (max(own) - min(own)) / line["time_us"]
        if clock is not None:
            line["sm_clock_MHz"] = clock
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=120))
    ranks, is_first = dist.get_world_size(), dist.get_rank() == 0
    group = dist.group.WORLD.group_name
    done = set()
    if os.path.exists(arguments.out):
        with open(arguments.out) as file:
            done = {json.dumps(json.loads(line).get("workload"), sort_keys=True) for line in file}
    dist.barrier()
    workloads = []
    with open(arguments.cases) as file:
        for case in map(json.loads, file):
            key = json.dumps(case["workload"], sort_keys=True)
            if case["gpus"] == ranks and key not in done:
                done.add(key)
                workloads.append(case["workload"])
    with open(arguments.out if is_first else os.devnull, "a") as out:
        if is_first:
            out.write(json.dumps({"conditions": {
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "gpu": torch.cuda.get_device_name(), "gpus": ranks, "torch": torch.__version__,
                "cuda": torch.version.cuda, "nccl": ".".join(map(str, torch.cuda.nccl.version()))}}) + "\n")
        for workload in workloads:
            for line in measured(workload, group):
                out.write(json.dumps(line) + "\n")
            out.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
