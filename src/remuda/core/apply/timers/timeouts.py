"""Ends a reservation by placeholders, or an application, that took too long (rules: APP-16).

``expiry`` calls these functions when the timer has run out.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.gangs import give_up_members
from remuda.core.apply.allocations.cancelled_swaps import cancel_swaps
from remuda.core.apply.allocations.release_requests import request_release
from remuda.core.apply.applications.gangs import TIMED_OUT
from remuda.core.apply.applications.lifecycle import asks_left, drop_request, fire
from remuda.core.apply.asks.reservations import unreserve_all
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import TIMEOUT
from remuda.core.messages.effects import AsksReleased, ReleasedAsk
from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition

# The gang scheduling style of applications that fail; with any other text they go on. Implements:
# SI-27.
HARD: Final = "Hard"

# Causes that resource managers compare. Implements: SI-78.
RESERVATION_TIMEOUT: Final = "ResourceReservationTimeout"
EXECUTION_TIMEOUT: Final = "ExecutionTimeout"
LEFT_OVER: Final = "releasing allocated placeholders on app complete"


def give_up_waiting(turn: Turn, partition: Partition, application: Application) -> None:
    """End the reservation of a gang that timed out.

    If not all placeholders were allocated, the application fails (Hard) or goes on as an ordinary
    one (Soft). Later only the placeholders that were not replaced are released.
    Implements: GANG-22, GANG-23, GANG-24, APP-13. Rules: GANG-25, GANG-26. Emits:
    ApplicationUpdated, AsksReleased, AllocationsReleased, EventRecord.
    """
    gang = application.gang
    assert gang is not None
    gang.timer = None
    if not gang.placeholders:
        return
    if application.state in (states.STARTING, states.RUNNING, states.COMPLETING):
        request_release(turn, partition, gang.not_releasing(), TIMEOUT, TIMED_OUT)
    elif application.state == states.ACCEPTED:
        hard = application.record.gang_scheduling_style == HARD
        if hard:
            cancel_swaps(turn, partition, application, again=True)
        gang.over = True
        event = states.FAIL if hard else states.RESUME
        fire(turn, partition, application, event, RESERVATION_TIMEOUT)
        unreserve_all(turn, partition, list(application.reservations.values()), "a timeout")
        _time_out_asks(turn, partition, application, placeholders_only=not hard)
        give_up_members(partition, application)
        request_release(turn, partition, gang.not_releasing(), TIMEOUT, TIMED_OUT)


def end_left_over(turn: Turn, partition: Partition, application: Application) -> None:
    """Request the release of the unused placeholders of an application that is completing.

    Implements: GANG-30. Emits: AllocationsReleased.
    """
    gang = application.gang
    assert gang is not None
    gang.ending = True
    request_release(turn, partition, gang.not_releasing(), TIMEOUT, LEFT_OVER)


def end_running_time(turn: Turn, partition: Partition, application: Application) -> None:
    """Fail an application that ran too long, and request the release of its allocations.

    Implements: APP-30 [S]. Emits: ApplicationUpdated, AsksReleased, AllocationsReleased,
    EventRecord.
    """
    if application.state == states.FAILING:
        return
    fire(turn, partition, application, states.FAIL, EXECUTION_TIMEOUT)
    cancel_swaps(turn, partition, application, again=True)
    unreserve_all(turn, partition, list(application.reservations.values()), "a timeout")
    _time_out_asks(turn, partition, application, placeholders_only=False)
    waiting = [each for each in application.allocations.values() if not each.release_type]
    request_release(turn, partition, waiting, TIMEOUT, EXECUTION_TIMEOUT)
    asks_left(turn, partition, application)


def _time_out_asks(
    turn: Turn, partition: Partition, application: Application, *, placeholders_only: bool
) -> None:
    """Drop the pending asks of an application, and report them to the RM.

    Implements: GANG-26, SI-70. Rules: GANG-23.
    """
    released: list[ReleasedAsk] = []
    for key, request in list(application.requests.items()):
        if request.pending and (request.ask.placeholder or not placeholders_only):
            drop_request(turn, partition, application, key, events.REQUEST_TIMEOUT)
            application_id = application.application_id
            text = "released on timeout"
            released.append(ReleasedAsk(partition.name, application_id, key, TIMEOUT, text))
    if released:
        turn.emit(AsksReleased(partition.rm_id, tuple(released)))
