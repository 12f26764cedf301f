"""Amounts of many objects as they were at one moment, in few large lists.

The core thread copies them while nothing is scheduled. A list for each object would cost more, and
that many lists would make the garbage collection run.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import final

from remuda.core.model.vectors import Vector


@final
class Column:
    """Many vectors as they were at one moment, one after the other. Rules: RES-13."""

    __slots__ = ("_amounts", "_ends", "_types")

    def __init__(self, vectors: Sequence[Vector]) -> None:
        self._amounts = list(chain.from_iterable([vector.amounts for vector in vectors]))
        self._ends = list(accumulate([len(vector.amounts) for vector in vectors]))
        self._types = [vector.types for vector in vectors]

    def row(self, place: int) -> tuple[list[int], int]:
        """Return the amounts and types of one vector."""
        start = self._ends[place - 1] if place else 0
        return self._amounts[start : self._ends[place]], self._types[place]

    def vector(self, place: int) -> Vector:
        """Return one vector as it was."""
        found = Vector()
        found.amounts, found.types = self.row(place)
        return found
