"""JSON as a value that can also hold what no JSON library writes: any spelling of a number, and a key twice."""

import json


class Raw(str):
    """Stands in the text as it is: a number as it was spelt, or something that is none."""


class Members(list):
    """The [key, value] pairs of an object, in order."""


def parsed(text):
    return json.loads(
        text,
        object_pairs_hook=lambda pairs: Members([key, value] for key, value in pairs),
        parse_int=Raw,
        parse_float=Raw,
        parse_constant=Raw,
    )


def text_of(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Members):
        return "{" + ", ".join(f"{text_of(key)}: {text_of(member)}" for key, member in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def bytes_of(text):
    """Lone surrogates stand for bytes that are no UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def places(value):
    """Where values stand: (container, index) of every one below `value`; in Members the index is that of the pair."""
    if isinstance(value, list):
        for index, element in enumerate(value):
            yield value, index
            yield from places(element[1] if isinstance(value, Members) else element)


def at(container, index):
    return container[index][1] if isinstance(container, Members) else container[index]


def put(container, index, value):
    if isinstance(container, Members):
        container[index] = [container[index][0], value]
    else:
        container[index] = value


def words_of(value):
    """All keys and strings."""
    for container, index in places([value]):
        if isinstance(container, Members):
            yield container[index][0]
        element = at(container, index)
        if isinstance(element, str) and not isinstance(element, Raw):
            yield element
