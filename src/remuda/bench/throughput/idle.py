"""Measures the cost of a scheduler with nothing to do, and how quickly it reacts.

Many asks wait that fit no node. First nothing happens for some seconds, and the CPU time of the
process is measured. Then placeable asks come one at a time, each after the callback of the one
before, and the time from each request to its callback is measured.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.run import (
    MEMORY,
    SETTLE_S,
    TIMEOUT_S,
    Receiver,
    build,
    judge,
    nearest_rank,
    prepare,
    request_of,
    resident_bytes,
)
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.interpreter import tune_interpreter
from remuda.si.pb import si_pb2 as si

IDLE_S: Final = 10.0

# Between a callback and the next request, so that the core thread sleeps when that one comes.
PAUSE_S: Final = 0.002


@message
class Reaction:
    """Milliseconds from the request with one ask to the callback that places it."""

    p50: float
    p99: float
    max: float


def reaction(waits: Iterable[float], digits: int = 3) -> Reaction:
    """Return percentiles of times and the longest, rounded; the times come in any order."""
    ordered = sorted(waits)
    return Reaction(*(round(nearest_rank(ordered, share), digits) for share in (0.50, 0.99, 1.0)))


@message
class IdleResult:
    """A measured shape. ``cpu_share``: CPU time of the process per time that passed, idle."""

    shape: str
    nodes: int
    waiting: int
    cpu_share: float
    reaction_milliseconds: Reaction
    resident_bytes: int
    build: str


class _Waker(Receiver):
    """Notes when each callback came, and wakes the thread that waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.placed_now = threading.Event()
        self.at_ns = 0

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Take one allocation in and note the time."""
        self.at_ns = time.perf_counter_ns()
        super().update_allocation(response)
        if response.new or response.rejected:
            self.placed_now.set()


def measure_idle(
    shape: Shape, *, settle_s: float = SETTLE_S, idle_s: float = IDLE_S, pause_s: float = PAUSE_S
) -> IdleResult:
    """Run a shape once, in this process.

    Raises: RemudaError if an ask was not placed once, InvariantViolation if a counter is wrong.
    """
    tune_interpreter()
    receiver = _Waker()
    with InProcessScheduler() as scheduler:
        prepare(scheduler, shape, receiver)
        time.sleep(settle_s)
        scheduler.wait_idle(TIMEOUT_S)
        cpu_share = _cpu_share(idle_s)
        waits = [
            _react(scheduler, shape, receiver, number, pause_s) for number in range(shape.asks)
        ]
        resident = resident_bytes()
        scheduler.wait_idle(TIMEOUT_S)
        judge(shape, receiver)
        scheduler.core.check().result(TIMEOUT_S)
    return IdleResult(
        shape=shape.name,
        nodes=shape.nodes,
        waiting=shape.backlog,
        cpu_share=round(cpu_share, 5),
        reaction_milliseconds=reaction(waits),
        resident_bytes=resident,
        build=build(),
    )


def _cpu_share(idle_s: float) -> float:
    """Wait for a while and return the share of processor time that this process used."""
    began, used = time.perf_counter(), time.process_time()
    time.sleep(idle_s)
    return (time.process_time() - used) / (time.perf_counter() - began)


def _react(
    scheduler: InProcessScheduler, shape: Shape, receiver: _Waker, number: int, pause_s: float
) -> float:
    """Ask for one allocation and return the milliseconds until the callback.

    Raises: RemudaError if there is none.
    """
    request = request_of(shape, "k", range(number, number + 1), MEMORY)
    receiver.placed_now.clear()
    began_ns = time.perf_counter_ns()
    scheduler.update_allocation(request)
    if not receiver.placed_now.wait(TIMEOUT_S):
        raise RemudaError(f"{shape.name}: no callback for ask k-{number}")
    time.sleep(pause_s)
    return (receiver.at_ns - began_ns) / 1e6
