"""Demand: the pending amounts of a queue as one number for all resource types (rules: QUE-35).

Amounts of different types are comparable only as fractions of the cluster's total. Sums of
fractions are compared exactly if all fractions have one denominator. So each type has a *weight*:
the least common multiple of all totals, divided by the total of the type.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Final, TypeAlias, final

from remuda.core.model.vectors import Vector

# The negated demand: for the types that the cluster has, then for the others.
Demand: TypeAlias = tuple[int, int]


@final
class Scale:
    """The units by which demands are measured; another total has another Scale.

    ``weights``: by type index, 0 for a type that the cluster does not have. ``parity``: queues are
    compared as in 1.5 if that costs little (KV-5).
    """

    __slots__ = ("parity", "weights")

    def __init__(self, capacity: Vector, *, parity: bool) -> None:
        totals = [amount for amount in capacity.amounts if amount > 0]
        common = lcm(*totals)
        self.weights: list[int] = [
            common // amount if amount > 0 else 0 for amount in capacity.amounts
        ]
        self.parity = parity

    def demand(self, pending: Sequence[int]) -> Demand:
        """Return pending amounts as a sum of parts of the cluster, negated.

        Amounts of types that the cluster does not have are added up separately. Cost: O(types).
        Implements: QUE-35.
        """
        weights = self.weights
        known = len(weights)
        parts = 0
        others = 0
        for index, amount in enumerate(pending):
            if amount:
                weight = weights[index] if index < known else 0
                if weight:
                    parts -= amount * weight
                else:
                    others -= amount
        return parts, others

    def equals(self, other: Scale) -> bool:
        """Whether another scale measures the same."""
        return self.weights == other.weights and self.parity == other.parity


NO_SCALE: Final = Scale(Vector(), parity=False)
