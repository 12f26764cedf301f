"""Counts why the nodes of a partition do not take an ask (rules: CYC-12, REST-120)."""

from __future__ import annotations

from typing import Final

from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.asks.request import Request
from remuda.core.model.decision import Refusals
from remuda.core.model.finding import NodeSummary
from remuda.core.model.nodes.node_order import NodeOrder
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, fit_within, fits

# How many different reasons of predicates a finding keeps.
REASONS_LIMIT: Final = 16


def summarise_nodes(
    partition: Partition, request: Request, ask_class: AskClass, refusals: Refusals
) -> NodeSummary:
    """Return how many nodes did not take asks of an ask class, each counted for one reason.

    Nodes are not visited. Nodes of equal capacity are counted together, and a node that is large
    enough, open and not refused has no room. Cost: O(1), or O(different capacities) if only some
    capacities are large enough. Rules: CYC-15, NOD-8, RSV-7.
    """
    if ask_class.required_node:
        return _required(partition, request, ask_class)
    order = partition.pool.node_order
    open_nodes = len(order)
    total = len(partition.nodes)
    found = NodeSummary(
        total, total - open_nodes - partition.pool.closed_nodes, partition.pool.closed_nodes
    )
    found.too_small = _too_small(order, ask_class.amounts)
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


def _required(partition: Partition, request: Request, ask_class: AskClass) -> NodeSummary:
    """Return why the required node of an ask did not take it. Rules: CYC-14."""
    node = partition.nodes.get(ask_class.required_node)
    found = NodeSummary(0 if node is None else 1, 0, 0)
    if node is None:
        return found
    reservation = request.reservations.get(node.node_id)
    reason = node.verdicts.get(ask_class.predicate_class.refused(), "")
    if reservation is not None and reservation.refusal:
        reason = reservation.refusal
    found.too_small = int(not node.holds(ask_class.amounts))
    found.no_room = int(not found.too_small and not fits(node.available, ask_class.amounts))
    if reason and not found.too_small and not found.no_room:
        found.refused = 1
        found.reasons = ((reason, 1),)
    return found


def count_reasons(refusals: Refusals) -> tuple[tuple[str, int], ...]:
    """Return the reasons of predicates with their counts, sorted. Rules: EVT-44, CYC-16."""
    counts: dict[str, int] = {}
    for _, reason in refusals.now + refusals.known:
        counts[reason] = counts.get(reason, 0) + 1
    return tuple(sorted(counts.items())[:REASONS_LIMIT])
