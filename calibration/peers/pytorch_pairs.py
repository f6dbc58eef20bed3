#!/usr/bin/env python3
"""What PyTorch makes of a GEMM beside a collective, in turn with weft's schedules of the same workload.

    torchrun --standalone --nproc-per-node N calibration/peers/pytorch_pairs.py --guest-of FOLDER --out OUT.jsonl

The guest of `weft measure CASES --in-turn --guests FOLDER` on N GPUs, whose ranks say what to prepare and when it is our
turn (calibration/guest.hpp): contest_run.py starts both. Of each workload, a pair in bf16, all that PyTorch 2.11 offers
takes turns, every schedule as a CUDA graph of its own: serial (a matrix product and NCCL), the same in two and four chunks
on two streams, its symmetric-memory all-reduces, and its asynchronous tensor parallelism (fused_all_gather_matmul,
fused_matmul_reduce_scatter). One line a schedule:
{"workload": {...}, "gpus": N, "peer": "pytorch two_shot", "time_us": ..., "noise": ...}.
A time is the mean over those turns that count for weft's schedules too, of the slowest rank. Results are compared with
those of serial; a schedule that fails or computes something else gets an "error". Switch multicast stays off.
"""
import argparse
import datetime
import json
import os
import socket

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

TURN_US, LEAD_US = 2e3, 200  # as weft's: what a schedule runs in a turn; what goes before, for the host to get ahead


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


# Of bf16: at five standard deviations two roundings of a sum that go different ways are 1/16 apart; whatever is missing
# or comes twice is a standard deviation or more.
rounding_of_sums = 0.1


def error_over(result, reference):
    """Largest difference of any rank in standard deviations of the reference."""
    difference = (result.float() - reference.float()).abs().max() / reference.float().std()
    return slowest(difference.item())


class Mix:
    """All that PyTorch makes of one workload, ready to take turns."""

    def __init__(self, workload, group):
        self.pair = pair = Pair(workload, group)  # graphs only borrow its tensors
        self.lines, self.graphs, self.turns = [], [], []
        reference = None
        for name, (way, is_compared) in pair.ways().items():
            line = {"workload": workload, "gpus": pair.ranks, "peer": name}
            self.lines.append(line)
            try:
                graph, result = captured(way)
                graph.replay()
                torch.cuda.synchronize()
                if reference is None:
                    reference = result.clone()
                elif is_compared and (off := error_over(result, reference)) > rounding_of_sums:
                    raise RuntimeError(f"the result is off by {off:.3g} standard deviations")
                self.graphs.append((line, graph))
            except Exception as error:  # a kernel that does not take these sizes is no reason to stop
                line["error"] = str(error).splitlines()[0][:200]
        self.lead, self.launches = 1, [3] * len(self.graphs)
        for _ in range(2):
            self.turn()
        # Of the slowest rank: the ranks' collectives have to match.
        times_us = [slowest(us) for us in self.turns.pop()]
        self.lead = max(1, int(LEAD_US / times_us[0]))
        self.launches = [max(1, int(TURN_US / us)) for us in times_us]
        self.turns.clear()

    def turn(self):
        torch.cuda.synchronize()
        for _ in range(self.lead):
            self.graphs[0][1].replay()
        events = []
        for (_, graph), count in zip(self.graphs, self.launches):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(count):
                graph.replay()
            end.record()
            events.append((start, end))
        torch.cuda.synchronize()
        self.turns.append([start.elapsed_time(end) * 1e3 / count
                           for (start, end), count in zip(events, self.launches)])

    def measured(self, turns, periods):
        """Lines with the times of the last turns."""
        of_period = turns // periods
        counted = self.turns[-turns:]
        for i, (line, _) in enumerate(self.graphs):
            of_schedule = [turn[i] for turn in counted]
            means = [slowest(sum(of_schedule[first:first + of_period]) / of_period)
                     for first in range(0, turns, of_period)]
            line["time_us"] = sum(means) / len(means)
            line["noise"] = (max(means) - min(means)) / line["time_us"]
        return self.lines


def orders(path):
    """What weft's rank says, line by line; answered "done" when the next is asked for."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        connection, _ = listening.accept()
    with connection, connection.makefile() as lines:
        for line in lines:
            yield line.rstrip().partition(" ")
            connection.sendall(b"done\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guest-of", required=True, metavar="FOLDER")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=120))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    group = dist.group.WORLD.group_name
    dist.barrier()
    with open(arguments.out if rank == 0 else os.devnull, "a") as out:
        if rank == 0:
            out.write(json.dumps({"conditions": {
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "gpu": torch.cuda.get_device_name(), "gpus": ranks, "torch": torch.__version__,
                "cuda": torch.version.cuda, "nccl": ".".join(map(str, torch.cuda.nccl.version()))}}) + "\n")
        mix = None
        for order, _, rest in orders(os.path.join(arguments.guest_of, f"rank-{rank}")):
            if order == "mix":
                mix = None  # gives its memory back
                mix = Mix(json.loads(rest)["workload"], group)
            elif order == "turn":
                mix.turn()
            elif order == "end":
                for line in mix.measured(*map(int, rest.split())):
                    out.write(json.dumps(line) + "\n")
                out.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
