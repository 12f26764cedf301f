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
from remuda.core.model.applications.application import Application
from remuda.core.model.cluster import Cluster
from remuda.core.model.nodes.utilisation import BUCKETS
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector, add, add_vector

# The cost of a queue and of an application, in units of one ask.
_QUEUE_LOOKS: Final = 50
_APPLICATION_LOOKS: Final = 5


def totals_view(cluster: Cluster) -> TotalsView:
    """Return the counts of all events so far.

    Rules: MET-6, MET-7, MET-8, MET-9, MET-16, MET-17, MET-18, MET-19, MET-20, MET-51.
    """
    totals = cluster.counts.totals
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
        draining_nodes=sum([each.pool.draining_nodes for each in partitions]),
        unready_nodes=sum([each.pool.unready_nodes for each in partitions]),
        limit_hits=dict(totals.limit_hits),
    )


def node_measures(cluster: Cluster, query: NodeMeasuresQuery) -> NodeMeasures:
    """Return how full the nodes are; changed nodes are counted anew first.

    Cost: ``limit`` nodes per partition at most.

    Rules: MET-14, MET-21.
    """
    found: dict[str, list[int]] = {}
    behind = 0
    for partition in cluster.partitions():
        utilisation = partition.pool.utilisation
        utilisation.renew(partition.nodes, query.limit)
        behind += len(utilisation.changed)
        for index in utilisation.types():
            counts = found.setdefault(partition.types.names[index], [0] * BUCKETS)
            for number, size in enumerate(utilisation.sizes(index)):
                counts[number] += size
    ranges = {name: tuple(counts) for name, counts in sorted(found.items())}
    return NodeMeasures(ranges, behind)


def queue_measures(cluster: Cluster, query: QueueMeasuresQuery) -> QueueMeasuresPage:
    """Return the next page of all queues, by partition and path.

    Cost: ``limit`` units, at most one application more, and a sort of the partition's paths.

    Rules: chapter 97 section 3, MET-42.
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
        """Whether the page may take no more."""
        return 0 < self._limit <= self._looks

    def end(self, place: Place | None) -> QueueMeasuresPage:
        """Return the page; the next page begins after ``place``."""
        return QueueMeasuresPage(tuple(self._queues), tuple(self._applications), place)

    def add_queue(self, partition: Partition, queue: Queue) -> None:
        """Add the measures of the queue itself."""
        self._looks += _QUEUE_LOOKS
        types, counts = partition.types, queue.counts
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
            came=counts.allocated,
            went=counts.released,
            completed=counts.completed,
            failed=counts.failed,
            preempted=counts.preempted,
            preempted_amounts=dict(counts.preempted_amounts),
        )
        self._queues.append(row)

    def add_applications(self, partition: Partition, queue: Queue, after: int) -> int:
        """Add applications with a higher number than ``after``.

        Return the last number if more follow. Their numbers rise in the order in which they came
        into the queue.
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
            pending += application.wanted
            for group in application.request_groups.values():
                self._looks += 1
                created_ns = group.order.oldest_ns()
                if not oldest_ns or created_ns < oldest_ns:
                    oldest_ns = created_ns
        listed = following[:count]
        row = ApplicationMeasures(
            rm_id=partition.rm_id,
            partition=partition.name,
            path=queue.path,
            after=after,
            states=states,
            reserved=partition.types.resource(reserved),
            pending_asks=pending,
            oldest_pending_ns=oldest_ns and oldest_ns + partition.calendar.ahead_ns(),
            users=_users(partition, listed) if self._users else {},
        )
        self._applications.append(row)
        return listed[-1].number if count < len(following) else 0


def _path(queue: Queue) -> str:
    return queue.path


def _number(application: Application) -> int:
    return application.number


def _users(partition: Partition, applications: Sequence[Application]) -> dict[str, Resource]:
    """Return the amounts the users of applications hold, by user name. Rules: MET-42."""
    held: dict[str, Vector] = {}
    for application in applications:
        add_vector(held.setdefault(application.user, Vector()), application.usage())
    return {user: partition.types.resource(held[user]) for user in sorted(held)}
