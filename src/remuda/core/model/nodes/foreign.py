"""Foreign allocations: usage of nodes by other schedulers (rules: CYC-29, NODE-17)."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.messages.commands import Ask
from remuda.core.messages.tags import FOREIGN, STATIC
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.nodes.node import Node


@final
class ForeignAllocation:
    """An allocation of another scheduler; it only takes room on its node (CYC-29).

    ``identity``: unique in the partition. ``ask``: the latest report of the RM. Times are Unix
    nanoseconds.
    """

    __slots__ = ("amounts", "ask", "created_ns", "identity", "node")

    def __init__(
        self, identity: str, ask: Ask, amounts: Amounts, node: Node, created_ns: int
    ) -> None:
        self.identity = identity
        self.ask = ask
        self.amounts = amounts
        self.node = node
        self.created_ns = created_ns

    def static(self) -> bool:
        """Whether it can never be preempted; any tag but ``static`` means ``default``."""
        return self.ask.tags.get(FOREIGN) == STATIC


@final
class ForeignIndex:
    """The foreign allocations of a partition, by identity and by allocation key."""

    __slots__ = ("_by_identity", "_by_key")

    def __init__(self) -> None:
        self._by_identity: dict[str, ForeignAllocation] = {}
        self._by_key: dict[str, dict[str, None]] = {}

    def get(self, identity: str) -> ForeignAllocation | None:
        """Return the allocation with an identity, None if there is none."""
        return self._by_identity.get(identity)

    def named(self, identity: str, key: str) -> list[ForeignAllocation]:
        """Return the allocations that a release names, oldest first; none without identity and key.

        Rules: CYC-29, SI-61 (an identity goes before a key).
        """
        if identity:
            found = self._by_identity.get(identity)
            return [] if found is None else [found]
        return [self._by_identity[each] for each in self._by_key.get(key, {})]

    def all(self) -> list[ForeignAllocation]:
        """Return all foreign allocations, in the order in which they were added."""
        return list(self._by_identity.values())

    def put(self, foreign: ForeignAllocation) -> None:
        """Add a new foreign allocation."""
        self._by_identity[foreign.identity] = foreign
        self._by_key.setdefault(foreign.ask.allocation_key, {})[foreign.identity] = None

    def drop(self, foreign: ForeignAllocation) -> None:
        """Remove a foreign allocation."""
        del self._by_identity[foreign.identity]
        key = foreign.ask.allocation_key
        identities = self._by_key[key]
        del identities[foreign.identity]
        if not identities:
            del self._by_key[key]


def is_foreign(ask: Ask) -> bool:
    """Whether an existing allocation is foreign: it has the tag and no application.

    Rules: NODE-17.
    """
    return not ask.application_id and FOREIGN in ask.tags
