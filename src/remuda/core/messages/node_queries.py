"""Read-only questions about single nodes and about how full nodes are, and what answers them."""

from __future__ import annotations

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
class NodePercentsQuery:
    """How much of each node is allocated, in whole percent -> NodePercentsView (REST-87).

    None: no such partition.
    """

    partition: str
    rm_id: str = ""


@message
class NodePercentsView:
    """Resource type -> (node ID, percent) by ID, of the nodes that have something of the type.

    Percent are cut off to whole ones (REST-68); above 100 if more is allocated than there is.
    ``dominant``: the type of which the largest share of the partition is allocated, "" if nothing
    is; ``capacity`` False: the partition has nothing of anything (REST-86).
    """

    types: dict[str, tuple[tuple[str, int], ...]]
    dominant: str
    capacity: bool
