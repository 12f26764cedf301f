"""A slow-down on purpose, so that the gate can be seen to close.

Each allocation of a scheduler costs a part more than it did, in one of three ways: more steps of
Python, a copy of something large, or a pause. It sits between the core and the thread that drives
it, where a compiled core has a seam, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from remuda.config.process_limits import Limits
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import AllocationNew, Effect
from remuda.core.messages.queries import Query, View
from remuda.core.ports import Predicates, PreemptionPredicates
from remuda.core.scheduler import Scheduler
from remuda.runtime.ports import Door, SchedulerFactory

_LARGE: Final = [0] * 1_000
# Repetitions from which the cost of one is taken, at the least, and how long they take.
_SAMPLE: Final = 20_000
_SAMPLE_SECONDS: Final = 0.3


def _steps(count: int) -> None:
    for _ in range(count):
        pass


def _copies(count: int) -> None:
    for _ in range(count):
        _LARGE.copy()


# What wastes time, in how many equal parts; a pause is given in microseconds.
BURDENS: Final[dict[str, Callable[[int], None]]] = {
    "steps": _steps,
    "copies": _copies,
    "pauses": lambda count: time.sleep(count / 1e6),
}


class _Burdened:
    """A scheduler that wastes time for each allocation it made, after the step that made it."""

    def __init__(self, scheduler: Scheduler, waste: Callable[[int], None], parts: float) -> None:
        self._scheduler = scheduler
        self._waste = waste
        self._parts = parts
        self.next_deadline = scheduler.next_deadline
        self.has_work = scheduler.has_work
        self.check = scheduler.check

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        """As that of the scheduler."""
        return self._borne(self._scheduler.handle(command, now_ns))

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        """As that of the scheduler, but slower."""
        return self._borne(self._scheduler.step(now_ns, limit, timers=timers))

    def view(self, query: Query) -> View:
        """As that of the scheduler."""
        return self._scheduler.view(query)

    def _borne(self, effects: list[Effect]) -> list[Effect]:
        placed = sum([isinstance(effect, AllocationNew) for effect in effects])
        if placed:
            self._waste(round(placed * self._parts))
        return effects


def burdened(kind: str, seconds_per_allocation: float) -> SchedulerFactory:
    """Return a factory of schedulers that take so much longer for each allocation."""
    waste = BURDENS[kind]
    parts = seconds_per_allocation / (1e-6 if kind == "pauses" else _cost(waste))

    def make(
        predicates: Predicates,
        *,
        preemption: PreemptionPredicates,
        reservation_delay_ns: int | None,
        limits: Limits,
    ) -> Door:
        core = Scheduler(
            predicates,
            preemption=preemption,
            reservation_delay_ns=reservation_delay_ns,
            limits=limits,
        )
        return _Burdened(core, waste, parts)

    return make


def _cost(waste: Callable[[int], None]) -> float:
    """Seconds of CPU that one part takes, over so many that it takes as long as a run of S1."""
    count = _SAMPLE
    while True:
        began = time.process_time()
        waste(count)
        took = time.process_time() - began
        if took > _SAMPLE_SECONDS:
            return took / count
        count *= 2
