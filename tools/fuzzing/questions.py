"""Questions to every command, one of whose inputs is mutated: a function for each command, and how often it is asked."""

import json

from fuzzing.corpus import GEMM_TIMES, SWEEPS, TOPOLOGY, nccl_tests_log
from fuzzing.crafted import Question
from fuzzing.document import bytes_of, parsed
from fuzzing.mutations import NUMBERS, STRINGS, mutated, mutated_lines, mutated_words

FORMATS = ["text", "json", "csv", "markdown"]
OUTPUTS = ("out.json", "out.jsonl", "trace.json", "out.svg", "out.html", "spans.json", "won.json", "out.sqlite", "schedules/", "drawn/")
NEW_PROFILE = ("out.json", "h100x8-nvswitch.gemm_kernels.txt.gz")  # of the base, with its table of kernels


class Asker:
    """Makes the question of one number: everything in it comes from `random`."""

    def __init__(self, random, corpus):
        self.random, self.corpus = random, corpus

    # --- inputs ---------------------------------------------------------------------------------------------------

    def mutant(self, kind, whole, words=None, donors=()):
        donors = [parsed(donor) for donor in donors] or [parsed('{"a": [1]}')]
        for _ in range(20):
            made = mutated(self.random, kind, whole, words or self.corpus.words, donors)
            if made != whole:
                return made
        return b""

    def some(self, texts, count):
        return self.random.sample(texts, min(count, len(texts)))

    def machine(self):
        return self.random.choice(["mi300x8-mesh", "h100x8-nvswitch", "a800x8-nvlink-pairs", "h200x8-nvswitch-nvls"])

    def profile(self):
        """Name and files of a profile that is mutated, or whose table of kernels is."""
        name = self.random.choice(sorted(self.corpus.profiles))
        files = {name: self.corpus.profiles[name], **self.corpus.tables}
        donors = [text.decode() for text in self.some(list(self.corpus.profiles.values()), 1)]
        if self.random.random() < 0.75:
            files[name] = self.mutant("json", files[name], self.corpus.profile_words, donors)
        elif self.random.random() < 0.7:
            (table,) = self.corpus.tables
            files["test.json"] = self.corpus.profiles["test.json"]
            files[table] = self.mutant("table", files[table])
            name = "test.json"
        else:
            files["test.json"] = files["test.json"] if "test.json" in files else self.corpus.profiles["test.json"]
            (table,) = self.corpus.tables
            files["test.json"] = files["test.json"].replace(table.encode(), b"table.csv")
            files["table.csv"] = self.mutant("table", self.corpus.csv.encode())
            name = "test.json"
        return f"./{name}", files

    def maybe(self, *options):
        return [word for option in options if self.random.random() < 0.25 for word in option]

    def printed(self):
        return self.maybe(["--format", self.random.choice(FORMATS)], ["--wide"])

    # --- commands -------------------------------------------------------------------------------------------------

    def predict(self):
        lines = self.some(self.corpus.cases, self.random.choice([1, 1, 1, 3]))
        donors = self.some(self.corpus.cases, 4)
        cases = self.mutant("lines", ("\n".join(lines) + "\n").encode(), donors=donors)
        if self.random.random() < 0.2:
            return Question(["predict", "--machine", self.machine()], {"in.jsonl": cases}, stdin="in.jsonl")
        options = self.maybe(["--out", "out.jsonl"], ["--schedules", "schedules"])
        files = {"in.jsonl": cases}
        if "--schedules" in options:
            files["schedules/README"] = b""
        return Question(["predict", "--machine", self.machine(), "--in", "in.jsonl", *options], files, OUTPUTS)

    def predict_on_a_profile(self):
        machine, files = self.profile()
        of_any_host = [case for case in self.corpus.cases if '"host"' not in case]  # not every profile knows every host
        files["in.jsonl"] = "\n".join(self.some(of_any_host, 3)).encode() + b"\n"
        return Question(["predict", "--machine", machine, "--in", "in.jsonl"], files)

    def machines(self):
        machine, files = self.profile()
        return Question(["machines", machine, *self.maybe(["--curves", "--points"]), *self.printed()], files)

    def published_curves(self):
        files = {
            "machines/mi300x8-mesh.json": self.corpus.profiles["mi300x8-mesh.json"],
            "published/mi300x8-mesh.csv": self.mutant("table", self.corpus.curves),
        }
        return Question(["machines", "mi300x8-mesh", "--curves", *self.maybe(["--points"]), *self.printed()], files)

    def explore(self):
        scenario, config = self.random.choice(self.corpus.scenarios).encode(), self.corpus.config
        if b"models/" in scenario and self.random.random() < 0.4:
            config = self.mutant("json", config)
        else:
            scenario = self.mutant("json", scenario, donors=self.some(self.corpus.scenarios, 2))
        files = {"scenario.json": scenario, "models/llama-3.3-70b.config.json": config}
        options = self.maybe(
            ["--json", "out.json"], ["--trace", "trace.json"], ["--svg", "out.svg"], ["--schedule", "won.json"],
            ["--html", "out.html"], ["--why", "all"], ["--all"], ["--space", self.random.choice(["named", "likely"])],
        )  # fmt: skip
        arguments = ["explore", "scenario.json", "--machine", self.machine(), *options, *self.printed()]
        patience = 6 if {"--why", "--svg", "--html"} & set(options) else 2  # hundreds of schedules, each once more for each loss
        return Question(arguments, files, OUTPUTS, patience=patience)

    def explore_model(self):
        """One of its layers is asked about, though no scenario says so."""
        config = self.random.choice(self.corpus.configs)
        donors = [text.decode() for text in self.some(self.corpus.configs, 2)]
        question = ["--tokens", "1024", "--space", "named", *self.maybe(["--gpus", "4"], ["--json", "out.json"], ["--html", "out.html"])]
        arguments = ["explore", "config.json", "--machine", self.machine(), *question, *self.printed()]
        return Question(arguments, {"config.json": self.mutant("json", config, donors=donors)}, OUTPUTS, patience=2)

    def sweep(self):
        files = {
            "sweep.json": self.mutant("json", self.random.choice(SWEEPS).encode(), donors=SWEEPS),
            "config.json": self.corpus.config,
        }
        options = self.maybe(["--pareto"])
        options += self.random.choice([[], [], ["--heatmap", "out.svg"], ["--heatmap", "out.svg", "--x", "m"]])
        arguments = ["sweep", "sweep.json", "--store", "out.sqlite", *options, *self.printed()]
        return Question(arguments, files, OUTPUTS, patience=4)  # thousands of cases

    def schedule(self):
        """One that is mutated; and the machine that it is for, where it says so."""
        whole = self.random.choice(self.corpus.schedules)
        donors = [text.decode() for text in self.some(self.corpus.schedules, 2)]
        machine = json.loads(whole).get("machine") or self.machine()
        return {"schedule.json": self.mutant("json", whole, donors=donors)}, machine

    def check(self):
        return Question(["check", "schedule.json", *self.maybe(["--json", "out.json"])], self.schedule()[0], OUTPUTS)

    def simulate(self):
        options = self.maybe(["--json", "out.json"], ["--trace", "trace.json"], ["--svg", "out.svg"])
        files, machine = self.schedule()
        if self.random.random() < 0.2:
            machine, files = self.profile()
            files["schedule.json"] = self.random.choice(self.corpus.schedules)
        return Question(["simulate", "schedule.json", "--machine", machine, *options, *self.printed()], files, OUTPUTS)

    def run(self):
        options = self.maybe(["--json", "out.json"], ["--spans", "spans.json"])
        return Question(["run", "schedule.json", *options], self.schedule()[0], OUTPUTS)

    def measure(self):
        cases = self.mutant("lines", ("\n".join(self.some(self.corpus.cases, 2)) + "\n").encode())
        arguments = ["measure", "in.jsonl", "--machine", self.machine(), "--out", "out.jsonl"]
        files = {"in.jsonl": cases}
        if self.random.random() < 0.3:
            files["out.jsonl"] = self.mutant("lines", self.random.choice(self.corpus.measurements)[0])
        return Question(arguments, files, OUTPUTS)

    def measured(self):
        """Measurements and the kernels beside them, one of both mutated."""
        lines, kernels = self.random.choice(self.corpus.measurements)
        donors = [self.random.choice(self.corpus.measurements)[0].decode().splitlines()[-1]]
        if kernels and self.random.random() < 0.5:
            kernels = self.mutant("lines", kernels, donors=donors)
        else:
            lines = self.mutant("lines", lines, donors=donors)
        return {"in.jsonl": lines, **({"in.kernels": kernels} if kernels else {})}

    def validate(self):
        options = self.maybe(["--json", "out.json"], ["--rows"])
        options += self.random.choice([[], [], ["--targets"], ["--given"], ["--svg", "out.svg"]])
        arguments = ["validate", "in.jsonl", "--machine", self.machine(), *options, *self.printed()]
        return Question(arguments, self.measured(), OUTPUTS)

    def ablate(self):
        arguments = ["ablate", "in.jsonl", "--machine", self.machine(), *self.maybe(["--json", "out.json"])]
        return Question(arguments, self.measured(), OUTPUTS)

    def calibrate(self):
        files, options = self.measured(), []
        base = self.random.choice(["h200x8-nvswitch-nvls", "h100x8-nvswitch"])
        if self.random.random() < 0.3:
            answer = b'{"m": 4096, "n": 8192, "k": 2048, "tile_m": 128, "tile_n": 256, "tile_k": 64, "stages": 4, '
            answer += b'"split_k": 1, "cluster_m": 1, "cluster_n": 2, "waves": 3.9}\n'
            files["answers.jsonl"] = self.mutant("lines", answer * 3)
            options = ["--library-answers", "answers.jsonl"]
        if self.random.random() < 0.3:
            files["errors/in.jsonl"] = self.mutant("lines", self.random.choice(self.corpus.measurements)[0])
            options += ["--errors", "errors/in.jsonl"]
        arguments = ["calibrate", "in.jsonl", "--base", base, "--out", "out.json", *options]
        return Question(arguments, files, (*OUTPUTS, "out.gemm_kernels.txt"))

    def new_profile(self):
        """One of the files that other tools wrote is mutated."""
        files = {"log.txt": nccl_tests_log(), "gemms.csv": GEMM_TIMES, "topology.txt": TOPOLOGY}
        files = {name: text.encode() for name, text in files.items()}
        name = self.random.choice(sorted(files))
        files[name] = self.mutant("table", files[name])
        arguments = ["profile", "new", "--base", "h100x8-nvswitch-nvls", "--nccl-tests", "log.txt", "--gemms", "gemms.csv"]
        return Question([*arguments, "--topology", "topology.txt", "--out", "out.json", *self.printed()], files, NEW_PROFILE)

    def compare(self):
        files, name = dict(self.corpus.traces), self.random.choice(sorted(self.corpus.traces))
        files[name] = self.mutant("json", files[name], donors=[files[name].decode()])
        options = self.maybe(["--json", "out.json"], ["--trace", "trace.json"], ["--svg", "out.svg"])
        return Question(["compare", "predicted.json", "measured.json", *options, *self.printed()], files, OUTPUTS)

    def tune(self):
        files = {"config.json": self.corpus.config}
        if self.random.random() < 0.5:
            files["config.json"] = self.mutant("json", files["config.json"])
        else:
            files["out.json.progress"] = self.mutant("lines", self.corpus.progress)
        return Question(self.corpus.tune_arguments(), files, (*OUTPUTS, "out.json.progress"))

    def reproduce(self):
        paper = self.random.choice(["magiattention", "ficco"])
        claims = self.mutant("json", self.corpus.claims[paper], donors=[self.corpus.claims[paper].decode()])
        arguments = ["reproduce", paper, *self.maybe(["--json", "out.json"]), *self.printed()]
        return Question(arguments, {f"tree/scenarios/published/{paper}.json": claims}, OUTPUTS)

    def ask(self):
        sizes = b"16 512 512\n4096 8192 2048\n8192 28672 8192\n"
        return Question(["ask", "sizes.txt", "--out", "out.jsonl"], {"sizes.txt": self.mutant("table", sizes)}, OUTPUTS)

    def options(self):
        """No file is wrong, but what stands on the command line."""
        files = {
            "case.jsonl": self.random.choice(self.corpus.cases).encode() + b"\n",
            "scenario.json": self.corpus.scenarios[-1].encode(),
            "schedule.json": self.random.choice(self.corpus.schedules),
            "config.json": self.corpus.config,
            "sweep.json": SWEEPS[0].encode(),
            "drawn/README": b"",
        }
        words = self.random.choice([
            "predict --machine mi300x8-mesh --in case.jsonl --out out.jsonl",
            "explore scenario.json --machine mi300x8-mesh --size 4096 --why serial --space named --json out.json",
            "check schedule.json --format json",
            "simulate schedule.json --machine mi300x8-mesh --svg out.svg --trace trace.json",
            "run schedule.json --condition short --repeats 3 --time-limit 60 --json out.json",
            "measure case.jsonl --machine mi300x8-mesh --out out.jsonl --windows 12 --repeats 3 --target-ms 30",
            "doctor --time-limit 5 --json out.json",
            "draw --seed 7 --out drawn --gpus 2,4",
            "plan --seed 7 --out drawn --gpus 1 2",
            "tune config.json --machine mi300x8-mesh --gpus 8 --tokens 1024 --ctas 4 --nccl",
            "reproduce magiattention --format csv",
            "explore config.json --machine mi300x8-mesh --gpus 4 --tokens 1024,2048",
            "explore m=4096~n=8192~k=3584~op=gemm+all_reduce --machine mi300x8-mesh --gpus 4",
            "sweep sweep.json --store out.sqlite --heatmap out.svg --x m --y n --format csv",
            "machines mi300x8-mesh --curves --points",
        ]).split()  # fmt: skip
        words = [word.replace("~", " ") for word in words]
        index = self.random.randrange(len(words))
        dice = self.random.random()
        if dice < 0.3:
            words[index] = mutated_words(self.random, words[index], self.corpus.words)
        elif dice < 0.7:
            words[index] = self.random.choice([*NUMBERS, *STRINGS, *files])
        elif dice < 0.8:
            del words[index]
        else:
            words.insert(index, self.random.choice([*words, "--help", "--json", "--colour", "7"]))
        words = [bytes_of(word.replace("\0", "")).decode("utf-8", "surrogateescape") for word in words]
        return Question(words, files, (*OUTPUTS, *words, *(f"{word}.progress" for word in words)))


WEIGHTS = {
    "predict": 20, "predict_on_a_profile": 8, "machines": 5, "published_curves": 3, "explore": 8, "explore_model": 2, "sweep": 4, "check": 10,
    "simulate": 14, "run": 3, "measure": 4, "validate": 7, "ablate": 3, "calibrate": 6, "new_profile": 3, "compare": 6, "tune": 6,
    "reproduce": 4, "ask": 2, "options": 6,
}  # fmt: skip


def question(random, corpus):
    name = random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    return getattr(Asker(random, corpus), name)()
