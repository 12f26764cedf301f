"""How full nodes are, as JSON (REST-86, REST-87, REST-88)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from remuda.base.scores import dominant_resource_type, percentage
from remuda.core.messages.node_queries import NodeLoadsView
from remuda.edges.questions.shapes import Shape

_BUCKETS: Final = 10


class UtilizationBucket(Shape, kw_only=True):
    """The nodes that are used up to a tenth more than those of the bucket before.

    Implements: REST-87.
    """

    bucket_name: str
    num_of_nodes: int = 0
    node_names: list[str] = msgspec.field(default_factory=list)


class NodeUtilization(Shape, kw_only=True):
    """The nodes by how much of one resource type is used; ten buckets, or nothing (REST-86)."""

    type: str = ""
    utilization: list[UtilizationBucket] = msgspec.field(default_factory=list)


class PartitionNodeUtilization(Shape, kw_only=True):
    """The nodes of a partition, for each type that one of them has something of (REST-88)."""

    cluster_id: str
    partition: str
    utilizations: list[NodeUtilization]


def bucket(percent: int) -> int:
    """Return which bucket a percentage is in, its upper edge included; above 100 the last."""
    return min(max(-(-percent // _BUCKETS) - 1, 0), _BUCKETS - 1)


def percents(view: NodeLoadsView) -> dict[str, list[tuple[str, int]]]:
    """Return by type, sorted, how much is used of each node that has some of it, in whole percent.

    Nodes are sorted by ID (REST-88).
    Implements: REST-68.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    for node_id, has, allocated in sorted(view.nodes):
        for index, total in has:
            used = allocated[index] if index < len(allocated) else 0
            found.setdefault(view.types[index], []).append((node_id, percentage(used, total)))
    return dict(sorted(found.items()))


def dominant_utilization(view: NodeLoadsView) -> NodeUtilization:
    """Return the shape of the type that is used most.

    If nothing is used, the buckets are empty; without any capacity there are no buckets.
    Implements: REST-86.
    """
    if not any(view.capacity.values()):
        return NodeUtilization()
    dominant = dominant_resource_type(view.allocated, view.capacity)
    return _utilization(dominant, percents(view).get(dominant, ()))


def partition_utilization(
    rm_id: str, partition: str, view: NodeLoadsView
) -> PartitionNodeUtilization:
    """Return the shape of all types of a partition. Implements: REST-88, REST-142."""
    return PartitionNodeUtilization(
        cluster_id=rm_id,
        partition=partition,
        utilizations=[_utilization(name, nodes) for name, nodes in percents(view).items()],
    )


def _utilization(name: str, nodes: Iterable[tuple[str, int]]) -> NodeUtilization:
    buckets = [
        UtilizationBucket(bucket_name=f"{10 * number}-{10 * (number + 1)}%")
        for number in range(_BUCKETS)
    ]
    for node_id, percent in nodes:
        found = buckets[bucket(percent)]
        found.num_of_nodes += 1
        found.node_names.append(node_id)
    return NodeUtilization(type=name, utilization=buckets)
