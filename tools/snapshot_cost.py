"""What it costs to write the state of a cluster, and to become it again.

    python -m tools.snapshot_cost 1000 10000 10000
    PYTHONPATH=build/compiled python -m tools.snapshot_cost 10000 100000 100000

The three numbers are nodes, allocations and waiting asks. Times are processor times, the shortest
of three.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Callable

from remuda.config.schema import AccessList, Configuration, PartitionConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.scheduler import Scheduler

_RM = "rm"
_QUEUES = 10
_APPLICATIONS = 100
_ONCE = 2_000
_SECOND = 1_000_000_000


def full(nodes: int, allocations: int, asks: int) -> Scheduler:
    """Return a cluster that is full, with asks of several sizes that wait."""
    scheduler = Scheduler()
    now = _SECOND

    def handle(command: c.Command) -> None:
        nonlocal now
        now += _SECOND
        scheduler.handle(command, now)
        while scheduler.has_work():
            scheduler.step(now, _ONCE)

    queues = tuple(QueueConfig(f"q{number}") for number in range(_QUEUES))
    root = QueueConfig("root", parent=True, queues=queues, submit_acl=AccessList(everybody=True))
    handle(c.RegisterResourceManager(_RM, Configuration((PartitionConfig("default", root),))))
    each = -(-allocations // nodes)
    size = {"vcore": 1_000 * each, "memory": 1_000 * each}
    for first in range(0, nodes, _ONCE):
        names = [f"node-{number}" for number in range(first, min(first + _ONCE, nodes))]
        handle(c.UpdateNodes(_RM, tuple(c.NodeUpdate(name, c.CREATE, size) for name in names)))
    new = [
        c.NewApplication(f"app-{number}", f"root.q{number % _QUEUES}", user=f"user-{number % 20}")
        for number in range(_APPLICATIONS)
    ]
    handle(c.UpdateApplications(_RM, tuple(new)))
    for first in range(0, allocations + asks, _ONCE):
        numbers = range(first, min(first + _ONCE, allocations + asks))
        handle(c.UpdateAllocations(_RM, asks=tuple(_ask(number) for number in numbers)))
    return scheduler


def _ask(number: int) -> c.Ask:
    amount = 1_000
    return c.Ask(
        f"app-{number % _APPLICATIONS}",
        f"ask-{number}",
        {"vcore": amount, "memory": amount},
        tags={"kubernetes.io/meta/podName": f"pod-{number}"},
    )


def _shortest(work: Callable[[], object]) -> float:
    found: list[float] = []
    for _ in range(3):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def main(arguments: list[str]) -> None:
    """Measure one cluster and print a line."""
    nodes, allocations, asks = (int(each) for each in arguments)
    scheduler = full(nodes, allocations, asks)
    snapshot = scheduler.snapshot()
    copy = Scheduler()
    writing = _shortest(scheduler.snapshot)
    reading = _shortest(lambda: copy.restore(snapshot))
    packing = _shortest(lambda: zlib.compress(snapshot, 1))
    print(
        f"{nodes} nodes, {allocations} allocations, {asks} asks: written in {writing:.2f} s, "
        f"read in {reading:.2f} s, {len(snapshot) / 1e6:.1f} MB, packed in {packing:.2f} s to "
        f"{len(zlib.compress(snapshot, 1)) / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
