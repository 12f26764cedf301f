"""Measures what reading over REST costs: the scheduler while it is read, and the reader.

The scheduler is in this process, with the REST server on an event loop of its own as when it is
served; who reads is another process, one request after the other.

R1: a large cluster. One ask comes each millisecond, first while nobody reads, then while the state
dump is read over and over, then while the list of all nodes is. R2: a middling one that schedules
as fast as it can, while its queue tree and the applications of one leaf are read in turn.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Final, final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.idle import Reaction
from remuda.bench.reader import Read, read_on
from remuda.bench.run import (
    MEMORY,
    RM_ID,
    TIMEOUT_S,
    VCORE,
    Receiver,
    build,
    nearest_rank,
    prepare,
    request_of,
    resident_bytes,
)
from remuda.bench.shapes import Shape
from remuda.edges.inproc import InProcessScheduler
from remuda.edges.rest.app import build_app
from remuda.edges.rest.dump import StateDump, dump_routes
from remuda.edges.rest.server import RestServer
from remuda.runtime.interpreter import tune_interpreter
from remuda.runtime.loop import SchedulerLoop
from remuda.si.pb import si_pb2 as si

DUMP: Final = "/ws/v1/fullstatedump"
NODES: Final = "/ws/v1/partition/default/nodes"
TREE: Final = "/ws/v1/partition/default/queues"
LEAF: Final = "/ws/v1/partition/default/queue/root.q1/applications"

# Asks in a request that fills the cluster, and in one of those that keep the scheduler busy.
_FILLING: Final = 1_000
_BUSY: Final = 100


@message
class RestShape:
    """A cluster that is read.

    ``cluster``: nodes large enough for its asks, of which ``filled`` are placed before anything is
    measured. ``paced``: asks come one each millisecond, else as fast as they are placed.
    ``seconds``: how long each part of the measurement takes.
    """

    name: str
    cluster: Shape
    filled: int
    paced: bool
    seconds: float


REST: Final = (
    RestShape("R1", Shape("R1", 10_000, 100, 10, 150_000), 100_000, paced=True, seconds=10.0),
    RestShape("R2", Shape("R2", 5_000, 100, 1, 60_000), 50_000, paced=False, seconds=10.0),
)

# Names all of them together.
GROUP: Final = "rest"


@message
class Part:
    """One part of a measurement.

    ``milliseconds``: from an ask to its callback, or from a request to the end of its answer;
    ``count``: asks or requests; ``kibibytes``: of the largest answer that was read meanwhile.
    ``rate``: allocations per second.
    """

    what: str
    milliseconds: Reaction
    count: int
    answers: int
    kibibytes: int
    rate: float


@message
class RestResult:
    """A measured shape."""

    shape: str
    parts: tuple[Part, ...]
    resident_bytes: int
    build: str


def measure_rest(shape: RestShape) -> RestResult:
    """Run a shape once, in this process and one that reads.

    Raises: RemudaError if something was refused, InvariantViolation if a counter is wrong.
    """
    manager = _Manager()
    with InProcessScheduler() as scheduler:
        prepare(scheduler, shape.cluster, manager)
        _fill(scheduler, shape)
        tune_interpreter()
        with _served(scheduler.core) as port:
            measure = _measure_paced if shape.paced else _measure_busy
            parts = tuple(measure(scheduler, shape, manager, port))
        resident = resident_bytes()
        scheduler.wait_idle(TIMEOUT_S)
        scheduler.core.check().result(TIMEOUT_S)
    return RestResult(shape.name, parts, resident, build())


@final
class _Manager(Receiver):
    """The resource manager's side: when each ask was placed. Called on the core thread."""

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[str, tuple[float, str]] = {}
        self.refused = ""

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Note the time."""
        now = time.perf_counter()
        for new in response.new:
            self.at[new.allocationKey] = (now, new.allocationID)
        for bad in response.rejected:
            self.refused = bad.reason

    def wait_for(self, key: str) -> None:
        """Wait until an ask is placed. Raises: RemudaError if it is not."""
        end = time.monotonic() + TIMEOUT_S
        while key not in self.at:
            if self.refused or time.monotonic() > end:
                raise RemudaError(f"asks were not placed: {self.refused or 'too late'}")
            time.sleep(0.0005)


def _fill(scheduler: InProcessScheduler, shape: RestShape) -> None:
    """Place what the cluster is to have from the beginning."""
    for start in range(0, shape.filled, _FILLING):
        numbers = range(start, min(shape.filled, start + _FILLING))
        scheduler.update_allocation(request_of(shape.cluster, "old", numbers, MEMORY))
    scheduler.wait_idle(TIMEOUT_S)


@contextmanager
def _served(core: SchedulerLoop) -> Iterator[int]:
    """Serve REST on an event loop of its own; the port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="rest", daemon=True)
    thread.start()

    async def start() -> tuple[RestServer, int]:
        listener = socket.create_server(("127.0.0.1", 0))
        server = RestServer(build_app(core, more=dump_routes(StateDump(core))), listener)
        await server.start()
        return server, listener.getsockname()[1]

    server, port = asyncio.run_coroutine_threadsafe(start(), loop).result(TIMEOUT_S)
    try:
        yield port
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(TIMEOUT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


# ------------------------------------------------------------------------------ who reads


@contextmanager
def _reading(port: int, *paths: str) -> Iterator[Future[Read]]:
    """Have another process read paths meanwhile; what it read is there afterwards."""
    read: Future[Read] = Future()
    if not paths:
        read.set_result({})
        yield read
        return
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=read_on, args=(port, list(paths), theirs))
    process.start()
    ours.recv()
    try:
        yield read
    finally:
        ours.send(None)
        read.set_result(ours.recv())
        process.join()


