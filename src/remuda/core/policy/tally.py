"""Counts why the nodes of a partition do not take an ask (rules: CYC-12, REST-120)."""

from __future__ import annotations

from typing import Final

from remuda.core.model.decision import Refusals
from remuda.core.model.finding import NodeTally
from remuda.core.model.node_order import NodeOrder
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.model.shape import Shape
from remuda.core.model.vectors import Amounts, fit_within, fits

# Different reasons of predicates that a finding keeps.
REASONS_LIMIT: Final = 16


def tally(partition: Partition, request: Request, shape: Shape, refusals: Refusals) -> NodeTally:
    """Return how many nodes did not take asks of a shape, each counted for one reason.

    Nodes are not visited: those of a size are counted together, and whatever is large enough, open
    and not refused has no room. Cost: O(1), but O(different capacities) for an ask that fits some
    and not others. Rules: CYC-15, NOD-8, RSV-7.
    """
    if shape.required_node:
        return _required(partition, request, shape)
    order = partition.node_order
    open_nodes = len(order)
    total = len(partition.nodes)
    found = NodeTally(total, total - open_nodes - partition.closed_nodes, partition.closed_nodes)
    found.too_small = _too_small(order, shape.amounts)
    found.refused = len(refusals.now) + len(refusals.known)
    found.no_room = max(0, open_nodes - found.too_small - found.refused)
    found.reasons = count_reasons(refusals)
    return found


def _too_small(order: NodeOrder, amounts: Amounts) -> int:
    """Return how many open nodes do not hold amounts even when empty. Rules: NOD-9."""
    if order.smallest.holds(amounts):
        return 0
    if not order.largest.holds(amounts):
        return len(order)
    return sum([count for size, count in order.sizes.values() if not fit_within(size, amounts)])


def _required(partition: Partition, request: Request, shape: Shape) -> NodeTally:
    """Return why the one node an ask may go to did not take it; no other counts. Rules: CYC-14."""
    node = partition.nodes.get(shape.required_node)
    found = NodeTally(0 if node is None else 1, 0, 0)
    if node is None:
        return found
    reservation = request.reservations.get(node.node_id)
    reason = node.verdicts.get(shape.constraint, "")
    if reservation is not None and reservation.refusal:
        reason = reservation.refusal
    found.too_small = int(not node.holds(shape.amounts))
    found.no_room = int(not found.too_small and not fits(node.available, shape.amounts))
    if reason and not found.too_small and not found.no_room:
        found.refused = 1
        found.reasons = ((reason, 1),)
    return found


def count_reasons(refusals: Refusals) -> tuple[tuple[str, int], ...]:
    """Return the reasons predicates gave and how often, sorted. Rules: EVT-44, CYC-16."""
    counts: dict[str, int] = {}
    for _, reason in refusals.now + refusals.known:
        counts[reason] = counts.get(reason, 0) + 1
    return tuple(sorted(counts.items())[:REASONS_LIMIT])
