"""How a broken invariant is reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from remuda.base.errors import InvariantViolation
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, Vector, add, equal


@final
class Name:
    """What a finding calls an object; ``parts`` take the places of ``{}``.

    The text is only made when it is needed: making it costs more than most conditions.
    """

    __slots__ = ("_parts", "_what")

    def __init__(self, what: str, *parts: object) -> None:
        self._what = what
        self._parts = parts

    def __str__(self) -> str:
        return self._what.format(*self._parts)


def require(holds: bool, partition: Partition, what: str, *parts: object) -> None:
    """Raise InvariantViolation naming the partition unless a condition is true.

    ``parts`` take the places of ``{}`` in ``what``, if the text is needed. Rules: RES-16.
    """
    if not holds:
        where = f"partition [{partition.rm_id}]{partition.name}"
        raise InvariantViolation(f"{where}: {what.format(*parts)}")


def same(partition: Partition, what: Name, kept: Vector, parts: Sequence[Amounts]) -> None:
    """Raise InvariantViolation if what is kept is not the sum of its parts. Rules: QUE-2."""
    total = Vector()
    for amounts in parts:
        add(total, amounts)
    same_sum(partition, what, kept, total)


def same_sum(partition: Partition, what: Name, kept: Vector, total: Vector) -> None:
    """Raise InvariantViolation if what is kept is not a sum that was made anew. Rules: QUE-2."""
    if not equal(kept, total):
        text = "{} is {}, not {}"
        require(False, partition, text, what, kept.amounts, total.amounts)
