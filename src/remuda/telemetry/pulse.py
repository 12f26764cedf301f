"""Finds out whether the core thread is alive, without waiting for it (rules: REST-123).

A query to the core would take as long as the core is busy, and never end if the thread is dead. So
the check only wakes the core, and looks whether the loop makes a round meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from time import monotonic
from typing import Final, Protocol

# How long the loop may stand still: from when on it gets no more work, and when it counts as dead.
UNREADY_SECONDS: Final = 5.0
DEAD_SECONDS: Final = 60.0

NOT_RUNNING: Final = "the scheduler is not running"
NOT_RESPONDING: Final = "the scheduler does not respond"


class Heart(Protocol):
    """What can stop; SchedulerLoop in production."""

    def running(self) -> bool:
        """Whether the core thread runs."""
        ...

    @property
    def turns(self) -> int:
        """How often the loop went round."""
        ...

    def barrier(self) -> Future[None]:
        """Return what completes when all that came before was handled; never waits."""
        ...


class Pulse:
    """Watches a core thread. Any thread; never waits.

    Args:
        heart: the loop it is about.
        clock: seconds that only grow.

    A loop that stands still is found out from the second look on, since it may be asleep.
    """

    def __init__(self, heart: Heart, clock: Callable[[], float] = monotonic) -> None:
        self._heart = heart
        self._clock = clock
        self._lock = threading.Lock()
        self._asked: Future[None] | None = None
        self._turns = -1
        self._since = 0.0

    def fault(self, still_seconds: float) -> str:
        """Return what is wrong, "" if nothing is.

        ``still_seconds``: how long the loop may stand still with something to do. Rules: REST-123.
        """
        if not self._heart.running():
            return NOT_RUNNING
        with self._lock:
            now = self._clock()
            turns = self._heart.turns
            if self._asked is None or self._asked.done() or turns != self._turns:
                if self._asked is None or self._asked.done():
                    self._asked = self._heart.barrier()
                self._turns = turns
                self._since = now
            return NOT_RESPONDING if now - self._since >= still_seconds else ""
