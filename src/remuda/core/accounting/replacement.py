"""Lets real allocations take the place of placeholders (rules: GANG-12 to GANG-18, NOD-11).

Between its begin and its end a replacement shows in the ask, which has the allocation, and on the
node if that is another one; what queues, users and the application use stays as it was.
"""

from __future__ import annotations

from remuda.config.queue_properties import FAIR
from remuda.core.accounting.accounts import account_of
from remuda.core.accounting.gangs import count_replaced, drop_placeholder, gang_of
from remuda.core.accounting.standing import update_application
from remuda.core.accounting.usage import set_pending, take_room
from remuda.core.accounting.victims import forget_candidate
from remuda.core.accounting.waiting import offer_anew, wake_within
from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.model.vectors import add, subtract


def begin_replacement(
    partition: Partition, request: Request, placeholder: Allocation, real: Allocation
) -> None:
    """Link a real allocation with the placeholder whose place it takes; another node is charged.

    Rules: GANG-12, GANG-14, GANG-16.
    """
    gang = gang_of(request.application)
    gang.replacing[placeholder.allocation_id] = real
    real.replaces = placeholder
    request.made += 1
    set_pending(partition, request, request.pending - 1)
    if real.node is not placeholder.node:
        take_room(partition, real)


def undo_replacement(partition: Partition, placeholder: Allocation, *, again: bool) -> Allocation:
    """Part a real allocation in flight from its placeholder, and return it.

    ``again``: its ask wants it once more. Rules: GANG-18, SI-29, SI-53.
    """
    application = placeholder.application
    real = gang_of(application).replacing.pop(placeholder.allocation_id)
    real.replaces = None
    if real.node is not placeholder.node:
        real.node.remove(real)
        if partition.nodes.get(real.node.node_id) is real.node:
            offer_anew(partition, real.node)
    request = application.requests.get(real.ask.allocation_key)
    if again and request is not None:
        request.made -= 1
        set_pending(partition, request, request.pending + 1)
    return real


def end_replacement(partition: Partition, placeholder: Allocation) -> Allocation:
    """Put the real allocation in the place of its placeholder, in one step, and return it.

    What the placeholder had more than it goes back. The caller has to offer the placeholder's node
    anew, if that is still there. Rules: GANG-17, NOD-11, QUE-8, LIM-35.
    """
    application = placeholder.application
    leaf = application.queue
    assert leaf is not None
    real = gang_of(application).replacing.pop(placeholder.allocation_id)
    real.replaces = None
    trackers = account_of(partition, application).trackers
    for holder in (*leaf.path_up, *trackers):
        subtract(holder.allocated, placeholder.amounts)
        add(holder.allocated, real.amounts)
    application.note_peak(placeholder.amounts)
    forget_candidate(partition, placeholder)
    del partition.leaving[placeholder]
    application.drop(placeholder)
    application.forget(placeholder)
    placeholder.node.remove(placeholder)
    if real.node is placeholder.node:
        real.node.put(real)
    application.hold(real)
    application.requests[real.ask.allocation_key].note_allocation(real.allocation_id)
    add(application.allocated, real.amounts)
    partition.totals.allocated += 1
    count_replaced(partition, placeholder)
    drop_placeholder(partition, placeholder)
    if leaf.settings.application_sort == FAIR:
        update_application(application)
    partition.unsettled[leaf.path] = leaf
    partition.claims_stale = True
    partition.revision += 1
    if partition.candidates is not None:
        partition.candidates.add(real)
    wake_within(partition, leaf, trackers)
    return real
