"""Nodes in the order of one policy, searchable without visiting those that cannot fit.

The nodes lie in score order in blocks, the blocks in shelves. Each block and each shelf has an
upper bound of what its nodes have available; a search skips what has too small a bound, and
tightens the bound of a block it went through in vain. Bounds only rise when a node is put in,
so they are never too low, and the search is exact: it finds the first node in order that fits.

Where nodes are packed, some of a block have room left of one type and some of another, so that
its bound seems to have room for asks that fit none of them. So blocks and shelves also remember
the amounts they were searched for in vain, until a node that these fit is put in.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final, TypeAlias, final

from remuda.core.model.node import Node
from remuda.core.model.vectors import (
    Amounts,
    Vector,
    amount_at,
    copy,
    define,
    fits,
    shortage,
)

# A score and a node ID. Of any objects for the type checker: compiled, a tuple of known types would
# be taken apart and put together again for every comparison.
Entry: TypeAlias = tuple[object, ...]

# Nodes per block and blocks per shelf; a search looks at about one of each and all shelves.
BLOCK_LIMIT: Final = 32
SHELF_LIMIT: Final = 32

# How many amounts a block or shelf remembers as refused; who puts a node in looks at all of them.
REFUSED_LIMIT: Final = 128

# What was searched for in vain, by the number of the amounts, the oldest first.
Refused: TypeAlias = dict[int, Amounts]

# Behind every entry but those of scores that are not finite, for whom there is a search.
_END: Final[Entry] = (float("inf"), "")


@final
class _Shelf:
    """Neighbouring blocks. ``tight``: the bound is no more than what their nodes have.

    ``lows``: where the part of the order begins that each block is for. ``refused``: what none of
    its nodes has room for.
    """

    __slots__ = ("blocks", "bound", "lows", "refused", "tight")

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.lows: list[Entry] = []
        self.refused: Refused = {}
        self.bound = Vector()
        self.tight: bool = False


@final
class _Block:
    """Neighbours in the order: ``entries`` with their ``nodes``.

    ``tight`` and ``refused`` are as those of a shelf. Entries from ``high`` on are for the next
    block. Only the only block may be empty.
    """

    __slots__ = ("bound", "entries", "high", "nodes", "refused", "shelf", "tight")

    def __init__(self, shelf: _Shelf, entries: list[Entry], nodes: list[Node], high: Entry) -> None:
        self.shelf = shelf
        self.entries = entries
        self.nodes = nodes
        self.high = high
        self.refused: Refused = {}
        self.bound = Vector()
        self.tight: bool = False


@final
class _Place:
    """Where a node stands, and the size it is counted with."""

    __slots__ = ("block", "entry", "size")

    def __init__(self, block: _Block, entry: Entry, size: Amounts) -> None:
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
        shelf = _Shelf()
        self._recent = _Block(shelf, [], [], _END)
        self._at: int = 0
        shelf.blocks.append(self._recent)
        shelf.lows.append(())
        self._shelves: list[_Shelf] = [shelf]
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
            _account_for(block, node)
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
            if not fits(shelf.bound, amounts) or amounts.number in shelf.refused:
                continue
            before = len(found)
            for block in shelf.blocks:
                if fits(block.bound, amounts) and amounts.number not in block.refused:
                    _search_block(block, amounts, low, limit, found)
                    if len(found) == limit:
                        return found
            if not shelf.tight:
                _tighten_shelf(shelf)
            first = shelf.blocks[0].entries
            # If the search began inside of it, what lies before was not looked at.
            if len(found) == before and first and first[0] > low:
                _refuse(shelf.refused, amounts)
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
            if not _covers(above.bound, node)
            or any(fits(node.available, amounts) for amounts in above.refused.values())
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
        _account_for(block, node)
        if len(entries) > BLOCK_LIMIT:
            self._split(block)

    def _remove(self, block: _Block) -> None:
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

    def _split(self, block: _Block) -> None:
        """Halve a block, and its shelf if that has too many now.

        The halves keep the bound and what was refused: both hold for any part of the block, and
        working them out costs more than the search in vain that will, if ever.
        """
        shelf = block.shelf
        half = len(block.entries) // 2
        upper = _Block(shelf, block.entries[half:], block.nodes[half:], block.high)
        del block.entries[half:]
        del block.nodes[half:]
        block.high = upper.entries[0]
        for node in upper.nodes:
            self._places[node.node_id].block = upper
        upper.bound = copy(block.bound)
        upper.refused = dict(block.refused)
        block.tight = shelf.tight = False
        spot = shelf.blocks.index(block) + 1
        shelf.blocks.insert(spot, upper)
        shelf.lows.insert(spot, upper.entries[0])
        self._recent = upper
        self._at = len(upper.entries) - 1
        if len(shelf.blocks) > SHELF_LIMIT:
            self._split_shelf(shelf)

    def _split_shelf(self, shelf: _Shelf) -> None:
        half = len(shelf.blocks) // 2
        right = _Shelf()
        right.blocks = shelf.blocks[half:]
        right.lows = shelf.lows[half:]
        right.bound = copy(shelf.bound)
        right.refused = dict(shelf.refused)
        del shelf.blocks[half:]
        del shelf.lows[half:]
        for block in right.blocks:
            block.shelf = right
        place = self._shelves.index(shelf) + 1
        self._shelves.insert(place, right)
        self._lows.insert(place, right.lows[0])


def _search_block(
    block: _Block, amounts: Amounts, low: Entry, limit: int, found: list[Node]
) -> None:
    """Add what fits in a block, behind ``low``, until there are ``limit``."""
    before = len(found)
    for at, node in enumerate(block.nodes):
        if fits(node.available, amounts) and block.entries[at] > low:
            found.append(node)
            if len(found) == limit:
                return
    if len(found) == before:
        if not block.tight:
            _tighten(block)
        # As for shelves.
        if block.entries and block.entries[0] > low:
            _refuse(block.refused, amounts)


def _refuse(refused: Refused, amounts: Amounts) -> None:
    """Remember that amounts fit no node of a block or shelf."""
    if len(refused) >= REFUSED_LIMIT:
        del refused[next(iter(refused))]
    refused[amounts.number] = amounts


def _account_for(block: _Block, node: Node) -> None:
    """Keep what is known of a block and its shelf true for a node that was put in, or changed."""
    shelf = block.shelf
    available = node.available
    if _rise(block.bound, available):
        _rise(shelf.bound, available)
    if block.refused:
        _forget_fitting(block.refused, available)
    if shelf.refused:
        _forget_fitting(shelf.refused, available)


def _forget_fitting(refused: Refused, available: Vector) -> None:
    """Forget the amounts that fit what a node has available now."""
    fitting = [number for number, amounts in refused.items() if fits(available, amounts)]
    for number in fitting:
        del refused[number]


def _tighten(block: _Block) -> None:
    block.bound = Vector()
    block.tight = True
    for node in block.nodes:
        _rise(block.bound, node.available)


def _tighten_shelf(shelf: _Shelf) -> None:
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
