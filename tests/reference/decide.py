"""The reference's scheduling pass: the first ask that fits somewhere is the decision."""

from __future__ import annotations

from typing import TypeAlias

from remuda.core.ports import Predicates
from tests.reference import arithmetic as res
from tests.reference import limits, sums
from tests.reference.state import Application, Ask, Node, Partition, Queue

Decision: TypeAlias = tuple[Application, Ask, Node]


def decide(partition: Partition, predicates: Predicates) -> Decision | None:
    """The next decision of a partition, or None. Rules: CYC-4, CYC-5."""
    if sums.root_maximum(partition) is None:
        return None
    return descend(partition, partition.queues["root"], predicates)


def descend(partition: Partition, queue: Queue, predicates: Predicates) -> Decision | None:
    """Depth first through the queues in order; a leaf has children while they drain (RLD-27).

    Rules: CYC-10.
    """
    for child in sums.queue_order(partition, queue):
        decision = descend(partition, child, predicates)
        if decision is not None:
            return decision
    return try_leaf(partition, queue, predicates) if queue.leaf else None


def try_leaf(partition: Partition, leaf: Queue, predicates: Predicates) -> Decision | None:
    """Applications in order, their asks in order; looking at one is remembered with it.

    Rules: CYC-11, CYC-12.
    """
    headroom = sums.headroom(partition, leaf.path)
    nodes = sums.node_order(partition)
    free = sums.available(partition)
    for app in sums.application_order(partition, leaf):
        limits.look(partition, app)
        if not limits.may_start(partition, app):
            continue
        allowed = res.smaller_of_each(headroom, limits.headroom(partition, app))
        for ask in sums.ask_order(app):
            if not res.fits_where_limited(allowed, ask.resource):
                continue
            for node in candidates(nodes, ask):
                decision = (app, ask, node)
                if accepted(partition, decision, free[node.identity], predicates):
                    return decision
    return None


def candidates(nodes: list[Node], ask: Ask) -> list[Node]:
    """The nodes an ask may try, in order. Rules: CYC-14 as since 1.7, CYC-15."""
    if ask.required_node:
        return [node for node in nodes if node.identity == ask.required_node]
    return [node for node in nodes if node.schedulable]


def accepted(
    partition: Partition, decision: Decision, free: res.Amounts, predicates: Predicates
) -> bool:
    """Whether an ask can go to a node. Rules: CYC-15, CYC-17."""
    app, ask, node = decision
    return (
        res.fits(node.capacity, ask.resource)
        and res.fits(free, ask.resource)
        and not predicates(partition.rm_id, ask.key, node.identity, True)
        and sums.charge_fits(partition, app.queue, ask.resource)
    )
