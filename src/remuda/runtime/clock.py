"""The clocks of a served scheduler.

The core reads no clock; every input carries the time the loop read here. That time never jumps: it
starts at the wall clock's time and goes on by the machine's steady clock. So setting the machine's
clock moves no timer. The core also gets the wall clock's time, for people. Simulations supply
virtual times of their own and do not use this module.

Rules: CYC-34.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns, time_ns
from typing import Final, TypeAlias

from remuda.base.duration import MILLISECOND
from remuda.core.messages.commands import Command, MoveWallClock
from remuda.runtime.ports import Clock

# Reads a clock, in nanoseconds.
Reading: TypeAlias = Callable[[], int]

# The deviation of the wall clock from which it counts as set: more than it takes to read two
# clocks.
STEP_NS: Final = 100 * MILLISECOND
_TRIES: Final = 3


class SteadyClock:
    """The scheduler's time and the wall clock's time. Any thread.

    Args: steady: a clock that is never set. wall: Unix time as the machine has it.
    """

    def __init__(self, steady: Reading = monotonic_ns, wall: Reading = time_ns) -> None:
        self._steady = steady
        self._start_ns = wall() - steady()
        self.wall_ns: Final[Reading] = wall

    def now_ns(self) -> int:
        """Return the scheduler's time, which never goes back."""
        return self._start_ns + self._steady()


class StoppedClock:
    """The clock of a moment of the past: its time never changes."""

    def __init__(self, at_ns: int) -> None:
        self.now_ns: Final[Reading] = lambda: at_ns
        self.wall_ns: Final[Reading] = lambda: at_ns


class CoreTime:
    """The times the core learns: the clock's, and by how much the wall clock is ahead. Core thread.

    ``tell`` is called when the difference changed, with the command that says so and the time.
    """

    def __init__(self, clock: Clock, tell: Callable[[Command, int], object]) -> None:
        self._clock = clock
        self._tell = tell
        self._ahead_ns = 0

    def now_ns(self) -> int:
        """Return the time for the next input."""
        now_ns = self._clock.now_ns()
        ahead_ns = self._clock.wall_ns() - now_ns
        if abs(ahead_ns - self._ahead_ns) > STEP_NS:
            now_ns = self._look_again()
        return now_ns

    def _look_again(self) -> int:
        """Store the wall clock's new distance, unless reading the clocks took too long."""
        now_ns = ahead_ns = 0
        for _ in range(_TRIES):
            now_ns = self._clock.now_ns()
            ahead_ns = self._clock.wall_ns() - now_ns
            if abs(ahead_ns - self._ahead_ns) <= STEP_NS:
                return now_ns
        self._ahead_ns = ahead_ns
        self._tell(MoveWallClock(ahead_ns), now_ns)
        return now_ns
