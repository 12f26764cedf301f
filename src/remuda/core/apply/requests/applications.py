"""Adds and removes applications (rules: chapter 70 section 4).

A submitted application is checked, placed in a queue and becomes an application; if a check fails
or no queue takes it, it is rejected.
"""

from __future__ import annotations

from typing import Final

from remuda.config.findings import cut
from remuda.config.schema import NODE_SORT_BINPACKING, NODE_SORT_FAIR, RECOVERY_QUEUE, USER_NAME
from remuda.core.accounting.gangs import renew_gang
from remuda.core.accounting.tags import characters, count_tags, uncount_application
from remuda.core.apply.applications.lifecycle import drop_requests, fire, leave_queue, plan_cleanup
from remuda.core.apply.applications.retention import reject
from remuda.core.apply.process_limits import application_limits, queue_limit
from remuda.core.apply.queues.creation import creation_fault, make_queues
from remuda.core.apply.queues.settings import apply_quota
from remuda.core.apply.requests.partitions import use_node_order
from remuda.core.apply.requests.releases import node_returns, note_removal, released_by_rm
from remuda.core.apply.shortage import application_shortage
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
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import Gang
from remuda.core.model.applications.submission import Submission
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.refusal import Refusal
from remuda.core.model.vectors import TYPES_LIMIT
from remuda.core.pending.ordering import update_application
from remuda.core.policy.gang import gang_fault, is_gang
from remuda.core.policy.placement import Placement, forced, nearest, place
from remuda.core.policy.tag_quota import tag_quota

# The user of an application that must be accepted although its user is unknown (UGR-3).
NOBODY: Final = "nobody"
NO_GROUP: Final = "nogroup"


