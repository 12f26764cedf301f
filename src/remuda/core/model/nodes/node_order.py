"""Nodes in the order of one policy; a search skips nodes that cannot fit.

The nodes are in score order in blocks, and the blocks are in shelves. A search skips blocks and
shelves that are known to have no node with room, see node_blocks.py. That knowledge is never wrong,
so the search always finds the first node in order that fits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final, final

from remuda.core.model.nodes.first_fits import FirstFits
from remuda.core.model.nodes.node import Node
from remuda.core.model.nodes.node_blocks import Block, Entry, Shelf
from remuda.core.model.vectors import Amounts, fits, shortage

# Nodes per block and blocks per shelf; a search looks at about one block, one shelf and the bounds
# of all shelves.
BLOCK_LIMIT: Final = 32
SHELF_LIMIT: Final = 32

# Sorts after every entry with a finite score; entries with other scores are found by a search.
_END: Final[Entry] = (float("inf"), "")


@final
class Position:
    """The block and entry of a node, and the capacity it is counted with."""

    __slots__ = ("block", "entry", "size")

    def __init__(self, block: Block, entry: Entry, size: Amounts) -> None:
        self.block = block
        self.entry = entry
        self.size = size


@final
class Extent:
    """The largest, or the smallest, amount of each type in some capacities, by type index."""

    __slots__ = ("amounts",)

    def __init__(self) -> None:
        self.amounts: dict[int, int] = {}

    def holds(self, amounts: Amounts) -> bool:
        """Whether amounts fit into the extent. Rules: RES-29."""
        for index, amount in amounts.need:
            if self.amounts.get(index, 0) < amount:
                return False
        return True


@final
class NodeOrder:
    """The schedulable nodes of a partition by (score, node ID). Implements: NOD-15.

    ``_first_fits``: where searches for the amounts asked for last begin. ``_recent`` and ``_at``:
    the block and the index where a node was put last; similar nodes usually go to the same place,
    so it is tried first. ``sizes``: the different capacities with the number of nodes, by the
    number of the amounts; ``largest`` and ``smallest``: upper and lower bounds of the capacities.
    """

    __slots__ = (
        "_at",
        "_first_fits",
        "_lows",
        "_positions",
        "_recent",
        "_shelves",
        "largest",
        "score",
        "sizes",
        "smallest",
    )

    def __init__(self, score: Callable[[Node], float]) -> None:
        self.score = score
        shelf = Shelf()
        self._recent = Block(shelf, [], [], _END)
        self._at: int = 0
        shelf.blocks.append(self._recent)
        shelf.lows.append(())
        self._shelves: list[Shelf] = [shelf]
        self._lows: list[Entry] = [()]
        self._positions: dict[str, Position] = {}
        self._first_fits = FirstFits()
        self.sizes: dict[int, tuple[Amounts, int]] = {}
        self.largest = Extent()
        self.smallest = Extent()

    def __len__(self) -> int:
        return len(self._positions)

    def put(self, node: Node) -> None:
        """Add a node or move it to where its score belongs. Implements: NOD-14."""
        entry: Entry = (self.score(node), node.node_id)
        place = self._positions.get(node.node_id)
        if self._first_fits.known:
            self._first_fits.moved(node, () if place is None else place.entry, entry)
        if place is None:
            self._count(node.total)
            place = Position(self._recent, entry, node.total)
            self._positions[node.node_id] = place
            self._insert(place, entry, node)
            return
        old = place.entry
        block = place.block
        entries = block.entries
        at = 0 if entries[0] is old else self._at
        if at >= len(entries) or entries[at] is not old:
            at = bisect_left(entries, old)
        after = at + 1
        block.tight = block.shelf.tight = False
        if at and entries[at - 1] < entry < (
            entries[after] if after < len(entries) else block.high
        ):
            # Its position stays the same, as usual for the node that is being packed.
            entries[at] = place.entry = entry
            self._at = at
            block.cover(node)
            return
        del entries[at]
        del block.nodes[at]
        if not entries:
            self._remove(block)
        self._insert(place, entry, node)

    def end(self) -> None:
        """Break the references between shelves and blocks; the order has no nodes any more."""
        self._positions.clear()
        self._first_fits.known.clear()
        for shelf in self._shelves:
            shelf.blocks = []

    def drop(self, node_id: str) -> None:
        """Remove a node; unknown IDs are ignored."""
        place = self._positions.pop(node_id, None)
        if place is not None:
            block = place.block
            at = bisect_left(block.entries, place.entry)
            self._first_fits.dropped(block.nodes[at], place.entry)
            del block.entries[at]
            del block.nodes[at]
            block.tight = block.shelf.tight = False
            if not block.entries:
                self._remove(block)
            if not self._positions:
                self._first_fits.known.clear()
            self._uncount(place.size)

    def has(self, node: Node) -> bool:
        """Whether a node is in the order."""
        return node.node_id in self._positions

    def first_fit(self, amounts: Amounts) -> Node | None:
        """Return the first node in order that fits. Implements: CYC-15, NOD-20."""
        known = self._first_fits.known.get(amounts.number)
        low: Entry = ()
        if known is not None:
            first = known.first()
            if first is not None:
                return first
            low = known.low
        elif self._positions:
            # Usually the first node in order fits, and no search is needed.
            first = self._shelves[0].blocks[0].nodes[0]
            if fits(first.available, amounts):
                return first
        fitting = self.fitting_behind(amounts, low, 1)
        if fitting:
            found = fitting[0]
            self._first_fits.found(amounts, self._positions[found.node_id].entry, found)
            return found
        if known is not None:
            del self._first_fits.known[amounts.number]
        return None

    def fitting(self, amounts: Amounts, after: Node | None, limit: int) -> list[Node]:
        """Return the first nodes in order behind ``after`` that fit, at most ``limit``.

        Rules: CYC-15, NOD-20, EXT-13.
        """
        low: Entry = () if after is None else self._positions[after.node_id].entry
        return self.fitting_behind(amounts, low, limit)

    def fitting_behind(self, amounts: Amounts, low: Entry, limit: int) -> list[Node]:
        """Return the first nodes behind an entry that fit, at most ``limit``; (): from the first.

        Rules: CYC-15, NOD-20, EXT-13.
        """
        found: list[Node] = []
        if not self._positions:
            return found
        for place in range(bisect_right(self._lows, low, 1) - 1, len(self._shelves)):
            shelf = self._shelves[place]
            if shelf.may_hold(amounts):
                shelf.search(amounts, low, limit, found)
                if len(found) == limit:
                    break
        return found

    def nearest(self, amounts: Amounts) -> Node | None:
        """Return the node to reserve for amounts that fit no node: the one that lacks least.

        Nodes that have a reservation or are too small do not count; the first in order wins a tie.
        Implements: RSV-4 (Ours). Rules: RSV-3, RSV-5.
        """
        best: Node | None = None
        least = float(len(amounts.need)) + 1.0
        if not self.largest.holds(amounts):
            return None
        for shelf in self._shelves:
            if shortage(shelf.bound, amounts) >= least:
                continue
            for block in shelf.blocks:
                if shortage(block.bound, amounts) >= least:
                    continue
                for node in block.nodes:
                    lack = shortage(node.available, amounts)
                    if lack < least and not node.reservations and node.holds(amounts):
                        least = lack
                        best = node
        return best

    def fitting_up_to(self, amounts: Amounts, high: Entry) -> list[Node]:
        """Return all nodes up to an entry that fit, in order. Rules: NOD-15, NOD-20."""
        found = self.fitting_behind(amounts, (), len(self._positions))
        return [node for node in found if self._positions[node.node_id].entry <= high]

    def entry_of(self, node_id: str) -> Entry:
        """Return the entry of a node, () if it is not in the order."""
        place = self._positions.get(node_id)
        return () if place is None else place.entry

    def entries(self) -> list[Entry]:
        """Return all (score, node ID) in order, for checks."""
        return [
            entry for shelf in self._shelves for block in shelf.blocks for entry in block.entries
        ]

    def missed(self) -> list[str]:
        """Return the IDs of nodes that a search would wrongly find or skip, for checks."""
        nodes = [
            (entry, node, block)
            for shelf in self._shelves
            for block in shelf.blocks
            for entry, node in zip(block.entries, block.nodes, strict=True)
        ]
        skipped = [
            node.node_id
            for _, node, block in nodes
            for above in (block.shelf, block)
            if above.misses(node)
        ]
        return skipped + self._first_fits.missed([(entry, node) for entry, node, _ in nodes])

    def _count(self, size: Amounts) -> None:
        """Count a node among those of its size."""
        known = self.sizes.get(size.number)
        if known is None:
            self._extend(size)
        self.sizes[size.number] = (size, 1 if known is None else known[1] + 1)

    def _uncount(self, size: Amounts) -> None:
        """Remove a node from the count of its size."""
        count = self.sizes[size.number][1] - 1
        if count:
            self.sizes[size.number] = (size, count)
        else:
            del self.sizes[size.number]

    def _extend(self, size: Amounts) -> None:
        """Extend ``largest`` and ``smallest`` to a new capacity; start them with the first one."""
        have = dict(size.pairs)
        if not self.sizes:
            self.largest.amounts = dict(have)
            self.smallest.amounts = dict(have)
            return
        high, low = self.largest.amounts, self.smallest.amounts
        for index, amount in size.pairs:
            high[index] = max(high.get(index, 0), amount)
        for index in low:
            low[index] = min(low[index], have.get(index, 0))

    def _insert(self, place: Position, entry: Entry, node: Node) -> None:
        """Insert a node into the block for its entry."""
        block = self._recent
        entries = block.entries
        at = self._at + 1
        if at > len(entries) or not (
            entries[at - 1] < entry < (entries[at] if at < len(entries) else block.high)
        ):
            shelf = self._shelves[bisect_right(self._lows, entry, 1) - 1]
            block = shelf.blocks[bisect_right(shelf.lows, entry, 1) - 1]
            entries = block.entries
            at = bisect_left(entries, entry)
        entries.insert(at, entry)
        block.nodes.insert(at, node)
        place.entry = entry
        place.block = block
        self._recent = block
        self._at = at
        block.cover(node)
        if len(entries) > BLOCK_LIMIT:
            self._split(block)

    def _remove(self, block: Block) -> None:
        """Remove an empty block, unless it is the only one; a neighbour takes over its range."""
        shelf = block.shelf
        place = self._shelves.index(shelf)
        spot = shelf.blocks.index(block)
        if spot:
            shelf.blocks[spot - 1].high = block.high
        elif place:
            self._shelves[place - 1].blocks[-1].high = block.high
        elif len(self._shelves) == len(shelf.blocks) == 1:
            return
        del shelf.blocks[spot]
        del shelf.lows[spot]
        if shelf.blocks:
            self._lows[place] = shelf.lows[0]
        else:
            del self._shelves[place]
            del self._lows[place]

    def _split(self, block: Block) -> None:
        """Split a block into halves, and its shelf if that has too many blocks now.

        Both halves keep the bound and the refused amounts, which are true for any part of the
        block. The next search without a result computes a tight bound.
        """
        shelf = block.shelf
        half = len(block.entries) // 2
        upper = Block(shelf, block.entries[half:], block.nodes[half:], block.high)
        del block.entries[half:]
        del block.nodes[half:]
        block.high = upper.entries[0]
        for node in upper.nodes:
            self._positions[node.node_id].block = upper
        upper.inherit(block)
        block.tight = shelf.tight = False
        spot = shelf.blocks.index(block) + 1
        shelf.blocks.insert(spot, upper)
        shelf.lows.insert(spot, upper.entries[0])
        self._recent = upper
        self._at = len(upper.entries) - 1
        if len(shelf.blocks) > SHELF_LIMIT:
            self._split_shelf(shelf)

    def _split_shelf(self, shelf: Shelf) -> None:
        half = len(shelf.blocks) // 2
        right = Shelf()
        right.blocks = shelf.blocks[half:]
        right.lows = shelf.lows[half:]
        right.inherit(shelf)
        del shelf.blocks[half:]
        del shelf.lows[half:]
        for block in right.blocks:
            block.shelf = right
        place = self._shelves.index(shelf) + 1
        self._shelves.insert(place, right)
        self._lows.insert(place, right.lows[0])
