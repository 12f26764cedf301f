"""Keeps the allocations that other schedulers run on the nodes.

A foreign allocation only uses room on its node: no queue, user or partition counts it.

Rules: CYC-29, NODE-17, decision 56.
"""

from __future__ import annotations

from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import AllocationRelease, Ask, ExistingAllocation
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.nodes.foreign import ForeignAllocation
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.refusal import NO_REFUSAL, Refusal
from remuda.core.model.vectors import TYPES_LIMIT, copy, equal
from remuda.core.pending.changes import node_renewed


def foreign_refusal(
    partition: Partition | None, existing: ExistingAllocation, node_id: str
) -> Refusal:
    """Return why a foreign allocation is refused, with the rule. Rules: CYC-29, SI-12, SI-40.

    ``node_id``: the node it runs on, "" if that is unknown.
    """
    ask = existing.ask
    if partition is None:
        return Refusal(unknown_partition(ask.partition), "SI-40")
    if not ask.allocation_key:
        return Refusal(
            f"foreign allocation '{existing.allocation_id}' has no allocation key", "SI-12"
        )
    key = ask.allocation_key
    if not node_id:
        reason = f"foreign allocation '{key}': node '{existing.node_id}' is not known"
        return Refusal(f"{reason} in the partition", "CYC-29")
    if any(amount < 0 for amount in ask.resource.values()):
        return Refusal(f"foreign allocation '{key}' has a negative amount", "CYC-29")
    if not partition.types.room_for(ask.resource):
        return Refusal(f"more than {TYPES_LIMIT} different resource types", "SI-40")
    return NO_REFUSAL


def report_foreign(
    turn: Turn, partition: Partition, existing: ExistingAllocation, node: Node, created_ns: int
) -> None:
    """Add a foreign allocation, change it, or move it here from another node.

    It is identified by its allocation ID or, without one, by its key. Implements: CYC-29, NODE-17.
    Emits: EventRecord.
    """
    ask = existing.ask
    identity = foreign_identity(ask, existing.allocation_id)
    amounts = partition.types.amounts(ask.resource)
    known = partition.pool.foreign.get(identity)
    if known is not None:
        created_ns = known.created_ns
        if known.node is not node:
            _remove(turn, partition, known)
            known = None
    before = copy(node.occupied)
    if known is not None:
        partition.pool.foreign.drop(known)
        node.remove_foreign(known)
    foreign = ForeignAllocation(identity, ask, amounts, node, created_ns)
    partition.pool.foreign.put(foreign)
    node.put_foreign(foreign)
    if not equal(before, node.occupied):
        _changed(turn, partition, node)


def foreign_identity(ask: Ask, allocation_id: str) -> str:
    """Return what identifies a foreign allocation in its partition. Rules: CYC-29, CYC-18."""
    return allocation_id or ask.allocation_key


def release_foreign(turn: Turn, partition: Partition, release: AllocationRelease) -> None:
    """End the foreign allocations a release names; the release gets no answer.

    Rules: CYC-29. Emits: EventRecord.
    """
    for foreign in partition.pool.foreign.named(release.allocation_id, release.allocation_key):
        _remove(turn, partition, foreign)


def forget_foreign(partition: Partition, node: Node) -> None:
    """Drop the foreign allocations of a node that is removed; no effect reports them.

    Rules: NODE-14.
    """
    for foreign in node.foreign.values():
        partition.pool.foreign.drop(foreign)
    node.foreign = {}


def report_occupied(turn: Turn, partition: Partition, node: Node) -> None:
    """Report how much of a node other schedulers use now. Implements: EVT-54. Rules: NOD-5."""
    turn.event(
        partition,
        events.NODE,
        node.node_id,
        events.SET,
        events.NODE_OCCUPIED,
        resource=partition.types.resource(node.occupied),
    )


def _remove(turn: Turn, partition: Partition, foreign: ForeignAllocation) -> None:
    """Take a foreign allocation off its node."""
    node = foreign.node
    before = copy(node.occupied)
    partition.pool.foreign.drop(foreign)
    node.remove_foreign(foreign)
    if not equal(before, node.occupied):
        _changed(turn, partition, node)


def _changed(turn: Turn, partition: Partition, node: Node) -> None:
    """Sort a node anew whose room changed, and unblock the asks that fit it now.

    Rules: CYC-29, NOD-14.
    """
    report_occupied(turn, partition, node)
    node_renewed(partition, node)
