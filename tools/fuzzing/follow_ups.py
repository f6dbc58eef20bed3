"""What a command wrote is taken by the commands that read it."""

from fuzzing.crafted import Question

# (command that wrote, end of the file's name): the command that reads it; FILE stands for the name
READERS = {
    ("explore", "won.json"): ["check", "FILE"],
    ("predict", ".json"): ["check", "FILE"],
    ("simulate", "out.json"): ["compare", "FILE", "FILE"],
    ("calibrate", "out.json"): ["machines", "./FILE"],
    ("draw", "_2gpu.jsonl"): ["predict", "--machine", "h100x8-nvswitch", "--in", "FILE"],
    ("plan", "gemm.jsonl"): ["predict", "--machine", "h100x8-nvswitch", "--in", "FILE"],
}


def follow_ups(question, outcome):
    """Questions that have to be answered, now that this one was."""
    if outcome.status > 1 or not question.arguments:
        return
    for name in outcome.written:
        for (command, end), reader in READERS.items():
            if command == question.arguments[0] and name.endswith(end) and outcome.written[name]:
                yield Question([word.replace("FILE", name) for word in reader], {**question.files, **outcome.written}, status=0)
