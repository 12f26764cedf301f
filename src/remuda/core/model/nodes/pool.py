"""The nodes of a partition together: their orders, capacity and counts."""

from __future__ import annotations

from typing import final

from remuda.core.model.nodes.foreign import ForeignIndex
from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.node_order import NodeOrder
from remuda.core.model.nodes.passed_over import NodeChanges
from remuda.core.model.nodes.utilisation import Utilisation
from remuda.core.model.vectors import Vector


@final
class NodePool:
    """The orders in which nodes are searched, and sums over all nodes."""

    __slots__ = (
        "capacity",
        "changes",
        "closed_nodes",
        "draining_nodes",
        "foreign",
        "node_order",
        "node_orders",
        "unready_nodes",
        "utilisation",
    )

    def __init__(self, node_order: NodeOrder) -> None:
        # The order by the partition's own policy.
        self.node_order = node_order
        # Orders by the policies that applications asked for, by policy (NOD-23).
        self.node_orders: dict[str, NodeOrder] = {}
        # Which nodes changed last, for searches that pass nodes over (NOD-13).
        self.changes = NodeChanges()
        # The sum over all nodes, schedulable or not (NODE-4).
        self.capacity = Vector()
        # How full the nodes are (NOD-22).
        self.utilisation = Utilisation()
        # What others run on the nodes (NODE-17).
        self.foreign = ForeignIndex()
        # How many schedulable nodes a reservation closes to other asks.
        self.closed_nodes: int = 0
        # How many nodes are not schedulable (MET-9).
        self.draining_nodes: int = 0
        # How many nodes are not ready (MET-9).
        self.unready_nodes: int = 0

    def order_of(self, policy: str) -> NodeOrder:
        """Return the node order of a policy, "" the partition's own. Rules: NOD-15, NOD-23."""
        return self.node_orders[policy] if policy else self.node_order

    def put_node(self, node: Node) -> None:
        """Add an open node to every order, or sort it again. Rules: NOD-14, NOD-15."""
        self.node_order.put(node)
        if self.changes.kept:
            self.changes.note(node)
        if self.node_orders:
            for order in self.node_orders.values():
                order.put(node)

    def drop_node(self, node_id: str) -> None:
        """Remove a node from every order. Rules: NOD-8, RSV-7."""
        self.node_order.drop(node_id)
        for order in self.node_orders.values():
            order.drop(node_id)
