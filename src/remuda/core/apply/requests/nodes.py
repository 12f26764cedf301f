"""Adds, changes, drains and removes nodes (rules: chapter 70 section 9).

Every change that gives a node more room ends in ``node_gained_room``: it sorts the node by its new
score and unblocks the asks that may fit it now.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from remuda.base.resources import Resource
from remuda.core.accounting.usage import grow_capacity
from remuda.core.apply.allocations.foreign import report_occupied
from remuda.core.apply.allocations.identities import identified
from remuda.core.apply.applications.gangs import release_late_placeholder
from remuda.core.apply.applications.lifecycle import (
    allocation_added,
    allocation_left,
    first_ask_came,
)
from remuda.core.apply.asks.reservations import drop_unfit, unreserve_all
from remuda.core.apply.process_limits import node_limit
from remuda.core.apply.requests.allocations import recover
from remuda.core.apply.requests.allocations import refusal as allocation_refusal
from remuda.core.apply.requests.node_drains import (
    drain,
    schedulable_event,
    stop_using,
    undrain,
)
from remuda.core.apply.requests.releases import end_on_node, report_node_gone
from remuda.core.apply.requests.resize import resize_refusal
from remuda.core.apply.turn import Turn
from remuda.core.messages import commands, events
from remuda.core.messages.commands import ExistingAllocation, NodeUpdate, UpdateNodes
from remuda.core.messages.effects import NodesAnswered, Rejection
from remuda.core.messages.tags import NODE_PARTITION
from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.cluster import plain_name, unknown_partition
from remuda.core.model.nodes.foreign import is_foreign
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.refusal import NO_REFUSAL, Refusal
from remuda.core.model.vectors import TYPES_LIMIT, Amounts, copy, equal, positive, vector_of
from remuda.core.pending.changes import (
    node_gained_room,
    node_renewed,
    node_reservable,
    queue_gained_room,
)
from remuda.core.pending.marks import headroom_changed
from remuda.core.policy.node_score import score_weights


def update_nodes(turn: Turn, command: UpdateNodes) -> None:
    """Process a NodeRequest in list order; the verdicts are answered together. Rules: NODE-1.

    Emits: NodesAnswered, EventRecord, ApplicationUpdated, AllocationsReleased.
    """
    accepted: list[str] = []
    rejected: list[Rejection] = []
    for update in command.nodes:
        if update.action not in _CREATES and update.action not in _ACTIONS:
            continue
        reason, rule = _apply(turn, command.rm_id, update)
        if reason:
            rejected.append(Rejection(update.node_id, reason, rule))
        elif update.action in _CREATES:
            accepted.append(update.node_id)
    if accepted or rejected:
        turn.emit(NodesAnswered(command.rm_id, tuple(accepted), tuple(rejected)))


def _apply(turn: Turn, rm_id: str, update: NodeUpdate) -> Refusal:
    """Carry out one action; return why it was refused, and the rule.

    Implements: NODE-10, NOD-4. Rules: NODE-1, NODE-9.
    """
    name = update.attributes.get(NODE_PARTITION, "")
    partition = turn.cluster.partition(rm_id, name)
    if partition is None:
        turn.cluster.counts.totals.bad_nodes += update.action in _CREATES
        return Refusal(unknown_partition(name), "NODE-10")
    reason, rule = _amount_refusal(partition, update)
    if reason:
        return Refusal(reason, rule)
    if update.action in _CREATES:
        return _create(turn, partition, update)
    node = partition.nodes.get(update.node_id)
    if node is None:
        return Refusal(
            f"node '{update.node_id}' is not known in partition {partition.name}", "NODE-10"
        )
    return _ACTIONS[update.action](turn, partition, node, update)


def _amount_refusal(partition: Partition, update: NodeUpdate) -> Refusal:
    """Return what is wrong with the amounts of a node. Rules: NODE-3, RES-1.

    A negative capacity would lower the cluster's, and a negative occupied amount would add room.
    """
    names: set[str] = set()
    for resource in (update.capacity or {}, update.occupied or {}):
        names.update(resource)
        negative = sorted(name for name, amount in resource.items() if amount < 0)
        if negative:
            return Refusal(
                f"node '{update.node_id}' has negative amounts of {negative[0]}", "NODE-3"
            )
    for existing in update.existing:
        names.update(existing.ask.resource)
    if not partition.types.room_for(names):
        return Refusal(f"node '{update.node_id}': more than {TYPES_LIMIT} resource types", "RES-1")
    return NO_REFUSAL


def _create(turn: Turn, partition: Partition, update: NodeUpdate) -> Refusal:
    """Add a node with what already runs on it.

    Implements: NODE-3, NODE-5, EVT-47, EVT-58, NOD-7, EVT-60. Rules: NODE-1, NODE-2, NODE-4,
    NODE-6.
    """
    reason, rule = _create_refusal(partition, update)
    if reason:
        return Refusal(reason, rule)
    update = _with_identities(partition, update)
    fault, sound = _first_fault(partition, update)
    if fault[0]:
        _take_back(turn, partition, update.existing[:sound])
        partition.totals.bad_nodes += 1
        partition.totals.errors += 1
        return fault
    node = _build(partition, update)
    partition.nodes[node.node_id] = node
    partition.pool.utilisation.join(node)
    node.drained_by_rm = update.action == commands.CREATE_DRAIN
    node.schedulable = not node.drained_by_rm
    partition.pool.draining_nodes += not node.schedulable
    partition.pool.unready_nodes += not node.ready()
    schedulable_event(turn, partition, node)
    _resize_partition(turn, partition, None, node.total)
    for existing in update.existing:
        recover(turn, partition, existing, node)
        release_late_placeholder(turn, partition, existing.ask)
    turn.event(
        partition,
        events.NODE,
        node.node_id,
        events.ADD,
        events.DETAILS_NONE,
        resource=node.total.resource,
        message="Node added to the scheduler",
    )
    node_gained_room(partition, node)
    node_reservable(partition, node)
    return NO_REFUSAL


def _create_refusal(partition: Partition, update: NodeUpdate) -> Refusal:
    """Return why a node is refused, apart from the allocations on it.

    Implements: NODE-1. Rules: SI-12, SI-14, OBJ-8, EXT-33.
    """
    if not update.node_id:
        return Refusal("node ID is empty", "SI-12")
    within = update.within
    if within is not None and not within.has_partition(partition.rm_id, partition.name):
        reason = f"partition {partition.name} is beyond the scope of its RM ({within.text()})"
        return Refusal(f"node '{update.node_id}': {reason}", "EXT-33")
    if partition.state != states.ACTIVE:
        reason = f"partition {partition.name} is {partition.state}"
        return Refusal(f"{reason}: node '{update.node_id}' cannot be added", "OBJ-8")
    if update.node_id in partition.nodes:
        return Refusal(f"node '{update.node_id}' exists already", "NODE-1")
    return node_limit(partition, update.node_id)


def _build(partition: Partition, update: NodeUpdate) -> Node:
    """Build a node that is not yet in the partition and not yet schedulable. Implements: NODE-2."""
    types = partition.types
    capacity = types.amounts(update.capacity or {})
    node = Node(update.node_id, capacity, types.amounts(update.occupied or {}), schedulable=False)
    node.attributes = dict(update.attributes)
    node.attributes[NODE_PARTITION] = f"[{partition.rm_id}]{partition.name}"
    node.weights = score_weights(node, types, partition.settings.node_sort_weights)
    return node


def _with_identities(partition: Partition, update: NodeUpdate) -> NodeUpdate:
    """Return the update of a node, with an ID for each allocation that runs there.

    The ID of each may depend on those before it. Rules: SI-3, SI-40.
    """
    if all(each.allocation_id for each in update.existing):
        return update
    earlier: dict[tuple[str, str], str] = {}
    found: list[ExistingAllocation] = []
    for each in update.existing:
        name = (each.ask.application_id, each.ask.allocation_key)
        if not each.allocation_id and not each.identity_fault and name in earlier:
            each = replace(each, allocation_id=earlier[name])  # noqa: PLW2901 - the same thing
        known = identified(partition, each)
        earlier.setdefault(name, known.allocation_id)
        found.append(known)
    return replace(update, existing=tuple(found))


def _first_fault(partition: Partition, update: NodeUpdate) -> tuple[Refusal, int]:
    """Return what is wrong with the first bad existing allocation, and how many come before it.

    Implements: NODE-6, RM-25. Rules: CYC-28 (one that is listed twice).
    """
    sizes: dict[tuple[str, str], Resource] = {}
    for number, existing in enumerate(update.existing):
        ask = existing.ask
        identity, own = existing.allocation_id, ask.partition
        reason, rule = allocation_refusal(partition, existing, update.node_id)
        earlier = sizes.get((ask.application_id, identity))
        if earlier is not None and not reason and not is_foreign(ask):
            reason, rule = resize_refusal(identity, earlier, ask.resource)
        sizes[ask.application_id, identity] = ask.resource
        if own and plain_name(partition.rm_id, own) != partition.name:
            reason, rule = f"allocation '{identity}' names partition '{own}'", "RM-25"
        elif existing.node_id not in ("", update.node_id):
            reason, rule = f"allocation '{identity}' names node '{existing.node_id}'", "NODE-6"
        if reason:
            return Refusal(reason, rule), number
    return NO_REFUSAL, len(update.existing)


def _take_back(turn: Turn, partition: Partition, sound: tuple[ExistingAllocation, ...]) -> None:
    """Change applications' states as if the allocations before the fault had come and gone.

    Adding and removing them would leave every counter and ask as it was, so neither is done. An
    application that has nothing else goes to Completing. Rules: NODE-6, APP-6, APP-8.
    """
    new: dict[tuple[int, str], tuple[Application, bool]] = {}
    for existing in sound:
        if is_foreign(existing.ask):
            continue
        application = partition.applications[existing.ask.application_id]
        if existing.allocation_id not in application.allocations:
            entry = (application, existing.ask.placeholder)
            new[(application.number, existing.allocation_id)] = entry
    for application, placeholder in new.values():
        if placeholder:
            first_ask_came(turn, partition, application)
        else:
            allocation_added(turn, partition, application)
    for application, _ in new.values():
        allocation_left(turn, partition, application, placeholder=False)


def _update(turn: Turn, partition: Partition, node: Node, update: NodeUpdate) -> Refusal:
    """Change capacity, occupied amount or attributes.

    The occupied amount is ignored once foreign allocations were listed. Implements: NODE-7, NODE-8,
    NOD-5, EVT-51. Rules: NODE-17.
    """
    attributes = {k: v for k, v in update.attributes.items() if k != NODE_PARTITION}
    was_ready = node.ready()
    node.attributes = {**node.attributes, **attributes}
    ready = node.ready()
    if was_ready != ready:
        partition.pool.unready_nodes += -1 if ready else 1
        text = "ready: true" if ready else "ready: false"
        turn.event(
            partition, events.NODE, node.node_id, events.SET, events.NODE_READY, message=text
        )
    if update.capacity is not None:
        _set_capacity(turn, partition, node, partition.types.amounts(update.capacity))
    if update.occupied is not None and not node.itemised:
        _set_occupied(turn, partition, node, partition.types.amounts(update.occupied))
    drop_unfit(turn, partition, list(node.reservations.values()))
    node_renewed(partition, node)
    node_reservable(partition, node)
    return NO_REFUSAL


def _set_capacity(turn: Turn, partition: Partition, node: Node, capacity: Amounts) -> None:
    """Change the capacity of a node; emit an event if it differs. Implements: EVT-53."""
    if equal(vector_of(capacity), vector_of(node.total)):
        return
    old = node.total
    partition.pool.drop_node(node.node_id)  # put back below, counted under its new size
    node.resize(capacity)
    node.weights = score_weights(node, partition.types, partition.settings.node_sort_weights)
    turn.event(
        partition,
        events.NODE,
        node.node_id,
        events.SET,
        events.NODE_CAPACITY,
        resource=capacity.resource,
    )
    _resize_partition(turn, partition, old, capacity)


def _set_occupied(turn: Turn, partition: Partition, node: Node, occupied: Amounts) -> None:
    if equal(vector_of(occupied), node.occupied):
        return
    node.reoccupy(occupied)
    report_occupied(turn, partition, node)


def _remove(turn: Turn, partition: Partition, node: Node, update: NodeUpdate) -> Refusal:
    remove_node(turn, partition, node)
    return NO_REFUSAL


def remove_node(turn: Turn, partition: Partition, node: Node) -> None:
    """Drop a node and everything on it.

    Implements: NODE-13, NODE-14, EVT-48. Rules: RSV-9, EVT-58, EVT-61.
    """
    stop_using(partition, node)
    schedulable_event(turn, partition, node)
    del partition.nodes[node.node_id]
    partition.pool.draining_nodes -= 1
    partition.pool.unready_nodes -= not node.ready()
    partition.totals.decommissioned += 1
    partition.pool.utilisation.part(node)
    partition.reserving.nodes_to_review.pop(node.node_id, None)
    unreserve_all(turn, partition, list(node.reservations.values()), "the node is gone")
    ended, arrived = end_on_node(turn, partition, node)
    _resize_partition(turn, partition, node.total, None)
    turn.event(
        partition,
        events.NODE,
        node.node_id,
        events.REMOVE,
        events.NODE_DECOMISSION,
        message="Node removed from the scheduler",
    )
    report_node_gone(turn, partition, node, ended, arrived)


_CREATES: Final = (commands.CREATE, commands.CREATE_DRAIN)

_ACTIONS: Final[dict[int, Callable[[Turn, Partition, Node, NodeUpdate], Refusal]]] = {
    commands.UPDATE: _update,
    commands.DRAIN_NODE: drain,
    commands.DRAIN_TO_SCHEDULABLE: undrain,
    commands.DECOMISSION: _remove,
}


def _resize_partition(
    turn: Turn, partition: Partition, old: Amounts | None, new: Amounts | None
) -> None:
    """Change the partition's capacity and root's maximum by a node's change.

    Implements: NODE-4, EVT-73. Rules: QUE-6.
    """
    before = copy(partition.pool.capacity)
    if old is not None:
        grow_capacity(partition, old, -1)
    if new is not None:
        grow_capacity(partition, new, 1)
    if equal(before, partition.pool.capacity):
        return
    root = partition.root
    root.maximum = partition.pool.capacity if positive(partition.pool.capacity) else None
    partition.renew_shares(root)
    headroom_changed(partition)
    shown = partition.types.resource(partition.pool.capacity) if root.maximum else None
    turn.event(partition, events.QUEUE, root.path, events.SET, events.QUEUE_MAX, resource=shown)
    if root.waiting:
        queue_gained_room(partition, root)
