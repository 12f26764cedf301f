"""The scheduler's own time is steady; what people and managers read is the wall's (CYC-34)."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.effects import EventRecord
from remuda.core.model.calendar import MARKS_LIMIT, Calendar
from tests.unit.core.door import MINUTE, SECOND, START, Caller, leaf
from tests.unit.core.rules.gang import TIMEOUT, half

HOUR = 60 * MINUTE
ONE = {"vcore": 1}


def created(at_ns: int) -> dict[str, Any]:
    """What an RM says that reads this time on its clock."""
    return {"tags": {"creationTime": str(at_ns // SECOND)}}


@pytest.mark.remuda_rule("CYC-34", "GANG-20")
@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_gang_times_out_when_it_would_have_without_the_step(step: int) -> None:
    gang = half()
    gang.send(c.MoveWallClock(step))
    assert gang.deadline() == START + TIMEOUT + step
    assert gang.run(TIMEOUT - 1) == []
    assert gang.run(1)[0] == "updated[app Resuming ResourceReservationTimeout]"


@pytest.mark.remuda_rule("CYC-34", "QUE-44")
@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_step_leaves_the_order_of_arrival_and_the_names_of_moments(step: int) -> None:
    door = Caller(leaf("a"))
    door.app("first")
    door.ask("first", "old", ONE)
    door.now += SECOND
    door.send(c.MoveWallClock(step))
    door.app("second")
    door.ask("second", "new", ONE)
    told = {name: view.submission_time_ns for name, view in door.apps().items()}
    assert told == {"first": START, "second": START + SECOND + step}
    (request,) = door.apps()["second"].requests
    assert request.request_time_ns == START + SECOND + step
    door.node("n1", {"vcore": 2})
    assert door.order() == ["old", "new"]
    log = [at for at, _ in door.apps()["second"].state_log]
    assert log == [START + SECOND + step] * len(log)


@pytest.mark.remuda_rule("CYC-34", "EVT-7")
def test_records_have_the_time_of_the_wall() -> None:
    door = Caller(leaf("a"))
    door.send(c.MoveWallClock(HOUR))
    effects = door.app("app")
    times = {each.timestamp_ns for each in effects if isinstance(each, EventRecord)}
    assert times == {START + HOUR}


@pytest.mark.remuda_rule("CYC-34", "QUE-44")
def test_asks_of_a_manager_whose_clock_is_right_keep_their_order_while_ours_is_wrong() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    door.now += 10 * SECOND
    door.ask("app", "a", ONE, **created(START + 8 * SECOND))
    door.send(c.MoveWallClock(HOUR))
    door.now += SECOND
    door.ask("app", "c", ONE, **created(START + 9 * SECOND))
    door.ask("app", "b", ONE, **created(START + 8 * SECOND))
    door.send(c.MoveWallClock(0))
    door.now += SECOND
    door.ask("app", "d", ONE, **created(START + 11 * SECOND))
    door.ask("app", "0", ONE, **created(START + 7 * SECOND))
    door.node("n1", {"vcore": 5})
    served = door.order()
    assert served == ["0", "a", "b", "c", "d"]


def test_a_calendar_knows_the_moments_that_the_wall_named() -> None:
    calendar = Calendar()
    assert (
        calendar.to_wall(5),
        calendar.past_from_wall(7, 10),
        calendar.past_from_wall(12, 10),
    ) == (5, 7, 10)
    calendar.move(100, 50)
    assert [calendar.to_wall(at) for at in (0, 99, 100, 101, 900)] == [0, 99, 150, 151, 950]
    assert [calendar.past_from_wall(wall, 110) for wall in (80, 99, 100, 149, 150, 160, 161)] == [
        80, 99, 100, 100, 100, 110, 110,
    ]  # fmt: skip
    calendar.move(200, -20)
    assert [calendar.to_wall(at) for at in (199, 200)] == [249, 180]
    assert calendar.past_from_wall(190, 215) == 210
    assert calendar.past_from_wall(200, 215) == 150
    assert calendar.past_from_wall(90, 215) == 90


def test_a_calendar_forgets_what_was_long_ago() -> None:
    calendar = Calendar()
    for number in range(1, 200):
        calendar.move(number * 10, number)
        calendar.move(number * 10, number + 1)
    assert len(calendar.marks) == MARKS_LIMIT
    assert calendar.to_wall(1995) == 1995 + 200
    first_ns, _ = calendar.marks[0]
    assert calendar.to_wall(1) == 1 + calendar.before_ns
    assert calendar.to_wall(first_ns - 1) == first_ns - 1 + calendar.before_ns