def update_applications(turn: Turn, command: UpdateApplications) -> None:
    """Process an ApplicationRequest: adds, their verdicts, removals.

    Emits: ApplicationsAnswered, EventRecord, ApplicationUpdated, AllocationsReleased.

    Implements: SI-30. Rules: SI-3, SI-4.
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
    """Add one application; the first check that fails gives the verdict.

    Implements: SI-20, SI-22, PLC-1, EVT-25. Rules: SI-21, EXT-39.
    """
    application_id = record.application_id
    partition = turn.cluster.partition(rm_id, record.partition)
    if partition is None:
        return Rejection(application_id, unknown_partition(record.partition), "SI-20")
    submitted = Submission(partition.next_number(), record, turn.now_ns)
    partition.totals.submitted += 1
    turn.event(
        partition,
        events.APP,
        application_id,
        events.ADD,
        events.DETAILS_NONE,
        queue=submitted.queue_path,
    )
    refusal = (
        _refusal(partition, submitted)
        or application_shortage(turn, partition, submitted)
        or _admit(turn, partition, submitted)
    )
    if refusal is None:
        return None
    reason, rule = refusal
    reject(turn, partition, submitted, reason)
    return Rejection(application_id, reason, rule)


def _refusal(partition: Partition, submitted: Submission) -> Refusal | None:
    """Return why an application is refused before placement.

    Implements: SI-12, SI-23. Rules: SI-14, SI-20, OBJ-8.
    """
    application_id = submitted.application_id
    if not application_id:
        return Refusal("application ID is empty", "SI-12")
    fault, rule = _identify(submitted)
    if fault:
        return Refusal(f"user of application {application_id}: {fault}", rule)
    if any(amount < 0 for amount in submitted.record.placeholder_ask.values()):
        return Refusal(
            f"placeholder ask of application {application_id} has a negative amount", "GANG-1"
        )
    if not partition.types.room_for(submitted.record.placeholder_ask):
        return Refusal(
            f"application {application_id}: more than {TYPES_LIMIT} resource types", "RES-1"
        )
    if partition.state != states.ACTIVE:
        reason = f"partition is stopped ({partition.name} is {partition.state})"
        return Refusal(f"{reason}: application {application_id} cannot be added", "OBJ-8")
    if application_id in partition.applications:
        return Refusal(f"application {application_id} already existed in partition", "SI-20")
    return application_limits(partition, submitted.record)


def _identify(submitted: Submission) -> tuple[str, str]:
    """Set the user and groups of an application; return why that fails, and the rule, or "".

    An application that must be accepted may have no user, or unknown groups.
    Implements: SI-24, UGR-1, UGR-2, UGR-3, UGR-4 (Ours). Rules: UGR-6, UGR-8 (Ours).
    """
    record = submitted.record
    if not record.user:
        if not forced(record.tags):
            return Refusal("empty user cannot resolve", "UGR-3")
        submitted.user = NOBODY
        submitted.user_groups = (NO_GROUP,)
    elif not USER_NAME.fullmatch(record.user):
        return Refusal("invalid username, it contains invalid characters", "UGR-8")
    elif record.user_fault:
        if not forced(record.tags):
            return record.user_fault, "UGR-6"
        submitted.user_groups = (NO_GROUP,)
    return "", ""


def _admit(turn: Turn, partition: Partition, submitted: Submission) -> Refusal | None:
    """Put an application into a queue, or return why no queue takes it.

    An application that must be accepted goes to the recovery queue if no other takes it.
    Implements: SI-25, PLC-35, PLC-60, PLC-71 (Ours), PLC-10, REC-4. Rules: SI-20, EXT-33.
    """
    record = submitted.record
    refusal = _find_leaf(turn, partition, submitted, place(partition, submitted))
    if refusal is not None and forced(record.tags) and _within(partition, record, RECOVERY_QUEUE):
        refusal = _find_leaf(turn, partition, submitted, Placement(RECOVERY_QUEUE))
    if refusal is not None:
        return refusal
    leaf = partition.queue(submitted.queue_path)
    assert leaf is not None
    refusal = _order_refusal(submitted)
    if refusal is not None:
        _leave_unused(turn, partition, leaf)
        return refusal
    _enter(turn, partition, submitted, leaf)
    return None


def _find_leaf(
    turn: Turn, partition: Partition, submitted: Submission, placement: Placement
) -> Refusal | None:
    """Note the leaf that placement found, and make it if needed; or return why it cannot be used.

    Implements: PLC-3, PLC-4, PLC-5, EXT-33. Rules: SI-14, SI-20 (5 to 9), SI-22.
    """
    application_id = submitted.application_id
    path = placement.path
    submitted.queue_path = path
    if not path:
        reason = f"failed to place application {application_id}: {placement.reason}"
        return Refusal(reason, placement.rule)
    scope = submitted.record.within
    if scope is not None and not _within(partition, submitted.record, path):
        reason = f"queue {path} of partition {partition.name} is beyond the scope of its RM"
        return Refusal(f"application {application_id}: {reason} ({scope.text()})", "EXT-33")
    fault = creation_fault(partition, path)
    if fault:
        reason = f"failed to create rule based queue {path} for application {application_id}"
        return Refusal(f"{reason}: {fault}", "PLC-67")
    missing = len(nearest(partition, path)[1])
    if missing and path != RECOVERY_QUEUE:
        subject = f"queue {path} cannot be made for application {application_id}"
        refusal = queue_limit(partition, missing, subject)
        if refusal is not None:
            return refusal
    leaf = make_queues(turn, partition, path)
    if not leaf.leaf:
        return Refusal(f"failed to find queue {path} for application {application_id}", "SI-20")
    reason, rule = gang_fault(partition.types, leaf, submitted.record)
    if reason:
        _leave_unused(turn, partition, leaf)
        return Refusal(reason, rule)
    return None


def _within(partition: Partition, record: NewApplication, path: str) -> bool:
    """Whether a queue is in the scope that limits an application, if one does. Rules: EXT-33."""
    scope = record.within
    return scope is None or scope.includes(partition.rm_id, partition.name, path)


def _order_refusal(submitted: Submission) -> Refusal | None:
    """Return what is wrong with the node sort policy an application chose. Rules: NOD-23."""
    policy = submitted.node_policy
    if policy in ("", NODE_SORT_FAIR, NODE_SORT_BINPACKING):
        return None
    text = f"unsupported node sort policy: tag {NODE_SORT_POLICY} must be"
    reason = f"{text} {NODE_SORT_FAIR} or {NODE_SORT_BINPACKING}, not {cut(policy)!r}"
    return Refusal(f"application {submitted.application_id}: {reason}", "NOD-23")


def _leave_unused(turn: Turn, partition: Partition, leaf: Queue) -> None:
    """Have the cleanup timer check a queue that was made for a refused application.

    Rules: SI-22.
    """
    if not leaf.applications:
        plan_cleanup(turn, partition, leaf)


def _enter(turn: Turn, partition: Partition, submitted: Submission, leaf: Queue) -> None:
    """Add an application to its leaf; its tags may limit the leaf.

    Implements: SI-21, EVT-65. Rules: PLC-81.
    """
    application = Application(submitted, leaf)
    application_id = application.application_id
    if is_gang(application.record):
        application.gang = Gang(partition.types.amounts(submitted.record.placeholder_ask))
        renew_gang(partition, application)
    leaf.applications[application_id] = application
    partition.applications[application_id] = application
    if application.record.tags:
        count_tags(partition, application, characters(application.record.tags))
    update_application(application)
    use_node_order(partition, application.node_policy)
    turn.event(partition, events.QUEUE, leaf.path, events.ADD, events.QUEUE_APP, application_id)
    quota = tag_quota(leaf, application.record.tags)
    if quota is not None:
        apply_quota(turn, partition, leaf, quota)


def _remove(turn: Turn, rm_id: str, removal: ApplicationRemoval) -> None:
    """Remove an application with its asks and allocations. Implements: SI-29, EVT-89."""
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
    for allocation in allocations:
        node_returns(turn, partition, allocation)
    if allocations:
        message = f"application {application.application_id} removed"
        turn.emit(released_by_rm(partition, allocations, message))
    uncount_application(partition, application)
