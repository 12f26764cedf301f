"""The demo's resource manager: it registers, adds nodes, sends jobs and ends their tasks.

All scheduling is left to the scheduler; a task here is an entry in a heap of end times. The
callbacks run on the core thread and only note what happened; ``tick``, called from the edge
thread a few times a second, does everything else. The two meet in thread-safe queues.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from remuda.base.message import message
from remuda.core.messages.queries import PartitionsQuery, PartitionView, QueuesQuery, QueueView
from remuda.core.messages.rows import rows
from remuda.demo.workload import NODES, Job, Workload
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import resource

RM_ID: Final = "demo"


@message
class Counters:
    """Counts since the start: tasks asked for, placed, ended, refused; nodes; live jobs."""

    asked: int
    placed: int
    ended: int
    refused: int
    nodes: int
    jobs: int

    @property
    def running(self) -> int:
        """Tasks on nodes."""
        return self.placed - self.ended

    @property
    def pending(self) -> int:
        """Tasks that wait for a node."""
        return self.asked - self.placed - self.refused


class _Live:
    """A job that has tasks left."""

    __slots__ = ("job", "left")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.left = job.tasks


class HollowCluster:
    """One hundred nodes without machines and the jobs on them.

    Use: ``start``, then ``tick`` with the seconds since then, again and again.
    """

    def __init__(self, scheduler: InProcessScheduler, workload: Workload) -> None:
        self._scheduler = scheduler
        self._workload = workload
        self._partition = "default"
        self._queues: Sequence[str] = ()
        self._live: dict[str, _Live] = {}
        self._ends: list[tuple[float, int, str, str]] = []
        self._new: deque[tuple[str, str]] = deque()
        self._refusals: deque[str] = deque()
        self._asked = self._placed = self._ended = self._refused = self._nodes = 0

    def start(self, config: str) -> None:
        """Register with ``config`` (empty: what the scheduler has stored) and add the nodes.

        Raises: ConfigError, ProtocolError.
        """
        request = si.RegisterResourceManagerRequest(
            rmID=RM_ID, version="demo", policyGroup="demo", config=config
        )
        self._scheduler.register_resource_manager(request, self)
        self._look_around()
        self._scheduler.update_node(self._node_request())

    def tick(self, now: float) -> None:
        """Advance to ``now``: end tasks, remove finished jobs, send new ones."""
        self._note_callbacks(now)
        releases, finished = self._end_tasks(now)
        jobs = self._workload.arrivals(now)
        for job in jobs:
            self._live[job.application_id] = _Live(job)
            self._asked += job.tasks
        self._send(jobs, releases, finished)

    def counters(self) -> Counters:
        """Return the counts as of the last tick."""
        return Counters(
            self._asked, self._placed, self._ended, self._refused, self._nodes, len(self._live)
        )

    # ------------------------------------------------------ callbacks, on the core thread

    def update_allocation(self, response: si.AllocationResponse) -> None:
        """Note placements and refused asks."""
        self._new.extend((each.applicationID, each.allocationID) for each in response.new)
        self._refusals.extend(each.applicationID for each in response.rejected)

    def update_application(self, response: si.ApplicationResponse) -> None:
        """Note refused applications."""
        self._refusals.extend(each.applicationID for each in response.rejected)

    def update_node(self, response: si.NodeResponse) -> None:
        """Count the nodes that were accepted."""
        self._nodes += len(response.accepted)

    # ------------------------------------------------------------------------- inside

    def _look_around(self) -> None:
        """Choose a partition and find the queues that take jobs."""
        views = rows(PartitionView, self._scheduler.core.query(PartitionsQuery()).result())
        names = [view.name for view in views if view.rm_id == RM_ID]
        if self._partition not in names:
            self._partition = names[0]
        root = self._scheduler.core.query(QueuesQuery(self._partition, RM_ID)).result()
        assert isinstance(root, QueueView)
        self._queues = [queue.path for queue in _leaves(root) if queue.path != root.path]

    def _queue(self, wanted: str) -> str:
        """Return the queue for jobs meant for ``wanted``; "" leaves the choice to the scheduler.

        If the configuration is not the demo's own, the demo spreads its jobs over all leaves.
        """
        if wanted in self._queues or not self._queues:
            return wanted if self._queues else ""
        return self._queues[sum(wanted.encode()) % len(self._queues)]

    def _node_request(self) -> si.NodeRequest:
        nodes = [
            si.NodeInfo(
                nodeID=f"{shape.name}-{number:02d}",
                action=si.NodeInfo.CREATE,
                attributes={
                    "si/hostname": f"{shape.name}-{number:02d}.demo",
                    "si/rackname": f"/rack-{number % 4}",
                    "si/node-partition": self._partition,
                },
                schedulableResource=resource(shape.capacity),
            )
            for shape in NODES
            for number in range(1, shape.count + 1)
        ]
        return si.NodeRequest(rmID=RM_ID, nodes=nodes)

    def _note_callbacks(self, now: float) -> None:
        while self._refusals:
            refused = self._live.pop(self._refusals.popleft(), None)
            if refused is not None:
                self._refused += refused.job.tasks
        while self._new:
            application_id, allocation_id = self._new.popleft()
            self._placed += 1
            live = self._live.get(application_id)
            if live is not None:
                end = now + self._workload.task_seconds(live.job)
                heapq.heappush(self._ends, (end, self._placed, application_id, allocation_id))

    def _end_tasks(self, now: float) -> tuple[list[si.AllocationRelease], list[str]]:
        """Return the releases of tasks that are over and the jobs that are done."""
        releases, finished = [], []
        while self._ends and self._ends[0][0] <= now:
            _, _, application_id, allocation_id = heapq.heappop(self._ends)
            self._ended += 1
            releases.append(
                si.AllocationRelease(
                    partitionName=self._partition,
                    applicationID=application_id,
                    UUID=allocation_id,
                    allocationID=allocation_id,
                    terminationType=si.STOPPED_BY_RM,
                )
            )
            live = self._live.get(application_id)
            if live is None:
                continue
            live.left -= 1
            if not live.left:
                del self._live[application_id]
                finished.append(application_id)
        return releases, finished

    def _send(
        self, jobs: Sequence[Job], releases: Iterable[si.AllocationRelease], finished: Iterable[str]
    ) -> None:
        """Send the changes of a tick; a request without content is not sent."""
        applications = si.ApplicationRequest(
            rmID=RM_ID,
            new=[self._application(job) for job in jobs],
            remove=[
                si.RemoveApplicationRequest(applicationID=done, partitionName=self._partition)
                for done in finished
            ],
        )
        allocations = si.AllocationRequest(
            rmID=RM_ID,
            asks=[self._ask(job) for job in jobs],
            releases=si.AllocationReleasesRequest(allocationsToRelease=releases),
        )
        if applications.new or applications.remove:
            self._scheduler.update_application(applications)
        if allocations.asks or allocations.releases.allocationsToRelease:
            self._scheduler.update_allocation(allocations)

    def _application(self, job: Job) -> si.AddApplicationRequest:
        return si.AddApplicationRequest(
            applicationID=job.application_id,
            queueName=self._queue(job.kind.queue),
            partitionName=self._partition,
            ugi=si.UserGroupInformation(user=job.user, groups=["demo"]),
            tags={"namespace": job.kind.queue.rpartition(".")[2]},
        )

    def _ask(self, job: Job) -> si.AllocationAsk:
        return si.AllocationAsk(
            allocationKey=f"{job.application_id}-task",
            applicationID=job.application_id,
            partitionName=self._partition,
            resourceAsk=resource(job.resource),
            maxAllocations=job.tasks,
        )


def _leaves(queue: QueueView) -> Iterable[QueueView]:
    if queue.leaf:
        yield queue
    for child in queue.children:
        yield from _leaves(child)
