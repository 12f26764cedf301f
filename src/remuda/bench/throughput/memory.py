"""The shape memory: how many bytes the scheduler holds for one node, one ask, one allocation.

Nodes come first, then allocations that fill them, then asks that fit nowhere and stay pending;
after each kind the memory of the process is read. That is done twice, each time with a new
scheduler. The first time the memory of the process is read, which includes unused parts of pages.
The second time the allocations of the interpreter are counted, which leave out what libraries
allocate on their own.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.run import (
    MEMORY,
    RM_ID,
    TIMEOUT_S,
    Receiver,
    applications_of,
    build,
    configuration,
    nodes_of,
    request_of,
    resident_bytes,
)
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si

# Elements in a request; a large request would leave a large hole behind.
_BATCH: Final = 1_000


@message
class MemoryShape:
    """A cluster that is filled. ``cluster.backlog``: asks that stay pending."""

    name: str
    cluster: Shape


MEMORY_SHAPE: Final = MemoryShape(
    "memory", Shape("memory", 10_000, 100, 10, 100_000, backlog=100_000)
)


@message
class Held:
    """The memory for one object of a kind, in bytes: of the process, and traced."""

    what: str
    count: int
    resident: float
    traced: float


@message
class MemoryResult:
    """A measured shape. ``resident_bytes``: of the process in the end, before tracing began."""

    shape: str
    kinds: tuple[Held, ...]
    resident_bytes: int
    build: str

    def allocation_bytes(self) -> float:
        """Return what the process holds for an allocation."""
        return next(held.resident for held in self.kinds if held.what == "allocation")


def measure_memory(shape: MemoryShape) -> MemoryResult:
    """Run a shape twice, in this process.

    Raises: RemudaError if something was refused or is missing, InvariantViolation if a counter is
    wrong.
    """
    resident = list(_grow(shape.cluster, resident_bytes))
    held = resident_bytes()
    tracemalloc.start()
    try:
        traced = list(_grow(shape.cluster, lambda: tracemalloc.get_traced_memory()[0]))
    finally:
        tracemalloc.stop()
    kinds = tuple(
        Held(what, count, round(grown / count, 1), round(also / count, 1))
        for (what, count, grown), (_, _, also) in zip(resident, traced, strict=True)
    )
    return MemoryResult(shape.name, kinds, held, build())


@final
class _Counter(Receiver):
    """Counts without keeping anything, so that it holds nothing itself."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Count allocations."""
        self.count += len(response.new)
        self.rejected += [entry.reason for entry in response.rejected]


def _grow(shape: Shape, read: Callable[[], int]) -> Iterator[tuple[str, int, int]]:
    """Fill a new scheduler; yield (kind, how many, by how much memory grew)."""
    receiver = _Counter()
    large = MEMORY * shape.node_share() + 1
    with InProcessScheduler() as scheduler:
        scheduler.register_resource_manager(
            si.RegisterResourceManagerRequest(rmID=RM_ID, config=configuration(shape)), receiver
        )
        scheduler.update_application(applications_of(shape))
        before = _settled(scheduler, read)
        kinds: tuple[tuple[str, int, Callable[[range], None]], ...] = (
            ("node", shape.nodes, lambda some: scheduler.update_node(nodes_of(shape, some))),
            ("allocation", shape.asks, partial(_ask, scheduler, shape, "k", MEMORY)),
            ("pending ask", shape.backlog, partial(_ask, scheduler, shape, "b", large)),
        )
        for what, count, send in kinds:
            for start in range(0, count, _BATCH):
                send(range(start, min(count, start + _BATCH)))
            after = _settled(scheduler, read)
            yield what, count, after - before
            before = after
        scheduler.core.check().result(TIMEOUT_S)
    if receiver.count != shape.asks or receiver.rejected:
        refused = receiver.rejected[0] if receiver.rejected else "nothing rejected"
        raise RemudaError(f"{receiver.count} allocations for {shape.asks} asks: {refused}")


def _ask(
    scheduler: InProcessScheduler, shape: Shape, prefix: str, memory: int, numbers: range
) -> None:
    scheduler.update_allocation(request_of(shape, prefix, numbers, memory))


def _settled(scheduler: InProcessScheduler, read: Callable[[], int]) -> int:
    """Return the memory when everything is done and no garbage is left."""
    scheduler.wait_idle(TIMEOUT_S)
    gc.collect()
    return read()
