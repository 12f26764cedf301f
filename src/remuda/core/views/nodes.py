"""Answers questions about nodes (rules: REST-85)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import final

from remuda.core.messages.queries import ForeignAllocationView, NodeView
from remuda.core.messages.rows import Rows
from remuda.core.model.allocation import Allocation
from remuda.core.model.foreign import ForeignAllocation
from remuda.core.model.node import Node, says_ready
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

    The core thread fills them while nothing is scheduled, and a list for each node would let the
    garbage collection run more than once. Most of the time goes into fetching objects from memory.
    So allocations are lent, not copied, and what is allocated and available is not noted, only its
    types; the amounts follow from others. ``reserved``, ``foreign``: by node ID, where there is
    something. Rules: DMP-15, DMP-17.
    """

    __slots__ = (
        "_held", "allocated_types", "allocations", "attributes", "available_types", "flying",
        "foreign", "leaving", "name", "nodes", "occupied", "reserved", "schedulable", "totals",
        "types",
    )  # fmt: skip

    def __init__(self, partition: Partition, node_ids: Sequence[str]) -> None:
        self.name = partition.name
        self.types = partition.types
        nodes = [partition.nodes[node_id] for node_id in node_ids]
        self.nodes = nodes
        self.totals = [node.total for node in nodes]
        self.attributes = [node.attributes for node in nodes]
        self.schedulable = [node.schedulable for node in nodes]
        self.allocated_types = [node.allocated.types for node in nodes]
        self.occupied = Column([node.occupied for node in nodes])
        self.available_types = [node.available.types for node in nodes]
        self.allocations = [node.lend() for node in nodes]
        # Of all nodes few have any, so these are looked up; one node is asked itself.
        reserved = foreign = nodes
        leaving: Iterable[Allocation] = chain.from_iterable(self.allocations)
        if len(nodes) > 1:
            reserved = _distinct([each.node for each in partition.reservations.values()])
            foreign = _distinct([each.node for each in partition.foreign.all()])
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
        """Return what an allocation on one of them held. Any thread. Cost: O(nodes), once."""
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
        allocations = sorted(noted.items(), key=by_application)
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
            allocations=tuple(allocation_views(self.name, allocations, self.leaving, self.flying)),
            reservations=self.reserved.get(node_id, ()),
            foreign=tuple([_foreign_view(each) for each in _by_key(self.foreign.get(node_id, ()))]),
        )

    def _available(self, place: int, allocated: Vector) -> Vector:
        """Return what a node had available: total - allocated - occupied, negative amounts too.

        Of the types it had. Rules: NOD-2.
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


def _foreign_view(foreign: ForeignAllocation) -> ForeignAllocationView:
    ask = foreign.ask
    return ForeignAllocationView(
        allocation_key=ask.allocation_key,
        tags=dict(ask.tags),
        allocation_time_ns=foreign.created_ns,
        resource=dict(foreign.amounts.resource),
        priority=ask.priority,
        node_id=foreign.node.node_id,
        preemptable=not foreign.static(),
    )
