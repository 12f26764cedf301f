"""The shapes that wait for a node, ordered so that a release finds those it may help.

A saturated cluster may have thousands of different waiting shapes and release something every
millisecond. What a node has left is mostly little, so looking only at shapes that want no more of
one type than it has leaves few to try.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import final

from remuda.core.model.shape import Shape
from remuda.core.model.vectors import Vector


@final
class StarvedShapes:
    """Shapes by number, and by the amount of the first type they need. Change: O(log n).

    Rules: CYC-25 (what stopped an ask decides when it is tried again).
    """

    __slots__ = ("_by_type", "shapes")

    def __init__(self) -> None:
        self.shapes: dict[int, Shape] = {}
        self._by_type: dict[int, list[tuple[int, int]]] = {}

    def add(self, shape: Shape) -> None:
        """Add a shape; one that is in already stays."""
        if shape.number not in self.shapes:
            self.shapes[shape.number] = shape
            index, amount = shape.amounts.need[0]
            insort(self._by_type.setdefault(index, []), (amount, shape.number))

    def remove(self, shape: Shape) -> None:
        """Take a shape out that is in."""
        del self.shapes[shape.number]
        index, amount = shape.amounts.need[0]
        waiting = self._by_type[index]
        del waiting[bisect_left(waiting, (amount, shape.number))]
        if not waiting:
            del self._by_type[index]

    def within(self, available: Vector) -> list[Shape]:
        """Return the shapes that want no more of their first type than there is, by number."""
        found: list[int] = []
        for index, waiting in self._by_type.items():
            if index < len(available.amounts):
                # Numbers are positive, so this ends after all that want just as much.
                end = bisect_right(waiting, (available.amounts[index] + 1, 0))
                found += [number for _, number in waiting[:end]]
        found.sort()
        return [self.shapes[number] for number in found]
