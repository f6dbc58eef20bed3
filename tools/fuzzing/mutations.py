"""What is made of an input that a command takes: most of it stays well-formed, so that it gets past the first check."""

import copy
import re

from fuzzing.document import Members, Raw, at, bytes_of, parsed, places, put, text_of

NUMBERS = """0 -0 1 2 3 7 64 100 127 128 255 256 1000 1023 1024 32767 65535 65536 100001 1000000 -1 -2 0.5 -0.5 1.5 0.1
    1e-9 1e-300 5e-324 1e5 1e9 1e12 1e15 1e18 1e30 1e300 1e308 1.8e308 1e999 -1e308 2147483647 2147483648 -2147483648
    4294967295 4294967296 9007199254740991 9007199254740993 9223372036854775807 9223372036854775808
    -9223372036854775808 18446744073709551615 18446744073709551616 01 +1 .5 1. 0x10 1e 1_000 NaN Infinity -Infinity
    inf nan""".split()
STRINGS = [
    "", " ", "a" * 10_000, "\x1b[31mred\x1b[0m", "a\0b", "a\nb", "\r", "\t", "../../x", "/", ".", "/dev/null", "/dev/zero",
    "\u00e9", "\udcff", "\udcc3(", "\u202e", "\u0085", "%s%n", "NaN", "-", "--help", "-1", "a/b", "*", "serial", "0"
]  # fmt: skip
FACTORS = [-1, 0.1, 0.5, 0.999999, 1.000001, 1.5, 2, 3, 10, 1e3, 1e6, 1e9]
LONGEST = 4_000_000  # bytes: what grows stops here


def other_number(random, text):
    if random.random() < 0.4:
        return Raw(random.choice(NUMBERS))
    try:
        number = float(text)
    except ValueError:
        return Raw("0")
    changed = number + random.choice([-1, 1]) if random.random() < 0.3 else number * random.choice(FACTORS)
    is_whole = number.is_integer() and abs(changed) < 1e15
    return Raw(repr(int(changed)) if is_whole and random.random() < 0.9 else repr(changed))


def other_scalar(random, value, words):
    dice = random.random()
    if isinstance(value, Raw) and dice < 0.85:
        return other_number(random, value)
    if isinstance(value, str) and not isinstance(value, Raw) and dice < 0.85:
        return random.choice(words) if dice < 0.55 else random.choice(STRINGS)
    if isinstance(value, bool) and dice < 0.5:
        return not value
    return random.choice([None, True, False, Raw("1"), Raw("-1"), "", "gemm", [], Members(), [[]], Raw("0.5")])


