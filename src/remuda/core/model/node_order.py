"""Nodes in the order of one policy, searchable without visiting those that cannot fit.

The nodes lie in score order in blocks, the blocks in shelves. Each block and each shelf has an
upper bound of what its nodes have available; a search skips what has too small a bound, and
tightens the bound of a block it went through in vain. Bounds only rise when a node is put in,
so they are never too low, and the search is exact: it finds the first node in order that fits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from typing import Final, TypeAlias, final

from remuda.core.model.node import Node
from remuda.core.model.vectors import (
    Amounts,
    Vector,
    amount_at,
    define,
    fits,
    shortage,
)

Entry: TypeAlias = tuple[float, str]

# Nodes per block and blocks per shelf; a search looks at about one of each and all shelves.
BLOCK_LIMIT: Final = 32
SHELF_LIMIT: Final = 32


@final
class _Block:
    """Neighbours in the order. ``tight``: the bound is no more than what they have."""

    __slots__ = ("bound", "entries", "tight")

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.bound = Vector()
        self.tight: bool = False


@final
class _Shelf:
    """Neighbouring blocks; ``lows`` are their first entries. ``tight``: as for blocks."""

    __slots__ = ("blocks", "bound", "lows", "tight")

    def __init__(self, blocks: list[_Block]) -> None:
        self.blocks = blocks
        self.lows: list[Entry] = [block.entries[0] for block in blocks if block.entries]
        self.bound = Vector()
        self.tight: bool = False


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
    same one again without a search. Whatever else happens makes it None. ``sizes``: the different
    capacities and how many nodes have each, by the number of the amounts; ``largest`` holds at
    least, ``smallest`` at most what each of them does.
    """

    __slots__ = (
        "_entries",
        "_found",
        "_lows",
        "_nodes",
        "_shelves",
        "_size_of",
        "_wanted",
        "largest",
        "score",
        "sizes",
        "smallest",
    )

    def __init__(self, score: Callable[[Node], float]) -> None:
        self.score = score
        self._shelves: list[_Shelf] = []
        self._lows: list[Entry] = []
        self._entries: dict[str, Entry] = {}
        self._nodes: dict[str, Node] = {}
        self._found: Node | None = None
        self._wanted: Amounts | None = None
        self._size_of: dict[str, Amounts] = {}
        self.sizes: dict[int, tuple[Amounts, int]] = {}
        self.largest = Extent()
        self.smallest = Extent()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, node: Node) -> None:
        """Add a node or move it to where its score belongs. Rules: NOD-14."""
        entry: Entry = (self.score(node), node.node_id)
        old = self._entries.get(node.node_id)
        if node is not self._found or old is None or entry > old:
            self._found = None
        self._entries[node.node_id] = entry
        if old is None:
            self._nodes[node.node_id] = node
            self._count(node.node_id, node.total)
            self._insert(entry, node)
        elif not self._move(old, entry, node):
            self._insert(entry, node)

    def drop(self, node_id: str) -> None:
        """Take a node out; unknown IDs are fine."""
        self._found = None
        entry = self._entries.pop(node_id, None)
        if entry is not None:
            del self._nodes[node_id]
            place = bisect_right(self._lows, entry) - 1
            self._take(entry, place, bisect_right(self._shelves[place].lows, entry) - 1)
            self._count(node_id, None)

    def first_fit(self, amounts: Amounts) -> Node | None:
        """Return the first node in order that fits. Rules: CYC-15, NOD-20."""
        found = self._found
        if found is not None and self._wanted is amounts and fits(found.available, amounts):
            return found
        found = None
        if self._shelves:
            # Mostly the least used one fits, so that this is all there is to do.
            found = self._nodes[self._shelves[0].blocks[0].entries[0][1]]
        if found is None or not fits(found.available, amounts):
            fitting = self.fitting(amounts, None, 1)
            found = fitting[0] if fitting else None
        self._found = found
        self._wanted = amounts
        return found

    def fitting(self, amounts: Amounts, after: Node | None, limit: int) -> list[Node]:
        """Return the first nodes in order that fit, at most ``limit``, those behind ``after``.

        Rules: CYC-15, NOD-20, EXT-13.
        """
        low = None if after is None else self._entries[after.node_id]
        first = 0 if low is None else max(0, bisect_right(self._lows, low) - 1)
        found: list[Node] = []
        for place in range(first, len(self._shelves)):
            shelf = self._shelves[place]
            if not fits(shelf.bound, amounts):
                continue
            for block in shelf.blocks:
                if fits(block.bound, amounts):
                    self._search_block(block, amounts, low, limit, found)
                    if len(found) == limit:
                        return found
            if not shelf.tight:
                self._tighten_shelf(shelf)
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
                for entry in block.entries:
                    node = self._nodes[entry[1]]
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

    def bound_faults(self) -> list[str]:
        """Return the IDs of nodes that have more than a bound above them, for checks."""
        return [
            entry[1]
            for shelf in self._shelves
            for block in shelf.blocks
            for entry in block.entries
            for bound in (shelf.bound, block.bound)
            if not _covers(bound, self._nodes[entry[1]])
        ]

    def _search_block(
        self, block: _Block, amounts: Amounts, low: Entry | None, limit: int, found: list[Node]
    ) -> None:
        """Add what fits in a block, behind ``low``, until there are ``limit``."""
        nodes = self._nodes
        before = len(found)
        for entry in block.entries:
            node = nodes[entry[1]]
            if fits(node.available, amounts) and (low is None or entry > low):
                found.append(node)
                if len(found) == limit:
                    return
        if len(found) == before and not block.tight:
            self._tighten(block)

    def _count(self, node_id: str, size: Amounts | None) -> None:
        """Count a node among those of its size, or no more."""
        old = self._size_of.pop(node_id, None)
        if old is not None:
            count = self.sizes[old.number][1] - 1
            if count:
                self.sizes[old.number] = (old, count)
            else:
                del self.sizes[old.number]
        if size is not None:
            self._size_of[node_id] = size
            known = self.sizes.get(size.number)
            if known is None:
                self._extend(size)
            self.sizes[size.number] = (size, 1 if known is None else known[1] + 1)

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

    def _insert(self, entry: Entry, node: Node) -> None:
        if not self._shelves:
            self._shelves.append(_Shelf([_Block([])]))
            self._shelves[0].lows.append(entry)
            self._lows.append(entry)
        place = max(0, bisect_right(self._lows, entry) - 1)
        shelf = self._shelves[place]
        spot = max(0, bisect_right(shelf.lows, entry) - 1)
        block = shelf.blocks[spot]
        entries = block.entries
        insort(entries, entry)
        # Not "is": compiled, a tuple is not the same object any more once it was in a list.
        if entries[0] == entry:
            shelf.lows[spot] = entry
            self._lows[place] = shelf.lows[0]
        if _rise(block.bound, node.available):
            _rise(shelf.bound, node.available)
        if len(entries) > BLOCK_LIMIT:
            self._split(place, spot)

    def _move(self, old: Entry, entry: Entry, node: Node) -> bool:
        """Move a node to its new place if that is in its block, else take it out; False then."""
        place = bisect_right(self._lows, old) - 1
        shelf = self._shelves[place]
        lows = shelf.lows
        spot = bisect_right(lows, old) - 1
        block = shelf.blocks[spot]
        entries = block.entries
        if spot + 1 < len(lows):
            stays = lows[spot] <= entry < lows[spot + 1]
        else:
            stays = lows[spot] <= entry and place + 1 == len(self._lows)
        if not stays or len(entries) == 1:
            self._take(old, place, spot)
            return False
        del entries[bisect_left(entries, old)]
        insort(entries, entry)
        lows[spot] = entries[0]
        self._lows[place] = lows[0]
        block.tight = shelf.tight = False
        if _rise(block.bound, node.available):
            _rise(shelf.bound, node.available)
        return True

    def _take(self, entry: Entry, place: int, spot: int) -> None:
        """Take an entry out of its block; what is empty then goes."""
        shelf = self._shelves[place]
        block = shelf.blocks[spot]
        entries = block.entries
        del entries[bisect_left(entries, entry)]
        block.tight = shelf.tight = False
        if entries:
            shelf.lows[spot] = entries[0]
        else:
            del shelf.blocks[spot]
            del shelf.lows[spot]
        if shelf.blocks:
            self._lows[place] = shelf.lows[0]
        else:
            del self._shelves[place]
            del self._lows[place]

    def _split(self, place: int, spot: int) -> None:
        """Halve a block, and its shelf if that has too many now."""
        shelf = self._shelves[place]
        block = shelf.blocks[spot]
        half = len(block.entries) // 2
        upper = _Block(block.entries[half:])
        del block.entries[half:]
        shelf.blocks.insert(spot + 1, upper)
        shelf.lows.insert(spot + 1, upper.entries[0])
        self._tighten(block)
        self._tighten(upper)
        if len(shelf.blocks) > SHELF_LIMIT:
            half = len(shelf.blocks) // 2
            right = _Shelf(shelf.blocks[half:])
            del shelf.blocks[half:]
            del shelf.lows[half:]
            self._shelves.insert(place + 1, right)
            self._lows.insert(place + 1, right.lows[0])
            self._tighten_shelf(shelf)
            self._tighten_shelf(right)

    def _tighten(self, block: _Block) -> None:
        block.bound = Vector()
        block.tight = True
        for entry in block.entries:
            _rise(block.bound, self._nodes[entry[1]].available)

    def _tighten_shelf(self, shelf: _Shelf) -> None:
        shelf.bound = Vector()
        shelf.tight = all(block.tight for block in shelf.blocks)
        for block in shelf.blocks:
            _rise(shelf.bound, block.bound)


def _rise(bound: Vector, available: Vector) -> bool:
    """Make a bound cover these amounts too; False if it did already."""
    highest = bound.amounts
    risen = False
    if available.types & ~bound.types:
        define(bound, available.types)
        risen = True
    for index, amount in enumerate(available.amounts):
        if amount > highest[index]:
            highest[index] = amount
            risen = True
    return risen


def _covers(bound: Vector, node: Node) -> bool:
    """Whether a bound is at least what a node has, for checks."""
    amounts = enumerate(node.available.amounts)
    return all(amount <= amount_at(bound, index) for index, amount in amounts)
