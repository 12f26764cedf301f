"""A node: what it has, what is used, and its score."""

from __future__ import annotations

from typing import Final, final

from remuda.core.messages.tags import READY
from remuda.core.model.allocation import Allocation
from remuda.core.model.vectors import Amounts, Vector, add, move, subtract

_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")


@final
class Node:
    """One node of a partition (NOD-1, NOD-2).

    Always available = total - allocated - occupied over the union of their types (NOD-3).
    ``allocations``: by (application number, allocation ID), since IDs are unique per application
    only. ``refused``: predicate classes known not to be acceptable here, until the node changes.
    ``weights``: what the score is made of, see ``policy.node_score``.
    """

    __slots__ = (
        "allocated",
        "allocations",
        "attributes",
        "available",
        "node_id",
        "occupied",
        "refused",
        "schedulable",
        "total",
        "weights",
    )

    def __init__(self, node_id: str, total: Amounts, occupied: Amounts, schedulable: bool) -> None:
        self.node_id = node_id
        self.total = total
        self.occupied = occupied
        self.schedulable = schedulable
        self.attributes: dict[str, str] = {}
        self.allocated = Vector()
        self.available = Vector()
        self.allocations: dict[tuple[int, str], Allocation] = {}
        self.refused: set[str] = set()
        self.weights: tuple[tuple[int, float, int], ...] = ()
        add(self.available, total)
        subtract(self.available, occupied)

    def put(self, allocation: Allocation) -> None:
        """Take an allocation in; the fit was checked before, or must not be (SI-41)."""
        self.allocations[allocation.key()] = allocation
        move(self.available, self.allocated, allocation.amounts)

    def remove(self, allocation: Allocation) -> None:
        """Give an allocation's room back."""
        del self.allocations[allocation.key()]
        move(self.allocated, self.available, allocation.amounts)

    def resize(self, total: Amounts) -> None:
        """Change the capacity. Rules: NOD-5."""
        subtract(self.available, self.total)
        add(self.available, total)
        self.total = total

    def reoccupy(self, occupied: Amounts) -> None:
        """Change what others use. Rules: NOD-5."""
        add(self.available, self.occupied)
        subtract(self.available, occupied)
        self.occupied = occupied

    def ready(self) -> bool:
        """Return the ready flag; absent or unreadable means ready. Rules: NODE-2."""
        return self.attributes.get(READY, "true") not in _FALSE
