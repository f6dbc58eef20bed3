"""What is mutated: files of the tree that the commands take, small parts of large ones, and what commands write."""

import gzip
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile

from fuzzing.document import parsed, words_of

PROFILES = {
    "test.json": "tests/sim/test_machine.json",
    "mi300x8-mesh.json": "calibration/machines/mi300x8-mesh.json",
    "rtx4090x8-pcie.json": "calibration/machines/rtx4090x8-pcie.json",
    "a800x8-nvlink-pairs.json": "calibration/machines/a800x8-nvlink-pairs.json",
}
MEASUREMENTS = "calibration/measurements/"
CONFIG = "scenarios/models/llama-3.3-70b.config.json"
LAYER = '{"op": "transformer_layer", "tokens": 2048, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, '
LAYER += '"intermediate": 14336, "dtype": "bf16"'
MORE_CASES = [
    '{"id": "moe", "gpus": 4, "workload": ' + LAYER + ', "experts": 8, "experts_per_token": 2}}',
    '{"id": "split", "gpus": 8, "workload": ' + LAYER + '}, "schedule": {"family": "token_split", "first": 1024}}',
    '{"id": "given", "gpus": 4, "workload": {"op": "gemm+all_reduce", "m": 4096, "n": 4096, "k": 2048, "dtype": "bf16"}, '
    '"schedule": {"family": "decomposition", "chunks": 4, "launch": "eager"}, '
    '"measured": {"gemm_us": 812.0, "collective_us": 355.0}}',
    '{"id": "uneven", "gpus": 8, "workload": {"op": "all_to_all+gemm", "m": 8192, "n": 4096, "k": 2048, "dtype": "bf16", '
    '"imbalance": 1.5}, "schedule": {"family": "serial", "max_ctas": 8}}',
    '{"id": "groups", "gpus": 4, "workload": {"op": "gemm+reduce_scatter", "m": 8192, "n": 8192, "k": 3584, '
    '"dtype": "bf16"}, "schedule": {"family": "signaling", "groups": "searched"}}',
]


SWEEPS = [
    """{"format": "weft.sweep/1", "machines": ["mi300x8-mesh", "h100x8-nvswitch"], "gpus": [2, 4],
 "workloads": [{"op": ["gemm+all_reduce", "gemm+reduce_scatter"], "m": {"from": 256, "to": 1024, "times": 2},
   "n": {"from": 1024, "to": 2048, "step": 512}, "k": 2048}, {"op": "all_gather", "bytes": [1048576, 67108864]}],
 "schedules": [{"family": "serial"}, {"family": "decomposition", "chunks": [2, 4]}],
 "conditions": ["sustained", {"clock_MHz": 1500}]}
""",
    """{"format": "weft.sweep/1", "machines": ["mi300x8-mesh"], "gpus": 4,
 "models": [{"config": "config.json", "tokens": [1024, 2048], "form": "all_reduce", "layers": true}],
 "workloads": [{"op": "gemm+all_reduce", "m": 1024, "n": 2048, "k": 2048}],
 "schedules": [{"family": "signaling", "groups": [[1, 3], [2, 2]]}, {"family": "serial", "max_ctas": [4, 8]}]}
""",
]


