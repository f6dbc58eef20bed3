"""weft profile new: profiles from logs and topologies of other tools, and wrong ones. Argument: the program weft."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEFT = ROOT / "build/release/bin/weft"
BASE = "h100x8-nvswitch-nvls"

FACTORS = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n,
           "reduce_scatter": lambda n: (n - 1) / n, "alltoall": lambda n: (n - 1) / n}
SIZES = [1024 << (2 * i) for i in range(10)]


def time_us(size):
    return 12 + size / 300e3


def text_log(kind="all_reduce", gpus=8, names_program=True, sizes=SIZES, wrong=0, hosts=("node1",), factor=None):
    """As nccl-tests 2.13 prints it; newer ones name the program."""
    lines = ["# nThread 1 nGpus 8 minBytes 1024 maxBytes 268435456 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1"
             " validation: 1 graph: 0", "#", "# Using devices"]
    if names_program:
        lines.insert(0, f"# Collective test starting: {kind}_perf")
    lines += [f"#  Rank {i:2d} Group  0 Pid  12345 on {hosts[i % len(hosts)]:>10s} device {i:2d} [0x{i:02x}] NVIDIA H100 80GB HBM3"
              for i in range(gpus)]
    lines += ["NCCL version 2.19.3+cuda12.2", "#", "#       size         count      type   redop    root     time   algbw"]
    redop = "sum" if "reduce" in kind else "none"
    bus = FACTORS[kind](gpus) if factor is None else factor
    for size in sizes:
        alg = size / time_us(size) / 1e3
        body = f"{time_us(size):8.2f} {alg:7.2f} {alg * bus:7.2f} {wrong:6d}"
        lines.append(f"{size:12d} {size // 4:12d}  float {redop:>7s}      -1 {body} {body}")
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 104.2", "#", ""])


def json_log(kind="all_reduce", gpus=8):
    results = [{"size": size, "count": size // 4, "type": "float", "redop": "sum" if "reduce" in kind else "none",
                "root": "    -1",
                "out_of_place": {"time": time_us(size), "alg_bw": size / time_us(size) / 1e3,
                                 "bus_bw": size / time_us(size) / 1e3 * FACTORS[kind](gpus), "nwrong": 0.0},
                "in_place": None, "actual_iterations": 20, "experiment_name": ""} for size in SIZES]
    device = {"rank": 0, "group": 0, "pid": 1, "hostname": "node1", "device": 0, "device_hex": "0000:18:00",
              "device_info": "NVIDIA H100 80GB HBM3"}
    return {"version": 2, "start_time": "2026-01-01 00:00:00", "args": [f"./build/{kind}_perf"], "env": ["A=B"],
            "nccl_version": 22809, "config": {"nthreads": 1, "ngpus": gpus, "graph": 0, "devices": [device]},
            "results": results, "errors": []}


def matrix(gpus=8, cell=lambda i, j: "NV18", nodes=lambda i: i // 4):
    names = [f"GPU{i}" for i in range(gpus)]
    lines = ["\t\x1b[4m" + "\t".join([*names, "NIC0", "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]) + "\x1b[0m"]
    for i, name in enumerate(names):
        cells = [" X " if i == j else cell(i, j) for j in range(gpus)]
        lines.append("\t".join([name, *cells, "PXB", "0-47,96-143", str(nodes(i)), "", "N/A"]))
    lines += ["NIC0\t" + "\t".join(["SYS"] * gpus) + "\t X ", "", "Legend:", "  X    = Self", "  NV#  = a bonded set of # NVLinks"]
    return "\n".join(lines) + "\n"


def nccl_xml(gpus=8, nvlinks=(5, 4, 5, 4), sm=90, per_node=4):
    parts = ['<system version="1">']
    for node in range((gpus + per_node - 1) // per_node):
        parts.append(f'<cpu host_hash="0x1" numaid="{node}" affinity="0" arch="x86_64" vendor="GenuineIntel">')
        for gpu in range(node * per_node, min(gpus, (node + 1) * per_node)):
            links = "".join(f'<nvlink target="0000:0{i}:00.0" count="{count}" tclass="0x068000"/>'
                            for i, count in enumerate(nvlinks))
            parts.append(f'<pci busid="0000:{gpu + 16:x}:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">'
                         f'<gpu dev="{gpu}" sm="{sm}" rank="{gpu}" gdr="1">{links}</gpu></pci>')
        parts.append("</cpu>")
    return "\n".join([*parts, "</system>"])


def hwloc_xml(gpus=8, per_node=4):
    parts = ['<?xml version="1.0"?><topology version="2.0"><object type="Machine" os_index="0">']
    for node in range(gpus // per_node):
        parts.append(f'<object type="Package" os_index="{node}"><object type="NUMANode" os_index="{node}"/>'
                     '<object type="Bridge" bridge_type="0-1">')
        for gpu in range(node * per_node, (node + 1) * per_node):
            parts.append(f'<object type="PCIDev" pci_busid="0000:{gpu + 16:x}:00.0" pci_link_speed="31.507692" '
                         'pci_type="0302 [10de:2684] [10de:16f4] a1"><object type="OSDev" name="cuda0" osdev_type="5"/></object>')
        parts.append("</object></object>")
    return "".join([*parts, "</object></topology>"])


class Profiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        (self.path / name).write_text(text if isinstance(text, str) else json.dumps(text))
        return name

    def new(self, *options, base=BASE, out="mine.json"):
        line = [WEFT, "profile", "new", "--base", base, "--out", out, *options]
        return subprocess.run(line, capture_output=True, text=True, check=False, cwd=self.path)

    def made(self, *options, base=BASE):
        done = self.new(*options, base=base)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads((self.path / "mine.json").read_text())

    def predicted(self, workload, gpus=8):
        case = json.dumps({"id": "", "gpus": gpus, "workload": workload})
        done = subprocess.run([WEFT, "predict", "--machine", "./mine.json"], input=case, capture_output=True, text=True,
                              check=True, cwd=self.path)
        return json.loads(done.stdout)

    # --- nccl-tests -----------------------------------------------------------------------------------------------

    def test_predictions_of_collectives_are_the_times_of_the_log(self):
        for name, log in (("run.log", text_log()), ("run.json", json_log())):
            profile = self.made("--nccl-tests", self.write(name, log))
            for size in (SIZES[3], SIZES[6], SIZES[9]):
                predicted = self.predicted({"op": "all_reduce", "bytes": size})["time_us"]
                self.assertAlmostEqual(predicted / time_us(size), 1, delta=0.02)
            (curve,) = [one for one in profile["collectives"] if (one["collective"], one["gpus"]) == ("all_reduce", 8)]
            self.assertTrue(curve["source"].startswith(f"measured: nccl-tests, {name}, 10 sizes, NCCL 2."), curve["source"])
            self.assertIn("NVIDIA H100", curve["source"])

    def test_every_other_number_is_assumed_or_of_a_datasheet(self):
        profile = self.made("--nccl-tests", self.write("run.log", text_log()))
        self.assertEqual(profile["name"], "mine")
        self.assertNotIn("conditions", profile)
        sources = []

        def walk(value):
            if isinstance(value, dict) and "source" in value:
                sources.append(value["source"])
            for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
                walk(part)

        walk(profile)
        self.assertEqual([one for one in sources if not one.startswith(("assumption", "datasheet", "documentation", "measured: nccl"))], [])
        self.assertEqual(sum(one.startswith("measured: nccl") for one in sources), 1)

    def test_several_logs_replace_several_curves(self):
        both = self.write("all.log", text_log("all_gather", 4) + text_log("reduce_scatter", 4))
        other = self.write("alltoall_8.txt", text_log("alltoall", 8, names_program=False))
        profile = self.made("--nccl-tests", both, "--nccl-tests", other)
        measured = {(one["collective"], one["gpus"]) for one in profile["collectives"] if one["source"].startswith("measured")}
        self.assertEqual(measured, {("all_gather", 4), ("reduce_scatter", 4), ("all_to_all", 8)})

    def test_a_log_that_names_no_program_is_known_by_its_bus_bandwidths(self):
        for kind in ("all_reduce", "reduce_scatter"):
            profile = self.made("--nccl-tests", self.write("a.log", text_log(kind, names_program=False)))
            measured = {one["collective"] for one in profile["collectives"] if one["source"].startswith("measured")}
            self.assertEqual(measured, {kind})
        self.assert_refused("a.log: expected a log that names its program", "--nccl-tests",
                            self.write("a.log", text_log("all_gather", names_program=False)))

    # --- GEMMs ----------------------------------------------------------------------------------------------------

    def gemms(self, count, slower):
        rows = []
        for i in range(count):
            m, n, k = 1024 << (i % 4), 2048 * (1 + i % 5), 1024 * (1 + i % 7)
            case = json.dumps({"id": "", "gpus": 1, "workload": {"op": "gemm", "m": m, "n": n, "k": k}})
            done = subprocess.run([WEFT, "predict", "--machine", BASE], input=case, capture_output=True, text=True, check=True)
            rows.append((m, n, k, json.loads(done.stdout)["time_us"] * slower))
        return rows

    def test_few_gemms_scale_the_tensor_cores(self):
        rows = self.gemms(12, 1.15)
        self.made("--gemms", self.write("g.csv", "m,n,k,time_us\n" + "\n".join(",".join(map(str, row)) for row in rows)))
        ratios = [self.predicted({"op": "gemm", "m": m, "n": n, "k": k}, 1)["time_us"] / time for m, n, k, time in rows if time > 50]
        self.assertAlmostEqual(sorted(ratios)[len(ratios) // 2], 1, delta=0.03)

    def test_many_gemms_are_fitted(self):
        rows = self.gemms(60, 1.1)
        text = "k, n, m, dtype, time_us\n" + "\n".join(f"{k}, {n}, {m}, bf16, {time}" for m, n, k, time in rows)
        profile = self.made("--gemms", self.write("g.csv", text))
        self.assertIn("residual median", profile["gpu"]["hbm_bandwidth"]["source"] + profile["gemm"]["epilogue"]["source"])
        self.assertEqual({one["quantity"] for one in profile["calibrated"]}, {"bytes", "gpus", "m", "n", "k"})
        ratios = [self.predicted({"op": "gemm", "m": m, "n": n, "k": k}, 1)["time_us"] / time for m, n, k, time in rows]
        self.assertAlmostEqual(sorted(ratios)[len(ratios) // 2], 1, delta=0.05)

    # --- Topologies -----------------------------------------------------------------------------------------------

    def test_a_matrix_says_how_many_gpus_and_links(self):
        profile = self.made("--topology", self.write("topo.txt", matrix(gpus=4, cell=lambda i, j: "NV12")))
        self.assertEqual((profile["gpus"], profile["fabric"]["port_peak"]["value"]), (4, 300))
        self.assertEqual(profile["fabric"]["port_peak"]["source"], "measured: nvidia-smi topo -m, topo.txt")
        base = json.loads((ROOT / f"calibration/machines/{BASE}.json").read_text())
        for section, kernel, rate in (("fabric", None, "port_bandwidth"), ("copy_engines", None, "push_bandwidth"),
                                      ("direct_collectives", "two_shot", "one_way_bandwidth")):
            of = lambda one: (one[section][kernel] if kernel else one[section])[rate]["value"]
            self.assertAlmostEqual(of(profile), of(base) * 300 / 450, delta=0.1)
        self.assertTrue(profile["fabric"]["port_bandwidth"]["source"].startswith("assumption: the share of the peak"))

    def test_the_topology_of_nccl_says_the_same(self):
        profile = self.made("--topology", self.write("topo.xml", nccl_xml(gpus=8)))
        self.assertEqual((profile["gpus"], profile["fabric"]["port_peak"]["value"]), (8, 450))
        profile = self.made("--topology", self.write("topo.xml", nccl_xml(gpus=8, sm=100)))
        self.assertEqual(profile["fabric"]["port_peak"]["value"], 900)

    def test_links_of_blackwell_are_twice_as_fast(self):
        base = "b200x8-nvswitch-nvls"
        profile = self.made("--topology", self.write("topo.txt", matrix(8, lambda i, j: "NV18")), base=base)
        self.assertEqual(profile["fabric"]["port_peak"]["value"], 900)

    def test_two_gpus_have_no_curves_of_more(self):
        topology = self.write("topo.txt", matrix(2, lambda i, j: "NV18"))
        for base in ("h200x8-nvswitch", "h100x8-nvswitch"):
            profile = self.made("--topology", topology, base=base)
            for curve in profile["collectives"] + profile["symmetric_collectives"]:
                self.assertEqual(curve["gpus"], 2)
        done = self.new("--topology", topology, "--format", "csv", base="h200x8-nvswitch")
        self.assertNotIn("collectives[", done.stdout)  # none has changed

    def test_numa_nodes_and_pcie_of_servers_without_nvlinks(self):
        for name, text in (("lstopo.xml", hwloc_xml(8, 2)), ("nccl.xml", nccl_xml(8, nvlinks=(), per_node=2))):
            profile = self.made("--topology", self.write(name, text), base="rtx4090x8-pcie")
            host = profile["fabric"]["host"]
            self.assertEqual(host["gpus_per_node"]["value"], 2)
            self.assertAlmostEqual(host["pcie_peak"]["value"], 31.5 if name == "lstopo.xml" else 63.0, delta=0.1)
        profile = self.made("--topology", self.write("topo.txt", matrix(8, lambda i, j: "SYS", lambda i: i // 4)),
                            base="rtx4090x8-pcie")
        self.assertEqual(profile["fabric"]["host"]["gpus_per_node"]["value"], 4)
        pairs = matrix(8, lambda i, j: "NV4" if i ^ 1 == j else "SYS")
        profile = self.made("--topology", self.write("topo.txt", pairs), base="a800x8-nvlink-pairs")
        self.assertEqual(profile["fabric"]["link_peak"]["value"], 100)

    def test_the_table_of_kernels_comes_along(self):
        self.made("--topology", self.write("topo.txt", matrix(8)))
        self.assertGreater(self.predicted({"op": "gemm", "m": 512, "n": 512, "k": 512}, 1)["time_us"], 0)

    # --- What is wrong --------------------------------------------------------------------------------------------

    def assert_refused(self, told, *options, base=BASE, out="refused.json"):
        before = sorted(self.path.iterdir())
        done = self.new(*options, base=base, out=out)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn(told, done.stderr)
        self.assertEqual(sorted(self.path.iterdir()), before)

    def test_wrong_logs_are_refused_in_one_line(self):
        def log(text, name="x.log"):
            return "--nccl-tests", self.write(name, text)

        self.assert_refused("x.log: expected rows of sizes and times", *log("hello\n"))
        self.assert_refused("x.log: expected rows of sizes and times", *log(""))
        self.assert_refused("x.log: line 2: expected size, count", *log("# Collective test starting: all_reduce_perf\n"
                                                                        "  8  2  float  sum  -1  5.0  0.0  0.0\n"))
        self.assert_refused("x.log: expected right results", *log(text_log(wrong=3)))
        self.assert_refused("x.log: expected ranks of one server, got node1, node2", *log(text_log(hosts=("node1", "node2"))))
        self.assert_refused("x.log: expected bus bandwidths of all_reduce on 8 GPUs, 1.750 times", *log(text_log(factor=0.875)))
        self.assert_refused("x.log: expected all_reduce, all_gather", *log(text_log().replace("all_reduce_perf", "broadcast_perf")))
        self.assert_refused("x.log: expected rows", *log("# Rank 0 " + "x" * 2000000 + "\n"))
        self.assert_refused("x.log: expected at least two sizes", *log(text_log(sizes=SIZES[:1])))
        self.assert_refused("x.log: expected at most 8 GPUs", *log(text_log(gpus=16)))
        self.assert_refused("x.log: expected GPUs of the kind that", *log(text_log().replace("NVIDIA H100 80GB HBM3", "AMD Instinct MI300X")))
        self.assert_refused("again", *log(text_log()), *log(text_log(), "y.log"))
        self.assert_refused("x.json: config", *log({"results": []}, "x.json"))
        self.assert_refused("x.json", *log("{", "x.json"))
        self.assert_refused("nowhere.log", "--nccl-tests", "nowhere.log")

    def test_wrong_tables_of_gemms_are_refused_in_one_line(self):
        def csv(text):
            return "--gemms", self.write("g.csv", text)

        self.assert_refused("g.csv: expected a line of columns", *csv(""))
        self.assert_refused('g.csv: line 1: expected the columns m, n, k, time_us, dtype, clock_MHz and kernel, got "ms"', *csv("m,n,k,ms\n1,1,1,1\n"))
        self.assert_refused("g.csv: line 1: expected the column time_us", *csv("m,n,k\n1,1,1\n"))
        self.assert_refused("g.csv: line 2: expected 4 values, got 3", *csv("m,n,k,time_us\n1,1,1\n"))
        self.assert_refused('g.csv: line 2: m: expected a number', *csv("m,n,k,time_us\nx,1,1,5\n"))
        self.assert_refused('g.csv: line 2: time_us: expected a number', *csv("m,n,k,time_us\n1,1,1,-5\n"))
        self.assert_refused('g.csv: line 2: dtype: expected bf16 or fp8, got "fp16"', *csv("m,n,k,time_us,dtype\n1,1,1,5,fp16\n"))
        self.assert_refused("g.csv: line 2: kernel: expected one of library, own_256_pairs", *csv("m,n,k,time_us,kernel\n1,1,1,5,own\n"))
        self.assert_refused("g.csv: kernel: expected GEMMs of the library", *csv("m,n,k,time_us,kernel\n8,8,8,5,own_256\n"))
        self.assert_refused("g.csv: expected at least one GEMM of 50 us or more", *csv("m,n,k,time_us\n64,64,64,5\n"))

    def test_wrong_topologies_are_refused_in_one_line(self):
        def topology(text):
            return "--topology", self.write("t.txt", text)

        self.assert_refused("t.txt: expected the matrix of nvidia-smi", *topology("hello\n"))
        self.assert_refused("t.txt: expected XML", *topology("<system>"))
        self.assert_refused("t.txt: expected NCCL's topology (<system>) or hwloc's", *topology("<a/>"))
        self.assert_refused("t.txt: expected at least 2 GPUs, got 0", *topology("<system/>"))
        self.assert_refused("t.txt: expected at least 2 GPUs, got 1", *topology("GPU0 CPU GPU1 GPU2\nGPU0 X\n"))
        self.assert_refused("t.txt: expected the matrix", *topology("\x1b[" + "1;" * 1000000 + "m"))
        self.assert_refused("t.txt: expected a row for each of 8 GPUs", *topology("\n".join(matrix(8).splitlines()[:4])))
        self.assert_refused("t.txt: expected GPUs behind an NVSwitch", *topology(matrix(8, lambda i, j: "NV1" if (i + j) % 3 else "NV2")))
        self.assert_refused("--base: expected a profile of GPUs on pcie", *topology(matrix(8, lambda i, j: "SYS")))
        self.assert_refused("--base: expected a profile of GPUs on nvswitch", *topology(matrix(8)), base="rtx4090x8-pcie")

    def test_another_profiles_table_of_kernels_is_kept(self):
        table = next((ROOT / "calibration/machines").glob("h100x8*.gemm_kernels.txt.gz")).name
        self.write(table, "another")
        self.assert_refused(f"--out: expected a folder whose {table}", "--topology", self.write("t.txt", matrix(8)))
        self.assertEqual((self.path / table).read_text(), "another")

    def test_wrong_usage_is_refused_in_one_line(self):
        self.assert_refused("expected at least one of --nccl-tests")
        self.assert_refused("machine: expected a path or one of", "--topology", self.write("t.txt", matrix()), base="dgx9000")
        self.assert_refused("nowhere", "--topology", self.write("t.txt", matrix()), out="nowhere/out.json")
        done = subprocess.run([WEFT, "profile"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "weft: profile: expected a command: new\n"))


if __name__ == "__main__":
    WEFT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else WEFT
    unittest.main()
