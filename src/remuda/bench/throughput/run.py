"""Runs one shape through the in-process API and measures it.

The clock runs from the request with all placeable asks to the last callback. Events and effects are
on, requests and responses are protobuf messages, and the core has its own thread. So the result is
what a resource manager in this process would see. A run that does not place every placeable ask
exactly once, or leaves a wrong counter behind, is an error, not a result.
"""

from __future__ import annotations

import hashlib
import math
import resource
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.bench.clusters import variety
from remuda.bench.clusters.shapes import Shape
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.build import core_build
from remuda.runtime.interpreter import tune_interpreter
from remuda.si.pb import si_pb2 as si

RM_ID: Final = "bench"
MEMORY: Final = 10
VCORE: Final = 1
TIMEOUT_S: Final = 600.0

# After so long a backlog costs nothing more: its asks are old enough to reserve nodes, and the
# resource manager was told that they wait for a larger cluster.
SETTLE_S: Final = RESERVATION_DELAY_NS / 1e9 + 2.0

# Users and groups the applications are dealt to.
USERS: Final = 10
GROUPS: Final = 3

# A prime: who goes so far from one allocation to the next jumps between nodes.
_STRIDE: Final = 7_919

# Allocations whose mean is one sample of the time per allocation.
WINDOW: Final = 256


@message
class Percentiles:
    """Microseconds per allocation, over windows of consecutive allocations."""

    p50: float
    p99: float


@message
class Result:
    """One measured shape. ``digest``: of all decisions in their order, see decisions_digest."""

    shape: str
    allocations_per_second: float
    microseconds_per_allocation: Percentiles
    resident_bytes: int
    build: str
    digest: str


