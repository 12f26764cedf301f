"""Adds and removes applications (rules: chapter 70 section 4)."""

from __future__ import annotations

from remuda.core.accounting.standing import update_application
from remuda.core.apply.lifecycle import drop_requests, fire, leave_queue
from remuda.core.apply.queues import make_queues
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
from remuda.core.messages.tags import NODE_SORT_POLICY, application_tag
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.partition import Partition
from remuda.core.policy.placement import NO_MATCH, place


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
    partition = turn.cluster.partition(rm_id, record.partition)
    if partition is None:
        return Rejection(record.application_id, unknown_partition(record.partition), "SI-20")
    application = Application(partition.next_number(), record, turn.now_ns)
    turn.application_event(partition, application, events.ADD, events.DETAILS_NONE)
    reason, rule = _refusal(partition, record)
    path = ""
    if not reason:
        path = place(partition, record)
        if not path:
            reason = f"failed to place application {record.application_id}: {NO_MATCH}"
            rule = "PLC-5"
    if reason:
        application.reject_reason = reason
        fire(turn, partition, application, states.REJECT, reason)
        return Rejection(record.application_id, reason, rule)
    leaf = make_queues(turn, partition, path)
    application.queue = leaf
    application.queue_path = leaf.path
    leaf.applications[record.application_id] = application
    partition.applications[record.application_id] = application
    update_application(application)
    turn.event(
        partition, events.QUEUE, leaf.path, events.ADD, events.QUEUE_APP, record.application_id
    )
    return None


def _refusal(partition: Partition, record: NewApplication) -> tuple[str, str]:
    """Return why an application is refused before placement, with the rule. Rules: SI-20, SI-12."""
    application_id = record.application_id
    if not application_id:
        return "application ID is empty", "SI-12"
    if not record.user:
        return f"user of application {application_id} is missing", "SI-24"
    if application_id in partition.applications:
        return f"application {application_id} already existed in partition", "SI-20"
    if any(record.placeholder_ask.values()):
        return f"gang application {application_id}: gang scheduling is not built yet", "GANG-1"
    if application_tag(record.tags, NODE_SORT_POLICY):
        return "unsupported node sort policy: a policy per application is not built yet", "NOD-23"
    return "", ""


def _remove(turn: Turn, rm_id: str, removal: ApplicationRemoval) -> None:
    """Remove an application with all it has. Rules: SI-29, EVT-89."""
    partition = turn.cluster.partition(rm_id, removal.partition)
    application = partition and partition.applications.get(removal.application_id)
    if not partition or not application:
        return
    drop_requests(turn, partition, application)
    if not application.allocations and application.state != states.COMPLETING:
        fire(turn, partition, application, states.COMPLETE)
    partition.applications.pop(application.application_id, None)
    leave_queue(turn, partition, application)
    allocations = list(application.allocations.values())
    held = partition.types.resource(application.allocated)
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
