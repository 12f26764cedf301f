"""Measures how long many asks below their guarantee take to get room in a full cluster.

All asks come at the same time, so all may preempt from the same time on. The resource manager ends
released allocations before the next decision, so only the core is measured.
"""

from __future__ import annotations

import time

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.full_cluster import (
    DELAY_NS,
    MEMORY,
    SECOND_NS,
    START_NS,
    VCORE,
    FullCluster,
    Obedient,
)
from remuda.bench.throughput.run import build, resident_bytes
from remuda.runtime.interpreter import tune_interpreter


@message
class CrowdShape:
    """A number of equal asks, spread over all takers of a cluster."""

    name: str
    cluster: FullCluster
    asks: int = 1_000


@message
class Moment:
    """When a part of the asks was placed, in computing seconds and in seconds of the core's clock.

    Both since the asks were old enough to preempt.
    """

    wall_seconds: float
    clock_seconds: float


@message
class CrowdResult:
    """What was measured of a shape. ``victims``: their number divided by that of the asks."""

    shape: str
    asks: int
    allocations: int
    half: Moment
    all_placed: Moment
    victims: float
    resident_bytes: int
    build: str


def measure_crowd(shape: CrowdShape) -> CrowdResult:
    """Run a shape once, in this process.

    Raises: RemudaError if an ask was not placed, InvariantViolation if a counter is wrong.
    """
    manager = Obedient(shape.cluster)
    tune_interpreter()
    takers = shape.cluster.takers()
    resource = {"memory": 2 * MEMORY, "vcore": 2 * VCORE}
    for number in range(shape.asks):
        manager.ask(takers[number % len(takers)], f"new-{number}", resource)
    due_ns = START_NS + DELAY_NS
    manager.wait(due_ns - 1)
    manager.now_ns = due_ns
    victims = 0
    half: Moment | None = None
    began = time.perf_counter()
    while len(manager.placed) < shape.asks:
        victims += _go_on(shape, manager)
        if half is None and 2 * len(manager.placed) >= shape.asks:
            half = _moment(manager, began, due_ns)
    all_placed = _moment(manager, began, due_ns)
    assert half is not None, "half of them are placed before all are"
    manager.scheduler.check()
    return CrowdResult(
        shape=shape.name,
        asks=shape.asks,
        allocations=shape.cluster.allocations(),
        half=half,
        all_placed=all_placed,
        victims=round(victims / shape.asks, 3),
        resident_bytes=resident_bytes(),
        build=build(),
    )


def _go_on(shape: CrowdShape, manager: Obedient) -> int:
    """Let the core decide and end its victims, or advance the time; return how many ended."""
    manager.step(1)
    ended = manager.confirm()
    if ended or manager.scheduler.has_work() or len(manager.placed) == shape.asks:
        return ended
    deadline_ns = manager.scheduler.next_deadline()
    if deadline_ns is None or deadline_ns > START_NS + 3_600 * SECOND_NS:
        missing = shape.asks - len(manager.placed)
        raise RemudaError(f"{shape.name}: {missing} asks were not placed within an hour")
    manager.now_ns = max(manager.now_ns, deadline_ns)
    return 0


def _moment(manager: Obedient, began: float, due_ns: int) -> Moment:
    clock = (manager.now_ns - due_ns) / SECOND_NS
    return Moment(round(time.perf_counter() - began, 6), round(clock, 3))
