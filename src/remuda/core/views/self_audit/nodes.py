"""Compares nodes with what runs on them (part of the self-audit)."""

from __future__ import annotations

from typing import Final

from remuda.core.messages import events
from remuda.core.messages.self_audit import SelfAuditView, SlicePlace
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import subtract_vector, vector_of
from remuda.core.views.audits import is_balanced, is_known
from remuda.core.views.self_audit.comparison import Slice
from remuda.core.views.sums import total

_LOOKS: Final = 8


def node_slice(partition: Partition, place: SlicePlace) -> SelfAuditView:
    """Compare the next nodes. Rules: HLT-21, NOD-2, RSV-7, CYC-29."""
    found = Slice(partition)
    done, last, _ = place
    nodes = list(partition.nodes.values())
    done = _continued(partition, nodes, done, last)
    for node in nodes[done:]:
        if found.full():
            return found.end((done, last, 0))
        found.looks += _LOOKS + len(node.allocations)
        _holdings(found, node)
        _amounts(found, node)
        if node.reservations or node.held:
            _reservations(found, node)
        done += 1
        last = node.node_id
    return found.end(None)


def _continued(partition: Partition, nodes: list[Node], done: int, last: str) -> int:
    """Return how many nodes come before the slice, though nodes were removed meanwhile."""
    if not last:
        return 0
    if done <= len(nodes) and nodes[done - 1].node_id == last:
        return done
    node = partition.nodes.get(last)
    return done - 1 if node is None else nodes.index(node) + 1


def _amounts(found: Slice, node: Node) -> None:
    """The capacity is what is allocated, occupied and available; others' usage is its parts."""
    if node.itemised:
        parts = total([each.amounts for each in node.foreign.values()])
        found.amounts(events.NODE, node.node_id, "occupied", node.occupied.amounts, parts)
    if _plainly_balanced(node) or is_balanced(node, dict(node.total.pairs)):
        return
    free = vector_of(node.total)
    subtract_vector(free, node.allocated)
    subtract_vector(free, node.occupied)
    found.amounts(events.NODE, node.node_id, "available", node.available.amounts, free.amounts)


def _plainly_balanced(node: Node) -> bool:
    """Whether the amounts agree, looked at the fast way; a node with others' usage is not."""
    free, used = node.available.amounts, node.allocated.amounts
    if node.occupied.amounts or not len(free) == len(used) == len(node.total.pairs):
        return False
    for index, amount in node.total.pairs:
        if index >= len(free) or free[index] + used[index] != amount:
            return False
    return True


def _holdings(found: Slice, node: Node) -> None:
    """Compare the allocations of a node with those of its applications, and the sum with its parts.

    Allocations that only an application has are not looked for: one look-up in each of many
    thousand dictionaries would be most of the cost. The counts of the partition would differ then
    (see totals.py).
    """
    odd = [
        each
        for each, amounts in node.allocations.items()
        if each.amounts is not amounts
        or each.node is not node
        or each.application.allocations.get(each.allocation_id) is not each
    ]
    for allocation in odd:
        same = node.allocations[allocation] is allocation.amounts and allocation.node is node
        if not same or not is_known(found.partition, allocation):
            identity = allocation.allocation_id
            text = f"allocation {identity} is not what its application has"
            found.note(events.NODE, node.node_id, f"allocation {identity}", text, identity)
    parts = total(node.allocations.values())
    found.amounts(events.NODE, node.node_id, "allocated", node.allocated.amounts, parts)


def _reservations(found: Slice, node: Node) -> None:
    """Its reservations are known, and close it or do not. Rules: RSV-7."""
    known = found.partition.reserving.reservations
    held = False
    for number, reservation in node.reservations.items():
        held = held or reservation.holds()
        if known.get(number) is not reservation:
            key = reservation.request.ask.allocation_key
            text = f"the reservation for {key} is unknown"
            found.note(events.NODE, node.node_id, f"reservation {number}", text, key)
    found.number(events.NODE, node.node_id, "held", node.held, held)
