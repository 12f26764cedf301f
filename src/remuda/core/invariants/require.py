"""How a broken invariant is reported."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.base.errors import InvariantViolation
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, Vector, add, equal


def require(holds: bool, partition: Partition, what: str) -> None:
    """Raise InvariantViolation naming the partition unless a condition is true. Rules: RES-16."""
    if not holds:
        raise InvariantViolation(f"partition [{partition.rm_id}]{partition.name}: {what}")


def same(partition: Partition, what: str, kept: Vector, parts: Iterable[Amounts]) -> None:
    """Raise InvariantViolation if what is kept is not the sum of its parts. Rules: QUE-2."""
    total = Vector()
    for amounts in parts:
        add(total, amounts)
    require(equal(kept, total), partition, f"{what} is {kept.amounts}, not {total.amounts}")
