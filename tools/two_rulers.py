#!/usr/bin/env python3
"""The second ruler: cases of `weft measure`, timed with PyTorch. And the comparison of both.

    torchrun --standalone --nproc-per-node 4 tools/two_rulers.py --cases cases.jsonl --out torch.jsonl
    weft measure cases.jsonl --machine h200x8-nvswitch --out weft.jsonl
    tools/two_rulers.py --compare torch.jsonl weft.jsonl

Cases are those of `weft predict`; the ones with as many GPUs as there are ranks are measured, and each result is
written at once. The comparison fails (exit status 1) when a median differs by more than 2 %.
"""
import argparse
import json
import os
import sys

TARGET_S = 0.03
REPEATS = 3
TOLERANCE = 0.02
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


def time_iteration(torch, dist, device, iteration, use_graph):
    """Microseconds of one call of `iteration`, which leaves all its work ordered before the current stream.

    A run launches it n times back to back, n from 3 to 200 so that a run lasts about TARGET_S; it starts on all ranks
    together and counts as long as its slowest rank took. Returns the runs and n.
    """
    for _ in range(2):
        iteration()
    torch.cuda.synchronize()
    launch = iteration
    if use_graph:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            iteration()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            iteration()
        launch = graph.replay
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def run(launches):
        dist.barrier()
        torch.cuda.synchronize()
        begin.record()
        for _ in range(launches):
            launch()
        end.record()
        torch.cuda.synchronize()
        mean_s = torch.tensor([begin.elapsed_time(end) / 1e3 / launches], device=device)
        dist.all_reduce(mean_s, op=dist.ReduceOp.MAX)
        return mean_s.item()

    launches = int(max(3, min(200, TARGET_S / max(run(2), 1e-7))))
    return [1e6 * run(launches) for _ in range(REPEATS)], launches


