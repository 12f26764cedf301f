"""Counts fruitless attempts to preempt: none is repeated before something changed (PRE-90).

Asks that may preempt wait in a full cluster in which there are no victims for them. First hours
pass without any event, then an unrelated event happens, then an allocation ends and another takes
its place. Each ask's own log says how many attempts there were (PRE-58).
"""

from __future__ import annotations

import time
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.full_cluster import (
    DELAY_NS,
    MEMORY,
    RM_ID,
    SECOND_NS,
    VCORE,
    FullCluster,
    Obedient,
    application_of,
)
from remuda.bench.throughput.run import build, resident_bytes
from remuda.core.messages.commands import (
    AllocationRelease,
    Ask,
    ExistingAllocation,
    UpdateAllocations,
)
from remuda.runtime.interpreter import tune_interpreter

# What logs say of attempts that were made (PRE-58).
_MADE: Final = (
    "Preemption queue guarantees check failed",
    "Preemption does not help",
    "Preemption helped but short of resources",
)


@message
class RepeatShape:
    """Asks that are never placed, and the number of hours without any event."""

    name: str
    cluster: FullCluster
    asks: int = 100
    hours: int = 6


@message
class RepeatResult:
    """A measured shape: how many attempts there were, for all asks together.

    ``first``: when they were old enough; ``quiet``: in ``hours`` in which nothing happened, which
    took ``quiet_milliseconds``; ``unrelated``: in the hour after an application came that wants
    nothing; ``related``: in the hour after an allocation ended and another took its place.
    """

    shape: str
    waiting: int
    hours: int
    first: int
    quiet: int
    unrelated: int
    related: int
    quiet_milliseconds: float
    resident_bytes: int
    build: str


def measure_repeats(shape: RepeatShape) -> RepeatResult:
    """Run a shape once, in this process.

    Raises: RemudaError if an attempt was missing or repeated without reason.
    """
    manager = Obedient(shape.cluster)
    tune_interpreter()
    takers = shape.cluster.takers()
    for number in range(shape.asks):
        resource = {"memory": 2 * MEMORY, "vcore": 2 * VCORE - 1 - number}
        manager.ask(takers[number % len(takers)], f"new-{number}", resource)
    counts = [0]

    def pass_time(time_ns: int) -> int:
        """Advance the time and return how many attempts were made meanwhile."""
        manager.wait(manager.now_ns + time_ns)
        counts.append(_attempts(manager))
        return counts[-1] - counts[-2]

    hour_ns = 3_600 * SECOND_NS
    first = pass_time(DELAY_NS + 60 * SECOND_NS)
    began = time.perf_counter()
    quiet = pass_time(shape.hours * hour_ns)
    passed = time.perf_counter() - began
    _unrelated(manager)
    unrelated = pass_time(hour_ns)
    _related(manager)
    related = pass_time(hour_ns)
    found = (first, quiet, unrelated, related)
    if found != (shape.asks, 0, 0, shape.asks):
        raise RemudaError(f"{shape.name}: {found} attempts of {shape.asks} asks")
    manager.scheduler.check()
    return RepeatResult(
        shape=shape.name,
        waiting=shape.asks,
        hours=shape.hours,
        first=first,
        quiet=quiet,
        unrelated=unrelated,
        related=related,
        quiet_milliseconds=round(passed * 1e3, 3),
        resident_bytes=resident_bytes(),
        build=build(),
    )


def _attempts(manager: Obedient) -> int:
    """Return how many attempts the logs of the waiting asks have."""
    return sum(
        entry.count
        for queue in manager.cluster.takers()
        for request in manager.waiting(queue)
        for entry in request.log
        if entry.message in _MADE
    )


def _unrelated(manager: Obedient) -> None:
    """Add an application without asks."""
    queue = manager.cluster.givers()[0]
    manager.submit(queue, "idle")


def _related(manager: Obedient) -> None:
    """End an allocation and start another in its place at the same time."""
    queue = manager.cluster.givers()[0]
    application, size = application_of(queue), {"memory": MEMORY, "vcore": VCORE}
    ask = Ask(application, "late", size, priority=manager.cluster.priority)
    release = AllocationRelease(application, "old-0")
    manager.send(UpdateAllocations(RM_ID, releases=(release,)))
    late = ExistingAllocation(ask, "late", "node-00000")
    manager.send(UpdateAllocations(RM_ID, (late,)))
