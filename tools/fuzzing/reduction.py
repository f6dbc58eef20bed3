"""A question that finds something, made smaller as long as it finds the same."""

import copy
import re

from fuzzing.document import Members, bytes_of, parsed, text_of

MOST_RUNS = 300


def kind_of(found):
    """The complaint without its numbers and quotations."""
    return re.sub(r"""[0-9.e+-]+|'.*|".*""", "#", found)


def without_a_part(value):
    """Copies of a JSON value that lack one element, the large ones first."""
    places = []

    def visit(container, path):
        for index, element in enumerate(container):
            inner = element[1] if isinstance(container, Members) else element
            places.append(([*path, index], len(text_of(inner))))
            if isinstance(inner, list):
                visit(inner, [*path, index])

    visit(value, [])
    for path, _ in sorted(places, key=lambda place: -place[1]):
        smaller = copy.deepcopy(value)
        container = smaller
        for index in path[:-1]:
            container = container[index][1] if isinstance(container, Members) else container[index]
        del container[path[-1]]
        yield smaller


def smaller_texts(content):
    """Versions of a file that lack a line, or one element of its JSON."""
    text = content.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    for i in range(len(lines) if len(lines) < 100 else 0):
        yield bytes_of("\n".join(lines[:i] + lines[i + 1 :]))
    try:
        value = parsed(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, list) and len(text) < 100_000:
        for smaller in without_a_part(value):
            yield bytes_of(text_of(smaller))


def reduced(question, found, complaint):
    """Tries each smaller file, from the beginning again whenever one still finds the same."""
    runs, is_smaller = 0, True
    while is_smaller and runs < MOST_RUNS:
        is_smaller = False
        for name, content in question.files.items():
            for candidate in smaller_texts(content):
                runs += 1
                attempt = copy.deepcopy(question)
                attempt.files[name] = candidate
                if kind_of(complaint(attempt)[0]) == kind_of(found):
                    question, is_smaller = attempt, True
                    break
                if runs >= MOST_RUNS:
                    return question
            if is_smaller:
                break
    return question
