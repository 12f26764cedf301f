"""Counts what went wrong with what resource managers already run (rules: MET-6, MET-20).

A fold over the effects: allocations that could not be restored, and nodes that were refused for
that or for naming a partition nobody has. Both numbers only grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.core.messages.effects import (
    AllocationsRejected,
    Effect,
    NodesAnswered,
    Rejection,
)

# Rules by which a node is refused for what it is itself, not for what runs on it.
_OWN_FAULTS: Final = ("NODE-1", "NODE-3", "NODE-9", "NODE-10", "OBJ-8", "RES-1")


class Failures:
    """The two numbers the first two checks look at. An observer of effects; core thread.

    ``errors``: allocations that could not be restored; ``failed_nodes``: nodes that were refused.
    Any thread may read. Rules: MET-6, MET-20, HLT-4, HLT-5.
    """

    def __init__(self) -> None:
        self.errors = 0
        self.failed_nodes = 0

    def __call__(self, effects: Sequence[Effect]) -> None:
        """Count what is in a batch of effects."""
        for effect in effects:
            if type(effect) is AllocationsRejected:
                self.errors += len(effect.rejected)
            elif type(effect) is NodesAnswered and effect.rejected:
                self._count_nodes(effect.rejected)

    def _count_nodes(self, rejected: Sequence[Rejection]) -> None:
        for each in rejected:
            if _names_no_partition(each):
                self.failed_nodes += 1
            elif each.subject and each.rule not in _OWN_FAULTS:
                self.failed_nodes += 1
                self.errors += 1


def _names_no_partition(rejected: Rejection) -> bool:
    """Whether a node was refused because its partition is unknown. Rules: MET-20, NODE-10."""
    return rejected.rule == "NODE-10" and rejected.reason.startswith("partition ")
