"""Runs the program once, in a folder of its own and within limits, and says how that ended."""

import dataclasses
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXIT_OF_SANITIZERS = 86
WORK = "deep/er/work"  # of a scratch folder: where the program works


@dataclasses.dataclass
class Limits:
    seconds: float = 10  # of processor time: the same on a busy machine
    waiting_seconds: float = 900  # by the clock: only what waits for nothing gets there
    megabytes: float = 1500  # resident
    output_megabytes: float = 200  # each file that is written
    sanitized: bool = False  # their shadow memory is no memory, and all takes them ten times as long


@dataclasses.dataclass
class Outcome:
    status: int  # -n: ended by signal n
    output: bytes
    errors: bytes
    written: dict  # name: bytes, what is there afterwards and was not before
    changed: list  # names of inputs that are not as they were
    megabytes: float
    hung: bool  # ended from outside, after waiting for nothing
    outlived: bool  # something that it started still ran


# What takes longer than a second says how far it is, and how long that takes is the machine's matter.
PROGRESS = re.compile(rb"^weft: \d+ of \d+ .*, \d+ %, \d+ s left\n", re.MULTILINE)


def difference(first, second):
    """Where the second of two runs ended otherwise, or nothing."""
    for part in ("status", "errors", "output", "written"):
        a, b = getattr(first, part), getattr(second, part)
        if part == "errors":
            a, b = PROGRESS.sub(b"", a), PROGRESS.sub(b"", b)
        if a != b:
            return f"the second run ended otherwise: {part} {str(a)[:200]} and then {str(b)[:200]}"
    return ""


def is_sanitized(program):
    return b"__asan_init" in pathlib.Path(program).read_bytes()


def restrict(limits, patience):
    factor = 10 if limits.sanitized else 1
    seconds = max(1, int(limits.seconds * factor * patience))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = int(limits.output_megabytes * 2**20)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    if not limits.sanitized:  # a little above: who comes near is told apart from who asks for the moon
        space = int((2 * limits.megabytes + 1000) * 2**20)
        resource.setrlimit(resource.RLIMIT_AS, (space, space))


def waited_for(process, seconds):
    """Status, memory in MB, and whether it had to be ended."""
    hung = threading.Event()

    def end():
        hung.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, end)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss / 1024, hung.is_set()


def outlived(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def files_in(folder):
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


class Place:
    """A scratch folder: the program works in deep/er/work, so that what it writes beside that is found."""

    def __init__(self, program, limits, environment):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="weft-fuzz-"))
        self.work = self.root / WORK
        self.program, self.limits = program, limits
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "ASAN_OPTIONS": f"exitcode={EXIT_OF_SANITIZERS}:allocator_may_return_null=0:detect_leaks=0",
            "UBSAN_OPTIONS": f"exitcode={EXIT_OF_SANITIZERS}:print_stacktrace=1",
            **environment,
        }

    def close(self):
        shutil.rmtree(self.root)

    def filled(self, question):
        shutil.rmtree(self.root)
        for folder in (self.work, self.root / "home", self.root / "tmp", self.root / "streams"):
            folder.mkdir(parents=True)
        for name, content in question.files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def program_for(self, question):
        """Where claims are asked for, a copy in a tree that has them: the program looks upwards from itself."""
        if not any(name.startswith("tree/") for name in question.files):
            return self.program
        tree = self.work / "tree"
        (tree / "bin").mkdir()
        (tree / "calibration").symlink_to(ROOT / "calibration")
        (tree / "scenarios/launch_control").symlink_to(ROOT / "scenarios/launch_control")
        shutil.copy(self.program, tree / "bin/weft")
        return tree / "bin/weft"

    def run(self, question):
        self.filled(question)
        streams = self.root / "streams"
        source = self.work / question.stdin if question.stdin else "/dev/null"
        environment = dict(self.environment)
        if any(name.startswith("machines/") for name in question.files):
            environment["WEFT_MACHINES"] = str(self.work / "machines")
        with open(source, "rb") as stdin, open(streams / "out", "wb") as out, open(streams / "err", "wb") as err:
            process = subprocess.Popen(
                [self.program_for(question), *question.arguments],
                cwd=self.work, env=environment, stdin=stdin, stdout=out, stderr=err,
                start_new_session=True, preexec_fn=lambda: restrict(self.limits, question.patience),
            )  # fmt: skip
        status, megabytes, hung = waited_for(process, self.limits.waiting_seconds)
        left = outlived(process.pid)
        output, errors = (streams / "out").read_bytes(), (streams / "err").read_bytes()
        return Outcome(status, output, errors, *self.afterwards(question), megabytes, hung, left)

    def afterwards(self, question):
        written, changed = {}, []
        inputs = {f"{WORK}/{name}": content for name, content in question.files.items()}
        for name, path in files_in(self.root).items():
            if name.startswith(("streams/", f"{WORK}/tree/bin/")):
                continue
            content = path.read_bytes()
            if name not in inputs:
                written[name.removeprefix(f"{WORK}/")] = content
            elif inputs[name] != content:
                changed.append(name.removeprefix(f"{WORK}/"))
        changed += [name.removeprefix(f"{WORK}/") for name in inputs if not (self.root / name).exists()]
        return dict(sorted(written.items())), sorted(changed)
