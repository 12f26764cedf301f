"""How a class of the state is listed: its fields, their kinds, and how an instance begins.

A compiled class cannot be instantiated without its constructor. So each class is listed with a
function that calls the constructor with *blank* parts; afterwards the reader sets every field. The
order in which instances are made therefore never matters, and the classes need no hooks for it.
Rules: EXT-40.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, TypeAlias, final

from remuda.core.snapshot.blanks import Blanks

# The kinds of values that are no instances of a listed class. Their numbers begin the numbers of
# all kinds; those of the listed classes follow.
BOOL: Final = 0  # None, False and True.
INT: Final = 1
FLOAT: Final = 2
STR: Final = 3
TUPLE: Final = 4
FROZENSET: Final = 5
ARRAY: Final = 6
LIST: Final = 7
DEQUE: Final = 8
DICT: Final = 9
ORDERED: Final = 10
CLASSES: Final = 11

# What a field may hold beside values of one kind: values of any kind; a score of nodes, by its
# name; an expression, by its text; and a function of the process, which is never written.
ANY: Final = -1
SCORE: Final = -2
PATTERN: Final = -3
ABSENT: Final = -4

WORDS: Final[dict[str, int]] = {
    "bool": BOOL,
    "int": INT,
    "str": STR,
    "tuple": TUPLE,
    "list": LIST,
    "dict": DICT,
    "any": ANY,
    "score": SCORE,
    "pattern": PATTERN,
    "absent": ABSENT,
}

# Containers that are written by identity: two references to one of them stay so.
CONTAINERS: Final[dict[int, type]] = {
    LIST: list,
    DEQUE: deque,
    DICT: dict,
    ORDERED: OrderedDict,
}

Make: TypeAlias = Callable[[Blanks], object]


@final
class Layout:
    """One class of the state.

    ``fields``: the name of each field, with the word of its kind, which is the name of a class or
    one of WORDS. A word that ends in "?" admits None. ``make`` returns a new instance whose fields
    hold anything.
    """

    __slots__ = ("cls", "fields", "make", "text")

    def __init__(self, cls: type, text: str, make: Make) -> None:
        self.cls = cls
        self.text = " ".join(text.split())
        self.fields: tuple[tuple[str, str], ...] = tuple(
            [_field(word) for word in self.text.split()]
        )
        self.make = make


def _field(word: str) -> tuple[str, str]:
    name, _, kind = word.partition(":")
    return name, kind


def part(cls: type[object], text: str) -> Layout:
    """Return the layout of a class whose constructor needs no arguments."""
    return Layout(cls, text, lambda _: cls())


def record(cls: type[object], text: str) -> Layout:
    """Return the layout of a record that is never compiled, and so needs no constructor."""
    return Layout(cls, text, lambda _: object.__new__(cls))
