"""The shape gang: the cost of placing whole gangs.

A gang is an application that asks for placeholders first. When all of them are placed it asks for
its members; each replaces a placeholder, which the resource manager confirms as soon as it is asked
to. A fixed number of gangs is placed at a time, and the next one begins when the last member of one
runs. Placed gangs stay, so that in the end most of the cluster is full. The resource manager works
on its own thread and raises an error for a partial gang: a member that comes before the last
placeholder was placed, and a gang that is not complete when the scheduler rests.
"""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from typing import Final, final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.idle import Reaction, reaction
from remuda.bench.throughput.run import (
    MEMORY,
    RM_ID,
    TIMEOUT_S,
    VCORE,
    build,
    configuration,
    nodes_of,
    resident_bytes,
)
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.interpreter import tune_interpreter
from remuda.si.pb import si_pb2 as si

# Sizes of gangs, in turn.
_SIZES: Final = (2, 4, 8, 16, 32, 64, 128, 256, 512)

_GROUP: Final = "members"


@message
class GangShape:
    """Gangs on a cluster.

    ``under_way``: gangs that are being placed at a time. ``filled``: the part of the nodes that all
    gangs use together. ``size_limit``: no gang is larger.
    """

    name: str
    gangs: int
    under_way: int
    nodes: int
    queues: int
    filled: float = 0.9
    size_limit: int = _SIZES[-1]

    def sizes(self) -> list[int]:
        """Return how many members each gang has."""
        return [min(_SIZES[n % len(_SIZES)], self.size_limit) for n in range(self.gangs)]

    def cluster(self) -> Shape:
        """Return the nodes and queues, with room for the gangs and the part that stays free."""
        room = int(sum(self.sizes()) / self.filled)
        return Shape(self.name, self.nodes, self.queues, 0, room)


GANG: Final = GangShape("gang", gangs=1_000, under_way=10, nodes=5_000, queues=10)


@message
class GangResult:
    """A measured shape.

    ``first_milliseconds``: from a gang's last placeholder to its first member that runs,
    ``whole_milliseconds``: to its last one. ``cpu_microseconds``: CPU time of this process for one
    member with its placeholder, the resource manager's side included.
    """

    shape: str
    gangs: int
    members: int
    gangs_per_second: float
    members_per_second: float
    cpu_microseconds: float
    first_milliseconds: Reaction
    whole_milliseconds: Reaction
    resident_bytes: int
    build: str


def measure_gangs(shape: GangShape) -> GangResult:
    """Run a shape once, in this process.

    Raises: RemudaError if a gang was partial or refused, InvariantViolation if a counter is wrong.
    """
    tune_interpreter()
    cluster = shape.cluster()
    answers = Answers()
    with InProcessScheduler() as scheduler:
        scheduler.register_resource_manager(
            si.RegisterResourceManagerRequest(rmID=RM_ID, config=configuration(cluster)), answers
        )
        scheduler.update_node(nodes_of(cluster, range(cluster.nodes)))
        scheduler.wait_idle(TIMEOUT_S)
        manager = GangManager(scheduler, answers, shape)
        began, used = time.perf_counter(), time.process_time()
        manager.run()
        took, used = time.perf_counter() - began, time.process_time() - used
        resident = resident_bytes()
        scheduler.wait_idle(TIMEOUT_S)
        manager.judge()
        scheduler.core.check().result(TIMEOUT_S)
    members = sum(shape.sizes())
    return GangResult(
        shape=shape.name,
        gangs=shape.gangs,
        members=members,
        gangs_per_second=round(shape.gangs / took, 1),
        members_per_second=round(members / took, 1),
        cpu_microseconds=round(used * 1e6 / members, 1),
        first_milliseconds=reaction([gang.first_ms() for gang in manager.gangs.values()]),
        whole_milliseconds=reaction([gang.whole_ms() for gang in manager.gangs.values()]),
        resident_bytes=resident,
        build=build(),
    )


@final
class Answers:
    """Passes on the answers of the scheduler, with the time. Called on the core thread."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[tuple[float, si.AllocationResponse]] = SimpleQueue()
        self.refused = ""

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Hand on a response."""
        self.queue.put((time.perf_counter(), response))

    def update_application(self, response: si.ApplicationResponse) -> None:
        """Note a refusal."""
        for bad in response.rejected:
            self.refused = bad.reason


