"""Answers the questions of the metrics (rules: chapter 97 sections 2 and 3)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, final

from remuda.base.resources import Resource
from remuda.core.messages.measures import (
    ApplicationMeasures,
    NodeMeasures,
    NodeMeasuresQuery,
    Place,
    QueueMeasures,
    QueueMeasuresPage,
    QueueMeasuresQuery,
    TotalsView,
)
from remuda.core.model.application import Application
from remuda.core.model.cluster import Cluster
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.utilisation import BUCKETS
from remuda.core.model.vectors import Vector, add, add_vector

# What a queue and an application cost, in looks at an ask.
_QUEUE_LOOKS: Final = 50
_APPLICATION_LOOKS: Final = 5


def totals_view(cluster: Cluster) -> TotalsView:
    """Return what was counted so far. Rules: MET-6 to MET-9, MET-16 to MET-20."""
    totals = cluster.tallies.totals
    partitions = cluster.partitions()
    return TotalsView(
        submitted=totals.submitted,
        accepted=totals.accepted,
        rejected=totals.rejected,
        completed=totals.completed,
        failed=totals.failed,
        allocated=totals.allocated,
        recovered=totals.recovered,
        released=totals.released,
        errors=totals.errors,
        bad_nodes=totals.bad_nodes,
        decommissioned=totals.decommissioned,
        nodes=sum([len(each.nodes) for each in partitions]),
        draining_nodes=sum([each.draining_nodes for each in partitions]),
        unready_nodes=sum([each.unready_nodes for each in partitions]),
    )


def node_measures(cluster: Cluster, query: NodeMeasuresQuery) -> NodeMeasures:
    """Return how full the nodes are, after a look at those that changed. Rules: MET-14, MET-21.

    Cost: ``limit`` nodes per partition at most.
    """
    found: dict[str, list[int]] = {}
    behind = 0
    for partition in cluster.partitions():
        utilisation = partition.utilisation
        utilisation.renew(partition.nodes, query.limit)
        behind += len(utilisation.changed)
        for index in utilisation.types():
            counts = found.setdefault(partition.types.names[index], [0] * BUCKETS)
            for number, size in enumerate(utilisation.sizes(index)):
                counts[number] += size
    ranges = {name: tuple(counts) for name, counts in sorted(found.items())}
    return NodeMeasures(ranges, behind)


def queue_measures(cluster: Cluster, query: QueueMeasuresQuery) -> QueueMeasuresPage:
    """Return the next part of all queues, by partition and path. Rules: MET-22 to MET-28, MET-42.

    Cost: ``limit`` looks and those of one application more, and a sort of the partition's paths.
    """
    page = _Page(query)
    number, after, done = query.after
    for place, partition in enumerate(cluster.partitions()[number:], number):
        queues = partition.queues(partition.root)
        queues.sort(key=_path)
        first = bisect_left if done else bisect_right
        for queue in queues[first(queues, after, key=_path) :]:
            if page.full():
                return page.end((place, after, 0))
            if not done or queue.path != after:
                done = 0
                page.add_queue(partition, queue)
            after = queue.path
            done = page.add_applications(partition, queue, done)
            if done:
                return page.end((place, after, done))
        after, done = "", 0
    return page.end(None)


@final
class _Page:
    """A page that is being filled."""

    __slots__ = ("_applications", "_limit", "_looks", "_queues", "_users")

    def __init__(self, query: QueueMeasuresQuery) -> None:
        self._limit = query.limit
        self._users = query.users
        self._looks: int = 0
        self._queues: list[QueueMeasures] = []
        self._applications: list[ApplicationMeasures] = []

    def full(self) -> bool:
        """Whether nothing more is to be looked at."""
        return 0 < self._limit <= self._looks

    def end(self, place: Place | None) -> QueueMeasuresPage:
        """Return the page; the next one begins after ``place``."""
        return QueueMeasuresPage(tuple(self._queues), tuple(self._applications), place)

    def add_queue(self, partition: Partition, queue: Queue) -> None:
        """Add what is known of the queue itself."""
        self._looks += _QUEUE_LOOKS
        types, tally = partition.types, queue.tally
        maximum, guaranteed = queue.maximum, queue.guaranteed
        row = QueueMeasures(
            rm_id=partition.rm_id,
            partition=partition.name,
            path=queue.path,
            leaf=queue.leaf,
            guaranteed=None if guaranteed is None else types.resource(guaranteed),
            maximum=None if maximum is None else types.resource(maximum),
            allocated=types.resource(queue.allocated),
            pending=types.resource(queue.pending),
            preempting=types.resource(queue.preempting),
            max_applications=queue.max_applications,
            came=tally.allocated,
            went=tally.released,
            completed=tally.completed,
            failed=tally.failed,
            preempted=tally.preempted,
            preempted_amounts=dict(tally.preempted_amounts),
        )
        self._queues.append(row)

    def add_applications(self, partition: Partition, queue: Queue, after: int) -> int:
        """Add applications of a queue whose number is higher; return the last one's if more follow.

        Their numbers rise in the order in which they came into the queue.
        """
        following = list(queue.applications.values())
        del following[: bisect_right(following, after, key=_number)]
        if not following:
            return 0
        states: dict[str, int] = {}
        reserved = Vector()
        pending, oldest_ns, count = 0, 0, 0
        for application in following:
            if count and self.full():
                break
            count += 1
            self._looks += _APPLICATION_LOOKS
            states[application.state] = states.get(application.state, 0) + 1
            for reservation in application.reservations.values():
                add(reserved, reservation.request.amounts)
            for group in application.request_groups.values():
                self._looks += group.order.count
                for request in group.order.asks():
                    pending += request.pending
                    if not oldest_ns or request.created_ns < oldest_ns:
                        oldest_ns = request.created_ns
        told = following[:count]
        row = ApplicationMeasures(
            rm_id=partition.rm_id,
            partition=partition.name,
            path=queue.path,
            after=after,
            states=states,
            reserved=partition.types.resource(reserved),
            pending_asks=pending,
            oldest_pending_ns=oldest_ns,
            users=_users(partition, told) if self._users else {},
        )
        self._applications.append(row)
        return told[-1].number if count < len(following) else 0


def _path(queue: Queue) -> str:
    return queue.path


def _number(application: Application) -> int:
    return application.number


def _users(partition: Partition, applications: Sequence[Application]) -> dict[str, Resource]:
    """Return what the users of applications hold, by name. Rules: MET-42."""
    held: dict[str, Vector] = {}
    for application in applications:
        add_vector(held.setdefault(application.user, Vector()), application.usage())
    return {user: partition.types.resource(held[user]) for user in sorted(held)}
