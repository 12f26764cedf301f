"""Measures what reading over REST costs: the scheduler while it is read, and the reader.

The scheduler is served as paced.py says; who reads is another process.

R1: a large cluster. One ask comes each millisecond, first while nobody reads, then while the state
dump is read over and over, then while the list of all nodes is. R2: a middling one that schedules
as fast as it can, while its queue tree and the applications of one leaf are read in turn.

R3 to R5: an application has 100,000, 300,000 or 1,000,000 asks that wait. One more ask comes each
millisecond, while that application, and for what its asks wait, is read over and over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.paced import Manager, ask_each_millisecond, fill, reading, served
from remuda.bench.throughput.idle import Reaction, reaction
from remuda.bench.throughput.run import (
    MEMORY,
    RM_ID,
    TIMEOUT_S,
    VCORE,
    add_release,
    build,
    prepare,
    resident_bytes,
)
from remuda.config.process_limits import NO_LIMITS
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.interpreter import tune_interpreter
from remuda.si.pb import si_pb2 as si

DUMP: Final = "/ws/v1/fullstatedump"
NODES: Final = "/ws/v1/partition/default/nodes"
TREE: Final = "/ws/v1/partition/default/queues"
LEAF: Final = "/ws/v1/partition/default/queue/root.q1/applications"

# The application with the many asks, and what of it is read.
APPLICATION: Final = "/ws/v1/partition/default/application/app-0-0"
PENDING: Final = f"{APPLICATION}/pending"

# Asks in a request of those that wait, each of which wants more than there is.
_WAITING: Final = 1_000

# Asks in a request of those that keep the scheduler busy.
_BUSY: Final = 100

# Seconds between two looks at the memory.
_EVERY_S: Final = 0.05


@message
class RestShape:
    """A cluster that is read.

    ``cluster``: nodes large enough for its asks, of which ``filled`` are placed before anything is
    measured. ``paced``: asks come one each millisecond, else as fast as they are placed.
    ``waiting``: asks of one application that wait from the beginning to the end.
    ``seconds``: how long each part of the measurement takes.
    """

    name: str
    cluster: Shape
    filled: int
    paced: bool
    seconds: float
    waiting: int = 0


REST: Final = (
    RestShape("R1", Shape("R1", 10_000, 100, 10, 150_000), 100_000, paced=True, seconds=10.0),
    RestShape("R2", Shape("R2", 5_000, 100, 1, 60_000), 50_000, paced=False, seconds=10.0),
    *(
        RestShape(
            name, Shape(name, 1_000, 10, 1, 60_000), 0, paced=True, seconds=10.0, waiting=waiting
        )
        for name, waiting in (("R3", 100_000), ("R4", 300_000), ("R5", 1_000_000))
    ),
)


@message
class Part:
    """One part of a measurement.

    ``milliseconds``: from an ask to its callback, or from a request to the end of its answer;
    ``count``: asks or requests; ``kibibytes``: of the largest answer that was read meanwhile.
    ``rate``: allocations per second. ``grown_bytes``: by how much more memory the process had at
    some moment than before.
    """

    what: str
    milliseconds: Reaction
    count: int
    answers: int
    kibibytes: int
    rate: float
    grown_bytes: int = 0


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
    manager = Manager()
    # R5 has more asks in one application than a scheduler takes by default.
    with InProcessScheduler(limits=NO_LIMITS) as scheduler:
        tune_interpreter()
        prepare(scheduler, shape.cluster, manager)
        fill(scheduler, shape.cluster, shape.filled)
        _let_wait(scheduler, shape.waiting)
        with served(scheduler.core) as port:
            measure = _measure_paced if shape.paced else _measure_busy
            parts = tuple(measure(scheduler, shape, manager, port))
        resident = resident_bytes()
        scheduler.wait_idle(TIMEOUT_S)
        scheduler.core.check().result(TIMEOUT_S)
    return RestResult(shape.name, parts, resident, build())


# ------------------------------------------------------------------------------ what is measured


def _measure_paced(
    scheduler: InProcessScheduler, shape: RestShape, manager: Manager, port: int
) -> Iterator[Part]:
    number = 0
    parts: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("nobody reads", ()),
        ("dumps are read", (DUMP,)),
        ("nodes are read", (NODES,)),
    )
    if shape.waiting:
        parts = (
            ("nobody reads", ()),
            ("asks are read", (APPLICATION,)),
            ("reasons are read", (PENDING,)),
        )
    for what, paths in parts:
        with reading(port, *paths) as read, growing() as grown:
            count = int(shape.seconds * 1_000)
            waits = ask_each_millisecond(
                scheduler, shape.cluster, manager, range(number, number + count)
            )
            number += count
        answers = [size for each in read.result().values() for _, size in each]
        largest = max(answers, default=0) // 1024
        yield Part(what, reaction(waits), count, len(answers), largest, 1_000.0, grown())


def _let_wait(scheduler: InProcessScheduler, count: int) -> None:
    """Give one application asks that fit no node."""
    for start in range(0, count, _WAITING):
        request = si.AllocationRequest(rmID=RM_ID)
        for number in range(start, min(count, start + _WAITING)):
            ask = request.asks.add(
                allocationKey=f"wait-{number:07}", applicationID="app-0-0", maxAllocations=1
            )
            ask.resourceAsk.resources["memory"].value = 2**50
        scheduler.update_allocation(request)
    scheduler.wait_idle(TIMEOUT_S)


def _measure_busy(
    scheduler: InProcessScheduler, shape: RestShape, manager: Manager, port: int
) -> Iterator[Part]:
    alone = _keep_busy(scheduler, manager, shape.seconds / 2, 0)
    with reading(port, TREE, LEAF) as read:
        rate = _keep_busy(scheduler, manager, shape.seconds, 1)
    yield Part("nobody reads", reaction([]), 0, 0, 0, round(alone, 1))
    for path, answers in read.result().items():
        times = [took for took, _ in answers if took]
        largest = max(size for _, size in answers) // 1024
        what = "queue tree" if path == TREE else "leaf applications"
        yield Part(what, reaction(times), len(times), len(times), largest, round(rate, 1))


def _keep_busy(scheduler: InProcessScheduler, manager: Manager, seconds: float, part: int) -> float:
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
                add_release(request, "app-0-0", manager.at[f"{ended}{number}"][1])
        scheduler.update_allocation(request)
        batch += 1
    scheduler.wait_idle(TIMEOUT_S)
    return (len(manager.at) - before) / (time.perf_counter() - began)


@contextmanager
def growing() -> Iterator[Callable[[], int]]:
    """Look at the memory again and again; what is yielded returns the growth in bytes.

    It is known when the block has ended.
    """
    before = resident_bytes()
    most = [before]
    over = threading.Event()

    def look() -> None:
        while not over.wait(_EVERY_S):
            most[0] = max(most[0], resident_bytes())

    thread = threading.Thread(target=look, name="memory", daemon=True)
    thread.start()
    try:
        yield lambda: most[0] - before
    finally:
        over.set()
        thread.join()
