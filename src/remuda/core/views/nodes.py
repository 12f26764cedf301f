"""Answers questions about nodes (rules: REST-85)."""

from __future__ import annotations

from remuda.core.messages.queries import ForeignAllocationView, NodeView
from remuda.core.model.foreign import ForeignAllocation
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.views.applications import allocation_view


def node_views(partition: Partition) -> tuple[NodeView, ...]:
    """Return all nodes of a partition by ID. Rules: REST-20, REST-85."""
    nodes = partition.nodes
    return tuple([_node_view(partition, nodes[node_id]) for node_id in sorted(nodes)])


def one_node(partition: Partition, node_id: str) -> tuple[NodeView, ...]:
    """Return a node, or nothing if the partition has none of that ID. Rules: REST-32."""
    node = partition.nodes.get(node_id)
    return () if node is None else (_node_view(partition, node),)


def _node_view(partition: Partition, node: Node) -> NodeView:
    allocations = [allocation_view(partition, each) for each in node.allocations.values()]
    allocations.sort(key=lambda each: (each.application_id, each.allocation_id))
    keyed = sorted([(each.ask.allocation_key, name) for name, each in node.foreign.items()])
    foreign = [_foreign_view(node.foreign[identity]) for _, identity in keyed]
    return NodeView(
        node_id=node.node_id,
        partition=partition.name,
        attributes=dict(sorted(node.attributes.items())),
        capacity=dict(node.total.resource),
        allocated=partition.types.resource(node.allocated),
        occupied=partition.types.resource(node.occupied),
        available=partition.types.resource(node.available),
        schedulable=node.schedulable,
        ready=node.ready(),
        allocations=tuple(allocations),
        reservations=tuple(
            [
                (each.request.ask.application_id, each.request.ask.allocation_key)
                for each in node.reservations.values()
            ]
        ),
        foreign=tuple(foreign),
    )


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
