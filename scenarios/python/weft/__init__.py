"""Will overlapping communication with computation pay for your shapes on your machine, by which schedule, by how much?

    import weft

    machine = weft.machine("h200x8-nvswitch")
    case = {"gpus": 4, "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 7168}}
    serial = weft.predict(case, machine)["time_us"]
    chunks = weft.predict({**case, "schedule": {"family": "decomposition", "chunks": 4}}, machine)["time_us"]

Cases, scenarios, schedules and answers are plain dicts with the keys of weft's files (docs/formats.md). Names of keys
end in their unit: `time_us` are microseconds of one iteration of the slowest GPU in the steady state. The same question
gets the same bits as from the command `weft`. What is wrong with a question is an `InputError`; other threads of Python
go on while one asks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union, overload

import numpy

from . import _weft
from ._weft import ExecutionError, InputError, Machine, Report, __version__

__all__ = [
    "ExecutionError",
    "InputError",
    "Machine",
    "Report",
    "__version__",
    "build",
    "check",
    "explore",
    "machine",
    "machines",
    "numbers",
    "predict",
    "report",
    "simulate",
]

Path = Union[str, "os.PathLike[str]"]
AnyMachine = Union[Machine, Path]
Json = dict[str, Any]

InputError.__doc__ = """Something that was asked is wrong. The text names the field, `field` is its path alone."""
ExecutionError.__doc__ = """A schedule could not be run to its end, such as one that gets stuck on this machine."""
Machine.__doc__ = """An open profile: `name`, `gpus`, `path` of its file, `description`. Opened once, it answers sooner."""
Report.__doc__ = """What a question was answered, for people: str() of it is what `weft explore` prints.

