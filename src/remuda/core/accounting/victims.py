"""Counts victims of preemption until they end, and keeps room for the preempting ask.

Rules: QUE-2, PRE-34, PRE-35, PRE-89.
"""

from __future__ import annotations

from remuda.core.model.allocation import Allocation
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.candidates import Candidates
from remuda.core.model.preemption.live import QUOTA, Preemption, Victim
from remuda.core.model.vectors import (
    Vector,
    add,
    add_vector,
    subtract,
    subtract_vector,
    trimmed,
    vector_of,
)
from remuda.core.pending.changes import path_gained_room, queue_gained_room
from remuda.core.pending.limit_sets import limit_set_of, promise_at, withdraw_at
from remuda.core.pending.marks import headroom_changed, node_changed


def index_candidates(partition: Partition) -> None:
    """Create the index of candidates, since an ask may preempt now. Rules: PRE-13.

    Cost: O(allocations), once.
    """
    if partition.preempting.candidates is None:
        partition.preempting.candidates = Candidates()
        for application in partition.applications.values():
            for allocation in application.allocations.values():
                partition.preempting.candidates.add(allocation)


def forget_candidate(partition: Partition, allocation: Allocation) -> None:
    """Remove an allocation from the index: it ends or is about to end.

    Implements: PRE-60. Rules: PRE-13.
    """
    if partition.preempting.candidates is not None:
        partition.preempting.candidates.remove(allocation)


def mark(
    partition: Partition, preemption: Preemption, allocation: Allocation, *, for_queue: bool
) -> None:
    """Note that an allocation is a victim; it counts as usage until it ends.

    Other asks may use what the victim frees beyond the promised amounts. Implements: PRE-59. Rules:
    PRE-34, PRE-89.
    """
    preemption.victims[allocation.key()] = Victim(allocation, for_queue=for_queue)
    preemption.left += 1
    allocation.preemption = preemption
    leaf = allocation.application.queue
    for queue in leaf.path_up:
        add(queue.preempting, allocation.amounts)
        if queue.promised is not None and queue.waiting:
            queue_gained_room(partition, queue)


def victim_gone(partition: Partition, allocation: Allocation) -> None:
    """Note that a victim ended for any reason; the last victim ends a quota preemption.

    With the last victim it shows whether the node has room for the ask. The last victim may have
    been on another node, where it made room in a queue. Implements: PRE-35. Rules: PRE-6 (Ours),
    PRE-65, QUE-12.
    """
    preemption = allocation.preemption
    assert preemption is not None
    leaf = allocation.application.queue
    for queue in leaf.path_up:
        subtract(queue.preempting, allocation.amounts)
    allocation.preemption = None
    preemption.victims[allocation.key()].confirmed = True
    preemption.left -= 1
    if preemption.left:
        return
    if preemption.kind == QUOTA:
        partition.preempting.quotas.ended.append(preemption)
    elif preemption.request is not None:
        node_changed(partition, preemption.request.reservations[preemption.node_id].node)


def promise(partition: Partition, request: Request) -> None:
    """Keep room for an ask at its queues, user and group. Implements: PRE-89."""
    preemption, application = request.preemption, request.application
    leaf = application.queue
    assert preemption is not None
    trackers = limit_set_of(partition, application).trackers
    preemption.promised = True
    headroom_changed(partition)
    amounts = vector_of(preemption.amounts)
    if application.promised is None:
        application.promised = Vector()
    add_vector(application.promised, amounts)
    for bound in [*leaf.path_up, *trackers]:
        promise_at(bound, amounts)


def withdraw_promise(partition: Partition, request: Request) -> None:
    """End keeping room for an ask, since it was placed or its preemption ended. Rules: PRE-89."""
    preemption, application = request.preemption, request.application
    leaf = application.queue
    assert preemption is not None
    if not preemption.promised:
        return
    assert application.promised is not None
    trackers = limit_set_of(partition, application).trackers
    preemption.promised = False
    headroom_changed(partition)
    amounts = vector_of(preemption.amounts)
    subtract_vector(application.promised, amounts)
    if not trimmed(application.promised):
        application.promised = None
    for bound in [*leaf.path_up, *trackers]:
        withdraw_at(bound, amounts)
    path_gained_room(partition, leaf, trackers)
