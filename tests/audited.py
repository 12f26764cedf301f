"""A round of the self-audit on a scheduler, at once or slice by slice."""

from __future__ import annotations

from collections.abc import Iterator

from remuda.core.messages.health_queries import PartitionCountsQuery, PartitionCountsView
from remuda.core.messages.rows import rows
from remuda.core.messages.self_audit import (
    PARTS,
    START,
    SelfAuditQuery,
    SelfAuditView,
    SlicePlace,
    Violation,
)
from remuda.core.scheduler import Scheduler


def slices(scheduler: Scheduler) -> Iterator[tuple[str, SelfAuditView]]:
    """The slices of one round with their parts; anything may happen between two of them."""
    for each in rows(PartitionCountsView, scheduler.view(PartitionCountsQuery())):
        for part in PARTS:
            place: SlicePlace | None = START
            while place is not None:
                view = scheduler.view(SelfAuditQuery(each.name, each.rm_id, part, place))
                if not isinstance(view, SelfAuditView):
                    break  # the partition is gone
                yield part, view
                place = view.next


def violations(scheduler: Scheduler) -> list[Violation]:
    """What a whole round finds at one moment."""
    return [each for _, view in slices(scheduler) for each in view.violations]
