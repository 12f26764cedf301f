"""Parts of a node order, with facts about all nodes of a part that let searches skip it.

Each part has an upper bound of the available amounts of its nodes. The bound rises when a node is
added or gains room, so it is never too low. A search that finds no node in the part computes the
bound again.

When nodes are packed, some nodes of a block have room of one type and others of another type. Then
an ask may fit the bound but none of the nodes. So a part also remembers the refused amounts of
earlier searches, until a node that they fit is added. Each added node is compared with these
amounts, which must not cost more than the searches they save. So each saved search earns credit for
comparisons. Rules: NOD-15, NOD-20.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, TypeAlias, final

from remuda.core.model.nodes.node import Node
from remuda.core.model.vectors import Amounts, Vector, amount_at, copy, define, fits

# A score and a node ID. The type names no elements, since compiled code would unpack and rebuild a
# tuple of known types for every comparison.
Entry: TypeAlias = tuple[object, ...]

# How many refused amounts are remembered; after that the list is emptied.
REFUSED_LIMIT: Final = 128

# How many comparisons with refused amounts are allowed: initially; more for each saved search,
# which would have looked at about as many nodes; and at most. If the credit is used up, the amounts
# are forgotten.
CREDIT: Final = 1_024
CREDIT_EARNED: Final = 32
CREDIT_LIMIT: Final = 32_768


class Part:
    """A part of the order that a search may skip.

    ``bound``: an upper bound of the available amounts of its nodes; ``tight``: it is the least
    upper bound. ``refused``: amounts that none of its nodes has room for, by number; ``credit``:
    how many more comparisons with these are allowed.
    """

    __slots__ = ("bound", "credit", "refused", "tight")

    def __init__(self) -> None:
        self.bound = Vector()
        self.tight: bool = False
        self.refused: dict[int, Amounts] = {}
        self.credit: int = CREDIT

    def may_hold(self, amounts: Amounts) -> bool:
        """Whether a node of the part may have room for amounts; False: certainly none has.

        Rules: NOD-20.
        """
        if not fits(self.bound, amounts):
            return False
        if amounts.number not in self.refused:
            return True
        if self.credit < CREDIT_LIMIT:
            self.credit += CREDIT_EARNED
        return False

    def refuse(self, amounts: Amounts) -> None:
        """Remember that none of its nodes has room for amounts."""
        if len(self.refused) >= REFUSED_LIMIT:
            self.refused = {}
        self.refused[amounts.number] = amounts

    def forget(self, available: Vector) -> None:
        """Forget the refused amounts that fit into the available amounts of one of its nodes."""
        self.credit -= len(self.refused)
        if self.credit < 0:
            self.refused = {}
            self.credit = CREDIT
            return
        fitting = [number for number, each in self.refused.items() if fits(available, each)]
        for number in fitting:
            del self.refused[number]

    def inherit(self, other: Part) -> None:
        """Take over bound and refused amounts of the part that this one was split from."""
        self.bound = copy(other.bound)
        self.refused = dict(other.refused)
        self.credit = other.credit

    def misses(self, node: Node) -> bool:
        """Whether a search would wrongly skip one of its nodes, for checks."""
        amounts = enumerate(node.available.amounts)
        if any(amount > amount_at(self.bound, index) for index, amount in amounts):
            return True
        return any(fits(node.available, each) for each in self.refused.values())


@final
class Shelf(Part):
    """Neighbouring blocks. ``lows``: the lowest entry that belongs into each block."""

    __slots__ = ("blocks", "lows")

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self.lows: list[Entry] = []

    def search(self, amounts: Amounts, low: Entry, limit: int, found: list[Node]) -> None:
        """Add the nodes behind ``low`` that fit to ``found``, up to ``limit`` nodes.

        Rules: NOD-20.
        """
        before = len(found)
        first_block = bisect_right(self.lows, low, 1) - 1 if low else 0
        for block in self.blocks[first_block:] if first_block else self.blocks:
            if block.may_hold(amounts):
                block.search(amounts, low, limit, found)
                if len(found) == limit:
                    return
        if not self.tight:
            self._tighten()
        first = self.blocks[0].entries
        # If the search began inside the shelf, the nodes before ``low`` were not looked at.
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

    Entries from ``high`` on belong into the next block. A block may be empty only if there is no
    other.
    """

    __slots__ = ("entries", "high", "nodes", "shelf")

    def __init__(self, shelf: Shelf, entries: list[Entry], nodes: list[Node], high: Entry) -> None:
        super().__init__()
        self.shelf = shelf
        self.entries = entries
        self.nodes = nodes
        self.high = high

    def search(self, amounts: Amounts, low: Entry, limit: int, found: list[Node]) -> None:
        """Add the nodes behind ``low`` that fit to ``found``, up to ``limit`` nodes.

        Rules: NOD-20.
        """
        before = len(found)
        behind = bisect_right(self.entries, low) if low else 0
        for node in self.nodes[behind:] if behind else self.nodes:
            if fits(node.available, amounts):
                found.append(node)
                if len(found) == limit:
                    return
        if len(found) > before:
            return
        if not self.tight:
            self._tighten()
        # The same as for shelves.
        if self.entries and self.entries[0] > low:
            self.refuse(amounts)

    def cover(self, node: Node) -> None:
        """Update bound and refused amounts of block and shelf for an added or changed node."""
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
    """Raise a bound to cover available amounts; return False if it covered them already."""
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
