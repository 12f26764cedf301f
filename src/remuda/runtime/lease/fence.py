"""The fence of the active scheduler: until when its answers may leave the process.

It closes by time alone. A process that was stopped or cut off finds it closed when it goes on,
before anything told it that another process is active.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeAlias

# Reads a steady clock, in nanoseconds.
Clock: TypeAlias = Callable[[], int]

# The time in which the machine was suspended counts where the system tells it.
_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def steady_ns() -> int:
    """Return a time that nobody sets and that goes on while the machine is suspended."""
    return time.clock_gettime_ns(_CLOCK)


class Fence:
    """Whether this process is active, and with which token. Any thread may ask, one changes it.

    ``token``: the fencing token, 0 on a standby. ``active_at``: where the active scheduler listens
    for gRPC, "" if that is not known. A fence that closed never opens again: the process ends, and
    the next one begins as a standby.

    Rules: EXT-34, EXT-36.
    """

    def __init__(self, clock: Clock = steady_ns) -> None:
        self._clock = clock
        self._until_ns: int | None = None
        self._shut = False
        self.token = 0
        self.active_at = ""

    @property
    def open(self) -> bool:
        """Whether answers may leave the process now."""
        until_ns = self._until_ns
        return until_ns is not None and not self._shut and self._clock() < until_ns

    @property
    def closed(self) -> bool:
        """Whether this process was active and is not any more."""
        return self._shut or (self._until_ns is not None and self._clock() >= self._until_ns)

    def remaining_ns(self) -> int:
        """Return how long the fence stays open without a renewal; 0 if it is not open."""
        until_ns = self._until_ns
        if until_ns is None or self._shut:
            return 0
        return max(0, until_ns - self._clock())

    def extend(self, token: int, until_ns: int) -> bool:
        """Stay open until a moment of the clock, from now on under this token.

        Returns whether the fence is open; it is not if it closed before, or the moment is over.
        """
        if self.closed or self._clock() >= until_ns:
            return False
        self.token = token
        self._until_ns = max(until_ns, self._until_ns or 0)
        return True

    def shut(self) -> None:
        """Close now and for ever."""
        self._shut = True
