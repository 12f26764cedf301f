"""Counts refusals as they are handed out: the one thing that no state holds (rules: MET-6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.core.messages.effects import AllocationsRejected, AsksRejected, Effect

_REFUSALS: Final = (AsksRejected, AllocationsRejected)


class Refusals:
    """Asks and allocations that were refused; observes a SchedulerLoop.

    Cost: a look at the type of each effect.
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, effects: Sequence[Effect]) -> None:
        """Count the refusals of a batch. Core thread. Rules: MET-6."""
        for effect in effects:
            if type(effect) in _REFUSALS:
                assert isinstance(effect, AsksRejected | AllocationsRejected)
                self.count += len(effect.rejected)
