"""Puts real allocations in the place of placeholders (rules: chapter 80 section 3, NOD-11).

While a replacement is under way, the ask already counts the real allocation, and so does its node
if that is another one. The usage of queues, users and the application changes only at the end.
"""

from __future__ import annotations

from remuda.config.queue_properties import FAIR
from remuda.core.accounting.gangs import count_replaced, drop_placeholder, gang_of
from remuda.core.accounting.tags import drop_own_tags
from remuda.core.accounting.usage import set_pending, take_room
from remuda.core.accounting.victims import forget_candidate
from remuda.core.model.allocation import Allocation
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import add, subtract
from remuda.core.pending.changes import node_renewed, path_gained_room
from remuda.core.pending.limit_sets import limit_set_of
from remuda.core.pending.marks import usage_changed
from remuda.core.pending.ordering import update_application


def begin_replacement(
    partition: Partition, request: Request, placeholder: Allocation, real: Allocation
) -> None:
    """Link a real allocation with the placeholder it replaces; take room if on another node.

    Implements: GANG-12. Rules: GANG-14, GANG-16.
    """
    gang = gang_of(request.application)
    gang.replacing[placeholder.allocation_id] = real
    real.replaces = placeholder
    request.made += 1
    request.in_flight += 1
    set_pending(partition, request, request.pending - 1)
    if real.node is not placeholder.node:
        take_room(partition, real)


def undo_replacement(partition: Partition, placeholder: Allocation, *, again: bool) -> Allocation:
    """Unlink a real allocation in flight from its placeholder, and return it.

    ``again``: its ask gets one more pending allocation. Rules: GANG-18, SI-29, SI-53.
    """
    application = placeholder.application
    real = gang_of(application).replacing.pop(placeholder.allocation_id)
    real.replaces = None
    if real.node is not placeholder.node:
        real.node.remove(real)
        if partition.nodes.get(real.node.node_id) is real.node:
            node_renewed(partition, real.node)
    request = application.requests.get(real.ask.allocation_key)
    if request is not None:
        request.in_flight -= 1
    if again and request is not None:
        request.made -= 1
        set_pending(partition, request, request.pending + 1)
    return real


def end_replacement(partition: Partition, placeholder: Allocation) -> Allocation:
    """Put the real allocation in the place of its placeholder, in one step, and return it.

    If the placeholder was larger, the difference is released. The caller has to call
    ``node_gained_room`` for the placeholder's node, if that still exists. Implements: NOD-11,
    LIM-35. Rules: GANG-17, QUE-8.
    """
    application = placeholder.application
    leaf = application.queue
    real = gang_of(application).replacing.pop(placeholder.allocation_id)
    real.replaces = None
    trackers = limit_set_of(partition, application).trackers
    for holder in (*leaf.path_up, *trackers):
        subtract(holder.allocated, placeholder.amounts)
        add(holder.allocated, real.amounts)
    application.note_peak(placeholder.amounts)
    forget_candidate(partition, placeholder)
    del partition.leaving[placeholder]
    placeholder.release_timer = None
    application.drop(placeholder)
    if partition.waiting.own_tags:
        drop_own_tags(partition, placeholder)
    application.forget(placeholder)
    placeholder.node.remove(placeholder)
    if real.node is placeholder.node:
        real.node.put(real)
    application.hold(real)
    request = application.requests[real.ask.allocation_key]
    request.in_flight -= 1
    request.note_allocation(real.allocation_id)
    add(application.allocated, real.amounts)
    partition.totals.allocated += 1
    count_replaced(partition, placeholder)
    drop_placeholder(partition, placeholder)
    if leaf.settings.application_sort == FAIR:
        update_application(application)
    usage_changed(partition, leaf)
    if partition.preempting.candidates is not None:
        partition.preempting.candidates.add(real)
    path_gained_room(partition, leaf, trackers)
    return real
