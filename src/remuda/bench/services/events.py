"""The shape events: the cost of tracking events, and of sending them to clients that follow.

S1 is run with the tracking of events off, with it on, and with it on while another process follows
ten streams over REST. All three use the event system of a served scheduler. They run alternately,
so that the machine disturbs them alike, and the median of each counts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import SHAPES, Shape
from remuda.bench.services.companion import start_beside
from remuda.bench.services.paced import served
from remuda.bench.services.reader import listen
from remuda.bench.throughput.run import (
    MEMORY,
    RM_ID,
    TIMEOUT_S,
    Receiver,
    build,
    configuration,
    judge,
    prepare,
    request_of,
    resident_bytes,
)
from remuda.edges.inproc import InProcessScheduler
from remuda.edges.rest.routes.events import event_routes
from remuda.runtime.interpreter import tune_interpreter
from remuda.runtime.loop import SchedulerLoop
from remuda.si.pb import si_pb2 as si
from remuda.telemetry.events.pipeline import EventSystem

STREAM: Final = "/ws/v1/events/stream"


@message
class EventShape:
    """A shape that is placed ``rounds`` times with each of the three, and how many ``streams``."""

    name: str
    cluster: Shape
    streams: int
    rounds: int


EVENTS: Final = EventShape("events", SHAPES[0], streams=10, rounds=5)


@message
class Tracked:
    """How events were tracked, and the median rate.

    ``cpu_microseconds``: CPU time of this process per allocation, until everything is delivered.
    ``loss``: the part of the rate without tracking that is missing. ``created``: event records of
    one round. ``lost``: records of all rounds that were created but not kept, or that one of the
    streams missed.
    """

    what: str
    allocations_per_second: float
    cpu_microseconds: float
    loss: float
    created: int
    lost: int


@message
class EventResult:
    """A measured shape."""

    shape: str
    parts: tuple[Tracked, ...]
    resident_bytes: int
    build: str

    def loss(self) -> float:
        """Return the loss by tracking alone."""
        return self.parts[1].loss


@message
class _Round:
    rate: float
    cpu_us: float
    created: int
    lost: int


def measure_events(shape: EventShape) -> EventResult:
    """Run a shape once, in this process and one that follows.

    Raises: RemudaError if an ask was not placed once, InvariantViolation if a counter is wrong.
    """
    tune_interpreter()
    kinds = (("off", False, 0), ("on", True, 0), (f"{shape.streams} streams", True, shape.streams))
    rounds: dict[str, list[_Round]] = {what: [] for what, _, _ in kinds}
    for _ in range(shape.rounds):
        for what, tracked, streams in kinds:
            rounds[what].append(_round(shape.cluster, streams, tracked=tracked))
    rates = {what: statistics.median(each.rate for each in some) for what, some in rounds.items()}
    parts = tuple(
        Tracked(
            what,
            round(rates[what], 1),
            round(statistics.median(each.cpu_us for each in some), 1),
            round(1 - rates[what] / rates["off"], 4),
            some[-1].created,
            sum(each.lost for each in some),
        )
        for what, some in rounds.items()
    )
    return EventResult(shape.name, parts, resident_bytes(), build())


def _round(cluster: Shape, streams: int, *, tracked: bool) -> _Round:
    """Place all asks of a cluster once."""
    receiver = Receiver()
    core = SchedulerLoop()
    events = EventSystem(core)
    core.start()
    scheduler = InProcessScheduler(core=core)
    try:
        prepare(scheduler, cluster, receiver)
        _track(scheduler, cluster, tracked=tracked)
        with (
            served(core, event_routes(events)) as port,
            _followed(port, streams) as missed,
        ):
            before = events.counters()
            request = request_of(cluster, "k", range(cluster.asks), MEMORY)
            used = time.process_time()
            rate = _rate(scheduler, request, receiver)
            events.flush()
            after = events.counters()
            created = after.created - before.created
            lost = after.not_channeled - before.not_channeled + missed(created)
            used = time.process_time() - used
            events.end_streams()
        judge(cluster, receiver)
        core.check().result(TIMEOUT_S)
    finally:
        scheduler.stop()
        core.stop()
        events.close()
    if (created > 0) != tracked:
        raise RemudaError(f"{created} event records, tracked: {tracked}")
    return _Round(rate, used * 1e6 / cluster.asks, created, lost)


def _track(scheduler: InProcessScheduler, cluster: Shape, *, tracked: bool) -> None:
    """Switch the making of event records on or off."""
    change = si.UpdateConfigurationRequest(rmID=RM_ID, config=configuration(cluster))
    change.extraConfig["event.trackingEnabled"] = str(tracked).lower()
    scheduler.update_configuration(change)


def _rate(
    scheduler: InProcessScheduler, request: si.AllocationRequest, receiver: Receiver
) -> float:
    """Return allocations per second, from the request to the last callback."""
    receiver.awaited = len(request.asks)
    receiver.done.clear()
    began = time.perf_counter()
    scheduler.update_allocation(request)
    receiver.done.wait(TIMEOUT_S)
    scheduler.wait_idle(TIMEOUT_S)
    if not receiver.batches:
        raise RemudaError("nothing was placed")
    return len(request.asks) / (receiver.batches[-1][0] - began)


@contextmanager
def _followed(port: int, streams: int) -> Iterator[Callable[[int], int]]:
    """Have another process follow; called with what each stream has to have: how much is missing.

    It waits until all streams have that, or have ended.
    """
    if not streams:
        yield lambda wanted: 0
        return
    process, ours = start_beside(listen, port, STREAM, streams)
    ours.recv()

    def missed(wanted: int) -> int:
        ours.send(wanted)
        missing: int = ours.recv()
        return missing

    try:
        yield missed
    finally:
        process.terminate()
        process.join()