class Json:
    """Mutations of one value, in place."""

    def __init__(self, random, words, donors):
        self.random, self.words, self.donors = random, words, donors

    def mutate(self, root):
        here = list(places(root))
        changes = [self.scalar] * 8 + [self.everywhere] * 6
        changes += [self.missing, self.key, self.twice, self.many, self.order, self.donated, self.nested]
        self.random.choice(changes)(here)

    def chosen(self, here, wanted=lambda container, index: True):
        fitting = [place for place in here if wanted(*place)]
        return self.random.choice(fitting) if fitting else None

    def scalar(self, here):
        """Numbers above all: a wrong word is refused where it is read, a wrong number may be believed."""
        is_number = lambda container, index: isinstance(at(container, index), Raw)  # noqa: E731
        is_scalar = lambda container, index: not isinstance(at(container, index), list)  # noqa: E731
        place = self.random.random() < 0.6 and self.chosen(here, is_number) or self.chosen(here, is_scalar)
        if place:
            put(*place, other_scalar(self.random, at(*place), self.words))

    def everywhere(self, here):
        """A size or a name that stands in many places becomes another one in all of them, so that they still fit."""
        place = self.chosen(here, lambda container, index: not isinstance(at(container, index), (list, bool, type(None))))
        if not place:
            return
        old = at(*place)
        new = other_scalar(self.random, old, self.words)
        for container, index in here:
            element = at(container, index)
            if element == old and type(element) is type(old):
                put(container, index, copy.deepcopy(new))

    def missing(self, here):
        container, index = self.chosen(here)
        del container[index]

    def key(self, here):
        """A key is renamed, or comes in as well."""
        place = self.chosen(here, lambda container, index: isinstance(container, Members))
        if not place:
            return
        container, index = place
        name = self.random.choice(self.words) if self.random.random() < 0.8 else self.random.choice(STRINGS)
        if self.random.random() < 0.5:
            container[index] = [name, container[index][1]]
        else:
            donor = self.random.choice(self.donors)
            container.insert(index, [name, copy.deepcopy(at(*self.random.choice(list(places([donor])))))])

    def twice(self, here):
        """An element, or a key with its value, stands twice."""
        container, index = self.chosen(here)
        container.insert(self.random.randint(0, len(container)), copy.deepcopy(container[index]))

    def many(self, here):
        """An element stands many times."""
        place = self.chosen(here, lambda container, index: not isinstance(container, Members))
        if not place:
            return
        container, index = place
        size = len(text_of(container[index])) + 2
        times = min(self.random.choice([10, 100, 1000, 100_000]), LONGEST // size)
        if len(here) * times < 2_000_000:
            container[index:index] = [copy.deepcopy(container[index]) for _ in range(times)]

    def order(self, here):
        container, index = self.chosen(here)
        other = self.random.randrange(len(container))
        container[index], container[other] = container[other], container[index]

    def donated(self, here):
        """A value comes from a document of the same kind, of the same key where that has it."""
        container, index = self.chosen(here)
        elsewhere = list(places([self.random.choice(self.donors)]))
        if isinstance(container, Members):
            key = container[index][0]
            same = [place for place in elsewhere if isinstance(place[0], Members) and place[0][place[1]][0] == key]
            elsewhere = same or elsewhere
        put(container, index, copy.deepcopy(at(*self.random.choice(elsewhere))))

    def nested(self, here):
        place, depth = self.chosen(here), self.random.choice([1, 2, 600, 100_000])
        opened, closed = self.random.choice([("[", "]"), ('{"a": ', "}")])
        put(*place, Raw(opened * depth + text_of(at(*place)) + closed * depth))


def mutated_json(random, text, words, donors):
    try:
        root = [parsed(text)]
        for _ in range(random.choice([1, 1, 1, 1, 2, 2, 3, 5])):
            if root:
                Json(random, words, donors).mutate(root)
        return ", ".join(map(text_of, root))
    except (ValueError, RecursionError):  # a line that is mutated for the second time
        return text


def mutated_lines(random, text, words, mutated_line):
    """One line is mutated, or lines are moved, missing, doubled."""
    lines = text.split("\n")
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        at_line = random.randrange(len(lines))
        dice = random.random()
        if dice < 0.75:
            lines[at_line] = mutated_line(lines[at_line])
        elif dice < 0.8 and len(lines) > 1:
            del lines[at_line]
        elif dice < 0.9:
            lines.insert(random.randint(0, len(lines)), lines[at_line])
        elif dice < 0.95:
            lines.insert(at_line, random.choice(["", " ", "#", random.choice(words), *STRINGS]))
        else:
            lines[at_line] += lines[random.randrange(len(lines))]
    return "\n".join(lines)


def mutated_words(random, line, words):
    """A number or word of a line of a table becomes another one."""
    pieces = re.split(r"([0-9.]+|[A-Za-z_]+)", line)
    index = random.randrange(len(pieces))
    dice = random.random()
    if dice < 0.6 and re.fullmatch(r"[0-9.]+", pieces[index] or "x"):
        pieces[index] = other_number(random, pieces[index])
    elif dice < 0.8:
        pieces[index] = random.choice([random.choice(words), *STRINGS, *NUMBERS])
    elif dice < 0.9:
        del pieces[index]
    else:
        pieces.insert(index, random.choice(pieces))
    return "".join(pieces)


def mutated_bytes(random, whole):
    """Bytes that no writer of the format would write."""

    def flipped():
        changed = bytearray(whole or b"\0")
        for _ in range(random.randint(1, 6)):
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        return bytes(changed)

    cut = random.randint(0, len(whole))
    return random.choice([
        flipped,
        flipped,
        lambda: whole[:cut],
        lambda: whole[:cut],
        lambda: whole[:cut] + whole[cut + random.randint(1, 80) :],
        lambda: whole[:cut] + random.randbytes(random.randint(1, 40)) + whole[cut:],
        lambda: random.randbytes(random.randint(0, 400)),
        lambda: whole * random.choice([2, max(2, min(1000, LONGEST // (len(whole) + 1)))]),
        lambda: b"\xef\xbb\xbf" + whole,
        lambda: whole.replace(b"\n", b"\r\n"),
        lambda: whole.decode("utf-8", "replace").encode("utf-16"),
        lambda: whole[:cut] + b" " * 1_000_000 + whole[cut:],
        lambda: random.choice([b"[", b'{"a":', b'[{"a":']) * 200_000,
        lambda: b"",
    ])()  # fmt: skip


def mutated(random, kind, whole, words, donors):
    """`kind`: json, lines (of JSON) or table. Returns other bytes, as good as always."""
    if random.random() < 0.12:
        return mutated_bytes(random, whole)
    text = whole.decode("utf-8")
    if kind == "json":
        return bytes_of(mutated_json(random, text, words, donors))
    if kind == "table":
        return bytes_of(mutated_lines(random, text, words, lambda line: mutated_words(random, line, words)))
    return bytes_of(
        mutated_lines(random, text, words, lambda line: mutated_json(random, line, words, donors) if line else "{}")
    )
