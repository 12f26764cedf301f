"""Whether the core thread lives is known at once, and also when it does not."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from remuda.core.messages.commands import NewApplication, UpdateApplications
from remuda.core.messages.effects import AllocationNew, Effect
from remuda.runtime.loop import SchedulerLoop
from remuda.telemetry.pulse import (
    DEAD_SECONDS,
    NOT_RESPONDING,
    NOT_RUNNING,
    UNREADY_SECONDS,
    Pulse,
)
from tests.unit.runtime.fakes import Factory, asks, registration
from tests.waiting import wait


class Clock:
    """Seconds a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.remuda_rule("REST-123")
def test_a_loop_that_has_nothing_to_do_is_alive(clock: Clock) -> None:
    core = SchedulerLoop(Factory())
    pulse = Pulse(core, clock)
    assert pulse.fault(UNREADY_SECONDS) == NOT_RUNNING  # not started yet
    core.start()
    for _ in range(5):
        assert pulse.fault(UNREADY_SECONDS) == ""
        core.barrier().result(60)
        clock.now += 1_000
    core.stop()
    assert pulse.fault(DEAD_SECONDS) == NOT_RUNNING


@pytest.mark.remuda_rule("REST-123")
def test_a_loop_that_failed_is_not_running(clock: Clock) -> None:
    core = SchedulerLoop(Factory())
    core.start()
    core.register(registration()).result(60)
    core.submit(UpdateApplications("rm", new=(NewApplication("fault"),)))
    wait(core.ended.done)
    assert core.failed
    assert Pulse(core, clock).fault(UNREADY_SECONDS) == NOT_RUNNING
    core.stop()


@pytest.mark.remuda_rule("REST-123")
def test_a_loop_that_hangs_is_found_out_and_forgiven(clock: Clock) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def hang(effects: Sequence[Effect]) -> None:
        if any(isinstance(effect, AllocationNew) for effect in effects):
            inside.set()
            go_on.wait()

    core = SchedulerLoop(Factory())
    pulse = Pulse(core, clock)
    core.start()
    core.register(registration(), hang).result(60)
    core.submit(asks("k"))
    inside.wait()
    try:  # the loop goes on no sooner than it is told to, so nothing here waits for it
        assert pulse.fault(UNREADY_SECONDS) == ""
        clock.now += UNREADY_SECONDS - 0.1
        assert pulse.fault(UNREADY_SECONDS) == ""
        clock.now += 0.1
        assert pulse.fault(UNREADY_SECONDS) == NOT_RESPONDING
        assert pulse.fault(DEAD_SECONDS) == ""
        clock.now += DEAD_SECONDS
        assert pulse.fault(DEAD_SECONDS) == NOT_RESPONDING
    finally:
        go_on.set()
    core.barrier().result(60)
    assert pulse.fault(UNREADY_SECONDS) == ""
    core.stop()


@pytest.mark.remuda_rule("REST-123")
def test_a_busy_loop_is_alive_however_long_its_queue_is(clock: Clock) -> None:
    class Busy:
        """Goes round and never gets to the end of its queue."""

        turns = 0

        def running(self) -> bool:
            return True

        def barrier(self) -> object:
            return core.intake.passed("nobody")

    core = SchedulerLoop(Factory())
    busy = Busy()
    pulse = Pulse(busy, clock)  # type: ignore[arg-type]
    for _ in range(5):
        assert pulse.fault(UNREADY_SECONDS) == ""
        clock.now += UNREADY_SECONDS
        busy.turns += 1
