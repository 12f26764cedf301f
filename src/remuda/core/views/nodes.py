"""Answers questions about nodes (rules: REST-85)."""

from __future__ import annotations

from remuda.core.messages.queries import NodeView
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.views.applications import allocation_view


def node_views(partition: Partition) -> tuple[NodeView, ...]:
    """Return all nodes of a partition by ID. Rules: REST-20, REST-85."""
    nodes = partition.nodes
    return tuple([_node_view(partition, nodes[node_id]) for node_id in sorted(nodes)])


def _node_view(partition: Partition, node: Node) -> NodeView:
    allocations = [allocation_view(partition, each) for each in node.allocations.values()]
    allocations.sort(key=lambda each: (each.application_id, each.allocation_id))
    return NodeView(
        node_id=node.node_id,
        partition=partition.name,
        attributes=dict(sorted(node.attributes.items())),
        capacity=dict(node.total.resource),
        allocated=partition.types.resource(node.allocated),
        occupied=dict(node.occupied.resource),
        available=partition.types.resource(node.available),
        schedulable=node.schedulable,
        ready=node.ready(),
        allocations=tuple(allocations),
        reservations=(),
        foreign=(),
    )
