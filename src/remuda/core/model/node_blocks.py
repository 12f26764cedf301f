"""Parts of the order of nodes, and what is known of all nodes of one, so that searches may skip it.

Each part has an upper bound of what its nodes have available. It only rises when a node is put in,
so it is never too low; a search in vain makes it tight.

Where nodes are packed, some of a block have room left of one type and some of another, so that its
bound seems to have room for asks that fit none of them. So the amounts that were searched for in
vain are also remembered, until a node that these fit is put in. That they are looked at then must
not cost more than the searches they spare, so each of those earns credit. Rules: NOD-15, NOD-20.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

from remuda.core.model.node import Node
from remuda.core.model.vectors import Amounts, Vector, amount_at, copy, define, fits

# A score and a node ID. Of any objects for the type checker: compiled, a tuple of known types would
# be taken apart and put together again for every comparison.
Entry: TypeAlias = tuple[object, ...]

# How many refused amounts are remembered; those that come then begin anew.
REFUSED_LIMIT: Final = 128

# How often these may be looked at: at first, more for each search that is spared, for it would have
# looked at about as many nodes, and at most. Where more is spent they are forgotten.
CREDIT: Final = 1_024
CREDIT_EARNED: Final = 32
CREDIT_LIMIT: Final = 32_768


class Part:
    """A part of the order that a search may skip.

    ``bound``: at least what each of its nodes has available, ``tight``: and no more than that.
    ``refused``: amounts that none of them has room for, by their number; ``credit``: how often
    these may be looked at.
    """

    __slots__ = ("bound", "credit", "refused", "tight")

    def __init__(self) -> None:
        self.bound = Vector()
        self.tight: bool = False
        self.refused: dict[int, Amounts] = {}
        self.credit: int = CREDIT

    def may_hold(self, amounts: Amounts) -> bool:
        """Whether a node may have room for these; False if certainly none has. Rules: NOD-20."""
        if not fits(self.bound, amounts):
            return False
        if amounts.number not in self.refused:
            return True
        if self.credit < CREDIT_LIMIT:
            self.credit += CREDIT_EARNED
        return False

    def refuse(self, amounts: Amounts) -> None:
        """Remember that none of its nodes has room for these."""
        if len(self.refused) >= REFUSED_LIMIT:
            self.refused = {}
        self.refused[amounts.number] = amounts

    def forget(self, available: Vector) -> None:
        """Forget the amounts that fit what one of its nodes has available now."""
        self.credit -= len(self.refused)
        if self.credit < 0:
            self.refused = {}
            self.credit = CREDIT
            return
        fitting = [number for number, each in self.refused.items() if fits(available, each)]
        for number in fitting:
            del self.refused[number]

    def inherit(self, other: Part) -> None:
        """Know what is known of another one, of which this was a part."""
        self.bound = copy(other.bound)
        self.refused = dict(other.refused)
        self.credit = other.credit

    def misses(self, node: Node) -> bool:
        """Whether a search would go past one of its nodes that has room, for checks."""
        amounts = enumerate(node.available.amounts)
        if any(amount > amount_at(self.bound, index) for index, amount in amounts):
            return True
        return any(fits(node.available, each) for each in self.refused.values())


@final
class Shelf(Part):
    """Neighbouring blocks. ``lows``: where the part of the order begins that each one is for."""

    __slots__ = ("blocks", "lows")

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self.lows: list[Entry] = []

    def search(self, amounts: Amounts, low: Entry, limit: int, found: list[Node]) -> None:
        """Add the nodes behind ``low`` that fit, until there are ``limit``. Rules: NOD-20."""
        before = len(found)
        for block in self.blocks:
            if block.may_hold(amounts):
                block.search(amounts, low, limit, found)
                if len(found) == limit:
                    return
        if not self.tight:
            self._tighten()
        first = self.blocks[0].entries
        # If the search began inside of it, what lies before was not looked at.
        if len(found) == before and first and first[0] > low:
            self.refuse(amounts)

    def _tighten(self) -> None:
        self.bound = Vector()
        self.tight = all(block.tight for block in self.blocks)
        for block in self.blocks:
            rise(self.bound, block.bound)


@final
class Block(Part):
    """Neighbours in the order: ``entries`` with their ``nodes``.

    Entries from ``high`` on are for the next block. Only the only block may be empty.
    """

    __slots__ = ("entries", "high", "nodes", "shelf")

    def __init__(self, shelf: Shelf, entries: list[Entry], nodes: list[Node], high: Entry) -> None:
        super().__init__()
        self.shelf = shelf
        self.entries = entries
        self.nodes = nodes
        self.high = high

    def search(self, amounts: Amounts, low: Entry, limit: int, found: list[Node]) -> None:
        """Add the nodes behind ``low`` that fit, until there are ``limit``. Rules: NOD-20."""
        before = len(found)
        for at, node in enumerate(self.nodes):
            if fits(node.available, amounts) and self.entries[at] > low:
                found.append(node)
                if len(found) == limit:
                    return
        if len(found) > before:
            return
        if not self.tight:
            self._tighten()
        # As for shelves.
        if self.entries and self.entries[0] > low:
            self.refuse(amounts)

    def account_for(self, node: Node) -> None:
        """Keep what is known, of its shelf, too, true for a node that was put in or changed."""
        available = node.available
        shelf = self.shelf
        if rise(self.bound, available):
            rise(shelf.bound, available)
        if self.refused:
            self.forget(available)
        if shelf.refused:
            shelf.forget(available)

    def _tighten(self) -> None:
        self.bound = Vector()
        self.tight = True
        for node in self.nodes:
            rise(self.bound, node.available)


def rise(bound: Vector, available: Vector) -> bool:
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
