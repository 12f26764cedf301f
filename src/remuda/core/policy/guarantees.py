"""Computes guarantees and maxima over the path of a queue (rules: QUE-15, QUE-16)."""

from __future__ import annotations

from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector


def effective_guarantee(queue: Queue) -> dict[int, int]:
    """Return per type the least guarantee on the path; a type without one is absent.

    Implements: QUE-16.
    """
    least: dict[int, int] = {}
    for each in queue.path_up:
        _lower(least, each.guaranteed)
    return least


def path_maximum(queue: Queue) -> dict[int, int]:
    """Return per type the least maximum on the path, with that of root.

    Implements: QUE-15 (Ours).
    """
    least: dict[int, int] = {}
    for each in queue.path_up:
        _lower(least, each.maximum)
    return least


def lower_of(left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
    """Return per type the lower amount; a type in only one map keeps its amount. Rules: RES-43."""
    return {**right, **{index: min(one, right.get(index, one)) for index, one in left.items()}}


def _lower(least: dict[int, int], limit: Vector | None) -> None:
    if limit is None:
        return
    for index, amount in enumerate(limit.amounts):
        if limit.types >> index & 1:
            least[index] = min(amount, least.get(index, amount))
