"""Adds, replaces and drops asks (rules: chapter 70 section 5)."""

from __future__ import annotations

from remuda.core.accounting.gangs import enlist, lose
from remuda.core.accounting.usage import set_pending
from remuda.core.apply.attempts import lose_standing
from remuda.core.apply.lifecycle import admit, asks_left, drop_request, drop_requests, fire
from remuda.core.apply.reservations import (
    drop_unfit,
    free_held,
    renew_claim,
    trim_reservations,
    unreserve_all,
)
from remuda.core.apply.tracking import end_if_idle
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import TIMEOUT, Ask, AskRelease
from remuda.core.messages.effects import AsksRejected, EventRecord, Rejection
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.deadlines import created_ns
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.model.vectors import TYPES_LIMIT


def add_asks(turn: Turn, rm_id: str, asks: tuple[Ask, ...]) -> None:
    """Take asks in; the refused ones are answered together. Rules: SI-4, SI-31.

    Emits: AsksRejected, EventRecord, ApplicationUpdated.
    """
    rejected: list[Rejection] = []
    for ask in asks:
        partition = turn.cluster.partition(rm_id, ask.partition)
        reason, rule = refusal(partition, ask)
        if partition is None or reason:
            rejected.append(Rejection(ask.allocation_key, reason, rule, ask.application_id))
        else:
            _add(turn, partition, partition.applications[ask.application_id], ask)
    if rejected:
        turn.emit(AsksRejected(rm_id, tuple(rejected)))


def refusal(partition: Partition | None, ask: Ask) -> tuple[str, str]:
    """Return why an ask is refused, with the rule; ("", "") if it is not. Rules: SI-31, QUE-45."""
    if partition is None:
        return unknown_partition(ask.partition), "SI-31"
    application = partition.applications.get(ask.application_id)
    if application is None:
        return f"application '{ask.application_id}' is not known in the partition", "SI-31"
    if application.state == states.FAILING:
        return f"application '{ask.application_id}' is Failing and takes no asks", "SI-31"
    if not ask.allocation_key:
        return "allocation key is empty", "SI-12"
    if ask.placeholder and not ask.task_group:
        return f"placeholder ask '{ask.allocation_key}' has no task group name", "SI-31"
    return _amount_refusal(partition, ask)


def _amount_refusal(partition: Partition, ask: Ask) -> tuple[str, str]:
    key = ask.allocation_key
    if ask.max_allocations < 1:
        return f"ask '{key}' asks for {ask.max_allocations} allocations, at least 1", "SI-31"
    known = partition.types.recall(ask.resource)
    if known is not None and known.need:
        return "", ""
    if not any(ask.resource.values()):
        return f"ask '{key}' asks for nothing: its resource is zero", "SI-31"
    negative = sorted(name for name, amount in ask.resource.items() if amount < 0)
    if negative:
        return f"ask '{key}' has negative amounts of {', '.join(negative)}", "SI-31"
    if not partition.types.room_for(ask.resource):
        return f"ask '{key}' would exceed {TYPES_LIMIT} different resource types", "SI-31"
    return "", ""


def release_asks(turn: Turn, rm_id: str, releases: tuple[AskRelease, ...]) -> None:
    """Drop asks on demand of the RM; never answered. Rules: SI-50, SI-51, SI-52."""
    for release in releases:
        partition = turn.cluster.partition(rm_id, release.partition)
        application = partition and partition.applications.get(release.application_id)
        if not partition or not application or release.termination_type == TIMEOUT:
            continue
        if not release.allocation_key:
            drop_requests(turn, partition, application)
        elif release.allocation_key in application.requests:
            drop_request(turn, partition, application, release.allocation_key)
        else:
            continue
        asks_left(turn, partition, application)


def _add(turn: Turn, partition: Partition, application: Application, ask: Ask) -> None:
    """Add an ask or replace the one with its key.

    Rules: SI-32 to SI-34, QUE-42, QUE-44, QUE-46, APP-4, APP-8 (a).
    """
    request = application.requests.get(ask.allocation_key)
    before = None if request is None else (request.ask, _members(request))
    if request is None:
        amounts = partition.types.amounts(ask.resource)
        number = partition.next_number()
        created = created_ns(ask.tags, turn.now_ns) if ask.tags else turn.now_ns
        request = Request(number, ask, amounts, application, created)
        admit(partition, request)
    elif request.ask != ask:
        _replace(turn, partition, request, ask)
    pending = max(0, ask.max_allocations - request.made)
    lowered = pending < request.pending
    if pending and application.state in (states.NEW, states.COMPLETING):
        fire(turn, partition, application, states.RUN)
    if pending != request.pending:
        set_pending(partition, request, pending)
        if request.reservations:
            trim_reservations(turn, partition, request)
    if ask.placeholder or before is not None:
        _count_members(partition, request, before)
        free_held(turn, partition, application)
    if not application.request_groups:
        end_if_idle(turn, partition, application)
    if turn.cluster.tracking:
        _tell_asked(turn, partition, request)
    if lowered:
        asks_left(turn, partition, application)


def _tell_asked(turn: Turn, partition: Partition, request: Request) -> None:
    """Tell that an ask was accepted. Rules: EVT-17."""
    ask = request.ask
    # Built here and not by turn.event: every ask comes this way.
    turn.effects.append(
        EventRecord(
            partition.rm_id,
            partition.name,
            events.APP,
            ask.application_id,
            ask.allocation_key,
            events.ADD,
            events.APP_REQUEST,
            turn.now_ns,
            request.amounts.resource,
            "",
            request.application.queue_path,
        )
    )


def _members(request: Request) -> int:
    """Return how many placeholders an ask has got and still wants. Rules: GANG-9, GANG-35."""
    return request.made + request.pending if request.ask.placeholder else 0


def _count_members(partition: Partition, request: Request, before: tuple[Ask, int] | None) -> None:
    """Count the members a placeholder ask stands for; one that changed is counted by difference.

    ``before``: the ask that was replaced and its members, None if the ask is new.
    Rules: GANG-9, GANG-35, SI-33 (decision 63 of docs/spec).
    """
    ask, application = request.ask, request.application
    was = 0
    if before is not None and before[0].placeholder:
        was = before[1]
        if not ask.placeholder or before[0].task_group != ask.task_group:
            lose(partition, application, before[0].task_group, was - request.made)
            was = request.made
    more = _members(request) - was
    if ask.placeholder and more > 0:
        enlist(partition, application, ask.task_group, request.amounts, more)
    elif ask.placeholder and more < 0:
        lose(partition, application, ask.task_group, -more)


def _replace(turn: Turn, partition: Partition, request: Request, ask: Ask) -> None:
    """Let an ask be another one; what it reserved stays if it fits. Rules: SI-33."""
    amounts = partition.types.amounts(ask.resource)
    pending = request.pending
    set_pending(partition, request, 0)
    required = request.required_node()
    lose_standing(turn, partition, request, "the ask changed")
    request.replace(ask, amounts)
    reservations = list(request.reservations.values())
    if request.required_node() != required:
        unreserve_all(turn, partition, reservations, "the ask changed")
    else:
        drop_unfit(turn, partition, reservations)
    if pending:
        set_pending(partition, request, pending)
    renew_claim(partition, request)
