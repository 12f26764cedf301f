"""Compares what partitions, nodes and applications say of each other, a slice at a time.

``invariants`` works everything out and stops at the first difference. This module runs in
production beside scheduling: it names what is wrong and never delays the core for long (chapter
97).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from remuda.base.resources import Resource
from remuda.core.messages.health_queries import (
    ApplicationAuditQuery,
    ApplicationAuditView,
    AuditedAllocation,
    BalanceQuery,
    BalanceView,
    HealthQuery,
    HealthView,
    NodeAuditQuery,
    NodeAuditView,
    PartitionCountsQuery,
    PartitionCountsView,
    WaitingApplication,
)
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.cluster import Cluster
from remuda.core.model.deadlines import SECOND_NS
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Vector, amount_at, subtract
from remuda.core.views.sums import column_sums, total

# Nodes, applications and allocations looked at for one answer: one to three milliseconds.
NODES: Final = 250
APPLICATIONS: Final = 1_000
ALLOCATIONS: Final = 2_000

# The age from which an application without asks is reported (APP-20).
WAITING_NS: Final = 3_600 * SECOND_NS


def audit(cluster: Cluster, query: HealthQuery) -> HealthView:
    """Answer a question about the consistency of the accounting. Rules: HLT-1, HLT-18, MET-45."""
    if isinstance(query, PartitionCountsQuery):
        return _counts(cluster)
    for partition in cluster.partitions():
        if partition.rm_id == query.rm_id and partition.name == query.partition:
            if isinstance(query, BalanceQuery):
                return _capacity(partition) if query.capacity else _allocated(partition)
            if isinstance(query, NodeAuditQuery):
                return _nodes(partition, query)
            return _applications(partition, query)
    return None


def _counts(cluster: Cluster) -> tuple[PartitionCountsView, ...]:
    """Return the counters of each partition. Rules: MET-45 (Ours), HLT-12."""
    partitions = sorted(cluster.partitions(), key=lambda each: (each.name, each.rm_id))
    return tuple(
        [
            PartitionCountsView(
                rm_id=each.rm_id,
                name=each.name,
                running=each.root.running,
                allocations=each.allocation_count,
                nodes=len(each.nodes),
                reservations=len(each.reserving.reservations),
            )
            for each in partitions
        ]
    )


def _allocated(partition: Partition) -> BalanceView:
    """Add up the allocated amounts of all nodes at one moment. Rules: HLT-6, HLT-8, HLT-18."""
    names = partition.types.names
    booked = partition.root.allocated.amounts
    return BalanceView(_named(names, booked), _named(names, allocated_on_nodes(partition)))


def allocated_on_nodes(partition: Partition) -> list[int]:
    """Return the sum of what is allocated on all nodes, without replacements in flight elsewhere.

    Rules: GANG-16.
    """
    used = Vector()
    used.amounts = column_sums([node.allocated.amounts for node in partition.nodes.values()])
    for application in partition.applications.values():
        gang = application.gang
        if gang is not None and gang.replacing:
            for real in gang.replacing.values():
                if replaces_elsewhere(real):
                    subtract(used, real.amounts)
    return used.amounts


def _capacity(partition: Partition) -> BalanceView:
    """Add up the capacities of all nodes at one moment. Rules: HLT-6, HLT-9, HLT-18."""
    names = partition.types.names
    capacity = partition.pool.capacity.amounts
    return BalanceView(_named(names, capacity), _named(names, capacity_of_nodes(partition)))


def capacity_of_nodes(partition: Partition) -> list[int]:
    """Return the sum of the capacities of all nodes. Rules: NODE-4."""
    return total([node.total for node in partition.nodes.values()])


def _named(names: list[str], amounts: list[int]) -> Resource:
    return {names[index]: amount for index, amount in enumerate(amounts) if amount}


def replaces_elsewhere(real: Allocation) -> bool:
    """Whether an allocation counts on its node only, because it replaces a placeholder elsewhere.

    Rules: GANG-16.
    """
    return real.replaces is not None and real.node is not real.replaces.node


def _nodes(partition: Partition, query: NodeAuditQuery) -> NodeAuditView:
    """Check the next nodes. Rules: HLT-7, HLT-10, HLT-11, HLT-13."""
    negative: list[str] = []
    unbalanced: list[str] = []
    overcommitted: list[str] = []
    orphans: list[AuditedAllocation] = []
    looked, seen = query.start, 0
    for node in islice(partition.nodes.values(), query.start, query.start + NODES):
        total = dict(node.total.pairs)
        negative += [node.node_id] * _negative_kinds(node, total.values())
        if not is_balanced(node, total):
            unbalanced.append(node.node_id)
        used = node.allocated.amounts
        if any(amount > total.get(index, 0) for index, amount in enumerate(used)):
            overcommitted.append(node.node_id)
        orphans += [_audited(each) for each in node.allocations if not is_known(partition, each)]
        looked += 1
        seen += len(node.allocations)
        if seen >= ALLOCATIONS:
            break
    more = looked < len(partition.nodes)
    return NodeAuditView(
        tuple(negative),
        tuple(unbalanced),
        tuple(overcommitted),
        tuple(orphans),
        looked if more else None,
    )


def _negative_kinds(node: Node, total: Iterable[int]) -> int:
    """Return how many of a node's four vectors have a negative amount. Rules: HLT-7."""
    found = 1 if min(total, default=0) < 0 else 0
    for held in (node.allocated, node.available, node.occupied):
        if min(held.amounts, default=0) < 0:
            found += 1
    return found


