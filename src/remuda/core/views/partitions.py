"""Answers questions about partitions (rules: REST-67)."""

from __future__ import annotations

from remuda.core.messages.queries import PartitionView
from remuda.core.model.cluster import Cluster
from remuda.core.model.partition import Partition


def partition_views(cluster: Cluster) -> tuple[PartitionView, ...]:
    """Return all partitions by (name, RM ID). Rules: REST-67, REST-69."""
    partitions = sorted(cluster.partitions(), key=lambda each: (each.name, each.rm_id))
    return tuple([partition_view(each) for each in partitions])


def find_partition(cluster: Cluster, name: str, rm_id: str) -> Partition | None:
    """Return a partition of an RM; without an RM ID, that of the first RM that has it.

    Rules: REST-21.
    """
    for candidate in [rm_id] if rm_id else sorted(cluster.managers):
        manager = cluster.managers.get(candidate)
        if manager is not None and name in manager.partitions:
            return manager.partitions[name]
    return None


def partition_view(partition: Partition) -> PartitionView:
    """Return one partition. Rules: REST-67, REST-69."""
    types = partition.types
    counts = {state: count for state, count in partition.kept.states.items() if count}
    for application in partition.applications.values():
        counts[application.state] = counts.get(application.state, 0) + 1
    nodes = partition.nodes
    return PartitionView(
        rm_id=partition.rm_id,
        name=partition.name,
        state=partition.state,
        state_time_ns=partition.calendar.to_wall(partition.state_ns),
        capacity=types.resource(partition.pool.capacity) if nodes else None,
        allocated=types.resource(partition.root.allocated),
        node_sort_policy=partition.settings.config.node_sort_policy,
        node_sort_weights=dict(partition.settings.node_sort_weights),
        total_nodes=len(nodes),
        total_containers=partition.allocation_count,
        reservations=len(partition.reserving.reservations),
        placeholders=partition.placeholder_count,
        applications=dict(sorted(counts.items())),
        preemption=partition.settings.config.preemption,
        quota_preemption=partition.settings.config.quota_preemption,
        user_group_resolver=partition.settings.config.user_group_resolver,
    )
