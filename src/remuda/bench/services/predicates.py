"""Measures a scheduler whose resource manager is asked about nodes, over a session.

The scheduler is ``remuda serve`` in a process of its own, the resource manager another one. Each
node that it looks at counts as one verdict. It accepts every node, so the order of nodes alone
decides; and every ask has to be placed exactly once, or the run is an error.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Final

import grpc

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.companion import companion, heard
from remuda.bench.services.served import Served
from remuda.bench.throughput.run import MEMORY, TIMEOUT_S, VCORE, build, configuration, nodes_of
from remuda.core.messages.tags import PREDICATE_CLASS
from remuda.session.client import SessionClient
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import NodesPredicatesItem, NodesPredicatesItemResult

# Nodes and asks in one request.
_NODES: Final = 1_000
_ASKS: Final = 500

_APPLICATIONS: Final = 10


@message
class PredicateShape:
    """``classed``: the asks of each application name the same predicate class."""

    name: str
    nodes: int
    asks: int
    classed: bool

    def cluster(self) -> Shape:
        """Return the nodes, one queue, and room for all asks."""
        return Shape(self.name, self.nodes, 1, _APPLICATIONS, self.asks)


PREDICATES: Final = (
    PredicateShape("Q1", 5_000, 50_000, classed=False),
    PredicateShape("Q2", 5_000, 50_000, classed=True),
)


@message
class PredicateResult:
    """A measured shape.

    ``verdicts``: for each allocation; ``items``: asks the resource manager was asked about, for
    each. ``server_microseconds`` and ``client_microseconds``: CPU time per allocation.
    """

    shape: str
    asks: int
    classed: bool
    allocations_per_second: float
    verdicts: float
    items: float
    server_microseconds: float
    client_microseconds: float
    build: str


@message
class _Report:
    """What a client saw. ``seconds``: from the first request to the last allocation."""

    seconds: float
    verdicts: int
    items: int
    cpu_seconds: float


def measure_predicates(shape: PredicateShape) -> PredicateResult:
    """Run a shape once. Raises: RemudaError if an ask was not placed once."""
    with Served() as served, companion(run_judge, served.grpc, shape) as pipe:
        heard(pipe, "the resource manager", shape.name)
        used = served.cpu_seconds()
        pipe.send(None)
        report = heard(pipe, "the resource manager", shape.name)
        assert isinstance(report, _Report)
        used = served.cpu_seconds() - used
        served.judge()
        if (found := served.containers()) != shape.asks:
            raise RemudaError(f"{shape.name}: the scheduler has {found} allocations")
    return PredicateResult(
        shape=shape.name,
        asks=shape.asks,
        classed=shape.classed,
        allocations_per_second=round(shape.asks / report.seconds, 1),
        verdicts=round(report.verdicts / shape.asks, 2),
        items=round(report.items / shape.asks, 3),
        server_microseconds=round(used * 1e6 / shape.asks, 1),
        client_microseconds=round(report.cpu_seconds * 1e6 / shape.asks, 1),
        build=build(),
    )


def run_judge(address: str, shape: PredicateShape, pipe: Connection) -> None:
    """Act as the resource manager: prepare, report, send asks on request, send a report."""
    with suppress(EOFError, BrokenPipeError):
        try:
            judge = _Judge()
            with SessionClient(address, "bench", judge, timeout=60.0) as client:
                _prepare(client, judge, shape.cluster())
                requests = list(_requests(shape))
                gc.collect()
                gc.freeze()
                pipe.send(None)
                pipe.recv()
                pipe.send(_asked(client, judge, shape, requests))
        except (RemudaError, grpc.RpcError) as error:
            pipe.send(str(error))


class _Judge:
    """The callback: accepts what it is asked about, and notes what it was told."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.awaited = 0
        self.verdicts = 0
        self.items = 0
        self.ready = threading.Event()
        self.done = threading.Event()

    def nodes_predicates(
        self, items: Sequence[NodesPredicatesItem]
    ) -> list[NodesPredicatesItemResult]:
        """Accept the first nodes of each ask, as many as are of use."""
        found: list[NodesPredicatesItemResult] = []
        for item in items:
            count = min(item.want, len(item.node_ids))
            self.verdicts += count
            found.append(NodesPredicatesItemResult(range(count)))
        self.items += len(items)
        return found

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Note what was placed."""
        self.keys += [each.allocationKey for each in response.new]
        if len(self.keys) >= self.awaited or response.rejected:
            self.done.set()

    def update_node(self, response: si.NodeResponse) -> None:
        """Count the nodes that were taken."""
        self.awaited -= len(response.accepted)
        if self.awaited <= 0:
            self.ready.set()

    def update_application(self, response: si.ApplicationResponse) -> None:
        """Note that the applications were taken."""
        if response.accepted:
            self.ready.set()


def _prepare(client: SessionClient, judge: _Judge, cluster: Shape) -> None:
    """Register, and add nodes and applications. Raises: RemudaError."""
    client.register(configuration(cluster))
    judge.awaited = cluster.nodes
    for start in range(0, cluster.nodes, _NODES):
        places = range(start, min(start + _NODES, cluster.nodes))
        request = nodes_of(cluster, places)
        request.rmID = ""
        client.update_node(request)
    _await(judge.ready, "nodes")
    applications = si.ApplicationRequest()
    for number in range(_APPLICATIONS):
        added = applications.new.add(applicationID=f"app-{number}", queueName="root.q0")
        added.ugi.user = "bench"
    client.update_application(applications)
    _await(judge.ready, "applications")


def _await(event: threading.Event, what: str) -> None:
    """Wait for an answer. Raises: RemudaError if there is none."""
    if not event.wait(TIMEOUT_S):
        raise RemudaError(f"the scheduler did not answer about {what}")
    event.clear()


def _requests(shape: PredicateShape) -> Iterator[si.AllocationRequest]:
    """Yield requests with all asks, one application after the other."""
    each = shape.asks // _APPLICATIONS
    for start in range(0, shape.asks, _ASKS):
        request = si.AllocationRequest()
        for number in range(start, min(start + _ASKS, shape.asks)):
            application = min(number // each, _APPLICATIONS - 1)
            ask = request.asks.add(
                allocationKey=f"k-{number}",
                applicationID=f"app-{application}",
                maxAllocations=1,
            )
            ask.resourceAsk.resources["memory"].value = MEMORY
            ask.resourceAsk.resources["vcore"].value = VCORE
            if shape.classed:
                ask.tags[PREDICATE_CLASS] = f"class-{application}"
        yield request


def _asked(
    client: SessionClient,
    judge: _Judge,
    shape: PredicateShape,
    requests: Sequence[si.AllocationRequest],
) -> _Report:
    """Send all asks and wait for their allocations. Raises: RemudaError."""
    judge.awaited = shape.asks
    used = time.process_time()
    began = time.perf_counter()
    for request in requests:
        client.update_allocation(request)
    if not judge.done.wait(TIMEOUT_S):
        raise RemudaError(f"{shape.asks - len(judge.keys)} asks were not placed")
    seconds = time.perf_counter() - began
    used = time.process_time() - used
    if sorted(judge.keys) != sorted(f"k-{number}" for number in range(shape.asks)):
        raise RemudaError("not every ask was placed exactly once")
    return _Report(seconds, judge.verdicts, judge.items, used)
