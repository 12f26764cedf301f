"""The shape churn: whether memory grows while asks come and end in applications that live on.

Asks come at a steady rate, each runs for a while and is released. All observers of a served
scheduler are present. The memory of the process is read all the time; after the warm-up it must not
grow any more, however long the run takes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Final, final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.run import (
    MEMORY,
    RM_ID,
    TIMEOUT_S,
    add_release,
    applications_of,
    build,
    configuration,
    nodes_of,
    request_of,
    resident_bytes,
)
from remuda.edges.inproc import InProcessScheduler
from remuda.edges.observation import Observation, ObservationSettings
from remuda.runtime.interpreter import tune_interpreter
from remuda.runtime.loop import SchedulerLoop
from remuda.si.pb import si_pb2 as si

# Seconds between two requests, the most asks in one, and the most that may be on their way.
_TICK_S: Final = 0.02
_BATCH: Final = 1_000
_ON_THEIR_WAY: Final = 4_000

# Seconds between two looks at the memory.
_LOOK_S: Final = 1.0


@message
class ChurnShape:
    """A number of asks a second, of which ``running`` run at a time, for ``seconds`` in all.

    ``warm_seconds``: the time after which the memory must not grow.
    """

    name: str
    cluster: Shape
    per_second: int
    running: int
    seconds: float
    warm_seconds: float


CHURN: Final = ChurnShape(
    "churn", Shape("churn", 1_000, 10, 10, 20_000), 9_000, 10_000, seconds=600, warm_seconds=60
)


@message
class ChurnResult:
    """A measured shape. ``ended``: asks that came and ended; the bytes are those of the process.

    ``warm_bytes``: after the warm-up; ``most_bytes``: ever since; ``last_bytes``: in the end.
    """

    shape: str
    ended: int
    per_second: float
    warm_bytes: int
    most_bytes: int
    last_bytes: int
    build: str

    def growth(self) -> float:
        """Return by which part the process was larger at most than after the warm-up."""
        return self.most_bytes / self.warm_bytes - 1


def measure_churn(shape: ChurnShape) -> ChurnResult:
    """Run a shape once, in this process.

    Raises: RemudaError if an ask was refused, InvariantViolation if a counter is wrong.
    """
    tune_interpreter()
    core = SchedulerLoop()
    observed = Observation(core, ObservationSettings())
    core.start()
    observed.start()
    try:
        with InProcessScheduler(core=core) as scheduler:
            return _churn(scheduler, shape)
    finally:
        observed.end_streams()
        core.stop()
        observed.stop()


@final
class _Manager:
    """The resource manager's side: what runs, oldest first. Called on the core thread."""

    def __init__(self) -> None:
        self.running: deque[tuple[str, str]] = deque()
        self.placed = 0
        self.refused = ""
        self._lock = threading.Lock()

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Note what runs now."""
        for new in response.new:
            self.running.append((new.applicationID, new.allocationID))
        with self._lock:
            self.placed += len(response.new)
        for bad in response.rejected:
            self.refused = bad.reason


def _churn(scheduler: InProcessScheduler, shape: ChurnShape) -> ChurnResult:
    manager = _Manager()
    scheduler.register_resource_manager(
        si.RegisterResourceManagerRequest(rmID=RM_ID, config=configuration(shape.cluster)), manager
    )
    scheduler.update_node(nodes_of(shape.cluster, range(shape.cluster.nodes)))
    scheduler.update_application(applications_of(shape.cluster))
    scheduler.wait_idle(TIMEOUT_S)
    sent = 0
    looks: list[tuple[float, int]] = []
    began = time.monotonic()
    while (now := time.monotonic() - began) < shape.seconds:
        due = min(int(now * shape.per_second) - sent, _BATCH)
        due = max(0, min(due, _ON_THEIR_WAY - (sent - manager.placed)))
        request = request_of(shape.cluster, "churn", range(sent, sent + due), MEMORY)
        sent += due
        _release(request, manager, shape.running)
        if request.asks or request.releases.allocationsToRelease:
            scheduler.update_allocation(request)
        if manager.refused:
            raise RemudaError(f"churn: an ask was rejected: {manager.refused}")
        if not looks or now - looks[-1][0] >= _LOOK_S:
            looks.append((now, resident_bytes()))
        time.sleep(_TICK_S)
    scheduler.wait_idle(TIMEOUT_S)
    last = resident_bytes()
    scheduler.core.check().result(TIMEOUT_S)
    settled = [held for at, held in looks if at >= shape.warm_seconds] or [last]
    return ChurnResult(
        shape.name,
        manager.placed - len(manager.running),
        round(manager.placed / shape.seconds, 1),
        settled[0],
        max(settled),
        last,
        build(),
    )


def _release(request: si.AllocationRequest, manager: _Manager, most: int) -> None:
    """End the oldest allocations until no more than the wanted number run."""
    while len(manager.running) > most:
        application, identity = manager.running.popleft()
        add_release(request, application, identity)
