"""Books victims of preemption until they are gone, and the room that is kept meanwhile.

Rules: QUE-2, PRE-34, PRE-35, PRE-89.
"""

from __future__ import annotations

from remuda.core.accounting.accounts import account_of, promise_at, withdraw_at
from remuda.core.accounting.waiting import wake_at, wake_within
from remuda.core.model.allocation import Allocation
from remuda.core.model.candidates import Candidates
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import QUOTA, Preemption, Victim
from remuda.core.model.request import Request
from remuda.core.model.vectors import (
    Vector,
    add,
    add_vector,
    subtract,
    subtract_vector,
    trimmed,
    vector_of,
)


def index_candidates(partition: Partition) -> None:
    """Begin to keep the index of candidates: an ask came that may preempt. Rules: PRE-13.

    Cost: O(allocations), once.
    """
    if partition.candidates is None:
        partition.candidates = Candidates()
        for application in partition.applications.values():
            for allocation in application.allocations.values():
                partition.candidates.add(allocation)


def forget_candidate(partition: Partition, allocation: Allocation) -> None:
    """Take an allocation out of the index: it ends, or is about to. Rules: PRE-13, PRE-60."""
    if partition.candidates is not None:
        partition.candidates.remove(allocation)


def mark(
    partition: Partition, preemption: Preemption, allocation: Allocation, *, for_queue: bool
) -> None:
    """Note that an allocation is a victim; until it is gone it counts as before.

    What it will leave beyond what is promised is for others. Rules: PRE-34, PRE-89.
    """
    preemption.victims[allocation.key()] = Victim(allocation, for_queue=for_queue)
    preemption.left += 1
    allocation.preemption = preemption
    leaf = allocation.application.queue
    assert leaf is not None
    for queue in leaf.path_up:
        add(queue.preempting, allocation.amounts)
        if queue.promised is not None and queue.waiting:
            wake_at(partition, queue)


def victim_gone(partition: Partition, allocation: Allocation) -> None:
    """Note that a victim ended, whatever ended it; the last one ends a run of a quota.

    Rules: PRE-35, PRE-65, QUE-12.
    """
    preemption = allocation.preemption
    assert preemption is not None
    leaf = allocation.application.queue
    assert leaf is not None
    for queue in leaf.path_up:
        subtract(queue.preempting, allocation.amounts)
    allocation.preemption = None
    preemption.victims[allocation.key()].confirmed = True
    preemption.left -= 1
    if preemption.kind == QUOTA and preemption.left == 0:
        partition.quotas.ended.append(preemption)


def promise(partition: Partition, request: Request) -> None:
    """Keep room for an ask at its queues, user and group. Rules: PRE-89."""
    preemption, application = request.preemption, request.application
    leaf = application.queue
    assert preemption is not None
    assert leaf is not None
    trackers = account_of(partition, application).trackers
    preemption.promised = True
    partition.claims_stale = True
    amounts = vector_of(preemption.amounts)
    if application.promised is None:
        application.promised = Vector()
    add_vector(application.promised, amounts)
    for bound in [*leaf.path_up, *trackers]:
        promise_at(bound, amounts)


def withdraw_promise(partition: Partition, request: Request) -> None:
    """Keep no room for an ask any more: it has got it, or will not. Rules: PRE-89."""
    preemption, application = request.preemption, request.application
    leaf = application.queue
    assert preemption is not None
    if not preemption.promised:
        return
    assert leaf is not None
    assert application.promised is not None
    trackers = account_of(partition, application).trackers
    preemption.promised = False
    partition.claims_stale = True
    amounts = vector_of(preemption.amounts)
    subtract_vector(application.promised, amounts)
    if not trimmed(application.promised):
        application.promised = None
    for bound in [*leaf.path_up, *trackers]:
        withdraw_at(bound, amounts)
    wake_within(partition, leaf, trackers)
