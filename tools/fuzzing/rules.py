"""What no answer and no refusal may be, whatever was asked."""

import json
import math
import os
import re

from fuzzing.trial import WORK

LONGEST_ERROR = 610  # characters: 600 bytes and who says it
LONGEST_US = 9.3e12  # 2^63 ps
LIBRARY_WORDS = re.compile(
    r"std::|json\.exception|\[json|vector::|basic_string|bad_alloc|stoi|stod|terminate|what\(\)|_M_|nlohmann|CLI::|filesystem error"
)
NO_NUMBER = re.compile(r"(?<![\w.])-?(nan|inf)(?![\w.])")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
# Where work that was asked for well can fail: a deadlock, a case of many.
STATUS_1 = {"predict", "check", "simulate", "explore", "tune", "measure", "run", "ask", "doctor"}


class Nonsense(Exception):
    """An answer that cannot be."""


def refused_constant(text):
    raise Nonsense(f"{text} in JSON")


def numbers_in(value, key=""):
    """(key, number) of everything below; a list's numbers have the list's key, and those of a start that of the start."""
    if isinstance(value, dict):
        for name, member in value.items():  # a trace may begin before its origin
            yield from numbers_in(member, "start" if key == "start" else name)
    elif isinstance(value, list):
        for element in value:
            yield from numbers_in(element, key)
    elif not isinstance(value, (str, bool)):
        yield key, value


def check_json(text, what):
    """Finite numbers, no time below zero, none that 64 bits of picoseconds cannot hold."""
    try:
        value = json.loads(text, parse_constant=refused_constant)
    except ValueError as error:
        raise Nonsense(f"{what} is no JSON: {error}") from error
    for key, number in numbers_in(value):
        if isinstance(number, float) and not math.isfinite(number):
            raise Nonsense(f"{what}: {key} is {number}")
        if number is not None and key.endswith("_us") and not (key.startswith("saved") or -1e-6 <= number < LONGEST_US):
            raise Nonsense(f"{what}: {key} is {number}")
    return value


def check_prediction(answer):
    time = answer["time_us"]
    if not 0 < time:
        raise Nonsense(f"time_us is {time}")
    if time < answer["bound_us"] * (1 - 1e-9):
        raise Nonsense(f"time_us {time} is below bound_us {answer['bound_us']}")
    if "serial_us" in answer and not answer["serial_us"] >= answer["bound_us"] * (1 - 1e-9):
        raise Nonsense(f"serial_us {answer['serial_us']} is below bound_us {answer['bound_us']}")
    low, high = answer.get("interval_us", (time, time))
    if not 0 < low <= time <= high:
        raise Nonsense(f"time_us {time} is not in interval_us {low} .. {high}")
    for key, number in numbers_in(answer):
        if number is None:
            raise Nonsense(f"{key} is null")


def check_predictions(text, status):
    failed = 0
    for line in text.removesuffix("\n").split("\n") if text else ():
        answer = check_json(line, "a line")
        if "error" in answer:
            failed += 1
            check_error(answer["error"])
        else:
            check_prediction(answer)
    if status != (1 if failed else 0):
        raise Nonsense(f"{failed} lines have an error, and the exit status is {status}")


def check_trace(trace):
    for span in trace.get("spans", []):
        if not 0 <= span["start_us"] <= span["end_us"]:
            raise Nonsense(f"a span from {span['start_us']} to {span['end_us']} us")


def check_error(text):
    if len(text) > LONGEST_ERROR:
        raise Nonsense(f"an error of {len(text)} characters")
    if CONTROL.search(text) or "\n" in text:
        raise Nonsense(f"a control character in {text!r}")
    if LIBRARY_WORDS.search(text):
        raise Nonsense(f"a library speaks in {text!r}")


def text_of(stream, what):
    try:
        return stream.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Nonsense(f"{what} is no UTF-8") from error


def check_errors(outcome):
    text = text_of(outcome.errors, "standard error")
    if outcome.status == 0 and not text:
        return
    if outcome.status != 0 and not text:
        raise Nonsense(f"exit status {outcome.status} and no word why")
    if text.count("\n") != 1 or not text.endswith("\n"):
        raise Nonsense(f"{text.count(chr(10))} lines on standard error: {text[:300]!r}")
    if not text.startswith("weft: "):
        raise Nonsense(f"standard error does not begin with weft: {text[:300]!r}")
    check_error(text[:-1])


