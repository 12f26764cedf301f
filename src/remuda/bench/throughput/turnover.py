"""The shapes M10 and M11: allocations of a full cluster end while as many asks come.

The cluster has room for its allocations of mixed sizes, and hardly more. First all goes as fast as
it can: each request ends a thousand of them and has a thousand asks of the same sizes, and comes
after the callback that places the last one of the request before. Then requests come at a steady
rate, one each 10 ms, and the time from each ask to its callback is measured.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Final, final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.idle import Reaction, reaction
from remuda.bench.throughput.run import (
    MEMORY,
    RM_ID,
    TIMEOUT_S,
    Receiver,
    add_release,
    build,
    prepare,
    request_of,
    resident_bytes,
    stride,
)
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.interpreter import tune_interpreter
from remuda.si.pb import si_pb2 as si

# Allocations that end in one request of the first part.
_BATCH: Final = 1_000

# Seconds between two requests of the second part.
_TICK_S: Final = 0.01


@message
class TurnoverShape:
    """A cluster that is full of the asks of ``cluster``, half of which end in one round.

    ``rounds``: of the first part. ``per_second``: asks of the second part, for ``seconds``.
    """

    name: str
    cluster: Shape
    rounds: int
    per_second: int
    seconds: float


TURNOVER: Final = (
    TurnoverShape("M10", Shape("M10", 1_000, 100, 10, 20_000, mixed=True), 20, 4_000, 10.0),
    TurnoverShape("M11", Shape("M11", 1_000, 1_000, 10, 20_000, mixed=True), 20, 4_000, 10.0),
)


@message
class TurnoverResult:
    """A measured shape. ``milliseconds``: from an ask to its callback, at the steady rate."""

    shape: str
    allocations_per_second: float
    per_second: int
    milliseconds: Reaction
    resident_bytes: int
    build: str


@final
class _Tenants(Receiver):
    """The resource manager's side: what runs in each place of the cluster, and since when."""

    def __init__(self, places: int) -> None:
        super().__init__()
        self.running: list[tuple[str, str]] = [("", "")] * places
        self.sent_at: list[float] = [0.0] * places
        self.waits: list[float] = []
        self.count = 0
        self.goal = 0
        self.at = 0.0
        self.reached = threading.Event()

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Note what runs now. An ask's key ends in its place."""
        now = time.perf_counter()
        self.rejected += [entry.reason for entry in response.rejected]
        for new in response.new:
            place = int(new.allocationKey.rpartition("-")[2])
            self.running[place] = (new.applicationID, new.allocationID)
            self.waits.append(now - self.sent_at[place])
        # Before the count, since who sees the count may read the time at once.
        self.at = now
        self.count += len(response.new)
        if self.rejected or self.count >= self.goal:
            self.reached.set()

    def await_all(self, count: int) -> None:
        """Wait until so many were placed in all. Raises: RemudaError if they are not."""
        self.goal = count
        if self.count < count:
            self.reached.clear()
        if self.count < count and not self.reached.wait(TIMEOUT_S):
            raise RemudaError(f"{self.count} placed, not {count}")
        if self.rejected:
            raise RemudaError(f"an ask was rejected: {self.rejected[0]}")


@final
class _Turnover:
    """Ends allocations in an order that jumps over the cluster, and asks for others like them."""

    def __init__(self, shape: TurnoverShape) -> None:
        cluster = shape.cluster
        self.tenants = _Tenants(cluster.asks)
        self._places = cluster.asks
        self._stride = stride(cluster.asks)
        first = request_of(cluster, "t0", range(cluster.asks), MEMORY)
        self._asks: Sequence[si.AllocationAsk] = list(first.asks)
        self.first = first
        self._turns = 0

    def request(self, count: int) -> si.AllocationRequest:
        """Return a request that ends so many allocations, with as many asks of the same sizes."""
        request = si.AllocationRequest(rmID=RM_ID)
        for turn in range(self._turns, self._turns + count):
            place = turn * self._stride % self._places
            application_id, allocation_id = self.tenants.running[place]
            add_release(request, application_id, allocation_id)
            ask = request.asks.add()
            ask.CopyFrom(self._asks[place])
            ask.allocationKey = f"t{turn + 1}-{place}"
        self._turns += count
        return request

    def sent(self, count: int) -> None:
        """Note that the latest request is about to be sent."""
        now = time.perf_counter()
        for turn in range(self._turns - count, self._turns):
            self.tenants.sent_at[turn * self._stride % self._places] = now

    def expected(self) -> int:
        """Return how many allocations there were when all asks so far are placed."""
        return self._places + self._turns


def measure_turnover(shape: TurnoverShape) -> TurnoverResult:
    """Run a shape once, in this process.

    Raises: RemudaError if an ask was not placed, InvariantViolation if a counter is wrong.
    """
    tune_interpreter()
    turnover = _Turnover(shape)
    tenants = turnover.tenants
    with InProcessScheduler() as scheduler:
        prepare(scheduler, shape.cluster, tenants)
        scheduler.update_allocation(turnover.first)
        tenants.await_all(shape.cluster.asks)
        seconds = _at_full_speed(scheduler, shape, turnover)
        turned = tenants.count - shape.cluster.asks
        tenants.waits = []
        _at_a_steady_rate(scheduler, shape, turnover)
        resident = resident_bytes()
        scheduler.wait_idle(TIMEOUT_S)
        scheduler.core.check().result(TIMEOUT_S)
    return TurnoverResult(
        shape.name,
        round(turned / seconds, 1),
        shape.per_second,
        reaction([wait * 1e3 for wait in tenants.waits]),
        resident,
        build(),
    )


def _at_full_speed(
    scheduler: InProcessScheduler, shape: TurnoverShape, turnover: _Turnover
) -> float:
    """Return the seconds from each request to the callback with its last allocation, added up."""
    spent = 0.0
    left = shape.rounds * shape.cluster.asks // 2
    while left:
        # No place may end twice in one request.
        count = min(_BATCH, left, shape.cluster.asks)
        left -= count
        request = turnover.request(count)
        turnover.sent(count)
        began = time.perf_counter()
        scheduler.update_allocation(request)
        turnover.tenants.await_all(turnover.expected())
        spent += turnover.tenants.at - began
    return spent


def _at_a_steady_rate(
    scheduler: InProcessScheduler, shape: TurnoverShape, turnover: _Turnover
) -> None:
    """Send requests by the clock, however long the answers take, and wait for the last one."""
    count = max(1, round(shape.per_second * _TICK_S))
    # No place may end before it was placed: at most a quarter of them are on their way.
    most = shape.cluster.asks // 4
    due = time.perf_counter()
    for _ in range(round(shape.seconds / _TICK_S)):
        due += _TICK_S
        time.sleep(max(0.0, due - time.perf_counter()))
        turnover.tenants.await_all(turnover.expected() - most)
        request = turnover.request(count)
        turnover.sent(count)
        scheduler.update_allocation(request)
    turnover.tenants.await_all(turnover.expected())
