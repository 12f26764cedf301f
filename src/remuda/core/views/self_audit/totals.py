"""Compares reservations, and the counters of a partition (parts of the self-audit)."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from remuda.core.messages import events
from remuda.core.messages.self_audit import SelfAuditView, SlicePlace
from remuda.core.model.partition import Partition
from remuda.core.model.reservation import Reservation
from remuda.core.views.audits import (
    allocated_on_nodes,
    capacity_of_nodes,
    replaces_elsewhere,
)
from remuda.core.views.self_audit.comparison import PARTS_LIMIT, Slice

_LOOKS: Final = 5


def reservation_slice(partition: Partition, place: SlicePlace) -> SelfAuditView:
    """Compare the next reservations. Rules: HLT-21, RSV-1, RSV-6, RSV-12."""
    found = Slice(partition)
    after, _, _ = place
    following = list(partition.reserving.reservations.values())
    del following[: bisect_right(following, after, key=_number)]
    for reservation in following:
        if found.full():
            return found.end((after, "", 0))
        found.looks += _LOOKS
        _reservation(found, reservation)
        after = reservation.number
    return found.end(None)


def _number(reservation: Reservation) -> int:
    return reservation.number


def _reservation(found: Slice, reservation: Reservation) -> None:
    """It is listed at its node, ask and application, which exist; it shares no node."""
    partition, number = found.partition, reservation.number
    node, request = reservation.node, reservation.request
    application, key = request.application, request.ask.allocation_key
    alive = (
        partition.nodes.get(node.node_id) is node
        and partition.applications.get(application.application_id) is application
        and application.requests.get(key) is request
    )
    listed = (
        node.reservations.get(number) is reservation
        and request.reservations.get(node.node_id) is reservation
        and application.reservations.get(number) is reservation
    )
    if not alive or not listed:
        text = f"the reservation for {key} is not listed everywhere"
        found.note(events.NODE, node.node_id, f"reservation {number}", text, key)
    if len(node.reservations) > 1 and not request.required_node():
        text = f"the reservation for {key} is not the only one"
        found.note(events.NODE, node.node_id, f"shared reservation {number}", text, key)


def total_slice(partition: Partition, place: SlicePlace) -> SelfAuditView:
    """Compare the sums over all nodes, then those over all applications.

    Rules: HLT-21, NODE-4, GANG-16, GANG-37, SI-14.
    """
    found = Slice(partition)
    _, _, step = place
    path = partition.root.path
    if step == 0:
        parts = allocated_on_nodes(partition)
        kept = partition.root.allocated.amounts
        found.amounts(events.QUEUE, path, "allocated on all nodes", kept, parts)
    elif step == 1:
        kept = partition.pool.capacity.amounts
        found.amounts(events.QUEUE, path, "capacity", kept, capacity_of_nodes(partition))
    else:
        if len(partition.applications) <= PARTS_LIMIT:
            _counts(found, path)
        return found.end(None)
    return found.end((0, "", step + 1))


def _counts(found: Slice, path: str) -> None:
    """The counters of the partition are those of its applications and queues."""
    partition = found.partition
    applications = partition.applications.values()
    held = sum([len(each.allocations) for each in applications])
    gangs = [each.gang for each in applications if each.gang is not None]
    placeholders = sum([len(each.placeholders) for each in gangs])
    on_nodes = sum([len(each.allocations) for each in partition.nodes.values()])
    for gang in gangs:
        on_nodes -= len([each for each in gang.replacing.values() if replaces_elsewhere(each)])
    waiting = sum([each.waiting_asks for each in applications])
    characters = sum([each.tag_characters for each in applications])
    queues = partition.queues(partition.root)
    placed = sum([len(each.applications) for each in queues])
    for what, kept, counted in (
        ("allocations of the partition", partition.allocation_count, held),
        ("allocations on nodes", on_nodes, held),
        ("placeholders of the partition", partition.placeholder_count, placeholders),
        ("waiting asks of the partition", partition.ask_count, waiting),
        ("characters of tags", partition.tag_characters, characters),
        ("queues", partition.queue_count, len(queues)),
        ("applications", len(partition.applications), placed),
    ):
        found.number(events.QUEUE, path, what, kept, counted)
