"""Notes when asks are old enough to reserve a node or to preempt (rules: RSV-3)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Final, TypeAlias, final

if TYPE_CHECKING:
    from remuda.core.model.asks.request import Request

FOREVER_NS: Final = 2**63 - 1

# Asks that ended before they were old enough are removed when they are more than this and more than
# half of all.
_SLACK: Final = 4_096

# Asks that became old enough together, the next one last. Before them what sorts the run: the
# priority of that one, negated, its number, and the number of the run.
_Run: TypeAlias = "tuple[int, int, int, list[Request]]"


@final
class Ages:
    """Asks by the time at which they are old enough. Asks with equal times share an entry.

    Some that are old enough still have to move to their new class queues: ``pause_ns`` is the time
    until which these wait. ``timer_ns``: when the timer of the partition runs out, 0: there is
    none. Rules: RSV-3.
    """

    __slots__ = (
        "_count",
        "_gone",
        "_runs",
        "_runs_added",
        "_times",
        "_waiting",
        "pause_ns",
        "timer_ns",
    )

    def __init__(self) -> None:
        self._times: list[int] = []
        self._waiting: dict[int, list[Request]] = {}
        self._count: int = 0
        self._gone: int = 0
        self._runs: list[_Run] = []
        self._runs_added: int = 0
        self.timer_ns: int = 0
        self.pause_ns: int = 0

    def add(self, due_ns: int, request: Request) -> None:
        """Note when an ask is old enough. Cost: O(log different times)."""
        self._count += 1
        found = self._waiting.get(due_ns)
        if found is None:
            heappush(self._times, due_ns)
            self._waiting[due_ns] = [request]
        else:
            found.append(request)

    def note_ended(self) -> None:
        """Note that an ask in the list ended. Cost: O(1) amortised."""
        self._gone += 1
        if self._gone > _SLACK and 2 * self._gone > self._count:
            self._sweep()

    def next_ns(self) -> int:
        """Return when the next ask is due, FOREVER_NS for never."""
        due_ns = self._times[0] if self._times else FOREVER_NS
        return min(due_ns, self.pause_ns) if self._runs else due_ns

    def take_old_enough(self, now_ns: int) -> list[Request]:
        """Remove and return all asks that are old enough by now, by age, then by arrival."""
        old_enough: list[Request] = []
        while self._times and self._times[0] <= now_ns:
            old_enough += self._waiting.pop(heappop(self._times))
        self._count -= len(old_enough)
        self._gone = min(self._gone, self._count)
        return old_enough

    def add_to_reclassify(self, requests: list[Request]) -> None:
        """Note asks that have to move, at least one.

        Cost: O(log n) each for n of them, however many wait to move already.
        """
        run = sorted(requests, key=lambda each: (each.ask.priority, -each.number))
        self._runs_added += 1
        heappush(self._runs, _run(run, self._runs_added))

    def take_to_reclassify(self, most: int) -> list[Request]:
        """Remove and return the next asks that have to move, by priority, then by arrival."""
        taken: list[Request] = []
        while self._runs and len(taken) < most:
            _, _, number, requests = self._runs[0]
            taken.append(requests.pop())
            if requests:
                heapreplace(self._runs, _run(requests, number))
            else:
                heappop(self._runs)
        return taken

    def has_to_reclassify(self) -> bool:
        """Whether asks have to move."""
        return len(self._runs) > 0

    def _sweep(self) -> None:
        """Remove the asks that ended."""
        waiting: dict[int, list[Request]] = {}
        for due_ns, requests in self._waiting.items():
            left = [request for request in requests if request.known()]
            if left:
                waiting[due_ns] = left
        self._waiting = waiting
        self._times = list(waiting)
        heapify(self._times)
        self._count = sum([len(requests) for requests in waiting.values()])
        self._gone = 0


def _run(requests: list[Request], number: int) -> _Run:
    """Return a run with what sorts it; it has an ask."""
    first = requests[-1]
    return (-first.ask.priority, first.number, number, requests)
