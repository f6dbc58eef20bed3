"""A question to the program as a value and a file: what stands in its folder, and how the program is called there."""

import dataclasses
import json

from fuzzing.document import bytes_of


@dataclasses.dataclass
class Question:
    arguments: list  # after the program's name
    files: dict  # name: bytes
    outputs: tuple = ()  # names that it asks for, or that may stay where the work is broken off
    stdin: str = ""  # the file that it reads there
    why: str = ""
    status: int | None = None  # expected; None: any that is allowed
    told: tuple = ()  # words of the error
    patience: int = 1  # times the processor time that others get


def content(said, root):
    """The bytes of a file: a text, {"of": PATH, "replace": {OLD: NEW}} or {"repeat": TEXT, "times": N}, or a list of these."""
    if isinstance(said, str):
        return bytes_of(said)
    if isinstance(said, list):
        return b"".join(content(part, root) for part in said)
    if "repeat" in said:
        return bytes_of(said["repeat"]) * said["times"]
    text = (root / said["of"]).read_text()
    for old, new in said.get("replace", {}).items():
        if text.count(old) != 1:
            raise ValueError(f'{said["of"]} has "{old}" {text.count(old)} times, expected once')
        text = text.replace(old, new)
    return bytes_of(text)


def read(path, root):
    said = json.loads(path.read_text())
    return Question(
        arguments=said["arguments"],
        files={name: content(file, root) for name, file in said["files"].items()},
        outputs=tuple(said.get("outputs", ())),
        stdin=said.get("stdin", ""),
        why=said["why"],
        status=said.get("status"),
        told=tuple(said.get("told", ())),
    )


def written(question):
    """The text of the file that `read` reads; bytes that are no UTF-8 become lone surrogates."""
    said = {
        "why": question.why,
        "arguments": question.arguments,
        "files": {name: text.decode("utf-8", "surrogateescape") for name, text in question.files.items()},
    }
    if question.outputs:
        said["outputs"] = list(question.outputs)
    if question.stdin:
        said["stdin"] = question.stdin
    if question.status is not None:
        said["status"] = question.status
    if question.told:
        said["told"] = list(question.told)
    return json.dumps(said, indent=2) + "\n"
