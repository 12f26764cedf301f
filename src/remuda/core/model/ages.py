"""When asks are old enough to reserve a node (rules: RSV-3)."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from remuda.core.model.request import Request

FOREVER_NS: Final = 2**63 - 1


@final
class Ages:
    """Asks by the time at which they are old enough. Those of one request share an entry.

    ``timer_ns``: when the timer of the partition runs out, 0: there is none. ``stragglers``: asks
    that are old enough and still have to get into their lanes, the next one last; ``pause_ns``:
    until when they wait. Rules: RSV-3.
    """

    __slots__ = ("_times", "_waiting", "pause_ns", "stragglers", "timer_ns")

    def __init__(self) -> None:
        self._times: list[int] = []
        self._waiting: dict[int, list[Request]] = {}
        self.stragglers: list[Request] = []
        self.timer_ns: int = 0
        self.pause_ns: int = 0

    def add(self, due_ns: int, request: Request) -> None:
        """Note when an ask is old enough. Cost: O(log different times)."""
        found = self._waiting.get(due_ns)
        if found is None:
            heappush(self._times, due_ns)
            self._waiting[due_ns] = [request]
        else:
            found.append(request)

    def next_ns(self) -> int:
        """Return when there is something to do next, FOREVER_NS for never."""
        due_ns = self._times[0] if self._times else FOREVER_NS
        return min(due_ns, self.pause_ns) if self.stragglers else due_ns

    def grown(self, now_ns: int) -> list[Request]:
        """Take out all asks that are old enough by now, in the order of their ages and arrival."""
        grown: list[Request] = []
        while self._times and self._times[0] <= now_ns:
            grown += self._waiting.pop(heappop(self._times))
        return grown
