"""Measures what reading over REST costs: the scheduler while it is read, and the reader.

The scheduler is served as paced.py says; who reads is another process.

R1: a large cluster. One ask comes each millisecond, first while nobody reads, then while the state
dump is read over and over, then while the list of all nodes is. R2: a middling one that schedules
as fast as it can, while its queue tree and the applications of one leaf are read in turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from remuda.base.message import message
from remuda.bench.idle import Reaction, reaction
from remuda.bench.paced import Manager, ask_each_millisecond, fill, reading, served
from remuda.bench.run import MEMORY, RM_ID, TIMEOUT_S, VCORE, build, prepare, resident_bytes
from remuda.bench.shapes import Shape
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.interpreter import tune_interpreter
from remuda.si.pb import si_pb2 as si

DUMP: Final = "/ws/v1/fullstatedump"
NODES: Final = "/ws/v1/partition/default/nodes"
TREE: Final = "/ws/v1/partition/default/queues"
LEAF: Final = "/ws/v1/partition/default/queue/root.q1/applications"

# Asks in a request of those that keep the scheduler busy.
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
    manager = Manager()
    with InProcessScheduler() as scheduler:
        prepare(scheduler, shape.cluster, manager)
        fill(scheduler, shape.cluster, shape.filled)
        tune_interpreter()
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
    parts = (("nobody reads", ()), ("dumps are read", (DUMP,)), ("nodes are read", (NODES,)))
    for what, paths in parts:
        with reading(port, *paths) as read:
            count = int(shape.seconds * 1_000)
            waits = ask_each_millisecond(
                scheduler, shape.cluster, manager, range(number, number + count)
            )
            number += count
        answers = [size for each in read.result().values() for _, size in each]
        largest = max(answers, default=0) // 1024
        yield Part(what, reaction(waits), count, len(answers), largest, 1_000.0)


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
