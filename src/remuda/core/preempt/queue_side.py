"""Which victims would make room under the maxima of queues (rules: PRE-31 to PRE-33, PRE-88)."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import repeat
from typing import Final, TypeAlias, final

from remuda.core.model.allocation import Allocation
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import Amounts, amount_at
from remuda.core.preempt.fence import due
from remuda.core.preempt.nodes import Found, NodeSide
from remuda.core.preempt.trial import Prey, Trial

# Candidates that are gone through in one attempt (PRE-90).
CANDIDATES_LIMIT: Final = 10_000

# By queue, what an ask takes it above its maximum, by type.
Over: TypeAlias = dict[Queue, dict[int, int]]


@final
class QueueSide:
    """What an ask takes the queues of its path above their maxima, without the victims so far."""

    __slots__ = ("_over", "looked_at")

    def __init__(self, leaf: Queue, amounts: Amounts) -> None:
        self.looked_at: int = 0
        self._over: Over = {}
        for queue in leaf.path_up:
            over = _over_at(queue, amounts)
            if over:
                self._over[queue] = over

    def is_over(self) -> bool:
        """Whether a queue is above its maximum. Rules: PRE-82 (a)."""
        return any(amount > 0 for over in self._over.values() for amount in over.values())

    def take(self, prey: Prey, sign: int = 1) -> None:
        """Take a victim away, or with ``sign`` -1 give it back."""
        for queue in self._above(prey):
            over = self._over[queue]
            for index, amount in prey.need:
                if index in over:
                    over[index] -= sign * amount

    def helps(self, prey: Prey) -> bool:
        """Whether a victim frees what a queue above it is over in. Rules: PRE-88."""
        for queue in self._above(prey):
            over = self._over[queue]
            for index, _ in prey.need:
                if over.get(index, 0) > 0:
                    return True
        return False

    def spares(self, prey: Prey) -> bool:
        """Whether no queue is above its maximum though a victim that was taken stays."""
        self.take(prey, -1)
        spared = not self.is_over()
        self.take(prey)
        return spared

    def victims(self, trial: Trial, side: NodeSide, taken: set[Allocation]) -> list[Found] | None:
        """Return victims until no queue is over, None if there are not enough. Rules: PRE-88.

        ``taken``: victims there are already; they are away on trial.
        """
        chosen: list[Found] = []
        kinds = [prey for prey in trial.prey.values() if self.helps(prey)]
        usable: dict[str, bool] = {}
        for allocation, prey in _newest_of(kinds) if self.is_over() else ():
            self.looked_at += 1
            if self.looked_at > CANDIDATES_LIMIT:
                break
            if allocation in taken or not self.helps(prey):
                continue
            node = allocation.node
            if node.node_id not in usable:
                usable[node.node_id] = side.usable(node)
            if usable[node.node_id] and trial.permits(prey, charged=True):
                trial.take(prey, charged=True)
                self.take(prey)
                chosen.append((allocation, prey))
                if not self.is_over():
                    break
        return None if self.is_over() else self._without_spares(trial, chosen)

    def _without_spares(self, trial: Trial, chosen: list[Found]) -> list[Found]:
        """Put back, the last one first, what is not needed after all. Rules: PRE-82 (g), PRE-88."""
        kept: list[Found] = []
        for found in reversed(chosen):
            prey = found[1]
            if self.spares(prey):
                self.take(prey, -1)
                trial.take(prey, charged=True, sign=-1)
            else:
                kept.append(found)
        return kept[::-1]

    def _above(self, prey: Prey) -> list[Queue]:
        return [queue for queue in prey.kind.leaf.path_up if queue in self._over]


def _over_at(queue: Queue, amounts: Amounts) -> dict[int, int]:
    """Return by how much an ask takes a queue above its maximum, of the types that are limited."""
    maximum = queue.maximum
    if maximum is None:
        return {}
    return {
        index: due(queue, index) + amount - amount_at(maximum, index)
        for index, amount in amounts.need
        if maximum.types >> index & 1 or queue.closed
    }


def _newest_of(kinds: list[Prey]) -> Iterator[Found]:
    """Go through candidates of some kinds: ordinary ones first, then the last to come first."""
    for bits in sorted({prey.kind.bits for prey in kinds}):
        alike = [prey for prey in kinds if prey.kind.bits == bits]
        places = [
            zip(reversed(prey.kind.places), repeat(number)) for number, prey in enumerate(alike)
        ]
        for place, number in merge(*places, reverse=True):
            prey = alike[number]
            yield prey.kind.allocations[place], prey