GEMM_TIMES = "m,n,k,time_us,dtype\n" + "".join(
    f"{m},{n},8192,{5 + 2 * m * n * 8192 / 600e6:.1f},bf16\n" for m in (1024, 2048, 4096) for n in (4096, 8192)
)
TOPOLOGY = "\n".join([
    "\t" + "\t".join([*(f"GPU{i}" for i in range(8)), "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]),
    *("\t".join([f"GPU{i}", *(" X " if i == j else "NV18" for j in range(8)), "0-47", str(i // 4), "N/A"]) for i in range(8)),
    "", "Legend:", "  X    = Self", "",
])  # fmt: skip


def nccl_tests_log():
    """As nccl-tests prints it for an all-reduce on eight GPUs."""
    lines = ["# Collective test starting: all_reduce_perf", "# nThread 1 nGpus 8 minBytes 1024 maxBytes 268435456 graph: 0"]
    lines += [f"#  Rank {i:2d} Group  0 Pid  1 on node1 device {i:2d} [0x{i:02x}] NVIDIA H100 80GB HBM3" for i in range(8)]
    lines += ["#       size         count      type   redop    root     time   algbw"]
    for size in (1024 << 2 * i for i in range(10)):
        time_us = 12 + size / 300e3
        body = f"{time_us:8.2f} {size / time_us / 1e3:7.2f} {1.75 * size / time_us / 1e3:7.2f} {0:6d}"
        lines.append(f"{size:12d} {size // 4:12d}  float     sum      -1 {body} {body}")
    return "\n".join([*lines, "# Out of bounds values : 0 OK", ""])


def lines_of(path, first, stride=1, start=0):
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return text.splitlines()[start::stride][:first]


class Corpus:
    """Texts by kind; each kind's texts are donors to each other."""

    def __init__(self, root, program):
        self.root, self.program = root, program
        self.profiles = {name: (root / path).read_bytes() for name, path in PROFILES.items()}
        self.tables = {"test_machine.gemm_kernels.txt": (root / "tests/sim/test_machine.gemm_kernels.txt").read_bytes()}
        self.csv = "\n".join(lines_of(root / "tests/models/machine/gemm_kernels.csv", 12)) + "\n"
        self.curves = (root / "calibration/published/mi300x8-mesh.csv").read_bytes()
        self.config = (root / CONFIG).read_bytes()
        self.claims = {path.stem: path.read_bytes() for path in sorted((root / "scenarios/published").glob("*.json"))}
        self.cases = self.all_cases()
        self.scenarios = self.all_scenarios()
        self.traces = {
            name: (root / "tests/tools/inputs" / name).read_bytes() for name in ("predicted.json", "measured.json")
        }
        self.measurements = self.all_measurements()
        self.schedules = self.shipped_schedules() + self.built_schedules()
        self.progress = self.begun_progress()
        self.configs = [path.read_bytes() for path in sorted((root / "scenarios/models").glob("*.json"))]
        texts = [*self.cases, *self.scenarios, *SWEEPS, *map(bytes.decode, self.schedules), self.config.decode()]
        self.words = sorted({word for text in texts for word in words_of(parsed(text))})
        self.profile_words = sorted(
            {word for text in self.profiles.values() for word in words_of(parsed(text.decode())) if len(word) < 40}
        )

    def all_cases(self):
        """One of each op and family that the tree's lists of cases have."""
        sources = sorted((self.root / MEASUREMENTS / "validation-cases").glob("*.jsonl.gz"))
        lines = [line for path in sources for line in lines_of(path, 10_000, 7)]
        lines += [json.dumps(case) for text in self.claims.values() for case in json.loads(text)["cases"]]
        hybrids = lines_of(self.root / MEASUREMENTS / "hybrids-2026-11-21/hybrids_4gpu.jsonl.gz", 400, 9)
        lines += [json.dumps(json.loads(line)["case"]) for line in hybrids if '"case"' in line]
        kinds = {}
        for line in MORE_CASES + lines:
            case = json.loads(line)
            schedule = case.get("schedule", {})
            key = (case["workload"]["op"], schedule.get("family"), *sorted(schedule), *sorted(case))
            kinds.setdefault(key, line)
        return [kinds[key] for key in sorted(kinds, key=str)]

    def all_scenarios(self):
        made = [path.read_text() for path in sorted((self.root / "scenarios").glob("*.json"))]
        for op, sizes in [
            ("gemm+all_reduce", {"m": [2048], "n": 4096, "k": 2048, "families": ["serial", "decomposition"]}),
            ("all_gather+gemm", {"m": 4096, "n": 4096, "k": 2048, "families": ["async_tp", "ficco"]}),
            ("gemm||all_reduce", {"m": 4096, "n": 4096, "k": 2048, "bytes": 67108864}),
            ("all_to_all+gemm", {"m": 4096, "n": 4096, "k": 2048, "imbalance": 1.3}),
        ]:
            made.append(json.dumps({"format": "weft.scenario/1", "gpus": 4, "op": op, **sizes}, indent=2))
        return made

    def all_measurements(self):
        """(measurements, recorded kernels or nothing): a few lines of each kind of file."""
        made = []
        for name, count, stride in [
            ("rulers-2026-11-21/weft.jsonl", 7, 1),
            ("steady-2026-11-21/gemm.jsonl.gz", 12, 3),
            ("h200x4-2026-11-21/gemm.jsonl.gz", 24, 9),
            ("steady-2026-11-21/pairs.jsonl.gz", 8, 9),
            ("attention-2026-11-21/layers.jsonl.gz", 6, 7),
            ("load-2026-11-22/h100_priority_short.jsonl.gz", 8, 5),
            ("validation-2026-11-21/validation_2gpu.jsonl.gz", 12, 57),
            ("h200x4-2026-11-21/collectives_2gpu.jsonl.gz", 12, 23),
        ]:
            lines = lines_of(self.root / MEASUREMENTS / name, count, stride)
            made.append(("\n".join(lines).encode() + b"\n", b""))
        for name in ("h200x4-2026-11-21/gemm", "h200x4-2026-11-21/pairs_2gpu"):
            lines = lines_of(self.root / MEASUREMENTS / f"{name}.jsonl.gz", 9)
            kernels = [
                line
                for line in lines_of(self.root / MEASUREMENTS / f"{name}.kernels.gz", 10_000)
                if json.loads(line).get("line", 0) <= len(lines)
            ]
            made.append(("\n".join(lines).encode() + b"\n", "\n".join(kernels).encode() + b"\n"))
        return made

    def shipped_schedules(self):
        folders = ("tests/schedules", "scenarios/launch_control")
        paths = [path for folder in folders for path in sorted((self.root / folder).glob("*.json"))]
        return [path.read_bytes() for path in [*paths, self.root / "docs/example/schedule.json"]]

    def built_schedules(self):
        """What the families make of the cases: operations that no shipped schedule has."""
        with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as made:
            folder = pathlib.Path(made)
            cases = [json.dumps({**json.loads(case), "id": f"{i:04}"}) for i, case in enumerate(self.cases)]
            (folder / "cases.jsonl").write_text("\n".join(cases) + "\n")
            machine = self.root / PROFILES["mi300x8-mesh.json"]
            call = [self.program, "predict", "--machine", machine, "--in", folder / "cases.jsonl", "--schedules", folder]
            subprocess.run(call, capture_output=True, check=False)
            texts = [path.read_bytes() for path in sorted(folder.glob("*.json"))]
        return [text for text in texts if len(text) < 30_000]

    def tune_arguments(self):
        return ["tune", "config.json", "--machine", "mi300x8-mesh", "--nccl", "--tokens", "1024", "--out", "out.json"]

    def begun_progress(self):
        """That of a search that was ended after the first lines; on one core, so that these are always the same."""

        def begin():
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))

        with tempfile.TemporaryDirectory(prefix="weft-fuzz-") as made:
            folder = pathlib.Path(made)
            (folder / "config.json").write_bytes(self.config)
            subprocess.run(
                [self.program, *self.tune_arguments()], cwd=folder, capture_output=True, check=False, preexec_fn=begin
            )
            path = folder / "out.json.progress"
            return path.read_bytes() if path.exists() else b"{}\n"
