"""Changes the size of what is allocated already (rules: CYC-28)."""

from __future__ import annotations

from remuda.config.queue_properties import FAIR
from remuda.core.accounting.accounts import account_of
from remuda.core.accounting.standing import update_application
from remuda.core.accounting.victims import forget_candidate
from remuda.core.accounting.waiting import wake_within
from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, Vector, add, subtract


def resize(partition: Partition, allocation: Allocation, amounts: Amounts) -> None:
    """Let an allocation hold other amounts, up the path, for user and group, and on its node.

    No limit is asked: it runs. What fits a limit now that did not before is tried again. The node
    is left to ``offer``. Rules: CYC-28, QUE-2, QUE-12, LIM-30.
    """
    application = allocation.application
    leaf = application.queue
    assert leaf is not None
    before = allocation.amounts
    forget_candidate(partition, allocation)
    allocation.node.exchange(allocation, amounts)
    allocation.amounts = amounts
    trackers = account_of(partition, application).trackers
    application.note_peak(before)
    if allocation.ask.placeholder and application.gang is not None:
        _exchange(application.gang.usage, before, amounts)
    else:
        _exchange(application.allocated, before, amounts)
    for queue in leaf.path_up:
        _exchange(queue.allocated, before, amounts)
        if allocation.preemption is not None:
            _exchange(queue.preempting, before, amounts)
    if partition.candidates is not None:
        partition.candidates.add(allocation)
    partition.revision += 1
    for tracker in trackers:
        _exchange(tracker.allocated, before, amounts)
    if leaf.settings.application_sort == FAIR:
        update_application(application)
    partition.unsettled[leaf.path] = leaf
    partition.claims_stale = True
    wake_within(partition, leaf, trackers)


def _exchange(held: Vector, before: Amounts, amounts: Amounts) -> None:
    subtract(held, before)
    add(held, amounts)
