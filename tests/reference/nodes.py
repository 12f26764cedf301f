"""What a resource manager says of its nodes: chapter 70, section 9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remuda.core.messages import commands as c
from tests.reference import arithmetic as res
from tests.reference import existing, limits, reserving
from tests.reference.state import Allocation, Application, Node, Partition

if TYPE_CHECKING:
    from tests.reference.model import Reference


def update(reference: Reference, command: c.UpdateNodes) -> None:
    """The table of chapter 70, section 9."""
    accepted: list[str] = []
    rejected: list[str] = []
    for one in command.nodes:
        if one.action == c.UNKNOWN_ACTION:
            continue
        creating = one.action in (c.CREATE, c.CREATE_DRAIN)
        if not (create if creating else change)(reference, command.rm_id, one):
            rejected.append(one.node_id)
        elif creating:
            accepted.append(one.node_id)
    if accepted or rejected:
        reference.out.append(("nodes", command.rm_id, tuple(accepted), tuple(rejected)))


def home(reference: Reference, rm_id: str, update: c.NodeUpdate) -> Partition | None:
    """The partition of a node."""
    return reference.partition(rm_id, update.attributes.get("si/node-partition", ""))


def create(reference: Reference, rm_id: str, update: c.NodeUpdate) -> bool:
    """NODE-1, NODE-6."""
    partition = home(reference, rm_id, update)
    if partition is None or not update.node_id or update.node_id in partition.nodes:
        return False
    node = Node(
        update.node_id,
        dict(update.capacity or {}),
        dict(update.occupied or {}),
        schedulable=update.action == c.CREATE,
    )
    partition.nodes[node.identity] = node
    told = len(reference.records)
    before = [(app, app.counted, app.group) for app in partition.applications.values()]
    for reported in update.existing:
        if not existing.take(reference, partition, reported, node.identity):
            remove_node(reference, partition, node)
            del reference.records[told:]
            for app, counted, group in before:
                app.counted, app.group = counted, group
                limits.settle(app)
            return False
    return True


def change(reference: Reference, rm_id: str, update: c.NodeUpdate) -> bool:
    """Chapter 70 section 9; False: answered by a rejection."""
    partition = home(reference, rm_id, update)
    node = partition.nodes.get(update.node_id) if partition is not None else None
    if partition is None or node is None:
        return False
    if update.action == c.UPDATE:
        if update.capacity is not None and not res.equal(update.capacity, node.capacity):
            node.capacity = dict(update.capacity)
        if update.occupied is not None and not node.counts_foreign:
            node.occupied = dict(update.occupied)
    elif update.action == c.DRAIN_NODE:
        node.schedulable = False
    elif update.action == c.DRAIN_TO_SCHEDULABLE:
        was, node.schedulable = node.schedulable, True
        return not was
    else:
        reference.released(partition, remove_node(reference, partition, node))
    return True


def remove_node(
    reference: Reference, partition: Partition, node: Node
) -> list[tuple[Application, Allocation]]:
    """Take a node and all its allocations away. Rules: NODE-6, NODE-13."""
    reference.unreserve(partition, reserving.on_node(partition, node.identity), "node removed")
    del partition.nodes[node.identity]
    everything = [
        (app, a) for app in partition.applications.values() for a in app.allocations.values()
    ]
    gone = [pair for pair in everything if pair[1].node_id == node.identity]
    for app, allocation in sorted(gone, key=lambda pair: pair[1].arrival):
        reference.unbind(partition, app, allocation)
        reference.complete_if_done(partition, app)
    return gone
