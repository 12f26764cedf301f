"""Adds, replaces and drops asks (rules: chapter 70 section 5)."""

from __future__ import annotations

from remuda.core.accounting.gangs import enlist, lose
from remuda.core.accounting.tags import characters, count_tags, keep_own_tags
from remuda.core.accounting.usage import set_pending
from remuda.core.apply.applications.lifecycle import asks_left, drop_request, drop_requests, fire
from remuda.core.apply.applications.past_asks import end_request, forget_past, make_request
from remuda.core.apply.asks.attempts import lose_preemption
from remuda.core.apply.asks.reservations import (
    drop_unfit,
    free_held,
    renew_reservation_class,
    trim_reservations,
    unreserve_all,
)
from remuda.core.apply.asks.retries import look_again_at_ask
from remuda.core.apply.process_limits import ask_limits
from remuda.core.apply.shortage import ask_shortage
from remuda.core.apply.tracking import end_if_idle
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import TIMEOUT, Ask, AskRelease
from remuda.core.messages.effects import AsksRejected, EventRecord, Rejection
from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.cluster import unknown_partition
from remuda.core.model.partition import Partition
from remuda.core.model.refusal import NO_REFUSAL, Refusal
from remuda.core.model.vectors import TYPES_LIMIT


def add_asks(turn: Turn, rm_id: str, asks: tuple[Ask, ...]) -> None:
    """Add asks; the refused ones are answered together. Rules: SI-4, SI-31, EXT-39.

    Emits: AsksRejected, EventRecord, ApplicationUpdated.
    """
    if asks:
        turn.cluster.managers[rm_id].asked = True
    shortage = turn.cluster.shortage
    rejected: list[Rejection] = []
    for ask in asks:
        partition = turn.cluster.partition(rm_id, ask.partition)
        reason, rule = refusal(partition, ask)
        if shortage and partition is not None and not reason:
            application = partition.applications[ask.application_id]
            reason, rule = ask_shortage(partition, application, ask, shortage)
        if partition is None or reason:
            rejected.append(Rejection(ask.allocation_key, reason, rule, ask.application_id))
        else:
            _add(turn, partition, partition.applications[ask.application_id], ask)
    if rejected:
        turn.emit(AsksRejected(rm_id, tuple(rejected)))


def refusal(partition: Partition | None, ask: Ask) -> Refusal:
    """Return why an ask is refused, with the rule; ("", "") if it is not.

    Implements: SI-31, QUE-45, NOD-12. Rules: SI-14.
    """
    if partition is None:
        return Refusal(unknown_partition(ask.partition), "SI-31")
    application = partition.applications.get(ask.application_id)
    if application is None:
        return Refusal(f"application '{ask.application_id}' is not known in the partition", "SI-31")
    if application.state == states.FAILING:
        return Refusal(f"application '{ask.application_id}' is Failing and takes no asks", "SI-31")
    if not ask.allocation_key:
        return Refusal("allocation key is empty", "SI-12")
    if ask.placeholder and not ask.task_group:
        return Refusal(f"placeholder ask '{ask.allocation_key}' has no task group name", "SI-31")
    fault = _amount_refusal(partition, ask)
    if fault.reason or not (
        ask.tags
        or application.waiting_asks >= partition.settings.application_asks_limit
        or partition.ask_count >= partition.settings.asks_limit
    ):
        return fault
    return ask_limits(partition, application, ask)


def _amount_refusal(partition: Partition, ask: Ask) -> Refusal:
    key = ask.allocation_key
    if ask.max_allocations < 1:
        return Refusal(
            f"ask '{key}' asks for {ask.max_allocations} allocations, at least 1", "SI-31"
        )
    known = partition.types.recall(ask.resource)
    if known is not None and known.need:
        return NO_REFUSAL
    if not any(ask.resource.values()):
        return Refusal(f"ask '{key}' asks for nothing: its resource is zero", "SI-31")
    negative = sorted(name for name, amount in ask.resource.items() if amount < 0)
    if negative:
        return Refusal(f"ask '{key}' has negative amounts of {', '.join(negative)}", "SI-31")
    if not partition.types.room_for(ask.resource):
        return Refusal(f"ask '{key}' would exceed {TYPES_LIMIT} different resource types", "SI-31")
    return NO_REFUSAL


