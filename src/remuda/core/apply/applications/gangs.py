"""What a booked placeholder starts: the reservation timer, and at last the application.

Rules: chapter 80 section 3.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.gangs import renew_gang
from remuda.core.accounting.usage import count_early
from remuda.core.apply.allocations.release_requests import request_release
from remuda.core.apply.applications.lifecycle import fire
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import TIMEOUT, Ask
from remuda.core.model import deadlines, states
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.gang import Gang
from remuda.core.model.partition import Partition

TIMED_OUT: Final = "releasing allocated placeholders on placeholder timeout"


def placeholder_entered(
    turn: Turn, partition: Partition, placeholder: Allocation, since_ns: int | None
) -> None:
    """Note a booked placeholder: the first starts the timer, the last starts the application.

    ``since_ns``: when a reported placeholder was created, None for a new one.
    Implements: GANG-21, GANG-41. Rules: GANG-5, GANG-20, APP-4 (e), APP-19.
    """
    application = placeholder.application
    gang = application.gang
    assert gang is not None
    _start_timer(turn, partition, application, gang, since_ns)
    count_early(partition, application)
    complete_reservation(turn, partition, application)


def complete_reservation(turn: Turn, partition: Partition, application: Application) -> None:
    """Start an application whose placeholders cover what it announced.

    It is called after each new placeholder, and after a resize, which may enlarge one.

    Implements: GANG-5 (Ours). Rules: APP-4 (e), CYC-28.
    """
    gang = application.gang
    if gang is not None and not gang.complete and gang.reserved():
        gang.complete = True
        renew_gang(partition, application)
        if application.state == states.ACCEPTED:
            fire(turn, partition, application, states.RUN)


def release_late_placeholder(turn: Turn, partition: Partition, ask: Ask) -> None:
    """Request the release of a placeholder reported after the release of all others was requested.

    ``ask``: the reported ask. The function ignores an ask that is no placeholder.
    Rules: GANG-23, GANG-30, GANG-43 (decision 62 of docs/spec). Emits: AllocationsReleased.
    """
    application = partition.applications.get(ask.application_id)
    if application is None or not ask.placeholder:
        return
    gang = application.gang
    if gang is None:
        return
    late = application.state in (states.RESUMING, states.FAILING)
    if late or (application.state == states.COMPLETING and gang.ending):
        request_release(turn, partition, gang.not_releasing(), TIMEOUT, TIMED_OUT)


def _start_timer(
    turn: Turn, partition: Partition, application: Application, gang: Gang, since_ns: int | None
) -> None:
    """Start the reservation timer, or move it forward for an older placeholder.

    The application's timeout (SI-28) counts from its first placeholder, or the oldest reported one.
    Implements: GANG-20 (Ours), GANG-43. Rules: GANG-21 (Ours), SI-28 (decisions 62 and 70 of
    docs/spec).
    """
    start_ns = turn.now_ns if since_ns is None else since_ns
    if gang.timer is None:
        if application.state not in (states.ACCEPTED, states.STARTING, states.RUNNING):
            return
    elif start_ns >= gang.since_ns:
        return
    gang.since_ns = start_ns
    timeout_ms = application.record.execution_timeout_ms
    timeout_ns = deadlines.RESERVATION_TIMEOUT_NS
    if 0 < timeout_ms <= deadlines.TIMEOUT_MS_LIMIT:
        timeout_ns = timeout_ms * deadlines.MILLISECOND_NS
    left_ns = max(deadlines.MILLISECOND_NS, start_ns + timeout_ns - turn.now_ns)
    gang.timer = turn.set_timer(partition, deadlines.PLACEHOLDERS, left_ns, application)
