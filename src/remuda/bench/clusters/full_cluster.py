"""A full cluster in which some queues are below their guarantee, and its resource manager.

Attempts to preempt are measured in the core itself, without threads and messages, because an
attempt takes milliseconds in one step of the core and the measurement sets the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.config.schema import (
    AccessList,
    Configuration,
    PartitionConfig,
    QueueConfig,
)
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.commands import (
    CREATE,
    CREATE_DRAIN,
    PREEMPTED_BY_SCHEDULER,
    AllocationRelease,
    ApplicationRemoval,
    Ask,
    Command,
    ExistingAllocation,
    NewApplication,
    NodeUpdate,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsRejected,
    AllocationsReleased,
    ApplicationsAnswered,
    AsksRejected,
    Effect,
    NodesAnswered,
    ReleasedAllocation,
)
from remuda.core.messages.queries import ApplicationsQuery
from remuda.core.scheduler import Scheduler

RM_ID: Final = "bench"
SECOND_NS: Final = 1_000_000_000
START_NS: Final = 1_000 * SECOND_NS
# How long an ask waits before it may preempt (the default of preemption.delay).
DELAY_NS: Final = 30 * SECOND_NS
# What one allocation of the full cluster holds.
MEMORY: Final = 10
VCORE: Final = 1_000
STEP_LIMIT: Final = 1_000
_ANSWERS: Final = (ApplicationsAnswered, NodesAnswered, AsksRejected, AllocationsRejected)
# Allocations reported in one request.
_BATCH: Final = 5_000


@message
class FullCluster:
    """A cluster whose givers use all of it, and takers that use nothing yet.

    ``leaves``: half of them give, half take; ``nodes`` of ``per_node`` allocations each. ``due``:
    the part of a giver's usage that is guaranteed to it. ``owed``: the guarantee of a taker, by
    type, in sizes of one allocation. ``priority``: the priority of the givers' allocations; the
    takers have 0. ``opted_out``: the givers' allocations opted out of being preempted. ``spare``: a
    draining node is empty, so that the size of the cluster does not stop the asks. ``lacking``: a
    type that only that node has.
    """

    leaves: int = 10
    nodes: int = 5_000
    per_node: int = 20
    due: float = 0.5
    owed: int = 10_000
    priority: int = 0
    opted_out: bool = False
    spare: bool = False
    lacking: str = ""

    def givers(self) -> list[str]:
        """Return the names of the leaves that use the cluster."""
        return [f"giver-{number:03}" for number in range(self.leaves // 2)]

    def takers(self) -> list[str]:
        """Return the names of the leaves that are below their guarantee."""
        return [f"taker-{number:03}" for number in range(self.leaves - self.leaves // 2)]

    def allocations(self) -> int:
        """Return how many allocations fill the cluster."""
        return self.nodes * self.per_node


@final
class Obedient:
    """The resource manager of a full cluster; ``now_ns`` is the time of every call.

    ``to_release``: the allocations that have to end and have not ended yet. ``placed``: the asks
    that were placed, by key, with the allocation.
    """

    def __init__(self, cluster: FullCluster) -> None:
        self.scheduler = Scheduler()
        self.now_ns = START_NS
        self.to_release: list[ReleasedAllocation] = []
        self.placed: dict[str, AllocationNew] = {}
        self.cluster = cluster
        self._build()

    # ---------------------------------------------------------------------------- building

    def _build(self) -> None:
        cluster = self.cluster
        self.send(RegisterResourceManager(RM_ID, Configuration((_partition(cluster),))))
        capacity = {"memory": MEMORY * cluster.per_node, "vcore": VCORE * cluster.per_node}
        nodes = [
            NodeUpdate(f"node-{number:05}", CREATE, capacity) for number in range(cluster.nodes)
        ]
        if cluster.spare:
            extra = {cluster.lacking: 1_000_000} if cluster.lacking else {}
            nodes.append(NodeUpdate("draining", CREATE_DRAIN, {**capacity, **extra}))
        self.send(UpdateNodes(RM_ID, tuple(nodes)))
        for queue in cluster.givers():
            self.submit(queue, application_of(queue))
        running = list(_running(cluster))
        for first in range(0, len(running), _BATCH):
            self.send(UpdateAllocations(RM_ID, tuple(running[first : first + _BATCH])))
        self.placed.clear()

    # --------------------------------------------------------------------------- in motion

    def send(self, command: Command) -> None:
        """Send one command. Raises: RemudaError if anything of it is refused."""
        self._hear(self.scheduler.handle(command, self.now_ns))

    def step(self, limit: int = STEP_LIMIT) -> None:
        """Let the core make decisions, at the present time."""
        self._hear(self.scheduler.step(self.now_ns, limit))

    def decide(self) -> None:
        """Run due timers and decide everything."""
        self.step()
        while self.scheduler.has_work():
            self.step()

    def wait(self, until_ns: int) -> None:
        """Advance the time, and run each timer when it is due."""
        self.decide()
        while True:
            deadline_ns = self.scheduler.next_deadline()
            if deadline_ns is None or deadline_ns > until_ns:
                break
            self.now_ns = max(self.now_ns, deadline_ns)
            self.decide()
        self.now_ns = until_ns

    def submit(self, queue: str, application_id: str) -> None:
        """Add an application."""
        new = NewApplication(application_id, f"root.{queue}", user="ann", groups=("staff",))
        self.send(UpdateApplications(RM_ID, (new,)))

    def ask(self, queue: str, key: str, resource: Resource) -> None:
        """Send an ask that may preempt others, in an application of that name."""
        self.submit(queue, key)
        ask = Ask(key, key, resource, allow_preempt_other=True)
        self.send(UpdateAllocations(RM_ID, asks=(ask,)))

    def take_back(self, key: str) -> None:
        """Drop an ask that waits, with its application."""
        self.send(UpdateApplications(RM_ID, remove=(ApplicationRemoval(key),)))

    def confirm(self) -> int:
        """End all allocations that have to end; return how many there were."""
        releases = [
            AllocationRelease(
                each.application_id, each.allocation_id, termination_type=PREEMPTED_BY_SCHEDULER
            )
            for each in self.to_release
        ]
        self.to_release.clear()
        if releases:
            self.send(UpdateAllocations(RM_ID, releases=tuple(releases)))
        return len(releases)

    def waiting(self, queue: str) -> list[RequestView]:
        """Return the asks of a queue that wait."""
        found = self.scheduler.view(ApplicationsQuery("default", f"root.{queue}", RM_ID))
        assert isinstance(found, tuple)
        views = [view for view in found if isinstance(view, ApplicationView)]
        return [request for view in views for request in view.requests]

    def _hear(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, AllocationNew):
                self.placed[effect.ask.allocation_key] = effect
            elif isinstance(effect, AllocationsReleased):
                self.to_release += [
                    each
                    for each in effect.released
                    if each.termination_type == PREEMPTED_BY_SCHEDULER
                ]
            elif isinstance(effect, _ANSWERS) and effect.rejected:
                raise RemudaError(f"refused: {effect.rejected[0].reason}")


def application_of(queue: str) -> str:
    """Return the one application of a leaf that gives."""
    return f"app-{queue}"


def _partition(cluster: FullCluster) -> PartitionConfig:
    share = cluster.allocations() // max(1, len(cluster.givers()))
    kept = int(share * cluster.due)
    queues = [
        QueueConfig(name, guaranteed={"memory": MEMORY * kept, "vcore": VCORE * kept})
        for name in cluster.givers()
    ]
    owed = {"memory": MEMORY * cluster.owed, "vcore": VCORE * cluster.owed}
    if cluster.lacking:
        owed[cluster.lacking] = cluster.owed
    queues += [QueueConfig(name, guaranteed=owed) for name in cluster.takers()]
    everybody = AccessList(everybody=True)
    root = QueueConfig("root", parent=True, queues=tuple(queues), submit_acl=everybody)
    return PartitionConfig("default", root)


def _running(cluster: FullCluster) -> Iterator[ExistingAllocation]:
    """Yield the allocations that fill the cluster; each node has some of many givers."""
    givers = cluster.givers()
    size = {"memory": MEMORY, "vcore": VCORE}
    for number in range(cluster.allocations()):
        node, place = divmod(number, cluster.per_node)
        ask = Ask(
            application_of(givers[(node + place) % len(givers)]),
            f"old-{number}",
            size,
            priority=cluster.priority,
            allow_preempt_self=not cluster.opted_out,
        )
        yield ExistingAllocation(ask, f"old-{number}", f"node-{node:05}")