def release_asks(turn: Turn, rm_id: str, releases: tuple[AskRelease, ...]) -> None:
    """Drop asks on demand of the RM; never answered. Implements: SI-50, SI-51, SI-52."""
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
            forget_past(partition, application, release.allocation_key)
            continue
        asks_left(turn, partition, application)


def _add(turn: Turn, partition: Partition, application: Application, ask: Ask) -> None:
    """Add an ask or replace the one with its key.

    Implements: SI-32, QUE-46, GANG-8, SI-34. Rules: SI-33, QUE-42, QUE-44, APP-4, APP-8 (a).
    """
    request = application.requests.get(ask.allocation_key)
    before = None if request is None else (request.ask, _members(request))
    if request is None:
        amounts = partition.types.amounts(ask.resource)
        request = make_request(partition, application, ask, amounts, turn.now_ns)
        # A key whose earlier ask ended goes on with its counts, so those members count already.
        before = (ask, _members(request)) if request.made else None
    else:
        _update(turn, partition, request, ask)
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
        _report_asked(turn, partition, request)
    if not pending:
        _wants_no_more(turn, partition, request, lowered=lowered)


def _wants_no_more(turn: Turn, partition: Partition, request: Request, *, lowered: bool) -> None:
    """Update the application after an ask was sent that has nothing pending.

    ``lowered``: the ask had something pending before. Rules: SI-34, APP-8 (a).
    """
    application = request.application
    end_request(partition, application, request.ask.allocation_key)
    if lowered:
        asks_left(turn, partition, application)


def _report_asked(turn: Turn, partition: Partition, request: Request) -> None:
    """Emit the event that an ask was accepted. Implements: EVT-17, EVT-29."""
    ask = request.ask
    if turn.fault_point is not None:
        turn.fault_point()
    # This function builds the record itself, as every ask comes here.
    turn.effects.append(
        EventRecord(
            partition.rm_id,
            partition.name,
            events.APP,
            ask.application_id,
            ask.allocation_key,
            events.ADD,
            events.APP_REQUEST,
            turn.wall_ns,
            request.amounts.resource,
            "",
            request.application.queue_path,
        )
    )


def _members(request: Request) -> int:
    """Return how many placeholders an ask has and still has pending. Rules: GANG-9, GANG-35."""
    return request.made + request.pending if request.ask.placeholder else 0


def _count_members(partition: Partition, request: Request, before: tuple[Ask, int] | None) -> None:
    """Count the gang members of a placeholder ask; for a changed ask, count the difference.

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


def _update(turn: Turn, partition: Partition, request: Request, ask: Ask) -> None:
    """Update an ask that was sent again; if it is unchanged it is tried again.

    Rules: SI-33, SI-10 (decision 135 of docs/spec).
    """
    if request.ask != ask:
        _replace(turn, partition, request, ask)
    elif request.pending:
        look_again_at_ask(partition, request)


def _replace(turn: Turn, partition: Partition, request: Request, ask: Ask) -> None:
    """Replace an ask by one with other amounts or needs; its reservations stay where they fit.

    Implements: SI-33.
    """
    amounts = partition.types.amounts(ask.resource)
    pending = request.pending
    set_pending(partition, request, 0)
    required = request.required_node()
    lose_preemption(turn, partition, request, "the ask changed")
    if request.ask.tags != ask.tags:
        keep_own_tags(partition, request)
        change = characters(ask.tags) - characters(request.ask.tags)
        count_tags(partition, request.application, change)
    request.replace(ask, amounts)
    reservations = list(request.reservations.values())
    if request.required_node() != required:
        unreserve_all(turn, partition, reservations, "the ask changed")
    else:
        drop_unfit(turn, partition, reservations)
    if pending:
        set_pending(partition, request, pending)
    renew_reservation_class(partition, request)
