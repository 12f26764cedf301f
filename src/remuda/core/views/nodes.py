"""Answers questions about nodes: what they hold and how full they are (rules: NOD-22, REST-85)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import final

from remuda.core.messages.node_queries import NodeLoadsView, UtilisationView
from remuda.core.messages.queries import ForeignAllocationView, NodeView
from remuda.core.messages.rows import Rows
from remuda.core.model.allocation import Allocation
from remuda.core.model.calendar import ToWall
from remuda.core.model.nodes.foreign import ForeignAllocation
from remuda.core.model.nodes.node import Node, says_ready
from remuda.core.model.nodes.utilisation import BUCKETS
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, Vector, add, define, subtract_vector, vector_of
from remuda.core.views.allocations import (
    InFlight,
    allocation_views,
    by_application,
    note_leaving,
)
from remuda.core.views.columns import Column


def node_views(partition: Partition) -> tuple[NodeView, ...]:
    """Return all nodes of a partition by ID. Rules: REST-20, REST-85."""
    return tuple(node_rows(partition))


def node_rows(partition: Partition) -> Rows[NodeView]:
    """Return all nodes by ID, each made when it is read. Rules: REST-20, REST-85, DMP-17."""
    return NotedNodes(partition, sorted(partition.nodes)).rows()


def one_node(partition: Partition, node_id: str) -> tuple[NodeView, ...]:
    """Return a node, or nothing if the partition has none of that ID. Rules: REST-32."""
    if node_id not in partition.nodes:
        return ()
    return (NotedNodes(partition, [node_id]).rows()[0],)


@final
class NotedNodes:
    """Some nodes of a partition as they were at one moment, by ID, in few large lists.

    The core thread fills them while nothing is scheduled. A list for each node would make the
    garbage collection run more than once. Most of the time goes into fetching objects from memory,
    so allocations are lent, not copied. They hold only the types of the allocated and available
    amounts; the amounts are worked out from others. ``reserved``, ``foreign``: by node ID, only for
    nodes that have any. Rules: DMP-15, DMP-17.
    """

    __slots__ = (
        "_held", "allocated_types", "allocations", "attributes", "available_types", "drained",
        "flying", "foreign", "leaving", "name", "nodes", "occupied", "reserved", "schedulable",
        "totals", "types",
    )  # fmt: skip

    def __init__(self, partition: Partition, node_ids: Sequence[str]) -> None:
        self.name = partition.name
        self.types = partition.types
        nodes = [partition.nodes[node_id] for node_id in node_ids]
        self.nodes = nodes
        self.totals = [node.total for node in nodes]
        self.attributes = [node.attributes for node in nodes]
        self.schedulable = [node.schedulable for node in nodes]
        self.drained = {node.node_id for node in nodes if node.drained_by_operator}
        self.allocated_types = [node.allocated.types for node in nodes]
        self.occupied = Column([node.occupied for node in nodes])
        self.available_types = [node.available.types for node in nodes]
        self.allocations = [node.lend() for node in nodes]
        # Few of all nodes have any, so these are looked up; a single node is asked itself.
        reserved = foreign = nodes
        leaving: Iterable[Allocation] = chain.from_iterable(self.allocations)
        if len(nodes) > 1:
            reserved = _distinct([each.node for each in partition.reserving.reservations.values()])
            foreign = _distinct([each.node for each in partition.pool.foreign.all()])
            leaving = partition.leaving
        self.reserved = {node.node_id: _reservations(node) for node in reserved}
        self.foreign = {node.node_id: tuple(node.foreign.values()) for node in foreign}
        self.leaving = note_leaving(leaving)
        self.flying = InFlight(partition)
        self._held: dict[Node, Mapping[Allocation, Amounts]] = {}

    def rows(self) -> Rows[NodeView]:
        """Return the nodes. Rules: REST-20, REST-85."""
        return Rows(len(self.nodes), self._view)

    def amounts(self, allocation: Allocation) -> Amounts:
        """Return the amounts an allocation on one of the nodes held. Any thread.

        Cost: O(nodes), once.
        """
        if not self._held:
            self._held = dict(zip(self.nodes, self.allocations, strict=True))
        return self._held[allocation.node][allocation]

    def _view(self, place: int) -> NodeView:
        """Return a node as it was noted. Any thread. Rules: REST-85."""
        noted = self.allocations[place]
        attributes = self.attributes[place]
        types = self.types
        node_id = self.nodes[place].node_id
        allocated = Vector()
        define(allocated, self.allocated_types[place])
        for amounts in noted.values():
            add(allocated, amounts)
        allocations = sorted(noted, key=by_application)
        views = allocation_views(
            self.name, allocations, noted.__getitem__, going=self.leaving, flying=self.flying
        )
        foreign = _by_key(self.foreign.get(node_id, ()))
        return NodeView(
            node_id=node_id,
            partition=self.name,
            attributes=dict(sorted(attributes.items())),
            capacity=dict(self.totals[place].resource),
            allocated=types.resource(allocated),
            occupied=types.named(*self.occupied.row(place)),
            available=types.resource(self._available(place, allocated)),
            schedulable=self.schedulable[place],
            ready=says_ready(attributes),
            allocations=tuple(views),
            reservations=self.reserved.get(node_id, ()),
            foreign=tuple([_foreign_view(each, self.flying.to_wall) for each in foreign]),
            drained_by_operator=node_id in self.drained,
        )

    def _available(self, place: int, allocated: Vector) -> Vector:
        """Return a node's available amounts, also negative ones: total - allocated - occupied.

        The result has the resource types the node had. Rules: NOD-2.
        """
        found = vector_of(self.totals[place])
        define(found, self.available_types[place])
        subtract_vector(found, allocated)
        subtract_vector(found, self.occupied.vector(place))
        return found


def _distinct(nodes: Sequence[Node]) -> list[Node]:
    return list({node.node_id: node for node in nodes}.values())


def _reservations(node: Node) -> tuple[tuple[str, str], ...]:
    return tuple(
        [
            (each.request.ask.application_id, each.request.ask.allocation_key)
            for each in node.reservations.values()
        ]
    )


def _by_key(foreign: tuple[ForeignAllocation, ...]) -> list[ForeignAllocation]:
    return sorted(foreign, key=lambda each: (each.ask.allocation_key, each.identity))


def _foreign_view(foreign: ForeignAllocation, to_wall: ToWall) -> ForeignAllocationView:
    ask = foreign.ask
    return ForeignAllocationView(
        allocation_key=ask.allocation_key,
        tags=dict(ask.tags),
        allocation_time_ns=to_wall(foreign.created_ns),
        resource=dict(foreign.amounts.resource),
        priority=ask.priority,
        node_id=foreign.node.node_id,
        preemptable=not foreign.static(),
    )


def utilisation_view(partition: Partition) -> UtilisationView:
    """Return the utilisation histogram of a partition; changed nodes are counted anew first.

    Rules: NOD-22. Cost: O(changed nodes), and O(nodes x types) for the copy.
    """
    utilisation = partition.pool.utilisation
    utilisation.renew(partition.nodes)
    names = partition.types.names
    found = {
        names[index]: tuple([utilisation.members(index, number) for number in range(BUCKETS)])
        for index in utilisation.types()
    }
    return UtilisationView(dict(sorted(found.items())))


def node_loads(partition: Partition) -> NodeLoadsView:
    """Return each node's capacity, and how much of it is allocated. Rules: REST-86, REST-88.

    Cost: O(nodes). The caller works out percentages.
    """
    return NodeLoadsView(
        types=tuple(partition.types.names),
        nodes=tuple(
            [
                (node_id, node.total.need, tuple(node.allocated.amounts))
                for node_id, node in partition.nodes.items()
            ]
        ),
        capacity=partition.types.resource(partition.pool.capacity),
        allocated=partition.types.resource(partition.root.allocated),
    )
