"""After the process stood still, timers wait for what arrived meanwhile."""

from __future__ import annotations

import pytest

from remuda.runtime.standstill import (
    HOLD_NS_LIMIT,
    LATE_NS,
    MARGIN_NS,
    QUIET_WAITS,
    WAIT_NS,
    Standstill,
)

SECOND = 10**9


class Process:
    """A core thread whose clocks are set by hand."""

    def __init__(self) -> None:
        self.now = self.worked = 5 * SECOND
        self.still = Standstill(lambda: self.now, lambda: self.worked)

    def turn(self, rest: int | None, took: int | None = None, *, came: bool = False) -> int | None:
        """Wait for inputs, as long as was planned unless ``took`` says so; what was planned."""
        wait = self.still.plan(rest)
        self.now += took if took is not None else wait or 0
        self.still.waited(came=came)
        return wait

    def holding(self) -> bool:
        """Whether timers are held, as the loop asks before they run."""
        self.still.look()
        return self.still.holding


@pytest.mark.remuda_rule("CYC-34")
def test_a_timer_is_waited_for_in_two_parts() -> None:
    process = Process()
    assert process.turn(60 * SECOND) == 60 * SECOND - MARGIN_NS
    assert process.turn(MARGIN_NS) == MARGIN_NS
    assert process.turn(None, 3_600 * SECOND) is None
    assert not process.holding()


@pytest.mark.remuda_rule("CYC-34")
def test_who_wakes_late_holds_timers_until_nothing_arrives() -> None:
    process = Process()
    process.turn(20 * SECOND, 60 * SECOND)
    assert process.holding()
    for _ in range(QUIET_WAITS - 1):
        assert process.turn(1) == WAIT_NS
        assert process.holding()
    process.turn(0, came=True)
    for _ in range(QUIET_WAITS):
        assert process.holding()
        process.turn(1)
    assert not process.holding()
    assert process.turn(1) == 1


@pytest.mark.remuda_rule("CYC-34")
@pytest.mark.parametrize("stood, held", [(60 * SECOND, HOLD_NS_LIMIT), (5 * SECOND, 5 * SECOND)])
def test_timers_are_held_no_longer_than_that(stood: int, held: int) -> None:
    process = Process()
    process.turn(1, stood + 1)
    began = process.now
    while process.holding():
        process.turn(0, SECOND // 4, came=True)
    assert held <= process.now - began <= held + SECOND // 2


@pytest.mark.remuda_rule("CYC-34")
def test_who_is_stopped_at_work_holds_timers_and_who_works_does_not() -> None:
    process = Process()
    process.turn(0)
    process.now += 10 * SECOND
    process.worked += 10 * SECOND
    assert not process.holding()
    process.now += LATE_NS
    assert not process.holding()
    process.now += 10 * SECOND
    process.worked += SECOND
    assert process.holding()
