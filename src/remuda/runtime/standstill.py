"""Notices that the process was stopped, and handles arrived requests before overdue timers.

A process that was stopped for a minute wakes with timers that are overdue, and with requests in its
sockets that would have stopped them. The core thread would be the first to go on. So, when it finds
that it was away without having worked, timers are held until nothing arrives any more, for a
moment. Decisions are not: they harm nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns, thread_time_ns
from typing import Final, TypeAlias

from remuda.base.duration import MILLISECOND, SECOND

# Reads a clock, in nanoseconds.
Reading: TypeAlias = Callable[[], int]

# A thread that was away this much longer than it worked or waited was stopped.
LATE_NS: Final = SECOND

# A timer is waited for in two parts, the second so long: a standstill that ended right before it is
# due is found out, too, by waking late from the first.
MARGIN_NS: Final = SECOND

# Timers go on after so many waits of that length in which nothing arrived; at the latest when they
# were held as long as the process stood still, or this.
QUIET_WAITS: Final = 20
WAIT_NS: Final = 50 * MILLISECOND
HOLD_NS_LIMIT: Final = 30 * SECOND


class Standstill:
    """Whether timers are to be held. Core thread.

    Args:
        steady: a clock that nobody sets.
        worked: processor time of the calling thread.

    Rules: CYC-34.
    """

    def __init__(self, steady: Reading = monotonic_ns, worked: Reading = thread_time_ns) -> None:
        self._steady = steady
        self._worked = worked
        self._seen_ns = steady()
        self._worked_ns = worked()
        self._until_ns: int | None = None
        self._waits_left = 0
        self._hold_until_ns = 0

    @property
    def holding(self) -> bool:
        """Whether timers that are due have to wait."""
        return self._waits_left > 0

    def plan(self, rest_ns: int | None) -> int | None:
        """Return how long inputs may be waited for; right before that wait.

        ``rest_ns``: until there is something to do, None: there is nothing.
        """
        self.look()
        wait_ns = rest_ns
        if self.holding and rest_ns != 0:
            wait_ns = WAIT_NS
        elif rest_ns is not None and rest_ns > MARGIN_NS:
            wait_ns = rest_ns - MARGIN_NS
        self._until_ns = None if wait_ns is None else self._seen_ns + wait_ns
        return wait_ns

    def waited(self, *, came: bool) -> None:
        """Take note that the wait is over, and whether it was for something."""
        now_ns = self._steady()
        until_ns = self._until_ns
        late_ns = 0 if until_ns is None else now_ns - until_ns
        quiet = until_ns is not None and until_ns > self._seen_ns and not came
        self._see(now_ns)
        if late_ns > LATE_NS:
            self._hold(late_ns)
        elif self.holding:
            self._waits_left = self._waits_left - 1 if quiet else QUIET_WAITS
            if now_ns > self._hold_until_ns:
                self._waits_left = 0

    def look(self) -> None:
        """Look whether the process stood still since the last look; before timers may run out."""
        now_ns = self._steady()
        away_ns = now_ns - self._seen_ns
        if away_ns > LATE_NS and not self.holding:
            away_ns -= self._worked() - self._worked_ns
            if away_ns > LATE_NS:
                self._hold(away_ns)
        self._see(now_ns)

    def _see(self, now_ns: int) -> None:
        self._seen_ns = now_ns
        self._worked_ns = self._worked()

    def _hold(self, stood_ns: int) -> None:
        self._waits_left = QUIET_WAITS
        self._hold_until_ns = self._steady() + max(SECOND, min(stood_ns, HOLD_NS_LIMIT))
