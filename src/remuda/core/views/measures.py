"""Answers the questions of the metrics (rules: chapter 97 sections 2 and 3)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

from remuda.base.resources import Resource
from remuda.core.messages.measures import (
    NodeMeasures,
    NodeMeasuresQuery,
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

# What a queue costs, in looks at an application or an ask.
_QUEUE_LOOKS: Final = 100


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

    Cost: ``limit`` looks and those of one queue more, and a sort of the partition's paths.
    """
    found: list[QueueMeasures] = []
    looks = 0
    number, after = query.after
    for place, partition in enumerate(cluster.partitions()[number:], number):
        queues = partition.queues(partition.root)
        queues.sort(key=_path)
        for queue in queues[bisect_right(queues, after, key=_path) :]:
            if query.limit and looks >= query.limit:
                return QueueMeasuresPage(tuple(found), (place, after))
            looks += _QUEUE_LOOKS + _measure(partition, queue, found, users=query.users)
            after = queue.path
        after = ""
    return QueueMeasuresPage(tuple(found), None)


def _path(queue: Queue) -> str:
    return queue.path


def _measure(partition: Partition, queue: Queue, found: list[QueueMeasures], *, users: bool) -> int:
    """Add one queue to those found; return how many applications and asks were looked at."""
    types, tally = partition.types, queue.tally
    states: dict[str, int] = {}
    reserved = Vector()
    pending, oldest_ns, looks = 0, 0, 0
    for application in queue.applications.values():
        looks += 1
        states[application.state] = states.get(application.state, 0) + 1
        for reservation in application.reservations.values():
            add(reserved, reservation.request.amounts)
        for group in application.request_groups.values():
            looks += len(group.requests)
            for request in group.requests.values():
                pending += request.pending
                if not oldest_ns or request.created_ns < oldest_ns:
                    oldest_ns = request.created_ns
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
        applications=states,
        came=tally.allocated,
        went=tally.released,
        completed=tally.completed,
        failed=tally.failed,
        preempted=tally.preempted,
        preempted_amounts=dict(tally.preempted_amounts),
        reserved=types.resource(reserved),
        pending_asks=pending,
        oldest_pending_ns=oldest_ns,
        users=_users(partition, queue.applications) if users else {},
    )
    found.append(row)
    return looks


def _users(partition: Partition, applications: Mapping[str, Application]) -> dict[str, Resource]:
    """Return what the users of a queue hold, by name. Rules: MET-42."""
    held: dict[str, Vector] = {}
    for application in applications.values():
        add_vector(held.setdefault(application.user, Vector()), application.usage())
    return {user: partition.types.resource(held[user]) for user in sorted(held)}
