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

    ``timer_ns``: when the timer of the partition runs out, 0: there is none. Rules: RSV-3.
    """

    __slots__ = ("_times", "timer_ns", "waiting")

    def __init__(self) -> None:
        self._times: list[int] = []
        self.waiting: dict[int, list[Request]] = {}
        self.timer_ns: int = 0

    def add(self, due_ns: int, request: Request) -> None:
        """Note when an ask is old enough. Cost: O(log different times)."""
        found = self.waiting.get(due_ns)
        if found is None:
            heappush(self._times, due_ns)
            self.waiting[due_ns] = [request]
        else:
            found.append(request)

    def next_ns(self) -> int:
        """Return the first time at which there is one, FOREVER_NS for never."""
        return self._times[0] if self._times else FOREVER_NS

    def grown(self, now_ns: int, limit: int) -> list[Request]:
        """Take out asks that are old enough, not much more than ``limit`` that still wait.

        In the order of their ages, then of the priority they came with.
        """
        grown: list[Request] = []
        while self._times and self._times[0] <= now_ns and len(grown) < limit:
            due_ns = self._times[0]
            alike = [each for each in self.waiting[due_ns] if each.group is not None]
            alike.sort(key=_place)
            left = limit - len(grown)
            grown += alike[:left]
            if len(alike) > left:
                self.waiting[due_ns] = alike[left:]
            else:
                del self.waiting[due_ns]
                heappop(self._times)
        return grown


def _place(request: Request) -> tuple[int, int]:
    return (-request.ask.priority, request.number)
