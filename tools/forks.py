"""Measures how long the core stands still while a copy of the process is made.

    python -m tools.forks

The cluster has 10,000 nodes, 100,000 allocations and 100,000 asks that wait. Prints the time of
``fork`` in milliseconds, then that of a request with 100 asks: without a copy, and as the first one
after a copy was made, when each page of memory that changes is copied.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Final

from remuda.base.duration import SECOND
from remuda.config.load import load_configuration
from remuda.core.messages.commands import (
    CREATE,
    Ask,
    NewApplication,
    NodeUpdate,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.scheduler import Scheduler
from remuda.runtime.build import core_build
from remuda.runtime.forks.fork import fork

RM_ID: Final = "forks"
QUEUES: Final = (
    "partitions: [{name: default, queues: [{name: root, submitacl: '*', queues: [{name: a}]}]}]"
)
APPLICATIONS: Final = 100
TIMES: Final = 9


def full_scheduler(nodes: int, allocations: int, waiting: int) -> Scheduler:
    """Return a scheduler whose nodes are full, with asks that wait."""
    scheduler = Scheduler()
    scheduler.handle(RegisterResourceManager(RM_ID, load_configuration(QUEUES)), SECOND)
    room = {"vcore": 1_000 * (allocations // nodes), "pods": 1_000}
    new = tuple([NodeUpdate(f"node-{number}", CREATE, room) for number in range(nodes)])
    scheduler.handle(UpdateNodes(RM_ID, new), SECOND)
    names = [f"app-{number}" for number in range(APPLICATIONS)]
    applications = tuple([NewApplication(name, "root.a", user="ada") for name in names])
    scheduler.handle(UpdateApplications(RM_ID, applications), SECOND)
    for first in range(0, allocations + waiting, 1_000):
        scheduler.handle(UpdateAllocations(RM_ID, asks=asks(first, 1_000)), SECOND)
    settle(scheduler, 2 * SECOND)
    return scheduler


def asks(first: int, count: int) -> tuple[Ask, ...]:
    """Return new asks, in turn of each application."""
    size = {"vcore": 1_000, "pods": 1}
    return tuple(
        [
            Ask(f"app-{number % APPLICATIONS}", f"ask-{number}", size)
            for number in range(first, first + count)
        ]
    )


def settle(scheduler: Scheduler, now_ns: int) -> None:
    """Step until nothing is left to decide."""
    while scheduler.has_work():
        scheduler.step(now_ns, 1_000)


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1e3


def main() -> int:
    """Measure and print. Returns the exit code."""
    scheduler = full_scheduler(10_000, 100_000, 100_000)
    numbers = iter(range(1_000_000, 2_000_000, 100))

    def request() -> None:
        wanted = asks(next(numbers), 100)
        scheduler.handle(UpdateAllocations(RM_ID, asks=wanted), 3 * SECOND)
        settle(scheduler, 3 * SECOND)

    forks: list[float] = []
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(TIMES):
        alone.append(milliseconds(request))
        began = time.thread_time()
        copy = fork(_wait)
        forks.append((time.thread_time() - began) * 1e3)
        beside.append(milliseconds(request))
        copy.end()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{core_build()}, {memory} MiB: fork {statistics.median(forks):.1f} ms, at most"
        f" {max(forks):.1f}; a request {statistics.median(alone):.1f} ms,"
        f" after a fork {statistics.median(beside):.1f}"
    )
    return 0


def _wait() -> bytes:
    time.sleep(60)
    return b""


if __name__ == "__main__":
    sys.exit(main())