def is_balanced(node: Node, total: dict[int, int]) -> bool:
    """Whether total = allocated + occupied + available, a missing type being 0. Rules: HLT-10."""
    used, occupied, free = node.allocated, node.occupied, node.available
    known = max(len(used.amounts), len(occupied.amounts), len(free.amounts))
    for index in range(known):
        parts = amount_at(used, index) + amount_at(occupied, index) + amount_at(free, index)
        if parts != total.get(index, 0):
            return False
    return all(amount == 0 for index, amount in total.items() if index >= known)


def is_known(partition: Partition, allocation: Allocation) -> bool:
    """Whether the application of an allocation on a node knows it. Rules: HLT-13, GANG-16.

    A real allocation whose placeholder has not ended yet is known, too, although the application
    does not list it among its allocations.
    """
    application = allocation.application
    if partition.applications.get(application.record.application_id) is not application:
        return False
    if application.allocations.get(allocation.allocation_id) is allocation:
        return True
    placeholder, gang = allocation.replaces, application.gang
    if placeholder is None or gang is None:
        return False
    return gang.replacing.get(placeholder.allocation_id) is allocation


def _applications(partition: Partition, query: ApplicationAuditQuery) -> ApplicationAuditView:
    """Check the next applications. Rules: HLT-14, HLT-20, SI-69, APP-20."""
    orphans: list[AuditedAllocation] = []
    unconfirmed: list[AuditedAllocation] = []
    waiting: list[WaitingApplication] = []
    looked, within, room = query.start, query.within, ALLOCATIONS
    end = query.start + APPLICATIONS
    now_ns = partition.calendar.from_wall(query.now_ns)
    for application in islice(partition.applications.values(), query.start, end):
        if _waits(application, now_ns):
            waiting.append(WaitingApplication(application.application_id, application.state))
        held = application.allocations
        for allocation in islice(held.values(), within, within + room):
            node = allocation.node
            here = allocation in node.allocations
            if not here or partition.nodes.get(node.node_id) is not node:
                orphans.append(_audited(allocation))
            if allocation.repeated:
                unconfirmed.append(_audited(allocation))
        if within + room < len(held):
            within += room
            break
        room -= max(0, len(held) - within)
        within = 0
        looked += 1
        if room == 0:
            break
    more = looked < len(partition.applications)
    return ApplicationAuditView(
        tuple(orphans), tuple(unconfirmed), tuple(waiting), looked if more else None, within
    )


def _waits(application: Application, now_ns: int) -> bool:
    """Whether an application has had no asks and no allocations for a long time.

    Implements: APP-20.
    """
    if application.state not in (states.NEW, states.ACCEPTED) or not application.idle():
        return False
    log = application.state_log
    since_ns = log[-1][0] if log else application.submitted_ns
    return now_ns - since_ns >= WAITING_NS


def _audited(allocation: Allocation) -> AuditedAllocation:
    return AuditedAllocation(
        application_id=allocation.application.application_id,
        allocation_id=allocation.allocation_id,
        allocation_key=allocation.ask.allocation_key,
        node_id=allocation.node.node_id,
        result="Replaced" if allocation.placeholder_ns else "Allocated",
    )