class Receiver:
    """The resource manager's side: notes each allocation in order, with its node and its time."""

    def __init__(self) -> None:
        self.placed: list[tuple[str, str]] = []
        self.rejected: list[str] = []
        self.batches: list[tuple[float, int]] = []
        self.awaited = 0
        self.done = threading.Event()

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Take allocations in and note the time."""
        if response.new:
            self.placed += [(each.allocationKey, each.nodeID) for each in response.new]
            self.awaited -= len(response.new)
            self.batches.append((time.perf_counter(), len(response.new)))
        self.rejected += [entry.reason for entry in response.rejected]
        if self.awaited <= 0 or self.rejected:
            self.done.set()


def measure(shape: Shape) -> Result:
    """Run a shape once, in this process.

    Raises: RemudaError if an ask was not placed once, InvariantViolation if a counter is wrong.
    """
    tune_interpreter()
    receiver = Receiver()
    with InProcessScheduler() as scheduler:
        prepare(scheduler, shape, receiver)
        if shape.backlog:
            time.sleep(SETTLE_S)
            scheduler.wait_idle(TIMEOUT_S)
        request = request_of(shape, "k", range(shape.asks), MEMORY)
        receiver.awaited = shape.asks
        start = time.perf_counter()
        scheduler.update_allocation(request)
        receiver.done.wait(TIMEOUT_S)
        resident = resident_bytes()
        scheduler.wait_idle(TIMEOUT_S)
        judge(shape, receiver)
        scheduler.core.check().result(TIMEOUT_S)
    return Result(
        shape=shape.name,
        allocations_per_second=round(shape.asks / (receiver.batches[-1][0] - start), 1),
        microseconds_per_allocation=_percentiles(start, receiver.batches),
        resident_bytes=resident,
        build=build(),
        digest=decisions_digest(receiver),
    )


def decisions_digest(receiver: Receiver) -> str:
    """Return a digest, equal for two runs only if the same asks got the same nodes in order.

    It leaves out identifiers that each run draws anew.
    """
    digest = hashlib.sha256()
    for key, node in receiver.placed:
        digest.update(f"{key} {node}\n".encode())
    return digest.hexdigest()


def build() -> str:
    """Return which build of the core runs: interpreted or compiled."""
    return core_build()


def resident_bytes() -> int:
    """Return the memory this process holds now, or where that is unknown at its peak."""
    held = resident_of("self")
    if held:
        return held
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_of(process: str) -> int:
    """Return the memory that a process holds now by /proc, 0 if the system does not say."""
    statm = Path(f"/proc/{process}/statm")
    if not statm.exists():
        return 0
    pages = int(statm.read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def configuration(shape: Shape) -> str:
    """Return the queue configuration of a shape."""
    lines = [
        "partitions:",
        "- name: default",
        f"  nodesortpolicy: {{type: {shape.node_sort}}}",
        "  queues:",
        "  - name: root",
        '    submitacl: "*"',
        *_limits(shape, "    "),
        "    queues:",
    ]
    for number, resources in enumerate(_queue_resources(shape)):
        lines.append(f"    - name: q{number}")
        if resources:
            lines.append(f"      resources: {{{resources}}}")
        if shape.guarantees:
            order = f"{{application.sort.policy: {shape.application_sort}}}"
            lines += [f"      properties: {order}", *_limits(shape, "      ")]
    return "\n".join(lines) + "\n"


def _queue_resources(shape: Shape) -> list[str]:
    """Return the resources of each queue as they stand in the configuration.

    In mixed shapes the maximum is half as large again as what the asks of the queue want, and a
    quarter, a half, three quarters or all of what they want is guaranteed, if anything is.
    """
    if not shape.mixed:
        return [
            f"guaranteed: {{memory: {due}, vcore: {due}m}}" if shape.guarantees else ""
            for due in range(1_000, 1_000 * (shape.queues + 1), 1_000)
        ]
    sums = [{"memory": 0, "vcore": 0} for _ in range(shape.queues)]
    applications = shape.queues * shape.applications
    for number, kind in enumerate(_ask_kinds(shape, range(shape.asks))):
        queue, wanted = sums[number % applications % shape.queues], variety.wanted(kind)
        for name in queue:
            queue[name] += wanted[name]
    return [
        f"guaranteed: {_some(queue, number % 4 + 1)}, max: {_some(queue, 6)}"
        if shape.guarantees
        else f"max: {_some(queue, 6)}"
        for number, queue in enumerate(sums)
    ]


def _some(queue: Resource, quarters: int) -> str:
    memory, vcore = queue["memory"] * quarters // 4, queue["vcore"] * quarters // 4
    return f"{{memory: {memory}, vcore: {vcore}m}}"


def _limits(shape: Shape, indent: str) -> list[str]:
    """Return the limits of one queue: a named user, the rest by wildcard, and groups likewise."""
    if not shape.limits:
        return []
    roomy = f"maxresources: {{memory: {MEMORY * shape.asks}, vcore: {VCORE * shape.asks}}}"
    applications = f"maxapplications: {shape.queues * shape.applications}"
    return [
        f"{indent}limits:",
        f"{indent}- {{users: [user-0], {roomy}, {applications}}}",
        f'{indent}- {{users: ["*"], {roomy}, {applications}}}',
        f"{indent}- {{groups: [group-0], {roomy}, {applications}}}",
        f'{indent}- {{groups: ["*"], {roomy}, {applications}}}',
    ]


def prepare(scheduler: InProcessScheduler, shape: Shape, receiver: Receiver) -> None:
    """Register, add nodes and applications, and let the backlog settle."""
    scheduler.register_resource_manager(
        si.RegisterResourceManagerRequest(rmID=RM_ID, config=configuration(shape)), receiver
    )
    scheduler.update_node(nodes_of(shape, range(shape.nodes)))
    scheduler.update_application(applications_of(shape))
    if shape.backlog:
        large = MEMORY * shape.node_share() + 1
        scheduler.update_allocation(request_of(shape, "b", range(shape.backlog), large))
    scheduler.wait_idle(TIMEOUT_S)


def nodes_of(shape: Shape, numbers: range) -> si.NodeRequest:
    """Return one request that creates some of a shape's nodes."""
    kinds = _node_kinds(shape)
    request = si.NodeRequest(rmID=RM_ID)
    for number in numbers:
        node = request.nodes.add(nodeID=f"node-{number:05}", action=si.NodeInfo.CREATE)
        _set_amounts(node.schedulableResource, kinds[number % len(kinds)])
    return request


def _node_kinds(shape: Shape) -> list[Resource]:
    """Return the capacities of the kinds of nodes; node *i* is of kind *i* modulo their number."""
    if shape.varied or shape.mixed:
        return variety.capacities(shape.nodes, _ask_kinds(shape, range(shape.asks)))
    share = shape.node_share()
    return [{name: amount * share for name, amount in _one_ask(shape, MEMORY).items()}]


