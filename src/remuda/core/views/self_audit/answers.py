"""Answers a question of the self-audit by the module of its part (HLT-21)."""

from __future__ import annotations

from remuda.core.messages.self_audit import (
    APPLICATIONS,
    LIMITS,
    NODES,
    QUEUES,
    RESERVATIONS,
    SelfAuditQuery,
    SelfAuditView,
)
from remuda.core.model.cluster import Cluster
from remuda.core.views.self_audit.applications import application_slice
from remuda.core.views.self_audit.limits import limit_slice
from remuda.core.views.self_audit.nodes import node_slice
from remuda.core.views.self_audit.queues import queue_slice
from remuda.core.views.self_audit.totals import reservation_slice, total_slice


def self_audit(cluster: Cluster, query: SelfAuditQuery) -> SelfAuditView | None:
    """Compare a slice of a partition; None if it is unknown. Implements: HLT-21."""
    for partition in cluster.partitions():
        if partition.rm_id != query.rm_id or partition.name != query.partition:
            continue
        if query.part == NODES:
            return node_slice(partition, query.place)
        if query.part == APPLICATIONS:
            return application_slice(partition, query.place)
        if query.part == QUEUES:
            return queue_slice(partition, query.place)
        if query.part == LIMITS:
            return limit_slice(partition, query.place)
        if query.part == RESERVATIONS:
            return reservation_slice(partition, query.place)
        return total_slice(partition, query.place)
    return None
