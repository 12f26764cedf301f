"""Adds and removes applications (rules: chapter 70 section 4)."""

from __future__ import annotations

from typing import Final, TypeAlias

from remuda.config.findings import cut
from remuda.config.schema import NODE_SORT_BINPACKING, NODE_SORT_FAIR, RECOVERY_QUEUE, USER_NAME
from remuda.core.accounting.gangs import renew_gang
from remuda.core.accounting.standing import update_application
from remuda.core.apply.creation import creation_fault, make_queues
from remuda.core.apply.lifecycle import drop_requests, fire, leave_queue, plan_cleanup
from remuda.core.apply.partitions import use_node_order
from remuda.core.apply.queues import apply_quota
from remuda.core.apply.releases import node_returns, note_removal, released_by_rm
from remuda.core.apply.tracking import usage_shrank
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import (
    ApplicationRemoval,
    NewApplication,
    UpdateApplications,
)
from remuda.core.messages.effects import ApplicationsAnswered, Rejection
from remuda.core.messages.tags import NODE_SORT_POLICY
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.gang import Gang
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import TYPES_LIMIT
from remuda.core.policy.gang import gang_fault, is_gang
from remuda.core.policy.placement import Placement, forced, place
from remuda.core.policy.tag_quota import tag_quota

# Whose an application is that must be taken although nobody knows (UGR-3).
NOBODY: Final = "nobody"
NO_GROUP: Final = "nogroup"

# Why, and the rule that says so.
Refusal: TypeAlias = tuple[str, str]


def update_applications(turn: Turn, command: UpdateApplications) -> None:
    """Process an ApplicationRequest: adds, their verdicts, removals. Rules: SI-3, SI-4, SI-30.

    Emits: ApplicationsAnswered, EventRecord, ApplicationUpdated, AllocationsReleased.
    """
    accepted: list[str] = []
    rejected: list[Rejection] = []
    for record in command.new:
        refusal = _add(turn, command.rm_id, record)
        if refusal is None:
            accepted.append(record.application_id)
        else:
            rejected.append(refusal)
    if accepted or rejected:
        turn.emit(ApplicationsAnswered(command.rm_id, tuple(accepted), tuple(rejected)))
    for removal in command.remove:
        _remove(turn, command.rm_id, removal)


def _add(turn: Turn, rm_id: str, record: NewApplication) -> Rejection | None:
    """Add one application; the first check that fails gives the verdict. Rules: SI-20 to SI-22."""
    application_id = record.application_id
    partition = turn.cluster.partition(rm_id, record.partition)
    if partition is None:
        return Rejection(application_id, unknown_partition(record.partition), "SI-20")
    application = Application(partition.next_number(), record, turn.now_ns)
    application.queue_path = record.queue
    partition.totals.submitted += 1
    turn.application_event(partition, application, events.ADD, events.DETAILS_NONE)
    refusal = _refusal(partition, application) or _admit(turn, partition, application)
    if refusal is None:
        return None
    reason, rule = refusal
    application.reject_reason = reason
    fire(turn, partition, application, states.REJECT, reason)
    return Rejection(application_id, reason, rule)


def _refusal(partition: Partition, application: Application) -> Refusal | None:
    """Return why an application is refused before placement. Rules: SI-20, SI-12, OBJ-8."""
    application_id = application.application_id
    if not application_id:
        return "application ID is empty", "SI-12"
    fault, rule = _identify(application)
    if fault:
        return f"user of application {application_id}: {fault}", rule
    if any(amount < 0 for amount in application.record.placeholder_ask.values()):
        return f"placeholder ask of application {application_id} has a negative amount", "GANG-1"
    if not partition.types.room_for(application.record.placeholder_ask):
        return f"application {application_id}: more than {TYPES_LIMIT} resource types", "RES-1"
    if partition.state != states.ACTIVE:
        reason = f"partition is stopped ({partition.name} is {partition.state})"
        return f"{reason}: application {application_id} cannot be added", "OBJ-8"
    if application_id in partition.applications:
        return f"application {application_id} already existed in partition", "SI-20"
    return None


def _identify(application: Application) -> tuple[str, str]:
    """Settle whose application it is; returns what stands in the way and the rule, or "".

    One that must be taken may come without a user, or its groups be unknown.
    Rules: SI-24, UGR-1, UGR-2, UGR-3, UGR-4 (Ours), UGR-6, UGR-8 (Ours).
    """
    record = application.record
    if not record.user:
        if not forced(record.tags):
            return "empty user cannot resolve", "UGR-3"
        application.user = NOBODY
        application.user_groups = (NO_GROUP,)
    elif not USER_NAME.fullmatch(record.user):
        return "invalid username, it contains invalid characters", "UGR-8"
    elif record.user_fault:
        if not forced(record.tags):
            return record.user_fault, "UGR-6"
        application.user_groups = (NO_GROUP,)
    return "", ""


