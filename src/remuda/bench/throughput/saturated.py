"""The shape saturated: a full cluster in which one ask is placed for each allocation that ends.

There are more asks than the cluster holds. Once nothing more fits, allocations are released in an
order that jumps between the nodes, and each release lets one waiting ask be placed. First they are
released one at a time, each after the callback that places an ask, then a hundred in a request.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Final, final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.idle import Reaction, reaction
from remuda.bench.throughput.run import (
    MEMORY,
    RM_ID,
    SETTLE_S,
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

# Asks in a request that fills the cluster.
_FILLING: Final = 1_000


@message
class SaturatedShape:
    """A cluster that is full.

    ``cluster``: its asks fill it. ``waiting``: further asks of the same size. ``releases``: how
    many of them are measured in a part. ``batch``: releases in a request of the second part.
    """

    name: str
    cluster: Shape
    waiting: int
    releases: int
    batch: int = 100


SATURATED: Final = SaturatedShape(
    "saturated", Shape("saturated", 10_000, 100, 5, 100_000), waiting=60_000, releases=20_000
)


@message
class Released:
    """Releases of one part, in requests of ``batch``.

    ``microseconds``: from a request to the last callback of an ask that it let in, per release.
    ``mean_microseconds``: of all time of the part, per release; ``cpu_microseconds``: of the CPU
    time of this process, the resource manager's side included.
    """

    batch: int
    releases: int
    microseconds: Reaction
    mean_microseconds: float
    cpu_microseconds: float


@message
class SaturatedResult:
    """A measured shape."""

    shape: str
    waiting: int
    parts: tuple[Released, ...]
    resident_bytes: int
    build: str


@final
class _Tenants(Receiver):
    """Notes allocations in their order; wakes up the thread that waits for a number of them."""

    def __init__(self) -> None:
        super().__init__()
        self.running: list[tuple[str, str]] = []
        self.reached = threading.Event()
        self.goal = 0
        self.at = 0.0

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Take allocations in; note the time when the goal is reached."""
        self.rejected += [entry.reason for entry in response.rejected]
        self.running += [(new.applicationID, new.allocationID) for new in response.new]
        if self.rejected or (response.new and len(self.running) >= self.goal):
            self.at = time.perf_counter()
            self.reached.set()

    def await_next(self, count: int) -> None:
        """Set the goal: a number of allocations more than run now."""
        self.goal = len(self.running) + count
        self.reached.clear()

    def require(self) -> None:
        """Wait for the goal. Raises: RemudaError if it is not reached, or exceeded."""
        if not self.reached.wait(TIMEOUT_S) or self.rejected or len(self.running) > self.goal:
            refused = self.rejected[0] if self.rejected else "none was rejected"
            raise RemudaError(f"{len(self.running)} placed, not {self.goal}: {refused}")


def measure_saturated(shape: SaturatedShape, *, settle_s: float = SETTLE_S) -> SaturatedResult:
    """Run a shape once, in this process.

    Raises: RemudaError if a release let in no ask or more than one, InvariantViolation if a
    counter is wrong.
    """
    tune_interpreter()
    tenants = _Tenants()
    with InProcessScheduler() as scheduler:
        prepare(scheduler, shape.cluster, tenants)
        _fill(scheduler, shape, tenants)
        time.sleep(settle_s)
        scheduler.wait_idle(TIMEOUT_S)
        leaving = _leaving(tenants.running)
        parts = tuple(
            _release(scheduler, tenants, leaving, batch, shape.releases)
            for batch in (1, shape.batch)
        )
        resident = resident_bytes()
        scheduler.wait_idle(TIMEOUT_S)
        tenants.require()
        scheduler.core.check().result(TIMEOUT_S)
    return SaturatedResult(shape.name, shape.waiting, parts, resident, build())


def _fill(scheduler: InProcessScheduler, shape: SaturatedShape, tenants: _Tenants) -> None:
    """Send more asks than the cluster holds. Raises: RemudaError if it does not become full."""
    tenants.await_next(shape.cluster.asks)
    total = shape.cluster.asks + shape.waiting
    for start in range(0, total, _FILLING):
        numbers = range(start, min(total, start + _FILLING))
        scheduler.update_allocation(request_of(shape.cluster, "k", numbers, MEMORY))
    scheduler.wait_idle(TIMEOUT_S)
    tenants.require()


def _leaving(running: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield each running allocation once, in an order that jumps between nodes."""
    first = list(running)
    step = stride(len(first))
    for number in range(len(first)):
        yield first[number * step % len(first)]


def _release(
    scheduler: InProcessScheduler,
    tenants: _Tenants,
    leaving: Iterator[tuple[str, str]],
    batch: int,
    releases: int,
) -> Released:
    """Release allocations in requests of one size, each after the callbacks of the one before."""
    times: list[float] = []
    began, used = time.perf_counter(), time.process_time()
    for _ in range(releases // batch):
        request = si.AllocationRequest(rmID=RM_ID)
        for _ in range(batch):
            application_id, allocation_id = next(leaving)
            add_release(request, application_id, allocation_id)
        tenants.await_next(batch)
        sent = time.perf_counter()
        scheduler.update_allocation(request)
        tenants.require()
        times.append((tenants.at - sent) * 1e6 / batch)
    took, used = time.perf_counter() - began, time.process_time() - used
    count = len(times) * batch
    mean, cpu = (round(seconds * 1e6 / count, 1) for seconds in (took, used))
    return Released(batch, count, reaction(times, 1), mean, cpu)
