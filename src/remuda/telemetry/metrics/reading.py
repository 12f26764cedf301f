"""Reads all measures from the scheduler, in parts (rules: MET-14, MET-21, MET-28).

Each part is a separate question to the core, which schedules between the questions. A reading is
used for a second, however many clients ask meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar

from remuda.base.duration import SECOND
from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.core.messages.measures import (
    START,
    ApplicationMeasures,
    NodeMeasures,
    NodeMeasuresQuery,
    Place,
    QueueMeasures,
    QueueMeasuresPage,
    QueueMeasuresQuery,
    TotalsQuery,
    TotalsView,
)
from remuda.core.messages.queries import Query, View
from remuda.runtime.timings import TimingsView
from remuda.telemetry.metrics.settings import OTHERS, QUEUES

V = TypeVar("V")

# How much of the core's time a part takes: about 2 ms.
QUEUE_LOOKS: Final = 5_000
NODE_LOOKS: Final = 500

# Parts in which nodes are looked at; where more change meanwhile the rest waits.
_NODE_PARTS: Final = 100

# Seconds that one part may wait for its turn.
_PATIENCE: Final = 30.0

KEPT_NS: Final = SECOND


class Source(Protocol):
    """A running scheduler; SchedulerLoop in production."""

    @property
    def timings(self) -> Callable[[], TimingsView]:
        """A function that returns how long deciding took so far."""
        ...

    def query(self, query: Query) -> Future[View]:
        """Return the future answer to a question."""
        ...


@dataclass(slots=True)
class QueueSum:
    """The queues of one path in all partitions. Amounts are sums; see QueueMeasures."""

    leaf: bool = False
    guaranteed: dict[str, int] | None = None
    maximum: dict[str, int] | None = None
    allocated: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    preempting: dict[str, int] = field(default_factory=dict)
    reserved: dict[str, int] = field(default_factory=dict)
    preempted_amounts: dict[str, int] = field(default_factory=dict)
    applications: dict[str, int] = field(default_factory=dict)
    max_applications: int = 0
    came: int = 0
    went: int = 0
    completed: int = 0
    failed: int = 0
    preempted: int = 0
    pending_asks: int = 0
    oldest_pending_ns: int = 0


@message
class Reading:
    """The measures that were read at ``now_ns``.

    ``queues``: by lower-case path, sorted (MET-28).

    ``users``: what each holds. ``lag_ns``: how long the first question waited for its turn.
    """

    now_ns: int
    lag_ns: int
    totals: TotalsView
    nodes: NodeMeasures
    queues: Mapping[str, QueueSum]
    users: Mapping[str, Resource]


class Reader:
    """Reads the measures on request. Any thread but the core's.

    Args:
        source: the scheduler.
        users: whether what users hold is read too.
        most_queues: queues that are read one by one; further leaves are one sum, OTHERS.
        clock: the time of day in nanoseconds.

    Rules: MET-54.
    """

    def __init__(
        self,
        source: Source,
        *,
        users: bool = False,
        most_queues: int = QUEUES,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._source = source
        self._most_queues = most_queues
        self._users = users
        self._clock = clock
        self._lock = threading.Lock()
        self._last: Reading | None = None

    def read(self) -> Reading:
        """Return a reading that is at most a second old. Rules: MET-14.

        Raises: LoopStoppedError.
        """
        with self._lock:
            last, now_ns = self._last, self._clock()
            if last is None or not 0 <= now_ns - last.now_ns < KEPT_NS:
                last = self._last = self._read(now_ns)
            return last

    def _read(self, now_ns: int) -> Reading:
        began = time.perf_counter_ns()
        totals = self._ask(TotalsQuery(), TotalsView)
        lag_ns = time.perf_counter_ns() - began
        nodes = self._ask(NodeMeasuresQuery(NODE_LOOKS), NodeMeasures)
        for _ in range(_NODE_PARTS):
            if not nodes.behind:
                break
            nodes = self._ask(NodeMeasuresQuery(NODE_LOOKS), NodeMeasures)
        queues: dict[str, QueueSum] = {}
        users: dict[str, dict[str, int]] = {}
        rows, applications = self._rows()
        shown = _shown(rows, self._most_queues)
        for row in rows:
            if row.path.lower() in shown:
                _add(queues.setdefault(row.path.lower(), QueueSum()), row)
            elif row.leaf:
                without = replace(row, guaranteed=None, maximum=None, max_applications=0)
                _add(queues.setdefault(OTHERS, QueueSum()), without)
        for part in applications:
            path = part.path.lower()
            path = path if path in shown else OTHERS
            _add_applications(queues.setdefault(path, QueueSum()), part)
            for user, held in part.users.items():
                _add_amounts(users.setdefault(user, {}), held)
        return Reading(now_ns, lag_ns, totals, nodes, dict(sorted(queues.items())), users)

    def _rows(self) -> tuple[list[QueueMeasures], list[ApplicationMeasures]]:
        """Return all queues and what is in them.

        A queue that a page shows again, because partitions came or went meanwhile, counts once.
        """
        queues: dict[tuple[str, str, str], QueueMeasures] = {}
        applications: dict[tuple[str, str, str, int], ApplicationMeasures] = {}
        place: Place | None = START
        while place is not None:
            query = QueueMeasuresQuery(place, QUEUE_LOOKS, self._users)
            page = self._ask(query, QueueMeasuresPage)
            for row in page.queues:
                queues[row.rm_id, row.partition, row.path] = row
            for part in page.applications:
                applications[part.rm_id, part.partition, part.path, part.after] = part
            place = page.next
        return list(queues.values()), list(applications.values())

    def _ask(self, query: Query, kind: type[V]) -> V:
        answer = self._source.query(query).result(_PATIENCE)
        assert isinstance(answer, kind)
        return answer


def _shown(rows: Sequence[QueueMeasures], most: int) -> Container[str]:
    """Return the paths of the queues that are shown one by one. Implements: MET-54."""
    paths = {row.path.lower() for row in rows}
    return paths if len(paths) <= most else set(sorted(paths)[:most])


def _add(total: QueueSum, row: QueueMeasures) -> None:
    total.leaf = total.leaf or row.leaf
    for amounts, more in (
        (total.allocated, row.allocated),
        (total.pending, row.pending),
        (total.preempting, row.preempting),
        (total.preempted_amounts, row.preempted_amounts),
    ):
        _add_amounts(amounts, more)
    total.guaranteed = _sum_of_set(total.guaranteed, row.guaranteed)
    total.maximum = _sum_of_set(total.maximum, row.maximum)
    total.max_applications += row.max_applications
    total.came += row.came
    total.went += row.went
    total.completed += row.completed
    total.failed += row.failed
    total.preempted += row.preempted


def _add_applications(total: QueueSum, part: ApplicationMeasures) -> None:
    _add_amounts(total.applications, part.states)
    _add_amounts(total.reserved, part.reserved)
    total.pending_asks += part.pending_asks
    oldest = [each for each in (total.oldest_pending_ns, part.oldest_pending_ns) if each]
    total.oldest_pending_ns = min(oldest, default=0)


def _add_amounts(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _sum_of_set(total: dict[str, int] | None, more: Resource | None) -> dict[str, int] | None:
    """Return the sum of two limits of which either may not be set."""
    if more is None:
        return total
    summed = {} if total is None else total
    _add_amounts(summed, more)
    return summed
