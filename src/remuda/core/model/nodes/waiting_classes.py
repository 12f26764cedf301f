"""Ask classes that wait for a node or at a queue, indexed by the amounts they need.

A full cluster may have thousands of waiting ask classes and a release every millisecond. A node
usually has little room, so only few ask classes need no more of one type than the node has. Only
these are tried.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import final

from remuda.core.model.asks.ask_class import AskClass
from remuda.core.model.vectors import Vector, amount_at


@final
class WaitingClasses:
    """Ask classes by number, and by the amount of the first type they need. Change: O(log n).

    ``at_once``: how many of them are always unblocked at once (see ``GainedRoom``).
    Rules: CYC-25 (what stopped an ask decides when it is tried again).
    """

    __slots__ = ("_by_type", "ask_classes", "at_once")

    def __init__(self) -> None:
        self.at_once: int = 0
        self.ask_classes: dict[int, AskClass] = {}
        self._by_type: dict[int, list[tuple[int, int]]] = {}

    def add(self, ask_class: AskClass) -> None:
        """Add an ask class, unless it is listed already."""
        if ask_class.number not in self.ask_classes:
            self.ask_classes[ask_class.number] = ask_class
            self.at_once += ask_class.at_once
            index, amount = ask_class.amounts.need[0]
            insort(self._by_type.setdefault(index, []), (amount, ask_class.number))

    def remove(self, ask_class: AskClass) -> None:
        """Remove an ask class."""
        del self.ask_classes[ask_class.number]
        self.at_once -= ask_class.at_once
        index, amount = ask_class.amounts.need[0]
        waiting = self._by_type[index]
        del waiting[bisect_left(waiting, (amount, ask_class.number))]
        if not waiting:
            del self._by_type[index]

    def within(self, available: Vector) -> Iterator[AskClass]:
        """Yield the ask classes that need no more of their first type than is available.

        Nothing may be added or removed meanwhile.
        """
        for index, waiting in self._by_type.items():
            if index < len(available.amounts):
                # Numbers are positive, so the range includes all classes that need exactly the
                # amount.
                end = bisect_right(waiting, (available.amounts[index] + 1, 0))
                for at in range(end):
                    yield self.ask_classes[waiting[at][1]]

    def within_limit(self, limit: Vector, used: Vector) -> Iterator[AskClass]:
        """Yield the ask classes that need no more of their first type than a limit leaves.

        A type without a limit is unlimited. Nothing may be added or removed meanwhile.
        Rules: RES-30.
        """
        for index, waiting in self._by_type.items():
            end = len(waiting)
            if limit.types >> index & 1:
                left = limit.amounts[index] - amount_at(used, index)
                end = bisect_right(waiting, (left + 1, 0))
            for at in range(end):
                yield self.ask_classes[waiting[at][1]]
