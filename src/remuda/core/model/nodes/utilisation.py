"""Node utilisation as a histogram per resource type (rules: NOD-22).

A node notes its ID here when its capacity or usage changes, which costs the scheduling path almost
nothing. The nodes are sorted into the histogram when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final, TypeAlias, final

from remuda.core.model.nodes.node import Node
from remuda.core.model.vectors import amount_at

BUCKETS: Final = 10

# Index of a type, bucket.
_Place: TypeAlias = tuple[int, int]


def bucket(allocated: int, total: int) -> int:
    """Return the tenth that a share of a positive total is in; upper edges are included.

    Exact for integers of any size. Implements: NOD-22.
    """
    if allocated >= total:
        return BUCKETS - 1
    return max(-(-BUCKETS * allocated // total) - 1, 0)


@final
class Utilisation:
    """The node IDs of a partition by resource type and tenth.

    ``changed``: IDs of nodes that came, went or changed since the last renewal.
    """

    __slots__ = ("_members", "_places", "changed")

    def __init__(self) -> None:
        self.changed: dict[str, None] = {}
        self._places: dict[str, tuple[_Place, ...]] = {}
        self._members: dict[_Place, list[str]] = {}

    def join(self, node: Node) -> None:
        """Let a node that joins the partition note its changes here. Rules: NOD-22."""
        node.changed = self.changed
        node.noted = False
        node.note()

    def part(self, node: Node) -> None:
        """Note that a node leaves the partition.

        Rules: NOD-22.
        """
        node.changed = {}
        if node.node_id in self._places:
            self.changed[node.node_id] = None
        else:
            self.changed.pop(node.node_id, None)

    def renew(self, nodes: Mapping[str, Node], limit: int = 0) -> None:
        """Sort changed nodes into their tenths; ``limit``: at most so many, 0: all.

        Cost: O(changed nodes + sizes of the tenths that they enter or leave).
        Rules: NOD-22, MET-14.
        """
        gone: dict[_Place, dict[str, None]] = {}
        come: dict[_Place, list[str]] = {}
        due = list(islice(self.changed, limit)) if limit else list(self.changed)
        for node_id in due:
            del self.changed[node_id]
            node = nodes.get(node_id)
            if node is not None:
                node.noted = False
            new = () if node is None else _places(node)
            old = self._places.pop(node_id, ())
            if new:
                self._places[node_id] = new
            for place in old:
                if place not in new:
                    gone.setdefault(place, {})[node_id] = None
            for place in new:
                if place not in old:
                    come.setdefault(place, []).append(node_id)
        for place, leaving in gone.items():
            self._leave(place, leaving)
        for place, coming in come.items():
            members = self._members.setdefault(place, [])
            members += coming
            members.sort()

    def types(self) -> list[int]:
        """Return the indexes of all types in the histogram, sorted by index."""
        return sorted({index: None for index, _ in self._members})

    def members(self, index: int, number: int) -> tuple[str, ...]:
        """Return the sorted IDs of the nodes in one tenth of a type. Rules: NOD-22."""
        return tuple(self._members.get((index, number), ()))

    def sizes(self, index: int) -> tuple[int, ...]:
        """Return how many nodes are in each tenth of a type. Rules: NOD-22, MET-21."""
        return tuple([len(self._members.get((index, number), ())) for number in range(BUCKETS)])

    def faults(self, nodes: Mapping[str, Node]) -> list[str]:
        """Return the IDs of unchanged nodes that are in a wrong tenth, for checks."""
        listed: dict[str, list[_Place]] = {}
        for place, members in self._members.items():
            for node_id in members:
                listed.setdefault(node_id, []).append(place)
        wrong: list[str] = []
        for node_id in sorted({*nodes, *listed}):
            node = nodes.get(node_id)
            right = () if node is None else _places(node)
            if node_id not in self.changed and sorted(listed.get(node_id, ())) != sorted(right):
                wrong.append(node_id)
        return wrong

    def _leave(self, place: _Place, leaving: Mapping[str, None]) -> None:
        members = [each for each in self._members[place] if each not in leaving]
        if members:
            self._members[place] = members
        else:
            del self._members[place]


def _places(node: Node) -> tuple[_Place, ...]:
    held = node.allocated
    pairs = node.total.need
    return tuple([(index, bucket(amount_at(held, index), total)) for index, total in pairs])
