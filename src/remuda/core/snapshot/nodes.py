"""The classes of nodes and their orders, with their fields."""

from __future__ import annotations

from typing import Final

from remuda.core.model.nodes.first_fits import FirstFit, FirstFits
from remuda.core.model.nodes.foreign import ForeignAllocation, ForeignIndex
from remuda.core.model.nodes.gained_room import GainedRoom
from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.node_blocks import Block, Shelf
from remuda.core.model.nodes.node_order import Extent, NodeOrder, Position
from remuda.core.model.nodes.passed_over import NodeChanges, PassedOver
from remuda.core.model.nodes.pool import NodePool
from remuda.core.model.nodes.utilisation import Utilisation
from remuda.core.model.nodes.waiting_classes import WaitingClasses
from remuda.core.policy.node_score import usage
from remuda.core.snapshot.layout import Layout, part

NODES: Final[tuple[Layout, ...]] = (
    Layout(
        Block,
        """
        bound:Vector tight:bool refused:dict credit:int shelf:Shelf entries:list nodes:list
        high:tuple
        """,
        lambda b: Block(b.shelf, [], [], ()),
    ),
    part(Extent, "amounts:dict"),
    Layout(
        FirstFit,
        """
        amounts:Amounts low:tuple entries:list nodes:dict
        """,
        lambda b: FirstFit(b.amounts),
    ),
    part(FirstFits, "known:dict moves:int"),
    Layout(
        ForeignAllocation,
        """
        identity:str ask:Ask amounts:Amounts node:Node created_ns:int
        """,
        lambda b: ForeignAllocation("", b.ask, b.amounts, b.node, 0),
    ),
    part(ForeignIndex, "_by_identity:dict _by_key:dict"),
    part(
        GainedRoom,
        """
        any:bool batch:int unblocked:dict gains:int queues:dict _nodes:dict _free:dict
        """,
    ),
    Layout(
        Node,
        """
        allocations:dict lent:bool node_id:str total:Amounts occupied:Vector schedulable:bool
        attributes:dict allocated:Vector available:Vector changed:dict noted:bool verdicts:dict
        reservations:dict held:bool foreign:dict itemised:bool weights:tuple
        drained_by_rm:bool drained_by_operator:bool
        """,
        lambda b: Node("", b.amounts, b.amounts, schedulable=True),
    ),
    part(NodeChanges, "kept:bool begin:int nodes:list"),
    Layout(
        NodeOrder,
        """
        score:score _recent:Block _at:int _shelves:list _lows:list _positions:dict
        _first_fits:FirstFits sizes:dict largest:Extent smallest:Extent
        """,
        lambda _: NodeOrder(usage),
    ),
    Layout(
        NodePool,
        """
        node_order:NodeOrder node_orders:dict changes:NodeChanges capacity:Vector
        utilisation:Utilisation foreign:ForeignIndex closed_nodes:int draining_nodes:int
        unready_nodes:int
        """,
        lambda b: NodePool(b.node_order),
    ),
    part(PassedOver, "order:NodeOrder? refused:str low:tuple seen:int changed:dict"),
    Layout(
        Position,
        """
        block:Block entry:tuple size:Amounts
        """,
        lambda b: Position(b.block, (), b.amounts),
    ),
    part(Shelf, "bound:Vector tight:bool refused:dict credit:int blocks:list lows:list"),
    part(Utilisation, "changed:dict _places:dict _members:dict"),
    part(WaitingClasses, "at_once:int ask_classes:dict _by_type:dict"),
)