`verdict`: sentences: what to do, what it gains, how sure that is, and what of it runs today. `written(format)`: all of
it as "text", "markdown", "csv" or "json". `losses_picture()`: SVG of where the time goes under each schedule of the pair
that gains most. `page()`: HTML that needs no other file; InputError where weft was built without it.
"""


def machines() -> list[str]:
    """Names of the profiles that weft ships, or of those in $WEFT_MACHINES."""
    return _weft.machines()


def machine(name_or_path: AnyMachine) -> Machine:
    """Opens a machine profile by name, or by the path of its file. Raises InputError where there is none."""
    return name_or_path if isinstance(name_or_path, Machine) else Machine(os.fspath(name_or_path))


_opened = machine  # where a parameter has the name


def numbers(of: AnyMachine) -> list[dict[str, str]]:
    """Every number of a profile: `number` (its path in the file), `value`, `unit`, and the `source` that it is from."""
    return [dict(zip(("number", "value", "unit", "source"), row)) for row in _weft.numbers(machine(of))]


@overload
def predict(case: Mapping[str, Any], machine: AnyMachine) -> Json: ...
@overload
def predict(case: Sequence[Mapping[str, Any]], machine: AnyMachine, *, errors: str = "raise") -> list[Json]: ...
def predict(case, machine, *, errors="raise"):
    """How long a case takes: a dict for a case, a list for a list.

    A case is {"gpus", "workload", "schedule", "measured", "condition", "id"}, of which `gpus` (the first so many of the
    machine) and `workload` are needed; sizes are in elements, `bytes` in bytes. The answer has `time_us`, `serial_us`
    (without overlap), `bound_us` (no schedule can be faster), `interval_us` (where 90 % of measurements on other servers
    of the type are expected), `limited_by`, `clock_MHz`, `power_W`, `outside_calibration`, `runnable` and `schedule` as
    run.

    A list is answered on all cores, in its order. Where a case of a list cannot be answered, InputError names the first
    such; with errors="return" its answer is {"id", "error"}, and all others are answered.
    """
    opened = _opened(machine)
    if isinstance(case, Mapping):
        return json.loads(_weft.predict(_text({"id": "", **case}), opened))
    if errors not in ("raise", "return"):
        raise ValueError(f'errors: expected "raise" or "return", got {errors!r}')
    lines = "\n".join(_text({"id": str(i), **one}) for i, one in enumerate(case))
    answers = [json.loads(line) for line in _weft.predict_lines(lines, opened).splitlines()]
    for i, answer in enumerate(answers):
        if "error" in answer and errors == "raise":
            raise InputError(f"case[{i}]: {answer['error']}")
    return answers


def explore(
    question: Union[Mapping[str, Any], Path],
    machine: AnyMachine,
    *,
    gpus: Optional[int] = None,
    tokens: Sequence[int] = (),
) -> Json:
    """Which schedule wins, by how much, and what the others lose.

    `question` is what `weft explore` is asked: the path of a scenario, a model's config.json or its folder, or words
    ("m=4096 n=8192 k=3584 op=gemm+all_reduce"), with `gpus` (all of the machine where left out) and `tokens` (or rows);
    or a dict: a case ({"gpus", "workload"}; its schedule is not looked at) or a scenario ({"format": "weft.scenario/1",
    …}; a model's path is relative to the current folder). The answer is what `weft explore --json` writes: `answers`, one
    for each size and pair, each with a `verdict`, the `advice` (a schedule) and all `schedules` with the fastest first,
    their `time_us`, `interval_us` and `speedup` over serial; the first and serial also have `losses` (parts in
    picoseconds). Uses all cores.
    """
    return json.loads(report(question, machine, gpus=gpus, tokens=tokens).written("json"))


def report(
    question: Union[Mapping[str, Any], Path],
    machine: AnyMachine,
    *,
    gpus: Optional[int] = None,
    tokens: Sequence[int] = (),
) -> Report:
    """The same answer for people: its verdict in sentences, tables, a picture and a page. Asked as explore() is."""
    opened = _opened(machine)
    if not isinstance(question, Mapping):
        return _weft.report_question(os.fspath(question), opened, gpus, [int(one) for one in tokens])
    if gpus is not None or len(tokens) > 0:
        raise InputError("gpus: expected in the dict of the question, as are its sizes")
    return _weft.report_scenario(_text(_scenario_of(question)), os.getcwd(), opened)


def build(case: Mapping[str, Any], machine: AnyMachine) -> Json:
    """The operations of a case's schedule (weft.schedule/1), for check(), simulate() and `weft run`.

    What the case leaves open is searched, as predict() does.
    """
    return json.loads(_weft.build(_text({"id": "", **case}), _opened(machine)))


def check(schedule: Union[Mapping[str, Any], Path]) -> str:
    """Raises InputError for a schedule that is not valid, gets stuck, has a race or computes another result.

    Returns what is known of its result, such as "computes gemm+all_reduce, in integers, in 4 runs with random durations".
    """
    return _weft.check(_schedule_text(schedule))


def simulate(
    schedule: Union[Mapping[str, Any], Path], machine: AnyMachine, *, perfetto: Path = "", svg: Path = ""
) -> Json:
    """One iteration of a schedule in the steady state: a dict, or the path of a file.

    The answer has `time_us`, `limited_by`, `clock_MHz`, `power_W` (means over the iteration) and `spans`, columns of
    equal length: `operation`, `kind`, `stream`, `limited_by`, `detail` (texts), `gpu`, and `start_us`, `end_us`, which
    count from the start of the iteration. pandas.DataFrame(answer["spans"]) is a table of them. `perfetto`: a file that
    takes the trace for ui.perfetto.dev; `svg`: one that takes a picture of GPU 0.
    """
    answer = _weft.simulate(_schedule_text(schedule), _opened(machine), os.fspath(perfetto), os.fspath(svg))
    answer["spans"] = {name: numpy.asarray(column) for name, column in answer["spans"].items()}
    return answer


def _text(value: Mapping[str, Any]) -> str:
    """JSON of a question. numpy's numbers are numbers."""
    try:
        return json.dumps(value, default=_number, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"expected what JSON can hold: {error}") from None


def _number(value: Any) -> Any:
    if isinstance(value, (numpy.generic, numpy.ndarray)):
        return value.tolist()
    raise TypeError(f"got a {type(value).__name__}")


def _scenario_of(question: Mapping[str, Any]) -> Mapping[str, Any]:
    """A case as the scenario that asks about its workload."""
    if "workload" not in question:
        return question
    kept = {key: value for key, value in question.items() if key not in ("id", "schedule", "workload")}
    return {"format": "weft.scenario/1", **kept, **question["workload"]}


def _schedule_text(schedule: Union[Mapping[str, Any], Path]) -> str:
    if isinstance(schedule, Mapping):
        return _text(schedule)
    try:
        with open(schedule, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{os.fspath(schedule)}: expected a readable file of a schedule: {error}") from None