def _ask_kinds(shape: Shape, numbers: range) -> Sequence[int]:
    """Return the kinds of some asks of a shape whose asks differ."""
    if shape.mixed:
        return variety.drawn_kinds(shape.asks)[numbers.start : numbers.stop]
    applications = shape.queues * shape.applications
    return [variety.kind_of(number, applications) for number in numbers]


def _one_ask(shape: Shape, memory: int) -> Resource:
    """Return the amounts that each ask wants if all are equal."""
    more = {f"type-{number:02}": VCORE for number in range(2, shape.types)}
    return {"memory": memory, "vcore": VCORE, **more}


def _set_amounts(target: si.Resource, amounts: Resource) -> None:
    for name, value in amounts.items():
        target.resources[name].value = value


def applications_of(shape: Shape) -> si.ApplicationRequest:
    """Return one request that adds all applications of a shape."""
    request = si.ApplicationRequest(rmID=RM_ID)
    for number, (application_id, queue) in enumerate(_applications(shape)):
        entry = request.new.add(applicationID=application_id, queueName=queue)
        entry.ugi.user = f"user-{number % USERS}"
        entry.ugi.groups.append(f"group-{number % GROUPS}")
    return request


def _applications(shape: Shape) -> list[tuple[str, str]]:
    """Return (application, queue), round robin over the queues."""
    return [
        (f"app-{queue}-{number}", f"root.q{queue}")
        for number in range(shape.applications)
        for queue in range(shape.queues)
    ]


def request_of(shape: Shape, prefix: str, numbers: range, memory: int) -> si.AllocationRequest:
    """Return one request with asks, round robin over the applications.

    ``memory``: the amount that each wants if all asks are equal.
    """
    applications = _applications(shape)
    kinds = [variety.wanted(kind) for kind in range(variety.KINDS)]
    own = _ask_kinds(shape, numbers) if shape.varied or shape.mixed else ()
    equal = _one_ask(shape, memory)
    request = si.AllocationRequest(rmID=RM_ID)
    for place, number in enumerate(numbers):
        ask = request.asks.add(
            allocationKey=f"{prefix}-{number}",
            applicationID=applications[number % len(applications)][0],
            maxAllocations=1,
        )
        if shape.priorities:
            ask.priority = variety.priority_of(number, len(applications))
        _set_amounts(ask.resourceAsk, kinds[own[place]] if own else equal)
    return request


def add_release(request: si.AllocationRequest, application_id: str, allocation_id: str) -> None:
    """Add to a request that an allocation ends."""
    request.releases.allocationsToRelease.add(
        partitionName="default",
        applicationID=application_id,
        allocationID=allocation_id,
        terminationType=si.STOPPED_BY_RM,
    )


def stride(places: int) -> int:
    """Return how far to go from one of so many places to the next, so that each has its turn."""
    return _STRIDE if places % _STRIDE else 1


def judge(shape: Shape, receiver: Receiver) -> None:
    """Refuse a run that did not place each placeable ask once. Raises: RemudaError."""
    if receiver.rejected:
        raise RemudaError(f"{shape.name}: an ask was rejected: {receiver.rejected[0]}")
    wanted = {f"k-{number}" for number in range(shape.asks)}
    placed = len(receiver.placed)
    if {key for key, _ in receiver.placed} != wanted or placed != shape.asks:
        raise RemudaError(f"{shape.name}: {placed} allocations for {shape.asks} placeable asks")


def _percentiles(start: float, batches: list[tuple[float, int]]) -> Percentiles:
    """Return percentiles over windows of WINDOW consecutive allocations.

    The first window also holds taking the request in.
    """
    costs: list[float] = []
    before = start
    waiting = 0
    for at, count in batches:
        waiting += count
        if waiting >= WINDOW:
            costs.append((at - before) * 1e6 / waiting)
            before = at
            waiting = 0
    costs.sort()
    return Percentiles(round(nearest_rank(costs, 0.50), 2), round(nearest_rank(costs, 0.99), 2))


def nearest_rank(costs: list[float], share: float) -> float:
    """Return the cost at a share of all windows (nearest rank)."""
    return costs[max(0, math.ceil(share * len(costs)) - 1)] if costs else 0.0