def _admit(turn: Turn, partition: Partition, application: Application) -> Refusal | None:
    """Put an application into a queue, or say why there is none for it.

    One that must be taken goes to the recovery queue if no other takes it.
    Rules: SI-20, SI-25, PLC-35, PLC-60, PLC-71 (Ours).
    """
    tags = application.record.tags
    refusal = _find_leaf(turn, partition, application, place(partition, application))
    if refusal is not None and forced(tags):
        refusal = _find_leaf(turn, partition, application, Placement(RECOVERY_QUEUE))
    if refusal is not None:
        return refusal
    leaf = partition.queue(application.queue_path)
    assert leaf is not None
    refusal = _order_refusal(application)
    if refusal is not None:
        _leave_unused(turn, partition, leaf)
        return refusal
    _enter(turn, partition, application, leaf)
    return None


def _find_leaf(
    turn: Turn, partition: Partition, application: Application, placement: Placement
) -> Refusal | None:
    """Note the leaf that placement gave, made if need be, or say why it does not do.

    Rules: SI-20 (5 to 9), SI-22, PLC-3, PLC-4, PLC-5.
    """
    application_id = application.application_id
    path = placement.path
    application.queue_path = path
    if not path:
        reason = f"failed to place application {application_id}: {placement.reason}"
        return reason, placement.rule
    fault = creation_fault(partition, path)
    if fault:
        reason = f"failed to create rule based queue {path} for application {application_id}"
        return f"{reason}: {fault}", "PLC-67"
    leaf = make_queues(turn, partition, path)
    if not leaf.leaf:
        return f"failed to find queue {path} for application {application_id}", "SI-20"
    reason, rule = gang_fault(partition.types, leaf, application.record)
    if reason:
        _leave_unused(turn, partition, leaf)
        return reason, rule
    return None


def _order_refusal(application: Application) -> Refusal | None:
    """Return what is wrong with an application's own order of nodes. Rules: NOD-23."""
    policy = application.node_policy
    if policy in ("", NODE_SORT_FAIR, NODE_SORT_BINPACKING):
        return None
    text = f"unsupported node sort policy: tag {NODE_SORT_POLICY} must be"
    reason = f"{text} {NODE_SORT_FAIR} or {NODE_SORT_BINPACKING}, not {cut(policy)!r}"
    return f"application {application.application_id}: {reason}", "NOD-23"


def _leave_unused(turn: Turn, partition: Partition, leaf: Queue) -> None:
    """Let the cleaner look after a queue that may have been made for nothing. Rules: SI-22."""
    if not leaf.applications:
        plan_cleanup(turn, partition, leaf)


def _enter(turn: Turn, partition: Partition, application: Application, leaf: Queue) -> None:
    """Add an application to its leaf; its tags may limit the leaf. Rules: SI-21, EVT-65, PLC-81."""
    application_id = application.application_id
    application.queue = leaf
    if is_gang(application.record):
        application.gang = Gang(partition.types.amounts(application.record.placeholder_ask))
        renew_gang(partition, application)
    leaf.applications[application_id] = application
    partition.applications[application_id] = application
    update_application(application)
    use_node_order(partition, application.node_policy)
    turn.event(partition, events.QUEUE, leaf.path, events.ADD, events.QUEUE_APP, application_id)
    quota = tag_quota(leaf, application.record.tags)
    if quota is not None:
        apply_quota(turn, partition, leaf, quota)


def _remove(turn: Turn, rm_id: str, removal: ApplicationRemoval) -> None:
    """Remove an application with all it has. Rules: SI-29, EVT-89."""
    partition = turn.cluster.partition(rm_id, removal.partition)
    application = partition and partition.applications.get(removal.application_id)
    if not partition or not application:
        return
    drop_requests(turn, partition, application)
    if not application.allocations and application.state != states.COMPLETING:
        fire(turn, partition, application, states.COMPLETE)
    if application.gang is not None:
        application.gang.timer = None
    partition.applications.pop(application.application_id, None)
    leave_queue(turn, partition, application)
    allocations = list(application.allocations.values())
    held = partition.types.resource(application.usage())
    for allocation in allocations:
        note_removal(turn, partition, allocation, events.ALLOC_CANCEL)
    if allocations:
        usage_shrank(turn, partition, application, held)
    fire(turn, partition, application, states.COMPLETE)
    application.queue = None
    for allocation in allocations:
        node_returns(turn, partition, allocation)
    if allocations:
        message = f"application {application.application_id} removed"
        turn.emit(released_by_rm(partition, allocations, message))
