"""Lets the core fail on purpose, to try what a fault costs. Only for tests and drills.

    REMUDA_FAULT_POINTS=7:1000 remuda serve     fails about once in 1,000 reports, by seed 7
    REMUDA_FAULT_POINTS=7:1000:2 remuda serve   the same, but twice at most

The core passes a fault point wherever it reports something, in the middle of its changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from remuda.base.errors import UsageError
from remuda.core.ports import Predicates
from remuda.core.scheduler import Scheduler
from remuda.runtime.ports import SchedulerFactory

VARIABLE: Final = "REMUDA_FAULT_POINTS"


class InjectedFault(Exception):  # noqa: N818 - it stands for any exception, also one of Python
    """A fault that was ordered."""


class FaultPoints:
    """Raises InjectedFault about once in ``one_in`` calls, and at most ``most`` times; 0: always.

    Same seed, same calls.
    """

    def __init__(self, seed: int, one_in: int, most: int = 0) -> None:
        self._random = Random(seed)  # noqa: S311 - nothing secret
        self._one_in = one_in
        self._most = most
        self.raised = 0

    def __call__(self) -> None:
        """Pass a fault point."""
        if self._most and self.raised >= self._most:
            return
        if self._random.randrange(self._one_in) == 0:
            self.raised += 1
            raise InjectedFault(f"fault {self.raised}, which {VARIABLE} ordered")


def scheduler_factory(environment: Mapping[str, str]) -> SchedulerFactory:
    """Return what makes the core: one that fails on purpose if the environment says so.

    Raises: UsageError.
    """
    text = environment.get(VARIABLE, "")
    if not text:
        return Scheduler
    parts = text.split(":")
    numbers = [int(part) for part in parts if part.isdecimal() and part.isascii()]
    if len(numbers) != len(parts) or len(parts) not in (2, 3) or not all(numbers[1:]):
        raise UsageError(
            f"{VARIABLE}: '{text[:80]}' is not SEED:COUNT or SEED:COUNT:MOST, for example 7:1000"
        )
    points = FaultPoints(*numbers)

    def make(predicates: Predicates, **settings: Any) -> Scheduler:
        scheduler = Scheduler(predicates, **settings)
        scheduler.set_fault_point(points)
        return scheduler

    return make
