"""Virtual time: what is to happen when, earliest first, equal times in the order of planning."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final

MILLI: Final = 1_000_000
SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
START: Final = 1_700_000_000 * SECOND

# Events that one run may have; more means that something never comes to rest.
EVENT_LIMIT: Final = 100_000


class Clock:
    """The only time there is; ``now`` is Unix nanoseconds. ``limit``: of events."""

    def __init__(self) -> None:
        self.now = START
        self.limit = EVENT_LIMIT
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, when: int, what: Callable[[], None]) -> None:
        """Plan something; what is late already happens next."""
        self._number += 1
        heappush(self._heap, (max(when, self.now), self._number, what))

    def after(self, delay: int, what: Callable[[], None]) -> None:
        """Plan something ``delay`` nanoseconds from now."""
        self.at(self.now + delay, what)

    def stand_still(self, duration: int) -> None:
        """Let that much time pass at once; what was due meanwhile happens after it, in order."""
        self.now += duration
        late: list[tuple[int, int, Callable[[], None]]] = []
        while self._heap and self._heap[0][0] < self.now:
            late.append(heappop(self._heap))
        for _, number, what in late:
            heappush(self._heap, (self.now, number, what))

    def run(self, until: int) -> None:
        """Let everything happen that is due by then, and let it be then."""
        while self._heap and self._heap[0][0] <= until:
            when, number, what = heappop(self._heap)
            assert number < self.limit, "the simulation does not come to rest"
            self.now = when
            what()
        self.now = max(self.now, until)
