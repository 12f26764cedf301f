"""The clocks of the loop: steady inside, the wall beside it."""

from __future__ import annotations

import pytest

from remuda.config.schema import built_in
from remuda.core.messages import commands
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.runtime.clock import STEP_NS, CoreTime, SteadyClock
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.roster import RmState

SECOND = 10**9
HOUR = 3_600 * SECOND
BEGUN = 1_700_000_000 * SECOND


class Machine:
    """Clocks that are set by hand."""

    def __init__(self) -> None:
        self.steady, self.wall = 77 * SECOND, BEGUN
        self.clock = SteadyClock(lambda: self.steady, lambda: self.wall)

    def go(self, ns: int) -> None:
        """Let time pass."""
        self.steady += ns
        self.wall += ns


@pytest.mark.remuda_rule("CYC-34")
@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_time_goes_on_when_the_wall_is_set(step: int) -> None:
    machine = Machine()
    told: list[tuple[int, commands.Command]] = []
    time = CoreTime(machine.clock, lambda command, now_ns: told.append((now_ns, command)))
    assert time.now_ns() == BEGUN
    machine.go(SECOND)
    machine.wall += step
    assert time.now_ns() == BEGUN + SECOND
    machine.go(SECOND)
    assert time.now_ns() == BEGUN + 2 * SECOND
    machine.wall -= step
    assert time.now_ns() == BEGUN + 2 * SECOND
    assert told == [
        (BEGUN + SECOND, commands.MoveWallClock(step)),
        (BEGUN + 2 * SECOND, commands.MoveWallClock(0)),
    ]


@pytest.mark.remuda_rule("CYC-34")
def test_a_wall_that_differs_by_what_reading_takes_was_not_set() -> None:
    machine = Machine()
    told: list[commands.Command] = []
    time = CoreTime(machine.clock, lambda command, _: told.append(command))
    for wall in (STEP_NS, -2 * STEP_NS, STEP_NS):
        machine.wall += wall
        time.now_ns()
    assert told == []
    machine.wall += STEP_NS + 1
    time.now_ns()
    assert told == [commands.MoveWallClock(STEP_NS + 1)]


@pytest.mark.remuda_rule("CYC-34", "RM-18")
@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_manager_is_given_up_after_its_time_whatever_the_wall_shows(step: int) -> None:
    machine = Machine()
    loop = SchedulerLoop(clock=machine.clock)
    loop.start()
    register = commands.RegisterResourceManager(
        "rm", built_in(), extra_config={"rm.pauseTimeout": "10m"}
    )
    assert loop.register(register).result(60).reason == ""
    assert loop.connections.lost("rm", "gone", None).result(60)
    machine.wall += step
    machine.go(600 * SECOND - 1)
    loop.idle().result(60)
    assert len(rows(PartitionView, loop.query(PartitionsQuery()).result(60))) == 1
    machine.go(1)
    loop.idle().result(60)
    assert rows(PartitionView, loop.query(PartitionsQuery()).result(60)) == []
    (status,) = loop.roster.all()
    assert (status.state, status.since_ns) == (RmState.STOPPED, machine.wall)
    loop.stop()
