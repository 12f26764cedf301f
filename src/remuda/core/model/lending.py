"""Gives allocations to an answer that is read later, without copying all of them first.

An answer may have to list all allocations of the cluster as they are at one moment. So it gets the
dictionaries themselves, and a dictionary that was given away is copied before its next change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lender(Generic[K, V]):
    """A holder of allocations that lends them: a node or an application. Rules: DMP-15.

    ``allocations``: in the order of arrival. ``lent``: an answer reads them, so ``keep`` must be
    called before they change.
    """

    __slots__ = ("allocations", "lent")

    def __init__(self) -> None:
        self.allocations: dict[K, V] = {}
        self.lent: bool = False

    def lend(self) -> Mapping[K, V]:
        """Return the allocations; the returned mapping never changes.

        The next change is made on a copy, so a later reader sees the allocations of this moment.
        Rules: DMP-15.
        """
        self.lent = True
        return self.allocations

    def keep(self) -> None:
        """Copy the allocations, because an answer still reads the old mapping. Rules: DMP-15."""
        self.allocations = dict(self.allocations)
        self.lent = False
