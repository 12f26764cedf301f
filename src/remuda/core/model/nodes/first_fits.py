"""What a node order knows about the nodes that fit each of the amounts asked for last.

When nodes are packed, the full nodes come first in order, and asks of different sizes begin to fit
at different places. A search that always began at the first node would look at the full ones again
and again. So the order remembers for each of the last amounts up to where it has searched, and
which nodes before that place fit since they changed.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final, final

from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.node_blocks import Entry
from remuda.core.model.vectors import Amounts, fits

# How many amounts are known; a node that is put is compared with each of them. How many nodes are
# known for each of them. After how many moves of nodes all is forgotten: nobody may ask for some of
# the amounts any more, and for the others one search each is little.
AMOUNTS_LIMIT: Final = 64
NODES_LIMIT: Final = 256
MOVES_LIMIT: Final = 4_096


@final
class FirstFit:
    """The nodes up to ``low`` that fit the amounts; no other node up to there does.

    ``entries``: their entries in order; ``nodes``: the nodes by ID. Rules: NOD-20.
    """

    __slots__ = ("amounts", "entries", "low", "nodes")

    def __init__(self, amounts: Amounts) -> None:
        self.amounts = amounts
        self.low: Entry = ()
        self.entries: list[Entry] = []
        self.nodes: dict[str, Node] = {}

    def first(self) -> Node | None:
        """Return the first node that fits; None: it is behind ``low``, if there is one."""
        return self.nodes[str(self.entries[0][1])] if self.entries else None

    def add(self, node: Node, entry: Entry) -> None:
        """Add a node that fits. If there are many, only the first one is kept."""
        insort(self.entries, entry)
        self.nodes[node.node_id] = node
        if len(self.entries) > NODES_LIMIT:
            first = self.nodes[str(self.entries[0][1])]
            self.low = self.entries[0]
            self.entries = [self.low]
            self.nodes = {first.node_id: first}

    def remove(self, node: Node, entry: Entry) -> None:
        """Remove a node that was added with this entry."""
        del self.entries[bisect_left(self.entries, entry)]
        del self.nodes[node.node_id]


@final
class FirstFits:
    """The first fits of the amounts asked for last, by the number of the amounts.

    ``moves``: of nodes, since nothing was known. Rules: NOD-20.
    """

    __slots__ = ("known", "moves")

    def __init__(self) -> None:
        self.known: dict[int, FirstFit] = {}
        self.moves: int = 0

    def found(self, amounts: Amounts, entry: Entry, node: Node) -> None:
        """Note the result of a search: the node at ``entry`` is the first that fits."""
        first = self.known.get(amounts.number)
        if first is None:
            if len(self.known) >= AMOUNTS_LIMIT:
                self.known.clear()
            first = self.known[amounts.number] = FirstFit(amounts)
        first.low = entry
        first.add(node, entry)

    def moved(self, node: Node, before: Entry, entry: Entry) -> None:
        """Note that a node was put at an entry, with other amounts available than before.

        ``before``: its last entry, () if it had none. Cost: a comparison for each of the amounts
        that are known.
        """
        self.moves += 1
        if self.moves > MOVES_LIMIT:
            self.known.clear()
            self.moves = 0
            return
        available = node.available
        node_id = node.node_id
        for first in self.known.values():
            stays = entry <= first.low and fits(available, first.amounts)
            if node_id in first.nodes:
                entries = first.entries
                if stays and entries[0] is before and entry < before:
                    # Usual for the node that is being packed.
                    entries[0] = entry
                    continue
                first.remove(node, before)
            if stays:
                first.add(node, entry)

    def dropped(self, node: Node, entry: Entry) -> None:
        """Note that a node left the order."""
        for first in self.known.values():
            if node.node_id in first.nodes:
                first.remove(node, entry)

    def missed(self, nodes: list[tuple[Entry, Node]]) -> list[str]:
        """Return the IDs of nodes that a search would wrongly find or skip, for checks.

        ``nodes``: all nodes of the order.
        """
        wrong: set[str] = set()
        for first in self.known.values():
            fitting = [
                (entry, node)
                for entry, node in nodes
                if entry <= first.low and fits(node.available, first.amounts)
            ]
            found = {node.node_id for _, node in fitting}
            wrong |= found ^ first.nodes.keys()
            if first.entries != [entry for entry, _ in fitting]:
                wrong |= found
        return sorted(wrong)
