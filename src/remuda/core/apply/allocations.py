"""Takes in allocations the RM already runs (rules: chapter 70 section 6).

They exist, so no limit is enforced. A pending ask with the same key becomes this allocation; one
that is known already is resized, and what is foreign only takes room on its node.
"""

from __future__ import annotations

from remuda.core.accounting.gangs import enlist, lose
from remuda.core.apply.commit import enter
from remuda.core.apply.foreign import foreign_identity, foreign_refusal, report_foreign
from remuda.core.apply.gangs import complete_reservation, turn_away
from remuda.core.apply.identities import note_identity
from remuda.core.apply.lifecycle import admit
from remuda.core.apply.orders import limit_execution, reported_timeout_ms
from remuda.core.apply.quota_changes import above_quotas, note_growth
from remuda.core.apply.reservations import free_held, use_reservation
from remuda.core.apply.resize import resize_allocation, resize_refusal
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import Ask, ExistingAllocation
from remuda.core.messages.effects import AllocationNew, AllocationsRejected, Rejection
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.deadlines import created_ns
from remuda.core.model.foreign import is_foreign
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.model.vectors import TYPES_LIMIT, Amounts


def recover_allocations(
    turn: Turn, rm_id: str, allocations: tuple[ExistingAllocation, ...]
) -> None:
    """Take existing allocations in; the refused ones are answered together. Rules: SI-40, SI-42.

    Emits: AllocationNew, AllocationsRejected, EventRecord, ApplicationUpdated.
    """
    rejected: list[Rejection] = []
    for existing in allocations:
        ask = existing.ask
        partition = turn.cluster.partition(rm_id, ask.partition)
        node = partition.nodes.get(existing.node_id) if partition else None
        reason, rule = refusal(partition, existing, existing.node_id if node else "")
        if partition is None or node is None or reason:
            rejected.append(Rejection(ask.allocation_key, reason, rule, ask.application_id))
            continue
        recover(turn, partition, existing, node)
        identity, node_id = existing_identity(existing), existing.node_id
        turn.emit(AllocationNew(rm_id, partition.name, identity, node_id, ask))
        turn_away(turn, partition, ask)
    if rejected:
        turn.cluster.tallies.totals.errors += len(rejected)
        turn.emit(AllocationsRejected(rm_id, tuple(rejected)))


def existing_identity(existing: ExistingAllocation) -> str:
    """Return what identifies an existing allocation, foreign or ours. Rules: SI-42, CYC-29."""
    if is_foreign(existing.ask):
        return foreign_identity(existing.ask, existing.allocation_id)
    return existing.allocation_id


def refusal(
    partition: Partition | None, existing: ExistingAllocation, node_id: str
) -> tuple[str, str]:
    """Return why an existing allocation is refused, with the rule.

    Rules: SI-40, SI-43, CYC-28, OBJ-8.
    ``node_id``: the node it goes to, "" if that is unknown.
    """
    ask = existing.ask
    if is_foreign(ask):
        return foreign_refusal(partition, existing, node_id)
    if partition is None:
        return unknown_partition(ask.partition), "SI-40"
    if partition.state == states.STOPPED:
        return f"partition '{partition.name}' is stopped", "OBJ-8"
    if not existing.allocation_id:
        return f"allocation of key '{ask.allocation_key}' has no allocation ID", "SI-40"
    if not ask.allocation_key:
        return f"allocation '{existing.allocation_id}' has no allocation key", "SI-12"
    if not node_id:
        return f"node '{existing.node_id}' is not known in the partition", "SI-40"
    application = partition.applications.get(ask.application_id)
    if application is None:
        return f"application '{ask.application_id}' is not live in the partition", "SI-40"
    return _content_refusal(partition, application, existing, node_id)


def _content_refusal(
    partition: Partition, application: Application, existing: ExistingAllocation, node_id: str
) -> tuple[str, str]:
    ask = existing.ask
    if ask.placeholder and not ask.task_group:
        return f"placeholder '{existing.allocation_id}' has no task group name", "SI-40"
    if any(amount < 0 for amount in ask.resource.values()):
        return f"allocation '{existing.allocation_id}' has a negative amount", "SI-40"
    if not partition.types.room_for(ask.resource):
        return f"more than {TYPES_LIMIT} different resource types", "SI-40"
    known = application.allocations.get(existing.allocation_id)
    if known is None and _in_flight(application, existing.allocation_id):
        text = f"allocation '{existing.allocation_id}' waits for the end of its placeholder"
        return text, "SI-43"
    if known is None:
        return "", ""
    if known.node.node_id != node_id:
        return (
            f"allocation '{existing.allocation_id}' is on node '{known.node.node_id}' already",
            "SI-43",
        )
    return resize_refusal(existing.allocation_id, known.amounts.resource, ask.resource)


def recover(turn: Turn, partition: Partition, existing: ExistingAllocation, node: Node) -> None:
    """Book an existing allocation, or the new size of one that is known.

    Rules: SI-41, SI-43 to SI-45, CYC-28, CYC-29, PRE-66, MET-16.
    """
    ask = existing.ask
    if is_foreign(ask):
        report_foreign(turn, partition, existing, node, created_ns(ask.tags, turn.now_ns))
        return
    application = partition.applications[ask.application_id]
    amounts = partition.types.amounts(ask.resource)
    known = application.allocations.get(existing.allocation_id)
    if known is not None:
        resize_allocation(turn, partition, known, amounts)
        complete_reservation(turn, partition, application)
        return
    partition.totals.recovered += 1
    allocation = Allocation(existing.allocation_id, ask, amounts, application, node)
    request = application.requests.get(ask.allocation_key)
    if request is None:
        number = partition.next_number()
        request = Request(number, ask, amounts, application, created_ns(ask.tags, turn.now_ns))
        admit(partition, request)
    allocation.requested_ns = request.created_ns
    note_identity(request, existing.allocation_id)
    _count_member(partition, request, ask, amounts)
    leaf = application.queue
    assert leaf is not None
    above = above_quotas(partition, leaf)
    enter(turn, partition, request, allocation, created_ns(ask.tags, turn.now_ns))
    note_growth(turn, partition, leaf, above)
    limit_execution(turn, partition, allocation, reported_timeout_ms(allocation))
    use_reservation(turn, partition, request, node)
    if ask.placeholder:
        free_held(turn, partition, application)


def _count_member(partition: Partition, request: Request, ask: Ask, amounts: Amounts) -> None:
    """Count the member a reported allocation is, or the one that will not come because it is real.

    A pending placeholder ask of its key was counted already. Rules: GANG-35, GANG-40, SI-44.
    """
    application = request.application
    awaited = request.pending > 0 and request.ask.placeholder
    if ask.placeholder and not awaited:
        enlist(partition, application, ask.task_group, amounts, 1)
    elif awaited and not ask.placeholder:
        lose(partition, application, request.ask.task_group, 1)


def _in_flight(application: Application, allocation_id: str) -> bool:
    gang = application.gang
    if gang is None:
        return False
    return any(each.allocation_id == allocation_id for each in gang.replacing.values())
