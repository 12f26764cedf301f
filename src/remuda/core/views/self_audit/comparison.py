"""Compares kept values with the sums of their parts, and collects what differs (HLT-21)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, final

from remuda.core.messages.self_audit import SelfAuditView, SlicePlace, Violation
from remuda.core.model.partition import Partition

# Units of work in a slice. One unit is what an allocation takes, less than a microsecond.
LOOKS: Final = 2_500

# The most parts that are added up at one moment. An object with more is not compared with them,
# because the core would stand still for longer than some milliseconds.
PARTS_LIMIT: Final = 50_000


@final
class Slice:
    """The violations and the cost of one slice. ``looks``: units of work so far. Rules: HLT-21."""

    __slots__ = ("_found", "looks", "partition")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.looks: int = 0
        self._found: list[Violation] = []

    def full(self) -> bool:
        """Whether the slice has cost enough."""
        return self.looks >= LOOKS

    def note(self, kind: int, name: str, what: str, text: str, reference: str = "") -> None:
        """Add a violation of an object."""
        self._found.append(Violation(kind, name, what, text, reference))

    def number(self, kind: int, name: str, what: str, kept: int, counted: int) -> None:
        """Compare a number with what was counted."""
        if kept != counted:
            self.note(kind, name, what, f"{what} is {kept}, not {counted}")

    def amounts(
        self, kind: int, name: str, what: str, kept: Sequence[int], parts: Sequence[int]
    ) -> None:
        """Compare amounts by type index with a sum; a type that is missing counts as 0."""
        if kept == parts:
            return  # nearly always
        texts: list[str] = []
        pairs = zip_longest(kept, parts, fillvalue=0)
        for index, (here, there) in enumerate(pairs):
            if here != there:
                type_name = self.partition.types.names[index]
                texts.append(f"{type_name} is {here}, not {there}")
        if texts:
            self.note(kind, name, what, f"{what}: {', '.join(texts)}")

    def end(self, place: SlicePlace | None) -> SelfAuditView:
        """Return the answer; the next slice begins at ``place``."""
        return SelfAuditView(tuple(self._found), place)
