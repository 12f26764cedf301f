"""Nodes in the order of one policy, searchable without visiting those that cannot fit.

The nodes lie in score order in blocks, the blocks in shelves. A search skips those of which it is
known that none of their nodes has room, see node_blocks.py. What is known is never wrong, so the
search is exact: it finds the first node in order that fits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final, final

from remuda.core.model.node import Node
from remuda.core.model.node_blocks import Block, Entry, Shelf
from remuda.core.model.vectors import Amounts, fits, shortage

# Nodes per block and blocks per shelf; a search looks at about one of each and all shelves.
BLOCK_LIMIT: Final = 32
SHELF_LIMIT: Final = 32

# Behind every entry but those of scores that are not finite, for whom there is a search.
_END: Final[Entry] = (float("inf"), "")


@final
class _Place:
    """Where a node stands, and the size it is counted with."""

    __slots__ = ("block", "entry", "size")

    def __init__(self, block: Block, entry: Entry, size: Amounts) -> None:
        self.block = block
        self.entry = entry
        self.size = size


@final
class Extent:
    """The most, or the least, of each type that any of some capacities has, by type index."""

    __slots__ = ("amounts",)

    def __init__(self) -> None:
        self.amounts: dict[int, int] = {}

    def holds(self, amounts: Amounts) -> bool:
        """Whether amounts fit within. Rules: RES-29."""
        for index, amount in amounts.need:
            if self.amounts.get(index, 0) < amount:
                return False
        return True


@final
class NodeOrder:
    """The schedulable nodes of a partition by (score, node ID). Rules: NOD-15.

    ``_found`` is the result of the last search, for ``_wanted``. While no other node was put or
    dropped since, and it moved forward at most, nothing before it can fit: packing nodes finds the
    same one again without a search, or one behind it. Whatever else happens makes it None.
    ``_recent`` and ``_at``: the block and the position in it where a node was put last; nodes that
    are alike follow each other to the same place. They are only a guess.
    ``sizes``: the different capacities and how many nodes have each, by the number of the amounts;
    ``largest`` holds at least, ``smallest`` at most what each of them does.
    """

    __slots__ = (
        "_at",
        "_found",
        "_lows",
        "_places",
        "_recent",
        "_shelves",
        "_wanted",
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
        self._places: dict[str, _Place] = {}
        self._found: Node | None = None
        self._wanted: Amounts | None = None
        self.sizes: dict[int, tuple[Amounts, int]] = {}
        self.largest = Extent()
        self.smallest = Extent()

    def __len__(self) -> int:
        return len(self._places)

    def put(self, node: Node) -> None:
        """Add a node or move it to where its score belongs. Rules: NOD-14."""
        entry: Entry = (self.score(node), node.node_id)
        place = self._places.get(node.node_id)
        if place is None:
            self._found = None
            self._count(node.total)
            place = _Place(self._recent, entry, node.total)
            self._places[node.node_id] = place
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
            # It stays where it was, as the node that is packed does.
            entries[at] = place.entry = entry
            self._at = at
            if node is not self._found:
                self._found = None
            block.account_for(node)
            return
        if node is not self._found or entry > old:
            self._found = None
        del entries[at]
        del block.nodes[at]
        if not entries:
            self._remove(block)
        self._insert(place, entry, node)

    def drop(self, node_id: str) -> None:
        """Take a node out; unknown IDs are fine."""
        self._found = None
        place = self._places.pop(node_id, None)
        if place is not None:
            block = place.block
            at = bisect_left(block.entries, place.entry)
            del block.entries[at]
            del block.nodes[at]
            block.tight = block.shelf.tight = False
            if not block.entries:
                self._remove(block)
            self._uncount(place.size)

    def first_fit(self, amounts: Amounts) -> Node | None:
        """Return the first node in order that fits. Rules: CYC-15, NOD-20."""
        found = self._found
        after: Node | None = None
        if found is not None and self._wanted is amounts:
            if fits(found.available, amounts):
                return found
            after = found
            found = None
        elif self._places:
            # Mostly the least used one fits, so that this is all there is to do.
            found = self._shelves[0].blocks[0].nodes[0]
        if found is None or not fits(found.available, amounts):
            fitting = self.fitting(amounts, after, 1)
            found = fitting[0] if fitting else None
        self._found = found
        self._wanted = amounts
        return found

    def fitting(self, amounts: Amounts, after: Node | None, limit: int) -> list[Node]:
        """Return the first nodes in order that fit, at most ``limit``, those behind ``after``.

        Rules: CYC-15, NOD-20, EXT-13.
        """
        low: Entry = () if after is None else self._places[after.node_id].entry
        found: list[Node] = []
        for place in range(bisect_right(self._lows, low, 1) - 1, len(self._shelves)):
            shelf = self._shelves[place]
            if shelf.may_hold(amounts):
                shelf.search(amounts, low, limit, found)
                if len(found) == limit:
                    break
        return found

    def nearest(self, amounts: Amounts) -> Node | None:
        """Return the node to reserve for amounts that fit none: what it lacks is least.

        One with a reservation, or too small, does not count; the first in order wins a tie.
        Rules: RSV-3, RSV-4 (Ours), RSV-5.
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

    def entries(self) -> list[Entry]:
        """Return all (score, node ID) in order, for checks."""
        return [
            entry for shelf in self._shelves for block in shelf.blocks for entry in block.entries
        ]

    def missed(self) -> list[str]:
        """Return the IDs of nodes that a search would go past though they have room, for checks."""
        return [
            node.node_id
            for shelf in self._shelves
            for block in shelf.blocks
            for node in block.nodes
            for above in (shelf, block)
            if above.misses(node)
        ]

    def _count(self, size: Amounts) -> None:
        """Count a node among those of its size."""
        known = self.sizes.get(size.number)
        if known is None:
            self._extend(size)
        self.sizes[size.number] = (size, 1 if known is None else known[1] + 1)

    def _uncount(self, size: Amounts) -> None:
        """Count a node among those of its size no more."""
        count = self.sizes[size.number][1] - 1
        if count:
            self.sizes[size.number] = (size, count)
        else:
            del self.sizes[size.number]

    def _extend(self, size: Amounts) -> None:
        """Let the extents cover a capacity that is new; they begin anew when there is none."""
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

    def _insert(self, place: _Place, entry: Entry, node: Node) -> None:
        """Put a node that is in no block into the one for its entry."""
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
        block.account_for(node)
        if len(entries) > BLOCK_LIMIT:
            self._split(block)

    def _remove(self, block: Block) -> None:
        """Take an empty block out, if not the only one; its part of the order falls to another."""
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
        """Halve a block, and its shelf if that has too many now.

        The halves keep the bound and what was refused: both hold for any part of the block, and
        working them out costs more than the search in vain that will, if ever.
        """
        shelf = block.shelf
        half = len(block.entries) // 2
        upper = Block(shelf, block.entries[half:], block.nodes[half:], block.high)
        del block.entries[half:]
        del block.nodes[half:]
        block.high = upper.entries[0]
        for node in upper.nodes:
            self._places[node.node_id].block = upper
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
