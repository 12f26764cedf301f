"""Nodes in the order of one policy, searchable without visiting those that cannot fit.

The nodes lie in score order in blocks of at most 128. Each block has an upper bound of what its
nodes have available; a search skips a block whose bound is too small, and tightens the bound of
a block it went through in vain. Bounds only rise when a node is put in, so they are never too
low, and the search is exact: the result is the first node in order that fits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from typing import Final, TypeAlias, final

from remuda.core.model.node import Node
from remuda.core.model.vectors import Amounts, fits

Entry: TypeAlias = tuple[float, str]

BLOCK_LIMIT: Final = 128


@final
class _Block:
    """Neighbours in the order: entries, their nodes' bound and which types it covers."""

    __slots__ = ("bound", "entries", "types")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.bound: list[int] = []
        self.types: int = 0


@final
class NodeOrder:
    """The schedulable nodes of a partition by (score, node ID). Rules: NOD-15."""

    __slots__ = ("_blocks", "_entries", "_lows", "_nodes", "score")

    def __init__(self, score: Callable[[Node], float]) -> None:
        self.score = score
        self._blocks: list[_Block] = []
        self._lows: list[Entry] = []
        self._entries: dict[str, Entry] = {}
        self._nodes: dict[str, Node] = {}

    def __len__(self) -> int:
        """Return how many nodes are in the order."""
        return len(self._entries)

    def put(self, node: Node) -> None:
        """Add a node or move it to where its score belongs. Rules: NOD-14."""
        entry: Entry = (self.score(node), node.node_id)
        old = self._entries.get(node.node_id)
        if old is not None:
            if old == entry:
                _raise_bound(self._blocks[self._block_of(entry)], node)
                return
            self._take(old)
        self._entries[node.node_id] = entry
        self._nodes[node.node_id] = node
        self._insert(entry, node)

    def drop(self, node_id: str) -> None:
        """Take a node out; unknown IDs are fine."""
        entry = self._entries.pop(node_id, None)
        if entry is not None:
            del self._nodes[node_id]
            self._take(entry)

    def first_fit(self, amounts: Amounts, accept: Callable[[Node], bool] | None) -> Node | None:
        """Return the first node in order that fits and is accepted. Rules: CYC-15, NOD-20.

        Cost: O(blocks) for the skipped ones plus the nodes of the blocks entered.
        """
        nodes = self._nodes
        for block in self._blocks:
            if not _may_fit(block, amounts):
                continue
            for entry in block.entries:
                node = nodes[entry[1]]
                if fits(node.available, amounts) and (accept is None or accept(node)):
                    return node
            self._tighten(block)
        return None

    def entries(self) -> list[Entry]:
        """Return all (score, node ID) in order, for checks."""
        return [entry for block in self._blocks for entry in block.entries]

    def bound_faults(self) -> list[str]:
        """Return the IDs of nodes that have more than their block's bound, for checks."""
        return [
            entry[1]
            for block in self._blocks
            for entry in block.entries
            if _above(block, self._nodes[entry[1]])
        ]

    def _block_of(self, entry: Entry) -> int:
        return max(0, bisect_right(self._lows, entry) - 1)

    def _insert(self, entry: Entry, node: Node) -> None:
        if not self._blocks:
            self._blocks.append(_Block())
            self._lows.append(entry)
        place = self._block_of(entry)
        block = self._blocks[place]
        insort(block.entries, entry)
        self._lows[place] = block.entries[0]
        _raise_bound(block, node)
        if len(block.entries) > BLOCK_LIMIT:
            self._split(place)

    def _take(self, entry: Entry) -> None:
        place = self._block_of(entry)
        block = self._blocks[place]
        del block.entries[bisect_left(block.entries, entry)]
        if block.entries:
            self._lows[place] = block.entries[0]
        else:
            del self._blocks[place]
            del self._lows[place]

    def _split(self, place: int) -> None:
        block = self._blocks[place]
        half = len(block.entries) // 2
        upper = _Block()
        upper.entries = block.entries[half:]
        del block.entries[half:]
        self._tighten(block)
        self._tighten(upper)
        self._blocks.insert(place + 1, upper)
        self._lows.insert(place + 1, upper.entries[0])

    def _tighten(self, block: _Block) -> None:
        block.bound = []
        block.types = 0
        for entry in block.entries:
            _raise_bound(block, self._nodes[entry[1]])


def _raise_bound(block: _Block, node: Node) -> None:
    available = node.available
    bound = block.bound
    block.types |= available.types
    missing = len(available.amounts) - len(bound)
    if missing > 0:
        bound.extend([0] * missing)
    for index, amount in enumerate(available.amounts):
        if amount > bound[index]:
            bound[index] = amount


def _may_fit(block: _Block, amounts: Amounts) -> bool:
    if amounts.need_types & ~block.types:
        return False
    bound = block.bound
    for index, amount in amounts.need:
        if bound[index] < amount:
            return False
    return True


def _above(block: _Block, node: Node) -> bool:
    known = len(block.bound)
    for index, amount in enumerate(node.available.amounts):
        if amount > (block.bound[index] if index < known else 0):
            return True
    return False
