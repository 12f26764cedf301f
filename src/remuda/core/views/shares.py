"""Says by what share a queue is compared with others (rules: RES-52, EXT-45, EXT-60)."""

from __future__ import annotations

from remuda.core.messages.trace_queries import ShareTermView
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector, amount_at
from remuda.core.policy.shares import NO_PART, divisors, fair_maximum, usage_shares


def share_of(partition: Partition, queue: Queue) -> float:
    """Return the number that stands for a queue's share. Rules: RES-49, RES-52, KV-5."""
    if partition.settings.parity:
        shares = usage_shares(queue.allocated, queue.guaranteed)
        return shares[0] if shares else 0.0
    return max([0.0, *[each.ratio for each in share_terms(partition, queue)]])


def share_terms(partition: Partition, queue: Queue) -> tuple[ShareTermView, ...]:
    """Return the types in the share of a queue, by name. Rules: RES-52, QUE-38."""
    found: list[ShareTermView] = []
    for index, divisor in enumerate(_divisors(queue)):
        if divisor == NO_PART:
            continue
        used = amount_at(queue.allocated, index)
        ratio = used / divisor if divisor else float(used > 0)
        found.append(ShareTermView(partition.types.names[index], used, divisor, ratio))
    return tuple(sorted(found, key=lambda each: each.resource))


def _divisors(queue: Queue) -> list[int]:
    """Return what usage is divided by, also where no ask waits and the queue is in no order."""
    if queue.divisors is not None:
        return queue.divisors
    fair: Vector | None = None
    for each in reversed(queue.path_up):
        fair = fair_maximum(each, fair)
    return divisors(queue, fair)
