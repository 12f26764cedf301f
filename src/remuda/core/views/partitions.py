"""Answers questions about partitions and queues (rules: REST-67, REST-70)."""

from __future__ import annotations

from remuda.config.queue_properties import FAIR
from remuda.core.messages.queries import (
    PartitionView,
    QueueView,
)
from remuda.core.model.cluster import Cluster
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.policy.headroom import headroom
from remuda.core.policy.properties import nearest_template


def partition_views(cluster: Cluster) -> tuple[PartitionView, ...]:
    """Return all partitions by (name, RM ID). Rules: REST-67, REST-69."""
    partitions = sorted(cluster.partitions(), key=lambda each: (each.name, each.rm_id))
    return tuple([partition_view(each) for each in partitions])


def find_partition(cluster: Cluster, name: str, rm_id: str) -> Partition | None:
    """Return the partition of an RM, or without one of the first RM that has it. Rules: REST-21."""
    for candidate in [rm_id] if rm_id else sorted(cluster.managers):
        manager = cluster.managers.get(candidate)
        if manager is not None and name in manager.partitions:
            return manager.partitions[name]
    return None


def queue_view(partition: Partition, queue: Queue) -> QueueView:
    """Return a queue with all below it. Rules: REST-70, REST-71, REST-74, REST-75."""
    children = [queue.children[name] for name in sorted(queue.children)]
    types = partition.types
    settings = queue.settings
    room = headroom(queue)
    return QueueView(
        path=queue.path,
        partition=partition.name,
        status=queue.state,
        leaf=queue.leaf,
        managed=queue.managed,
        parent=queue.parent.path if queue.parent is not None else "",
        pending=types.resource(queue.pending),
        allocated=types.resource(queue.allocated),
        preempting=types.resource(queue.preempting),
        maximum=types.resource(queue.maximum) if queue.maximum is not None else None,
        guaranteed=types.resource(queue.guaranteed) if queue.guaranteed is not None else None,
        headroom=types.resource(room) if room is not None else None,
        properties=dict(sorted(queue.properties.items())),
        running_applications=queue.running,
        max_applications=queue.max_applications,
        template=None if queue.leaf else nearest_template(queue),
        current_priority=queue.priority,
        sort_policy=settings.application_sort if queue.leaf else FAIR,
        priority_sorting=settings.sort_by_priority,
        priority_fence=settings.priority_fence,
        priority_offset=settings.priority_offset,
        preemption_policy=settings.preemption_policy,
        preemption_delay_ns=settings.preemption_delay_ns,
        quota_preemption_delay_ns=settings.quota_preemption_delay_ns,
        children=tuple([queue_view(partition, child) for child in children]),
    )


def partition_view(partition: Partition) -> PartitionView:
    """Return one partition. Rules: REST-67, REST-69."""
    types = partition.types
    counts = {state: count for state, count in partition.kept_states.items() if count}
    for application in partition.applications.values():
        counts[application.state] = counts.get(application.state, 0) + 1
    nodes = partition.nodes
    return PartitionView(
        rm_id=partition.rm_id,
        name=partition.name,
        state=partition.state,
        state_time_ns=partition.state_ns,
        capacity=types.resource(partition.capacity) if nodes else None,
        allocated=types.resource(partition.root.allocated),
        node_sort_policy=partition.config.node_sort_policy,
        node_sort_weights=dict(partition.node_sort_weights),
        total_nodes=len(nodes),
        total_containers=partition.allocation_count,
        reservations=len(partition.reservations),
        placeholders=partition.placeholder_count,
        applications=dict(sorted(counts.items())),
        preemption=partition.config.preemption,
        quota_preemption=partition.config.quota_preemption,
        user_group_resolver=partition.config.user_group_resolver,
    )
