"""Changes the amounts of running allocations (rules: CYC-28)."""

from __future__ import annotations

from remuda.config.queue_properties import FAIR
from remuda.core.accounting.victims import forget_candidate
from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, Vector, add, subtract
from remuda.core.pending.changes import path_gained_room
from remuda.core.pending.gang_lacks import renew_lack
from remuda.core.pending.limit_sets import limit_set_of
from remuda.core.pending.marks import usage_changed
from remuda.core.pending.ordering import update_application


def resize(partition: Partition, allocation: Allocation, amounts: Amounts) -> None:
    """Change the amounts of an allocation, up the path, for user and group, and on its node.

    No limit is checked, since the allocation runs already. Asks that fit a limit now are unblocked.
    The caller has to call ``node_gained_room`` for the node. Rules: CYC-28, QUE-2, QUE-12, LIM-30.
    """
    application = allocation.application
    leaf = application.queue
    before = allocation.amounts
    forget_candidate(partition, allocation)
    allocation.node.exchange(allocation, amounts)
    allocation.amounts = amounts
    trackers = limit_set_of(partition, application).trackers
    application.note_peak(before)
    if allocation.ask.placeholder and application.gang is not None:
        _exchange(application.gang.usage, before, amounts)
    else:
        _exchange(application.allocated, before, amounts)
    for queue in leaf.path_up:
        _exchange(queue.allocated, before, amounts)
        if allocation.preemption is not None:
            _exchange(queue.preempting, before, amounts)
    if partition.preempting.candidates is not None:
        partition.preempting.candidates.add(allocation)
    for tracker in trackers:
        _exchange(tracker.allocated, before, amounts)
    if leaf.settings.application_sort == FAIR:
        update_application(application)
    usage_changed(partition, leaf)
    renew_lack(partition, application)
    path_gained_room(partition, leaf, trackers)


def _exchange(held: Vector, before: Amounts, amounts: Amounts) -> None:
    subtract(held, before)
    add(held, amounts)
