"""Read-only questions about single nodes and about how full nodes are, and their answers."""

from __future__ import annotations

from collections.abc import Mapping

from remuda.base.message import message


@message
class NodeQuery:
    """One node of a partition -> tuple[NodeView, ...], empty if it has no such node.

    None: no such partition. ``rm_id`` empty: the first RM by ID that has the partition (REST-21).
    """

    partition: str
    node_id: str
    rm_id: str = ""


@message
class NodeLoadsQuery:
    """The capacity of each node and how much of it is allocated -> NodeLoadsView (REST-87).

    None: no such partition.
    """

    partition: str
    rm_id: str = ""


@message
class NodeLoadsView:
    """The capacity of each node and how much of it is allocated, in no particular order.

    ``types``: the resource types, by the index used here. ``nodes``: node ID; pairs of type index
    and capacity (above 0); allocated amounts by type index, up to the last type ever allocated.
    ``capacity``, ``allocated``: those of the partition.
    """

    types: tuple[str, ...]
    nodes: tuple[tuple[str, tuple[tuple[int, int], ...], tuple[int, ...]], ...]
    capacity: dict[str, int]
    allocated: dict[str, int]


@message
class UtilisationQuery:
    """How full the nodes are -> UtilisationView (NOD-22).

    None: no such partition. Only nodes that changed since the last such query are counted anew.
    """

    partition: str
    rm_id: str = ""


@message
class UtilisationView:
    """For each resource type ten buckets with the sorted IDs of the nodes used that much (NOD-22).

    The first bucket is 0 to 10 %, the last 90 to 100 % and more. Types are sorted by name.
    """

    types: Mapping[str, tuple[tuple[str, ...], ...]]
