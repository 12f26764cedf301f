"""Measures how soon a scheduler that was started anew knows again what runs (chapter 80).

The scheduler is `remuda serve` in a process of its own. The resource manager
sends it, over the streams of the scheduler interface, its nodes, its applications and what runs
where. What runs is sent with the nodes (REC-3), or in bulk after them (REC-2). The time runs from
the first request to the moment when REST counts all of it. Requests are encoded before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.served import Served
from remuda.bench.services.wire import Wire, encoded
from remuda.bench.throughput.run import (
    MEMORY,
    TIMEOUT_S,
    VCORE,
    applications_of,
    build,
    configuration,
    nodes_of,
)
from remuda.si.pb import si_pb2 as si

# Nodes and allocations in one message.
_NODES: Final = 1_000
_ALLOCATIONS: Final = 5_000

# Between two looks at what is counted.
_LOOK_S: Final = 0.02


@message
class RecoveryShape:
    """A cluster that is reported to the scheduler.

    ``cluster``: its asks are what runs. ``bulk``: REC-2, else REC-3.
    """

    name: str
    cluster: Shape
    bulk: bool


_CLUSTER: Final = Shape("recovery", 10_000, 10, 100, 100_000)

RECOVERY: Final = (
    RecoveryShape("V1", _CLUSTER, bulk=True),
    RecoveryShape("V2", _CLUSTER, bulk=False),
)


@message
class RecoveryResult:
    """A measured recovery. ``server_seconds``: CPU time of the scheduler meanwhile."""

    shape: str
    bulk: bool
    nodes: int
    allocations: int
    seconds: float
    server_seconds: float
    resident_bytes: int
    build: str


def measure_recovery(shape: RecoveryShape) -> RecoveryResult:
    """Run a shape once. Raises: RemudaError if something was refused or is not counted."""
    story = _Story(shape)
    with Served() as served, Wire(served.grpc, "bench") as wire:
        used = served.cpu_seconds()
        began = time.perf_counter()
        wire.register(configuration(shape.cluster))
        (story.tell_in_bulk if shape.bulk else story.tell_by_node)(wire)
        _wait(served, shape)
        seconds = time.perf_counter() - began
        used = served.cpu_seconds() - used
        resident = served.resident_bytes()
        served.judge()
    return RecoveryResult(
        shape=shape.name,
        bulk=shape.bulk,
        nodes=shape.cluster.nodes,
        allocations=shape.cluster.asks,
        seconds=round(seconds, 3),
        server_seconds=round(used, 2),
        resident_bytes=resident,
        build=build(),
    )


def _wait(served: Served, shape: RecoveryShape) -> None:
    """Wait until everything is counted. Raises: RemudaError if it never is."""
    end = time.monotonic() + TIMEOUT_S
    while (found := served.containers()) != shape.cluster.asks:
        if time.monotonic() > end:
            raise RemudaError(
                f"{shape.name}: {found} of {shape.cluster.asks} allocations are known"
            )
        time.sleep(_LOOK_S)


class _Story:
    """The requests of the resource manager, encoded."""

    def __init__(self, shape: RecoveryShape) -> None:
        cluster = shape.cluster
        added = applications_of(cluster)
        self._names = [each.applicationID for each in added.new]
        self._applications = [encoded(added)]
        self._nodes = cluster.nodes
        self._running = cluster.asks
        self._cluster = cluster
        if shape.bulk:
            self._drained = list(self._node_requests("CREATE_DRAIN"))
            self._allocations = list(self._allocation_requests())
            self._opened = list(self._node_requests("DRAIN_TO_SCHEDULABLE"))
        else:
            self._full = list(self._node_requests("CREATE", full=True))

    def tell_in_bulk(self, wire: Wire) -> None:
        """Tell of nodes, which take nothing yet, then of what runs, and open the nodes."""
        wire.add_nodes(self._drained, self._nodes)
        wire.add_applications(self._applications, len(self._names))
        wire.add_allocations(self._allocations, self._running)
        wire.add_nodes(self._opened, 0)

    def tell_by_node(self, wire: Wire) -> None:
        """Tell of each node together with what runs on it."""
        wire.add_applications(self._applications, len(self._names))
        wire.add_nodes(self._full, self._nodes)

    def _node_requests(self, action: str, *, full: bool = False) -> Iterator[bytes]:
        """Yield nodes, with an action, and with what runs on them if they are full."""
        for start in range(0, self._nodes, _NODES):
            request = nodes_of(self._cluster, range(start, min(start + _NODES, self._nodes)))
            for place, node in enumerate(request.nodes, start):
                node.action = si.NodeInfo.ActionFromRM.Value(action)
                if full:
                    for number in range(place, self._running, self._nodes):
                        self._describe(node.existingAllocations.add(), number)
            yield encoded(request)

    def _allocation_requests(self) -> Iterator[bytes]:
        """Yield what runs, in the order in which it was asked for."""
        for start in range(0, self._running, _ALLOCATIONS):
            request = si.AllocationRequest()
            for number in range(start, min(start + _ALLOCATIONS, self._running)):
                self._describe(request.allocations.add(), number)
            yield encoded(request)

    def _describe(self, allocation: si.Allocation, number: int) -> None:
        """Say what one allocation is; they are dealt to the nodes and applications in turn."""
        allocation.allocationKey = f"k-{number}"
        allocation.UUID = allocation.allocationID = f"k-{number}-0"
        allocation.nodeID = f"node-{number % self._nodes:05}"
        allocation.applicationID = self._names[number % len(self._names)]
        allocation.resourcePerAlloc.resources["memory"].value = MEMORY
        allocation.resourcePerAlloc.resources["vcore"].value = VCORE
