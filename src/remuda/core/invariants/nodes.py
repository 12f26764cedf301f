"""Works out anew what nodes hold and how they are sorted (part of ``check``)."""

from __future__ import annotations

from remuda.core.invariants.require import Name, require, same
from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Vector, add, equal, positive, subtract, subtract_vector


def check_nodes(partition: Partition) -> None:
    """The amounts, counts and order of nodes agree with their allocations.

    Rules: NOD-2, NOD-15, NODE-4, MET-9, SI-69, CYC-29.
    """
    _allocations(partition)
    _counts(partition)
    _foreign(partition)
    _node_order(partition)


def check_utilisation(partition: Partition) -> None:
    """Every node that did not change since is in the right tenth for each resource type.

    Rules: NOD-22.
    """
    wrong = partition.pool.utilisation.faults(partition.nodes)
    require(not wrong, partition, "nodes in wrong tenths: {}", wrong)


def _allocations(partition: Partition) -> None:
    """The allocated amount is the sum of the allocations; available follows from it (NOD-2)."""
    count = 0
    leaving: list[Allocation] = []
    for node in partition.nodes.values():
        name = Name("node {}", node.node_id)
        parts = [allocation.amounts for allocation in node.allocations]
        same(partition, Name("{} allocated", name), node.allocated, parts)
        free = Vector()
        add(free, node.total)
        subtract_vector(free, node.occupied)
        for amounts in parts:
            subtract(free, amounts)
        require(equal(node.available, free), partition, "{} available is wrong", name)
        for allocation, amounts in node.allocations.items():
            require(
                amounts is allocation.amounts,
                partition,
                "{}: an allocation holds something else",
                name,
            )
            if allocation.release_type:
                leaving.append(allocation)
            if allocation.replaces is not None:
                continue  # checked with its placeholder
            kept = allocation.application.allocations.get(allocation.allocation_id)
            require(kept is allocation, partition, "{}: an allocation without application", name)
            count += 1
    require(count == partition.allocation_count, partition, "the allocation count is wrong")
    right = set(leaving) == set(partition.leaving)
    require(right, partition, "release requests and leaving allocations differ")


def _counts(partition: Partition) -> None:
    """The counts of nodes and the sum of their capacities are right."""
    for node in partition.nodes.values():
        drained = node.drained_by_rm or node.drained_by_operator
        require(node.schedulable is not drained, partition, "node {} is wrongly used", node.node_id)
    draining = sum([not node.schedulable for node in partition.nodes.values()])
    require(draining == partition.pool.draining_nodes, partition, "draining nodes are miscounted")
    unready = sum([not node.ready() for node in partition.nodes.values()])
    require(unready == partition.pool.unready_nodes, partition, "nodes not ready are miscounted")
    totals = [node.total for node in partition.nodes.values()]
    same(partition, Name("capacity"), partition.pool.capacity, totals)
    maximum = partition.root.maximum
    limited = (
        maximum is partition.pool.capacity if positive(partition.pool.capacity) else maximum is None
    )
    require(limited, partition, "root's maximum is not the capacity")


def _foreign(partition: Partition) -> None:
    """A node's occupied amount is the sum of its foreign allocations, once it had one (CYC-29)."""
    listed: list[str] = []
    for node in partition.nodes.values():
        name = Name("node {}", node.node_id)
        parts = [foreign.amounts for foreign in node.foreign.values()]
        if node.itemised:
            same(partition, Name("{} occupied", name), node.occupied, parts)
        require(node.itemised or not parts, partition, "{} does not sum up others' usage", name)
        for identity, foreign in node.foreign.items():
            right = foreign.node is node and partition.pool.foreign.get(identity) is foreign
            require(right, partition, "{}: foreign allocation {} is elsewhere", name, identity)
            named = partition.pool.foreign.named("", foreign.ask.allocation_key)
            require(foreign in named, partition, "{}: {} has another key", name, identity)
        listed += node.foreign
    kept = sorted([foreign.identity for foreign in partition.pool.foreign.all()])
    require(kept == sorted(listed), partition, "a foreign allocation is on no node")


def _node_order(partition: Partition) -> None:
    """The order holds each schedulable node once, by its current score, under its bound."""
    order = partition.pool.node_order
    usable = [node for node in partition.nodes.values() if node.schedulable and not node.held]
    for each in [order, *partition.pool.node_orders.values()]:
        expected = sorted([(each.score(node), node.node_id) for node in usable])
        require(each.entries() == expected, partition, "the node order is wrong")
        missed = each.missed()
        require(not missed, partition, "a search would go past nodes with room: {}", missed)
        sizes: dict[int, int] = {}
        for node in usable:
            sizes[node.total.number] = sizes.get(node.total.number, 0) + 1
        kept = {number: count for number, (_, count) in each.sizes.items()}
        require(kept == sizes, partition, "the node order miscounts sizes")
        for size, _ in each.sizes.values():
            whole = each.largest.holds(size)
            require(whole, partition, "a node order knows no capacity so large")
            pairs = dict(size.pairs)
            for index, amount in each.smallest.amounts.items():
                least = pairs.get(index, 0)
                require(amount <= least, partition, "a node order knows no capacity so small")
