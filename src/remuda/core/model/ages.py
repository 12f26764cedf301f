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

    ``timer_ns``: when the timer of the partition runs out, 0: there is none. ``pause_ns``: until
    when it must not, after a large portion. Rules: RSV-3.
    """

    __slots__ = ("_due", "_times", "_waiting", "pause_ns", "timer_ns")

    def __init__(self) -> None:
        self._due: list[Request] = []
        self._times: list[int] = []
        self._waiting: dict[int, list[Request]] = {}
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
        """Return when the next portion is due, FOREVER_NS for never."""
        if self._due:
            return self.pause_ns
        return max(self._times[0], self.pause_ns) if self._times else FOREVER_NS

    def grown(self, now_ns: int, limit: int) -> list[Request]:
        """Take out asks that are old enough now, not more than ``limit`` that still wait.

        In the order of their ages, then of the priority they came with.
        """
        grown: list[Request] = []
        while len(grown) < limit:
            if not self._due:
                if not self._times or self._times[0] > now_ns:
                    break
                self._due = self._waiting.pop(heappop(self._times))
                self._due.sort(key=_place, reverse=True)
            request = self._due.pop()
            request.aged = True
            if request.group is not None:
                grown.append(request)
        return grown


def _place(request: Request) -> tuple[int, int]:
    return (-request.ask.priority, request.number)
