"""Ends what took too long: a reservation by placeholders, or an application (rules: APP-16).

``expiry`` calls it when the timer has run out.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.gangs import give_up_members
from remuda.core.apply.cancelled_swaps import cancel_swaps
from remuda.core.apply.gangs import TIMED_OUT
from remuda.core.apply.lifecycle import asks_left, drop_request, fire
from remuda.core.apply.orders import order
from remuda.core.apply.reservations import unreserve_all
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import TIMEOUT
from remuda.core.messages.effects import AsksReleased, ReleasedAsk
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition

HARD: Final = "Hard"
RESERVATION_TIMEOUT: Final = "ResourceReservationTimeout"
EXECUTION_TIMEOUT: Final = "ExecutionTimeout"
LEFT_OVER: Final = "releasing allocated placeholders on app complete"


def give_up_waiting(turn: Turn, partition: Partition, application: Application) -> None:
    """Do what is due when the reservation timed out.

    Before all placeholders were there the application fails or goes on as an ordinary one; later
    only what was not replaced goes.
    Rules: GANG-22 to GANG-26, APP-13. Emits: ApplicationUpdated, AsksReleased, AllocationsReleased,
    EventRecord.
    """
    gang = application.gang
    assert gang is not None
    gang.timer = None
    if not gang.placeholders:
        return
    if application.state in (states.STARTING, states.RUNNING, states.COMPLETING):
        order(turn, partition, gang.not_ordered(), TIMEOUT, TIMED_OUT)
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
        order(turn, partition, gang.not_ordered(), TIMEOUT, TIMED_OUT)


def end_left_over(turn: Turn, partition: Partition, application: Application) -> None:
    """Order out the placeholders nobody needed: nothing came while it was completing.

    Rules: GANG-30. Emits: AllocationsReleased.
    """
    gang = application.gang
    assert gang is not None
    gang.ending = True
    order(turn, partition, gang.not_ordered(), TIMEOUT, LEFT_OVER)


def end_running_time(turn: Turn, partition: Partition, application: Application) -> None:
    """Fail an application that ran for as long as it may, and order out all it has.

    Rules: APP-30 [S]. Emits: ApplicationUpdated, AsksReleased, AllocationsReleased, EventRecord.
    """
    if application.state == states.FAILING:
        return
    fire(turn, partition, application, states.FAIL, EXECUTION_TIMEOUT)
    cancel_swaps(turn, partition, application, again=True)
    unreserve_all(turn, partition, list(application.reservations.values()), "a timeout")
    _time_out_asks(turn, partition, application, placeholders_only=False)
    waiting = [each for each in application.allocations.values() if not each.ordered]
    order(turn, partition, waiting, TIMEOUT, EXECUTION_TIMEOUT)
    asks_left(turn, partition, application)


def _time_out_asks(
    turn: Turn, partition: Partition, application: Application, *, placeholders_only: bool
) -> None:
    """Drop asks of which something is pending, and tell the RM. Rules: GANG-23, GANG-26, SI-70."""
    released: list[ReleasedAsk] = []
    for key, request in list(application.requests.items()):
        if request.pending and (request.ask.placeholder or not placeholders_only):
            drop_request(turn, partition, application, key, events.REQUEST_TIMEOUT)
            application_id = application.application_id
            text = "released on timeout"
            released.append(ReleasedAsk(partition.name, application_id, key, TIMEOUT, text))
    if released:
        turn.emit(AsksReleased(partition.rm_id, tuple(released)))