class Builder:
    """Turns a case into a function that enqueues one iteration."""

    def __init__(self, torch, dist, device):
        self.torch, self.dist, self.device = torch, dist, device
        self.ranks = dist.get_world_size()
        self.groups = {0: None}  # by CTA limit; None is the default group
        self.communication = torch.cuda.Stream(priority=-5)  # mapped to the most urgent that there is

    def group(self, max_ctas):
        if max_ctas not in self.groups:
            options = self.dist.ProcessGroupNCCL.Options()
            options.config.min_ctas = 1
            options.config.max_ctas = max_ctas
            self.groups[max_ctas] = self.dist.new_group(pg_options=options)
        return self.groups[max_ctas]

    def normal(self, rows, columns):
        return self.torch.randn(rows, columns, device=self.device).to(self.torch.bfloat16)

    def empty(self, rows, columns):
        return self.torch.empty(rows, columns, device=self.device, dtype=self.torch.bfloat16)

    def gemm(self, a, b, c):
        return lambda: self.torch.mm(a, b.t(), out=c)

    def collective(self, kind, source, result, group):
        # Synchronous calls run on the current stream.
        dist = self.dist
        if kind == "all_reduce":
            return lambda: dist.all_reduce(result, group=group)
        if kind == "all_gather":
            return lambda: dist.all_gather_into_tensor(result, source, group=group)
        if kind == "reduce_scatter":
            return lambda: dist.reduce_scatter_tensor(result, source, group=group)
        return lambda: dist.all_to_all_single(result, source, group=group)

    def rows_of_result(self, kind, rows):
        """Rows of a collective's result for `rows` of its input."""
        return rows * self.ranks if kind == "all_gather" else rows // self.ranks if kind == "reduce_scatter" else rows

    def alone(self, workload, group):
        op = workload["op"]
        if op == "gemm":
            m, n, k = workload["m"], workload["n"], workload["k"]
            return self.gemm(self.normal(m, k), self.normal(n, k), self.empty(m, n))
        full = workload["bytes"] // 2
        rows = full // self.ranks if op == "all_gather" else full
        source = self.normal(rows, 1)
        result = source if op == "all_reduce" else self.empty(self.rows_of_result(op, rows), 1)
        return self.collective(op, source, result, group)

    def pair(self, workload, chunks, group):
        """The steps, one a chunk, as (GEMM, collective); and whether the GEMM comes first. Chunks are row blocks."""
        m, n, k = workload["m"], workload["n"], workload["k"]
        first, second = workload["op"].split("+")
        b, c = self.normal(n, k), self.empty(m, n)
        if first == "gemm":
            a = self.normal(m, k)
            result = c if second == "all_reduce" else self.empty(self.rows_of_result(second, m), n)
            matrices = (a, c, c, result)
        else:
            own = self.normal(m // self.ranks if first == "all_gather" else m, k)
            arrived = self.empty(m, k)
            matrices = (arrived, c, own, arrived)
        kind = second if first == "gemm" else first
        steps = [(self.gemm(a_rows, b, c_rows), self.collective(kind, source, result, group))
                 for a_rows, c_rows, source, result in zip(*(matrix.chunk(chunks) for matrix in matrices))]
        return steps, first == "gemm"

    def decomposition(self, steps, gemm_first):
        torch, other = self.torch, self.communication

        def iteration():
            main = torch.cuda.current_stream()
            if not gemm_first:
                other.wait_stream(main)
            for gemm, collective in steps:
                if gemm_first:
                    gemm()
                    other.wait_stream(main)
                with torch.cuda.stream(other):
                    collective()
                if not gemm_first:
                    main.wait_stream(other)
                    gemm()
            main.wait_stream(other)

        return iteration

    def concurrent(self, workload, collective_first, group):
        torch, other = self.torch, self.communication
        gemm = self.alone({**workload, "op": "gemm"}, group)
        collective = self.alone({"op": "all_reduce", "bytes": workload["bytes"]}, group)

        def on_other():
            with torch.cuda.stream(other):
                collective()

        def iteration():
            main = torch.cuda.current_stream()
            other.wait_stream(main)
            for step in (on_other, gemm) if collective_first else (gemm, on_other):
                step()
            main.wait_stream(other)

        return iteration

    def async_tp(self, workload, symmetric_input):
        """PyTorch's own operators of symmetric memory, multicast off in its environment."""
        torch, operators = self.torch, self.torch.ops.symm_mem
        from torch.distributed import _symmetric_memory as symmetric_memory

        m, n, k = workload["m"], workload["n"], workload["k"]
        name, b = self.dist.group.WORLD.group_name, self.normal(n, k)
        symmetric_memory.enable_symm_mem_for_group(name)
        if workload["op"] == "gemm+reduce_scatter":
            a = self.normal(m, k)
            return lambda: operators.fused_matmul_reduce_scatter(a, b.t(), "sum", scatter_dim=0, group_name=name)
        a = self.normal(m // self.ranks, k)
        if symmetric_input:
            shared = symmetric_memory.empty(*a.shape, dtype=torch.bfloat16, device=self.device)
            symmetric_memory.rendezvous(shared, name)
            a = shared.copy_(a)
        return lambda: operators.fused_all_gather_matmul(
            a, [b.t()], gather_dim=0, group_name=name, return_A=not symmetric_input)

    def build(self, case):
        workload, schedule = case["workload"], case.get("schedule", {"family": "serial"})
        family, group = schedule["family"], self.group(schedule.get("max_ctas", 0))
        op = workload["op"]
        if op == "gemm||all_reduce" and family == "concurrent":
            return self.concurrent(workload, schedule["first"] == "collective", group)
        if op == "gemm" or op in COLLECTIVES:
            return self.alone(workload, group)
        if op in ("all_gather+gemm", "gemm+reduce_scatter") and family == "async_tp":
            return self.async_tp(workload, schedule.get("input") == "symmetric")
        if "+" not in op or family not in ("serial", "decomposition"):
            raise ValueError(f"no second ruler for {op} under {family}")
        if family == "decomposition":
            return self.decomposition(*self.pair(workload, schedule["chunks"], group))
        steps, gemm_first = self.pair(workload, 1, group)
        gemm, collective = steps[0]
        order = (gemm, collective) if gemm_first else (collective, gemm)

        def iteration():
            for step in order:
                step()

        return iteration


def measure(cases, out_path):
    import torch
    import torch.distributed as dist

    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # as weft measures
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    builder = Builder(torch, dist, device)
    is_writer = dist.get_rank() == 0
    with open(out_path if is_writer else os.devnull, "a") as out:
        for case in cases:
            if case["gpus"] != dist.get_world_size():
                continue
            try:
                iteration = builder.build(case)
            except (KeyError, ValueError) as problem:  # the same on all ranks
                print(json.dumps({"case": case, "error": str(problem)}), file=out, flush=True)
                continue
            use_graph = case.get("schedule", {}).get("launch", "graph") == "graph"
            runs_us, launches = time_iteration(torch, dist, device, iteration, use_graph)
            line = {"case": case, "time_us": sorted(runs_us)[REPEATS // 2], "repeats_us": runs_us, "iterations": launches}
            print(json.dumps(line), file=out, flush=True)
            if is_writer:
                print(f"{case.get('id')}: {line['time_us']:.2f} us", file=sys.stderr, flush=True)
            del iteration
            torch.cuda.empty_cache()
    dist.destroy_process_group()


def times_by_case(path):
    times = {}
    with open(path) as lines:
        for line in map(json.loads, lines):
            if "time_us" in line:
                times[line["case"]["id"]] = line
    return times


def spread(line):
    return (max(line["repeats_us"]) - min(line["repeats_us"])) / line["time_us"]


def compare(torch_path, weft_path):
    """Prints both rulers' medians; True when every pair agrees within TOLERANCE."""
    torch_lines, weft_lines = times_by_case(torch_path), times_by_case(weft_path)
    shared = [case for case in torch_lines if case in weft_lines]
    if not shared:
        raise SystemExit(f"two_rulers: {torch_path} and {weft_path} share no case")
    agree = True
    print(f"{'case':32} {'PyTorch us':>11} {'noise':>7} {'weft us':>11} {'noise':>7} {'difference':>11}")
    for case in shared:
        first, second = torch_lines[case], weft_lines[case]
        difference = second["time_us"] / first["time_us"] - 1
        agree &= abs(difference) <= TOLERANCE
        print(f"{case:32} {first['time_us']:11.2f} {spread(first):7.1%} {second['time_us']:11.2f} {spread(second):7.1%}"
              f" {difference:+11.2%}{'' if abs(difference) <= TOLERANCE else '  <--'}")
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", help="JSON lines, as weft predict reads them (under torchrun)")
    parser.add_argument("--out", help="file to append results to")
    parser.add_argument("--compare", nargs=2, metavar=("TORCH", "WEFT"))
    arguments = parser.parse_args()
    if arguments.compare:
        return 0 if compare(*arguments.compare) else 1
    if not (arguments.cases and arguments.out):
        parser.error("expected --cases and --out, or --compare")
    with open(arguments.cases) as lines:
        measure([json.loads(line) for line in lines if line.strip()], arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
