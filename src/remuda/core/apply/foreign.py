"""Takes note of what others run on the nodes (rules: CYC-29, NODE-17, decision 56).

A foreign allocation only takes room on its node: no queue, user or partition counts it.
"""

from __future__ import annotations

from remuda.core.accounting.waiting import offer_anew
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import AllocationRelease, Ask, ExistingAllocation
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.foreign import ForeignAllocation
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import TYPES_LIMIT, copy, equal


def foreign_refusal(
    partition: Partition | None, existing: ExistingAllocation, node_id: str
) -> tuple[str, str]:
    """Return why a foreign allocation is refused, with the rule. Rules: CYC-29, SI-12, SI-40.

    ``node_id``: the node it goes to, "" if that is unknown.
    """
    ask = existing.ask
    if partition is None:
        return unknown_partition(ask.partition), "SI-40"
    if not ask.allocation_key:
        return f"foreign allocation '{existing.allocation_id}' has no allocation key", "SI-12"
    key = ask.allocation_key
    if not node_id:
        reason = f"foreign allocation '{key}': node '{existing.node_id}' is not known"
        return f"{reason} in the partition", "CYC-29"
    if any(amount < 0 for amount in ask.resource.values()):
        return f"foreign allocation '{key}' has a negative amount", "CYC-29"
    if not partition.types.room_for(ask.resource):
        return f"more than {TYPES_LIMIT} different resource types", "SI-40"
    return "", ""


def report_foreign(
    turn: Turn, partition: Partition, existing: ExistingAllocation, node: Node, created_ns: int
) -> None:
    """Add a foreign allocation, change it, or move it here from another node.

    It is identified by its allocation ID or, without one, by its key. Rules: CYC-29, NODE-17.
    Emits: EventRecord.
    """
    ask = existing.ask
    identity = foreign_identity(ask, existing.allocation_id)
    amounts = partition.types.amounts(ask.resource)
    known = partition.foreign.get(identity)
    if known is not None:
        created_ns = known.created_ns
        if known.node is not node:
            _remove(turn, partition, known)
            known = None
    before = copy(node.occupied)
    if known is not None:
        partition.foreign.drop(known)
        node.remove_foreign(known)
    foreign = ForeignAllocation(identity, ask, amounts, node, created_ns)
    partition.foreign.put(foreign)
    node.put_foreign(foreign)
    if not equal(before, node.occupied):
        _changed(turn, partition, node)


def foreign_identity(ask: Ask, allocation_id: str) -> str:
    """Return what identifies a foreign allocation in its partition. Rules: CYC-29, CYC-18."""
    return allocation_id or ask.allocation_key


def release_foreign(turn: Turn, partition: Partition, release: AllocationRelease) -> None:
    """End the foreign allocations a release names; it is not answered, known or not.

    Rules: CYC-29. Emits: EventRecord.
    """
    for foreign in partition.foreign.named(release.allocation_id, release.allocation_key):
        _remove(turn, partition, foreign)


def forget_foreign(partition: Partition, node: Node) -> None:
    """Drop what others run on a node that goes away; nobody is told. Rules: NODE-14."""
    for foreign in node.foreign.values():
        partition.foreign.drop(foreign)
    node.foreign = {}


def tell_occupied(turn: Turn, partition: Partition, node: Node) -> None:
    """Tell what others use of a node now. Rules: EVT-54, NOD-5."""
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
    partition.foreign.drop(foreign)
    node.remove_foreign(foreign)
    if not equal(before, node.occupied):
        _changed(turn, partition, node)


def _changed(turn: Turn, partition: Partition, node: Node) -> None:
    """Put a node whose room changed where its score belongs, and wake what fits it now.

    Rules: CYC-29, NOD-14.
    """
    tell_occupied(turn, partition, node)
    offer_anew(partition, node)
