"""All classes that a snapshot may hold, each with the number of its kind.

A test compares the table with the classes themselves, so that no field can be forgotten. The
fingerprint of the table stands in each snapshot: one that was written with another table is refused
before anything of it is read. Rules: EXT-40.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Final, final

from remuda.core.model.asks.blocked import CLOSED_GROUP
from remuda.core.model.asks.predicate_class import NO_NODES
from remuda.core.model.asks.request import NO_IDENTITIES, NO_RESERVATIONS
from remuda.core.model.cluster import Cluster
from remuda.core.model.nodes.node import Node
from remuda.core.policy.node_score import packed, usage
from remuda.core.snapshot.asks import ASKS
from remuda.core.snapshot.layout import ABSENT, ANY, BOOL, CLASSES, DICT, WORDS, Layout
from remuda.core.snapshot.nodes import NODES
from remuda.core.snapshot.partitions import PARTITIONS
from remuda.core.snapshot.queues import QUEUES
from remuda.core.snapshot.records import RECORDS

# The format of the bytes; another one whenever the same table is written in another way.
VERSION: Final = 1

LAYOUTS: Final[tuple[Layout, ...]] = (*RECORDS, *PARTITIONS, *QUEUES, *ASKS, *NODES)

# How many kinds there are. A cell is the number of a value, times this, plus its kind.
KINDS: Final = CLASSES + len(LAYOUTS)

NUMBERS: Final[dict[str, int]] = {
    **WORDS,
    **{layout.cls.__name__: CLASSES + place for place, layout in enumerate(LAYOUTS)},
}
CLUSTER: Final = NUMBERS[Cluster.__name__]

# What the code tells from an equal value: it is never written, and keeps its identity.
CONSTANTS: Final[tuple[tuple[int, object], ...]] = (
    (DICT, NO_RESERVATIONS),
    (DICT, NO_IDENTITIES),
    (DICT, NO_NODES),
    (NUMBERS["Blocked"], CLOSED_GROUP),
)

SCORES: Final[dict[str, Callable[[Node], float]]] = {"packed": packed, "usage": usage}


@final
class Field:
    """A field: its name, the number of its kind, and whether it may be None."""

    __slots__ = ("kind", "name", "optional")

    def __init__(self, name: str, word: str) -> None:
        self.name = name
        self.optional: bool = word.endswith("?")
        self.kind: int = NUMBERS[word.removesuffix("?")]

    def width(self) -> int:
        """Return how many bytes the field of one instance takes."""
        return 0 if self.kind == ABSENT else 1 if self.kind == BOOL else 4


# The fields of each listed class, in the order of LAYOUTS.
FIELDS: Final[tuple[tuple[Field, ...], ...]] = tuple(
    [tuple([Field(name, word) for name, word in layout.fields]) for layout in LAYOUTS]
)


def constants(kind: int) -> list[object]:
    """Return the constants of a kind, in the order of their numbers, which begin with 1."""
    return [value for of, value in CONSTANTS if of == kind]


def fingerprint() -> bytes:
    """Return 16 bytes that differ between tables; equal in every build. Rules: EXT-40."""
    lines = [f"{VERSION} {ANY} {sorted(WORDS)} {len(CONSTANTS)}"]
    lines += [f"{layout.cls.__name__} {layout.text}" for layout in LAYOUTS]
    return sha256("\n".join(lines).encode()).digest()[:16]