# ------------------------------------------------------------------------------ what is measured


def _measure_paced(
    scheduler: InProcessScheduler, shape: RestShape, manager: _Manager, port: int
) -> Iterator[Part]:
    number = 0
    parts = (("nobody reads", ()), ("dumps are read", (DUMP,)), ("nodes are read", (NODES,)))
    for what, paths in parts:
        with _reading(port, *paths) as read:
            count = int(shape.seconds * 1_000)
            waits = _ask_each_millisecond(scheduler, shape, manager, range(number, number + count))
            number += count
        answers = [size for each in read.result().values() for _, size in each]
        largest = max(answers, default=0) // 1024
        yield Part(what, _reaction(waits), count, len(answers), largest, 1_000.0)


def _ask_each_millisecond(
    scheduler: InProcessScheduler, shape: RestShape, manager: _Manager, numbers: range
) -> list[float]:
    """Return the milliseconds from each ask to its callback."""
    sent: dict[str, float] = {}
    began = time.perf_counter()
    for place, number in enumerate(numbers):
        request = request_of(shape.cluster, "k", range(number, number + 1), MEMORY)
        time.sleep(max(0.0, began + place / 1_000 - time.perf_counter()))
        sent[f"k-{number}"] = time.perf_counter()
        scheduler.update_allocation(request)
    manager.wait_for(f"k-{numbers[-1]}")
    scheduler.wait_idle(TIMEOUT_S)
    return [(manager.at[key][0] - at) * 1e3 for key, at in sent.items()]


def _measure_busy(
    scheduler: InProcessScheduler, shape: RestShape, manager: _Manager, port: int
) -> Iterator[Part]:
    alone = _keep_busy(scheduler, manager, shape.seconds / 2, 0)
    with _reading(port, TREE, LEAF) as read:
        rate = _keep_busy(scheduler, manager, shape.seconds, 1)
    yield Part("nobody reads", _reaction([]), 0, 0, 0, round(alone, 1))
    for path, answers in read.result().items():
        times = [took for took, _ in answers if took]
        largest = max(size for _, size in answers) // 1024
        what = "queue tree" if path == TREE else "leaf applications"
        yield Part(what, _reaction(times), len(times), len(times), largest, round(rate, 1))


def _keep_busy(
    scheduler: InProcessScheduler, manager: _Manager, seconds: float, part: int
) -> float:
    """Let something always wait for a decision; allocations per second."""
    before = len(manager.at)
    began = time.perf_counter()
    batch = 0
    while time.perf_counter() - began < seconds:
        request = si.AllocationRequest(rmID=RM_ID)
        for number in range(_BUSY):
            ask = request.asks.add(
                allocationKey=f"b-{part}-{batch}-{number}",
                applicationID="app-0-0",
                maxAllocations=1,
            )
            ask.resourceAsk.resources["memory"].value = MEMORY
            ask.resourceAsk.resources["vcore"].value = VCORE
        if batch >= 2:
            ended = f"b-{part}-{batch - 2}-"
            manager.wait_for(f"{ended}{_BUSY - 1}")
            for number in range(_BUSY):
                request.releases.allocationsToRelease.add(
                    partitionName="default",
                    applicationID="app-0-0",
                    allocationID=manager.at[f"{ended}{number}"][1],
                    terminationType=si.STOPPED_BY_RM,
                )
        scheduler.update_allocation(request)
        batch += 1
    scheduler.wait_idle(TIMEOUT_S)
    return (len(manager.at) - before) / (time.perf_counter() - began)


def _reaction(waits: list[float]) -> Reaction:
    ordered = sorted(waits)
    return Reaction(*(round(nearest_rank(ordered, share), 3) for share in (0.50, 0.99, 1.0)))
