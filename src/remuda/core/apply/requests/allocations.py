"""Books allocations the RM already runs (rules: chapter 70 section 6).

They exist, so no limit is enforced. A pending ask with the same key becomes this allocation. An
allocation that is known already is resized. A foreign one only uses room on its node.
"""

from __future__ import annotations

from remuda.core.accounting.gangs import enlist, lose
from remuda.core.accounting.tags import count_own_tags
from remuda.core.apply.allocations.foreign import foreign_identity, foreign_refusal, report_foreign
from remuda.core.apply.allocations.identities import identified, note_identity
from remuda.core.apply.allocations.release_requests import limit_execution, reported_timeout_ms
from remuda.core.apply.applications.gangs import complete_reservation, release_late_placeholder
from remuda.core.apply.applications.past_asks import make_request
from remuda.core.apply.asks.reservations import free_held, use_reservation
from remuda.core.apply.decisions.commit import enter
from remuda.core.apply.queues.quota_changes import above_quotas, note_growth
from remuda.core.apply.requests.resize import resize_allocation, resize_refusal
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import Ask, ExistingAllocation
from remuda.core.messages.effects import AllocationNew, AllocationsRejected, Rejection
from remuda.core.model import states
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.deadlines import created_ns
from remuda.core.model.nodes.foreign import is_foreign
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.refusal import NO_REFUSAL, Refusal
from remuda.core.model.vectors import TYPES_LIMIT, Amounts


def recover_allocations(
    turn: Turn, rm_id: str, allocations: tuple[ExistingAllocation, ...]
) -> None:
    """Book existing allocations; the refused ones are answered together. Rules: SI-40, SI-42.

    Emits: AllocationNew, AllocationsRejected, EventRecord, ApplicationUpdated.
    """
    rejected: list[Rejection] = []
    for reported in allocations:
        ask = reported.ask
        partition = turn.cluster.partition(rm_id, ask.partition)
        existing = identified(partition, reported)
        node = partition.nodes.get(existing.node_id) if partition else None
        reason, rule = refusal(partition, existing, existing.node_id if node else "")
        if partition is None or node is None or reason:
            rejected.append(Rejection(ask.allocation_key, reason, rule, ask.application_id))
            continue
        recover(turn, partition, existing, node)
        identity, node_id = existing_identity(existing), existing.node_id
        turn.emit(AllocationNew(rm_id, partition.name, identity, node_id, ask))
        release_late_placeholder(turn, partition, ask)
    if rejected:
        turn.cluster.counts.totals.errors += len(rejected)
        turn.emit(AllocationsRejected(rm_id, tuple(rejected)))


def existing_identity(existing: ExistingAllocation) -> str:
    """Return the ID of an existing allocation, foreign or ours. Rules: SI-42, CYC-29."""
    if is_foreign(existing.ask):
        return foreign_identity(existing.ask, existing.allocation_id)
    return existing.allocation_id


def refusal(partition: Partition | None, existing: ExistingAllocation, node_id: str) -> Refusal:
    """Return why an existing allocation is refused, with the rule.

    Implements: SI-40. Rules: SI-43, CYC-28, OBJ-8.
    ``node_id``: the node it goes to, "" if that is unknown.
    """
    ask = existing.ask
    if is_foreign(ask):
        return foreign_refusal(partition, existing, node_id)
    if partition is None:
        return Refusal(unknown_partition(ask.partition), "SI-40")
    if partition.state == states.STOPPED:
        return Refusal(f"partition '{partition.name}' is stopped", "OBJ-8")
    if existing.identity_fault:
        return Refusal(
            f"allocation of key '{ask.allocation_key}': {existing.identity_fault}", "SI-40"
        )
    if not existing.allocation_id:
        return Refusal("allocation has neither an allocation key nor an allocation ID", "SI-40")
    if not ask.allocation_key:
        return Refusal(f"allocation '{existing.allocation_id}' has no allocation key", "SI-12")
    if not node_id:
        return Refusal(f"node '{existing.node_id}' is not known in the partition", "SI-40")
    application = partition.applications.get(ask.application_id)
    if application is None:
        return Refusal(f"application '{ask.application_id}' is not live in the partition", "SI-40")
    return _content_refusal(partition, application, existing, node_id)


def _content_refusal(
    partition: Partition, application: Application, existing: ExistingAllocation, node_id: str
) -> Refusal:
    ask = existing.ask
    if ask.placeholder and not ask.task_group:
        return Refusal(f"placeholder '{existing.allocation_id}' has no task group name", "SI-40")
    if any(amount < 0 for amount in ask.resource.values()):
        return Refusal(f"allocation '{existing.allocation_id}' has a negative amount", "SI-40")
    if not partition.types.room_for(ask.resource):
        return Refusal(f"more than {TYPES_LIMIT} different resource types", "SI-40")
    known = application.allocations.get(existing.allocation_id)
    if known is None and _in_flight(application, existing.allocation_id):
        text = f"allocation '{existing.allocation_id}' waits for the end of its placeholder"
        return Refusal(text, "SI-43")
    if known is None:
        return NO_REFUSAL
    if known.node.node_id != node_id:
        return Refusal(
            f"allocation '{existing.allocation_id}' is on node '{known.node.node_id}' already",
            "SI-43",
        )
    return resize_refusal(existing.allocation_id, known.amounts.resource, ask.resource)


def recover(turn: Turn, partition: Partition, existing: ExistingAllocation, node: Node) -> None:
    """Book an existing allocation, or the new size of a known one.

    Implements: SI-41, SI-43, SI-44, REC-8. Rules: SI-45, CYC-28, CYC-29, PRE-66, MET-16.
    """
    ask = existing.ask
    created = created_ns(ask.tags, turn.now_ns, partition.calendar)
    if is_foreign(ask):
        report_foreign(turn, partition, existing, node, created)
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
        request = make_request(partition, application, ask, amounts, turn.now_ns)
    allocation.requested_ns = request.created_ns
    note_identity(request, existing.allocation_id)
    _count_member(partition, request, ask, amounts)
    leaf = application.queue
    above = above_quotas(partition, leaf)
    enter(turn, partition, request, allocation, created)
    note_growth(turn, partition, leaf, above)
    limit_execution(turn, partition, allocation, reported_timeout_ms(allocation))
    use_reservation(turn, partition, request, node)
    if ask.placeholder:
        free_held(turn, partition, application)
    if request.ask is not ask:
        count_own_tags(partition, allocation)


def _count_member(partition: Partition, request: Request, ask: Ask, amounts: Amounts) -> None:
    """Count a reported allocation as a gang member: a placeholder, or a real one in its place.

    A pending placeholder ask with its key was counted before. Implements: GANG-40, GANG-42. Rules:
    GANG-35, SI-44.
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
