"""Drains nodes and puts them back into use, for their resource manager and for operators.

A node is in use while neither of them drains it. So an operator can keep a node empty whatever its
resource manager says, and putting it back never ends what the resource manager asked for.
"""

from __future__ import annotations

from typing import Final

from remuda.core.apply.turn import Turn
from remuda.core.messages import commands, events
from remuda.core.messages.commands import NodeUpdate
from remuda.core.messages.effects import ObjectStateAnswered
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.refusal import NO_REFUSAL, Refusal
from remuda.core.pending.changes import node_gained_room, node_reservable, reservable_changed
from remuda.core.pending.marks import node_changed

# The two states of a node in the answer to an operator.
SCHEDULABLE: Final = "Schedulable"
DRAINING: Final = "Draining"


def drain(turn: Turn, partition: Partition, node: Node, update: NodeUpdate) -> Refusal:
    """Place nothing new on a node, for its resource manager.

    Implements: NODE-11, EVT-59. Rules: NODE-9.
    """
    node.drained_by_rm = True
    _settle(turn, partition, node)
    return NO_REFUSAL


def undrain(turn: Turn, partition: Partition, node: Node, update: NodeUpdate) -> Refusal:
    """End what ``drain`` began. Implements: NODE-9. Rules: EVT-59, EXT-176."""
    if not node.drained_by_rm:
        return Refusal(f"node '{update.node_id}' is not draining", "NODE-9")
    node.drained_by_rm = False
    _settle(turn, partition, node)
    return NO_REFUSAL


def change_node_state(
    turn: Turn, partition: Partition, node_id: str, action: int
) -> ObjectStateAnswered:
    """Drain a node for operators, or end that. Implements: EXT-176. Rules: NOD-8, EVT-59."""
    rm_id = partition.rm_id
    node = partition.nodes.get(node_id)
    if node is None:
        reason = f"node '{node_id}' doesn't exist in partition {partition.name}"
        return ObjectStateAnswered(rm_id, reason, "EXT-176")
    previous = _state(node)
    if action == commands.START and not node.drained_by_operator:
        by = "its resource manager drains it" if node.drained_by_rm else "it is in use"
        reason = f"no operator drains the node {node_id}: {by}"
        return ObjectStateAnswered(rm_id, reason, "EXT-176", previous, previous)
    node.drained_by_operator = action == commands.STOP
    _settle(turn, partition, node)
    return ObjectStateAnswered(rm_id, "", "", previous, _state(node))


def stop_using(partition: Partition, node: Node) -> None:
    """Take a node out of use, except for asks that require this node. Rules: NOD-8, CYC-22."""
    if node.schedulable and node.held:
        partition.pool.closed_nodes -= 1
    partition.pool.draining_nodes += node.schedulable
    node.schedulable = False
    reservable_changed(partition)
    partition.pool.drop_node(node.node_id)
    node_changed(partition, node)


def schedulable_event(turn: Turn, partition: Partition, node: Node) -> None:
    """Tell whether a node may be used. Implements: EVT-52."""
    text = "schedulable: true" if node.schedulable else "schedulable: false"
    turn.event(
        partition, events.NODE, node.node_id, events.SET, events.NODE_SCHEDULABLE, message=text
    )


def _settle(turn: Turn, partition: Partition, node: Node) -> None:
    """Use a node, or stop using it, if that has changed."""
    if node.schedulable is not (node.drained_by_rm or node.drained_by_operator):
        return
    if node.schedulable:
        stop_using(partition, node)
        schedulable_event(turn, partition, node)
        return
    node.schedulable = True
    partition.pool.draining_nodes -= 1
    if node.held:
        partition.pool.closed_nodes += 1
    schedulable_event(turn, partition, node)
    node_gained_room(partition, node)
    node_reservable(partition, node)


def _state(node: Node) -> str:
    return SCHEDULABLE if node.schedulable else DRAINING
