"""Finds the victims that would make room below the maxima of queues (rules: PRE-88)."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import repeat
from typing import Final, TypeAlias, final

from remuda.core.model.allocation import Allocation
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts, amount_at
from remuda.core.preempt.fence import due
from remuda.core.preempt.nodes import Found, NodeSide
from remuda.core.preempt.trial import Option, Trial

# How many candidates one attempt looks at (PRE-90).
CANDIDATES_LIMIT: Final = 10_000

# By queue and type, how far the queue would exceed its maximum with the ask.
Over: TypeAlias = dict[Queue, dict[int, int]]


@final
class QueueSide:
    """How far an ask's queues exceed their maxima, with the ask and without the victims."""

    __slots__ = ("_over", "looked_at")

    def __init__(self, leaf: Queue, amounts: Amounts) -> None:
        self.looked_at: int = 0
        self._over: Over = {}
        for queue in leaf.path_up:
            over = _over_at(queue, amounts)
            if over:
                self._over[queue] = over

    def is_over(self) -> bool:
        """Whether a queue exceeds its maximum. Rules: PRE-82 (a)."""
        return any(amount > 0 for over in self._over.values() for amount in over.values())

    def take(self, option: Option, sign: int = 1) -> None:
        """Remove a victim from the usage; with ``sign`` -1 put it back."""
        for queue in self._above(option):
            over = self._over[queue]
            for index, amount in option.need:
                if index in over:
                    over[index] -= sign * amount

    def helps(self, option: Option) -> bool:
        """Whether a victim has a type in which a queue above it exceeds its maximum.

        Rules: PRE-88.
        """
        for queue in self._above(option):
            over = self._over[queue]
            for index, _ in option.need:
                if over.get(index, 0) > 0:
                    return True
        return False

    def spares(self, option: Option) -> bool:
        """Whether no queue exceeds its maximum if a chosen victim is kept."""
        self.take(option, -1)
        spared = not self.is_over()
        self.take(option)
        return spared

    def victims(self, trial: Trial, side: NodeSide, taken: set[Allocation]) -> list[Found] | None:
        """Return victims until no queue is over, None if there are not enough.

        ``taken``: the victims chosen already; they are removed on trial.

        Implements: PRE-88.
        """
        chosen: list[Found] = []
        kinds = [option for option in trial.options.values() if self.helps(option)]
        usable: dict[str, bool] = {}
        for allocation, option in _newest_of(kinds) if self.is_over() else ():
            self.looked_at += 1
            if self.looked_at > CANDIDATES_LIMIT:
                break
            if allocation in taken or not self.helps(option):
                continue
            node = allocation.node
            if node.node_id not in usable:
                usable[node.node_id] = side.usable(node)
            if usable[node.node_id] and trial.permits(option, charged=True):
                trial.take(option, charged=True)
                self.take(option)
                chosen.append((allocation, option))
                if not self.is_over():
                    break
        return None if self.is_over() else self._without_spares(trial, chosen)

    def _without_spares(self, trial: Trial, chosen: list[Found]) -> list[Found]:
        """Put back victims that are not needed after all, the last chosen one first.

        Rules: PRE-82 (g), PRE-88.
        """
        kept: list[Found] = []
        for found in reversed(chosen):
            option = found[1]
            if self.spares(option):
                self.take(option, -1)
                trial.take(option, charged=True, sign=-1)
            else:
                kept.append(found)
        return kept[::-1]

    def _above(self, option: Option) -> list[Queue]:
        return [queue for queue in option.kind.leaf.path_up if queue in self._over]


def _over_at(queue: Queue, amounts: Amounts) -> dict[int, int]:
    """Return per limited type how far a queue would exceed its maximum with the ask."""
    maximum = queue.maximum
    if maximum is None:
        return {}
    return {
        index: due(queue, index) + amount - amount_at(maximum, index)
        for index, amount in amounts.need
        if maximum.types >> index & 1 or queue.closed
    }


def _newest_of(kinds: list[Option]) -> Iterator[Found]:
    """Yield candidates of some kinds: ordinary ones first, then newest first."""
    for bits in sorted({option.kind.bits for option in kinds}):
        alike = [option for option in kinds if option.kind.bits == bits]
        places = [
            zip(reversed(option.kind.age_keys), repeat(number))
            for number, option in enumerate(alike)
        ]
        for place, number in merge(*places, reverse=True):
            option = alike[number]
            yield option.kind.allocations[place], option
