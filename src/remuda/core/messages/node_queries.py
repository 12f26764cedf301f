"""Read-only questions about single nodes and about how full nodes are, and what answers them."""

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
    """What each node has and how much of it is allocated -> NodeLoadsView (REST-87).

    None: no such partition.
    """

    partition: str
    rm_id: str = ""


@message
class NodeLoadsView:
    """What each node has and how much of it is allocated, in no particular order.

    ``types``: the resource types, by the index that stands for them here. ``nodes``: node ID, pairs
    of a type and what the node has of it (more than 0), and what is allocated of each type as far
    as something ever was. ``capacity``, ``allocated``: of the partition.
    """

    types: tuple[str, ...]
    nodes: tuple[tuple[str, tuple[tuple[int, int], ...], tuple[int, ...]], ...]
    capacity: dict[str, int]
    allocated: dict[str, int]


@message
class UtilisationQuery:
    """How full the nodes are -> UtilisationView (NOD-22).

    None: no such partition. Only nodes that changed since the last such query are looked at.
    """

    partition: str
    rm_id: str = ""


@message
class UtilisationView:
    """Per resource type ten buckets with the IDs of the nodes used that much (NOD-22), sorted.

    The first bucket is 0 to 10 %, the last 90 to 100 % and more. Types sorted by name.
    """

    types: Mapping[str, tuple[tuple[str, ...], ...]]
