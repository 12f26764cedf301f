"""Changes the size of an allocation that runs (rules: CYC-28, decision 55)."""

from __future__ import annotations

from remuda.base.resources import Resource
from remuda.core.accounting.resize import resize
from remuda.core.apply.queues.quota_changes import above_quotas, note_growth
from remuda.core.apply.tracking import usage_grew, usage_shrank
from remuda.core.apply.turn import Turn
from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.refusal import NO_REFUSAL, Refusal
from remuda.core.model.vectors import Amounts, equal, vector_of
from remuda.core.pending.changes import node_renewed


def resize_refusal(identity: str, known: Resource, resource: Resource) -> Refusal:
    """Return why an allocation cannot be resized, with the rule. Rules: CYC-28."""
    if any(resource.values()) or not any(known.values()):
        return NO_REFUSAL
    return Refusal(f"allocation '{identity}' would be resized to nothing", "CYC-28")


def resize_allocation(
    turn: Turn, partition: Partition, allocation: Allocation, amounts: Amounts
) -> None:
    """Resize an allocation in place, beyond limits and its node's room if need be.

    The events have the increase and the decrease of its user's and group's usage by type (EVT-78,
    EVT-79: deltas). The node is sorted anew in any case. Implements: CYC-28. Rules: PRE-66. Emits:
    EventRecord.
    """
    before = allocation.amounts
    if equal(vector_of(before), vector_of(amounts)):
        return
    leaf = allocation.application.queue
    above = above_quotas(partition, leaf)
    resize(partition, allocation, amounts)
    note_growth(turn, partition, leaf, above)
    node = allocation.node
    node_renewed(partition, node)
    less = _excess(before.resource, amounts.resource)
    if less:
        usage_shrank(turn, partition, allocation.application, less)
    more = _excess(amounts.resource, before.resource)
    if more:
        usage_grew(turn, partition, allocation.application, more)


def _excess(left: Resource, right: Resource) -> Resource:
    """Return by how much the left amounts exceed the right ones, for the types where they do."""
    found: dict[str, int] = {}
    for name, amount in left.items():
        if amount > right.get(name, 0):
            found[name] = amount - right.get(name, 0)
    return found
