"""How a broken invariant is reported."""

from __future__ import annotations

from remuda.base.errors import InvariantViolation
from remuda.core.model.partition import Partition


def require(holds: bool, partition: Partition, what: str) -> None:
    """Raise InvariantViolation naming the partition unless something holds. Rules: RES-16."""
    if not holds:
        raise InvariantViolation(f"partition [{partition.rm_id}]{partition.name}: {what}")