def check_end(question, outcome):
    if outcome.hung:
        raise Nonsense("did not end")
    if outcome.status == -24:
        raise Nonsense("took longer than the limit")
    if outcome.status not in (0, 1, 2, 130):
        raise Nonsense(f"exit status {outcome.status}: {outcome.errors[:2000].decode('utf-8', 'replace')!r}")
    if question.status is not None and outcome.status != question.status:
        raise Nonsense(f"exit status {outcome.status}, expected {question.status}")
    if outcome.status == 1 and question.status is None and question.arguments[0] not in STATUS_1:
        raise Nonsense(f"exit status 1: {outcome.errors[:500].decode('utf-8', 'replace')!r}")


def seen_from_work(output):
    """Files above the folder of the work are named from the scratch folder, as trial.py does."""
    if not output.startswith("../"):
        return output
    return os.path.normpath(os.path.join(WORK, output))


def is_asked_for(name, question):
    if re.fullmatch(r"out\.[0-9a-f]{16}\.gemm_kernels\.txt", name):
        return question.arguments[0] == "calibrate"  # the table of the profile that it writes
    outputs = [seen_from_work(output) for output in question.outputs]
    return any(name == output or (output.endswith("/") and name.startswith(output)) for output in outputs)


def is_done_work(name, question):
    """What a run has answered stays, though it is refused afterwards: a sweep of which too few keys vary for a picture."""
    return name == "out.json.progress" or (name == "out.sqlite" and "--heatmap" in question.arguments)


def check_files(question, outcome):
    if outcome.outlived:
        raise Nonsense("left a process behind")
    for name in outcome.changed:
        if name not in question.outputs:
            raise Nonsense(f"changed its input {name}")
    for name in outcome.written:
        if not is_asked_for(name, question):
            raise Nonsense(f"left {name} behind")
        if outcome.status == 2 and not is_done_work(name, question):
            raise Nonsense(f"left {name} behind after refusing its input")


def is_quoted(found, question):
    """Whether an input has this word and those beside it: in a source, say."""
    text, start, end = found.string, found.start(), found.end()
    phrases = text[max(0, start - 8) : end].encode(), text[start : end + 8].encode()
    return any(phrase in content for content in question.files.values() for phrase in phrases)


def check_output(question, outcome):
    text = text_of(outcome.output, "standard output")
    found = CONTROL.search(text)
    if found and not {"json", "predict"} & set(question.arguments):  # JSON has its own ways to say them
        raise Nonsense(f"a control character in what is printed: {text[max(0, found.start() - 60):][:90]!r}")
    command = question.arguments[0] if question.arguments else ""
    if command == "predict" and "--help" not in question.arguments and outcome.status < 2:
        check_predictions(text_of(outcome.written.get("out.jsonl", b""), "out.jsonl") or text, outcome.status)
    if outcome.status == 0 and command != "predict" and any(not is_quoted(one, question) for one in NO_NUMBER.finditer(text)):
        raise Nonsense("nan or inf in what is printed")
    if outcome.status == 0 and "json" in question.arguments and "--help" not in question.arguments:
        check_json(text, "standard output")
    for name, content in outcome.written.items():
        if name.endswith(".json"):
            value = check_json(content, name)
            if isinstance(value, dict) and value.get("format") == "weft.trace/1":
                check_trace(value)


def check_told(question, outcome):
    errors = outcome.errors.decode("utf-8", "replace") + outcome.output.decode("utf-8", "replace")
    for word in question.told:
        if word not in errors:
            raise Nonsense(f"does not say {word!r}: {errors[:500]!r}")


def complaint(question, outcome, limits):
    """What is wrong, or nothing."""
    try:
        check_end(question, outcome)
        if outcome.megabytes > limits.megabytes * (4 if limits.sanitized else 1):
            raise Nonsense(f"took {outcome.megabytes:.0f} MB")
        check_errors(outcome)
        check_files(question, outcome)
        check_output(question, outcome)
        check_told(question, outcome)
    except Nonsense as nonsense:
        return str(nonsense)
    return ""
