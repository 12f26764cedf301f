"""What queues are guaranteed and limited to on their whole path (rules: QUE-15, QUE-16)."""

from __future__ import annotations

from remuda.core.model.queue import Queue
from remuda.core.model.vectors import Vector


def effective_guarantee(queue: Queue) -> dict[int, int]:
    """Return the least of the guarantees on the path by type, of the types that have one.

    Rules: QUE-16.
    """
    least: dict[int, int] = {}
    for each in queue.path_up:
        _lower(least, each.guaranteed)
    return least


def path_maximum(queue: Queue) -> dict[int, int]:
    """Return the least of the maxima on the path by type, root's included. Rules: QUE-15 (Ours)."""
    least: dict[int, int] = {}
    for each in queue.path_up:
        _lower(least, each.maximum)
    return least


def lower_of(left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
    """Return the lower of two by type; a type of only one keeps its amount. Rules: RES-43."""
    return {**right, **{index: min(one, right.get(index, one)) for index, one in left.items()}}


def _lower(least: dict[int, int], limit: Vector | None) -> None:
    if limit is None:
        return
    for index, amount in enumerate(limit.amounts):
        if limit.types >> index & 1:
            least[index] = min(amount, least.get(index, amount))
