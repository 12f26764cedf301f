"""How a broken invariant is reported."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.base.errors import InvariantViolation
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, Vector, add, equal


def require(holds: bool, partition: Partition, what: str, *parts: object) -> None:
    """Raise InvariantViolation naming the partition unless a condition is true.

    ``parts`` take the places of ``{}`` in ``what``. The text is only made when it is needed:
    making it costs more than most conditions. Rules: RES-16.
    """
    if not holds:
        where = f"partition [{partition.rm_id}]{partition.name}"
        raise InvariantViolation(f"{where}: {what.format(*parts)}")


def same(partition: Partition, what: str, kept: Vector, parts: Iterable[Amounts]) -> None:
    """Raise InvariantViolation if what is kept is not the sum of its parts. Rules: QUE-2."""
    total = Vector()
    for amounts in parts:
        add(total, amounts)
    if not equal(kept, total):
        text = "{} is {}, not {}"
        require(False, partition, text, what, kept.amounts, total.amounts)
