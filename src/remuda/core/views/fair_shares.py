"""Answers the question what each queue uses, is guaranteed and is owed (rules: EXT-60)."""

from __future__ import annotations

from bisect import bisect_right

from remuda.base.resources import Resource
from remuda.core.messages.share_queries import PORTION, FairSharesQuery, FairShareView
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.views.shares import share_of, share_terms


def fair_share_views(partition: Partition, query: FairSharesQuery) -> tuple[FairShareView, ...]:
    """Return the next queues by path, PORTION at most. Implements: EXT-60."""
    queues = {queue.path: queue for queue in partition.queues(partition.root)}
    if query.queue:
        return tuple([_view(partition, queues[path]) for path in (query.queue,) if path in queues])
    paths = sorted(queues)
    first = bisect_right(paths, query.after)
    return tuple([_view(partition, queues[path]) for path in paths[first : first + PORTION]])


def _view(partition: Partition, queue: Queue) -> FairShareView:
    resource = partition.types.resource
    allocated = resource(queue.allocated)
    pending = resource(queue.pending)
    guaranteed = None if queue.guaranteed is None else resource(queue.guaranteed)
    return FairShareView(
        path=queue.path,
        leaf=queue.leaf,
        allocated=allocated,
        pending=pending,
        guaranteed=guaranteed,
        maximum=None if queue.maximum is None else resource(queue.maximum),
        share=share_of(partition, queue),
        terms=share_terms(partition, queue),
        priority=queue.shown_priority,
        owed=_owed(allocated, pending, guaranteed or {}),
    )


def _owed(allocated: Resource, pending: Resource, guaranteed: Resource) -> dict[str, int]:
    """Return what is missing to the guarantee, as far as asks wait for it. Rules: EXT-60."""
    found: dict[str, int] = {}
    for name, least in sorted(guaranteed.items()):
        used = allocated.get(name, 0)
        missing = min(least, used + pending.get(name, 0)) - used
        if missing > 0:
            found[name] = missing
    return found
