"""Compares applications with their asks and allocations (part of the self-audit)."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from remuda.core.messages import events
from remuda.core.messages.self_audit import SelfAuditView, SlicePlace
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Vector, add_times
from remuda.core.views.self_audit.comparison import PARTS_LIMIT, Slice
from remuda.core.views.sums import total

_LOOKS: Final = 10


def application_slice(partition: Partition, place: SlicePlace) -> SelfAuditView:
    """Compare the next applications. Rules: HLT-21, QUE-2, GANG-7, PRE-34, PRE-89, CYC-18."""
    found = Slice(partition)
    after, _, _ = place
    following = list(partition.applications.values())
    del following[: bisect_right(following, after, key=_number)]
    for application in following:
        if found.full():
            return found.end((after, "", 0))
        found.looks += _LOOKS
        _place(found, application)
        _asks(found, application)
        _usage(found, application)
        after = application.number
    return found.end(None)


def _number(application: Application) -> int:
    return application.number


def _place(found: Slice, application: Application) -> None:
    """It is in its leaf, and counts at limits when it holds something. Rules: LIM-36."""
    name = application.application_id
    if application.queue.applications.get(name) is not application:
        found.note(events.APP, name, "queue", f"{application.queue_path} does not have it")
    if (application.limit_set is None) != application.idle():
        found.note(events.APP, name, "limit set", "it has limits and is idle, or the reverse")
    if application.allocations and not application.counted:
        found.note(events.APP, name, "counted", "it holds allocations and does not count")
    for number, reservation in application.reservations.items():
        if found.partition.reserving.reservations.get(number) is not reservation:
            key = reservation.request.ask.allocation_key
            text = f"the reservation for {key} is unknown"
            found.note(events.APP, name, f"reservation {number}", text, key)


def _asks(found: Slice, application: Application) -> None:
    """Compare the pending amount and the promised room with the asks. Rules: PRE-89."""
    requests = application.requests
    if len(requests) > PARTS_LIMIT:
        return
    found.looks += len(requests)
    pending, promised = Vector(), Vector()
    wanted = waiting = placeholders = 0
    busy = [each for each in requests.values() if each.pending or each.preemption is not None]
    for request in busy:
        count = request.pending
        if count:
            add_times(pending, request.amounts, count)
            wanted += count
            waiting += 1
            if request.ask.placeholder:
                placeholders += count
        if request.preemption is not None:
            _promise(found, application, request, promised)
    name, kept = application.application_id, application.promised
    found.amounts(events.APP, name, "pending", application.pending.amounts, pending.amounts)
    found.number(events.APP, name, "wanted", application.wanted, wanted)
    found.number(events.APP, name, "waiting asks", application.waiting_asks, waiting)
    amounts = [] if kept is None else kept.amounts
    found.amounts(events.APP, name, "promised", amounts, promised.amounts)
    listed = sum([1 if each.only_identity else len(each.identities) for each in requests.values()])
    listed += sum([len(each) for each in application.detached.values()])
    found.number(events.APP, name, "listed allocations", listed, len(application.allocations))
    if application.gang is not None:
        kept_pending = application.gang.pending
        found.number(events.APP, name, "pending placeholders", kept_pending, placeholders)


def _promise(found: Slice, application: Application, request: Request, sum_: Vector) -> None:
    """Add the room promised to an ask, whose preemption has a reservation. Rules: PRE-89."""
    preemption = request.preemption
    assert preemption is not None
    if preemption.promised:
        add_times(sum_, preemption.amounts, 1)
    if preemption.node_id not in request.reservations:
        key = request.ask.allocation_key
        text = f"a preemption for {key} is in effect without a reservation"
        name = application.application_id
        found.note(events.APP, name, f"preemption {preemption.number}", text, key)


def _usage(found: Slice, application: Application) -> None:
    """Compare the allocated amounts with the sums of real allocations and of placeholders.

    Each victim among them must belong to a preemption. Rules: PRE-34.
    """
    held = application.allocations
    if len(held) > PARTS_LIMIT:
        return
    found.looks += len(held) // 3
    name, gang = application.application_id, application.gang
    if gang is None:
        real = [each.amounts for each in held.values()]
    else:
        real = [each.amounts for each in held.values() if not each.ask.placeholder]
        placeholders = len(held) - len(real)
        found.number(events.APP, name, "placeholders", len(gang.placeholders), placeholders)
        parts = total([each.amounts for each in gang.placeholders.values()])
        what = "allocated to placeholders"
        found.amounts(events.APP, name, what, gang.usage.amounts, parts)
    found.amounts(events.APP, name, "allocated", application.allocated.amounts, total(real))
    for allocation in [each for each in held.values() if each.preemption is not None]:
        preemption, identity = allocation.preemption, allocation.allocation_id
        victim = None if preemption is None else preemption.victims.get(allocation.key())
        if victim is None or victim.confirmed:
            text = f"{identity} is a victim of no preemption"
            found.note(events.APP, name, f"allocation {identity}", text, identity)