@final
class _Gang:
    """The progress of one gang. Times are seconds of the performance counter."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.placeholders = 0
        self.members: set[str] = set()
        self.held_at = self.first_at = self.whole_at = 0.0

    def first_ms(self) -> float:
        """Return the milliseconds from the last placeholder to the first member."""
        return (self.first_at - self.held_at) * 1e3

    def whole_ms(self) -> float:
        """Return the milliseconds from the last placeholder to the last member."""
        return (self.whole_at - self.held_at) * 1e3


@final
class GangManager:
    """A resource manager that places gangs."""

    def __init__(self, scheduler: InProcessScheduler, answers: Answers, shape: GangShape) -> None:
        self._scheduler = scheduler
        self._answers = answers
        self._shape = shape
        self._sizes = shape.sizes()
        self._complete = 0
        self.gangs: dict[str, _Gang] = {}

    def run(self) -> None:
        """Place all gangs. Raises: RemudaError."""
        for _ in range(min(self._shape.under_way, self._shape.gangs)):
            self.begin()
        while self._complete < self._shape.gangs:
            try:
                at, response = self._answers.queue.get(timeout=TIMEOUT_S)
            except Empty:
                refused = self._answers.refused or "no answer"
                raise RemudaError(f"{self._complete} gangs are complete: {refused}") from None
            self.hear(at, response)

    def judge(self) -> None:
        """Raise RemudaError if a gang has too few or too many members."""
        if not self._answers.queue.empty():
            raise RemudaError("something was placed or released after all gangs were complete")
        for name, gang in self.gangs.items():
            if (gang.placeholders, len(gang.members)) != (gang.size, gang.size):
                raise RemudaError(f"{name} is partial: {len(gang.members)} of {gang.size} run")

    def begin(self) -> None:
        """Submit the next gang and ask for its placeholders."""
        number = len(self.gangs)
        name, size = f"gang-{number}", self._sizes[number]
        self.gangs[name] = _Gang(size)
        request = si.ApplicationRequest(rmID=RM_ID)
        new = request.new.add(
            applicationID=name,
            queueName=f"root.q{number % self._shape.queues}",
            gangSchedulingStyle="Hard",
        )
        new.ugi.user = "user-0"
        new.placeholderAsk.resources["memory"].value = MEMORY * size
        new.placeholderAsk.resources["vcore"].value = VCORE * size
        self._scheduler.update_application(request)
        self._ask(name, size, placeholder=True)

    def _ask(self, name: str, size: int, *, placeholder: bool) -> None:
        kind = "p" if placeholder else "m"
        request = si.AllocationRequest(rmID=RM_ID)
        for number in range(size):
            ask = request.asks.add(
                allocationKey=f"{name}-{kind}-{number}",
                applicationID=name,
                maxAllocations=1,
                taskGroupName=_GROUP,
                placeholder=placeholder,
            )
            ask.resourceAsk.resources["memory"].value = MEMORY
            ask.resourceAsk.resources["vcore"].value = VCORE
        self._scheduler.update_allocation(request)

    def hear(self, at: float, response: si.AllocationResponse) -> None:
        """Process an answer of the scheduler. Raises: RemudaError for a partial gang."""
        for bad in response.rejected:
            raise RemudaError(f"{bad.allocationKey} was rejected: {bad.reason}")
        self._confirm(response)
        for new in response.new:
            gang = self.gangs[new.applicationID]
            if new.placeholder:
                self._held(new.applicationID, gang, at)
            else:
                self._joined(gang, new.allocationKey, at)

    def _confirm(self, response: si.AllocationResponse) -> None:
        """Confirm that placeholders have ended, as the scheduler requested. Raises: RemudaError."""
        request = si.AllocationRequest(rmID=RM_ID)
        for ended in response.released:
            if ended.terminationType != si.PLACEHOLDER_REPLACED:
                raise RemudaError(f"{ended.applicationID} lost a placeholder: {ended.message}")
            request.releases.allocationsToRelease.add(
                partitionName="default",
                applicationID=ended.applicationID,
                allocationID=ended.allocationID,
                terminationType=si.PLACEHOLDER_REPLACED,
            )
        if request.HasField("releases"):
            self._scheduler.update_allocation(request)

    def _held(self, name: str, gang: _Gang, at: float) -> None:
        gang.placeholders += 1
        if gang.placeholders == gang.size:
            gang.held_at = at
            self._ask(name, gang.size, placeholder=False)

    def _joined(self, gang: _Gang, key: str, at: float) -> None:
        if gang.placeholders < gang.size or key in gang.members:
            raise RemudaError(f"{key} runs before its gang is held, or twice: a partial gang")
        gang.first_at = gang.first_at or at
        gang.members.add(key)
        if len(gang.members) == gang.size:
            gang.whole_at = at
            self._complete += 1
            if len(self.gangs) < self._shape.gangs:
                self.begin()
