"""How 1.5 decided whether an attempt can help, and whom it took beyond the node (rules: PRE-84).

It compares the whole path of the ask with what that is guaranteed, where ours asks what is owed.
"""

from __future__ import annotations

from typing import final

from remuda.core.model.allocation import Allocation
from remuda.core.model.candidates import came_ns
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import Amounts, amount_at
from remuda.core.policy.guarantees import effective_guarantee, lower_of, path_maximum
from remuda.core.preempt.nodes import Found, NodeSide
from remuda.core.preempt.trial import Prey, Trial


@final
class PathUse:
    """What the queues of the path of an ask use, with it, and without the victims so far.

    By queue: what is used, and what it may use within its guarantee, by type. Rules: PRE-15.
    """

    __slots__ = ("_guaranteed", "_leaf", "_limits", "_used")

    def __init__(self, leaf: Queue, amounts: Amounts) -> None:
        self._leaf = leaf
        self._guaranteed = bool(effective_guarantee(leaf))
        self._used: dict[Queue, dict[int, int]] = {}
        self._limits: dict[Queue, dict[int, int]] = {}
        for queue in leaf.path_up:
            used = dict(amounts.pairs)
            for index, amount in enumerate(queue.allocated.amounts):
                left = amount - amount_at(queue.preempting, index)
                used[index] = used.get(index, 0) + left
            self._used[queue] = used
            limit = lower_of(effective_guarantee(queue), path_maximum(queue))
            self._limits[queue] = limit

    def within(self) -> bool:
        """Whether leaf and ancestors are within their guarantees. Rules: PRE-15."""
        return self._guaranteed and not any(self._beyond().values())

    def _beyond(self) -> dict[int, int]:
        """Return by type how far the path is over, 0 where it is not. Rules: PRE-32."""
        beyond: dict[int, int] = {}
        for queue, used in self._used.items():
            limit = self._limits[queue]
            for index, amount in used.items():
                over = max(0, amount - max(0, limit.get(index, 0)))
                beyond[index] = max(over, beyond.get(index, 0))
        return beyond

    def take(self, prey: Prey, sign: int = 1) -> None:
        """Take a victim away, or with ``sign`` -1 give it back."""
        for queue in prey.kind.leaf.path_up:
            used = self._used.get(queue)
            if used is not None:
                for index, amount in prey.kind.amounts.pairs:
                    used[index] = used.get(index, 0) - sign * amount

    def could_be_within(self, trial: Trial) -> bool:
        """Whether it would be within if all candidates went. Rules: PRE-16."""
        for prey in trial.prey.values():
            for _ in prey.kind.places:
                self.take(prey)
        feasible = bool(trial.prey) and self.within()
        for prey in trial.prey.values():
            for _ in prey.kind.places:
                self.take(prey, -1)
        return feasible

    def victims(self, trial: Trial, side: NodeSide, taken: set[Allocation]) -> list[Found] | None:
        """Return victims until the path is within its guarantee, None if it cannot be.

        ``taken``: victims there are already; they are away on trial. Rules: PRE-31 to PRE-33.
        """
        chosen: list[Found] = []
        for found in _ordered(trial, side, taken):
            if self.within():
                break
            allocation, prey = found
            if not trial.permits(prey, charged=False):
                continue
            before = self._beyond()
            self.take(prey)
            if self._beyond() == before:
                self.take(prey, -1)
            else:
                trial.take(prey)
                chosen.append((allocation, prey))
        return chosen if self.within() else None


def _ordered(trial: Trial, side: NodeSide, taken: set[Allocation]) -> list[Found]:
    """Return all other candidates, ordinary ones first, then the newest first. Rules: PRE-31."""
    found = [
        (allocation, prey)
        for prey in trial.prey.values()
        for allocation in prey.kind.allocations.values()
        if allocation not in taken and side.free_for(allocation.node)
    ]
    found.sort(key=_place)
    return found


def _place(found: Found) -> tuple[int, int, str, int, str]:
    allocation, prey = found
    application, key = allocation.application, allocation.ask.allocation_key
    return (
        prey.kind.bits,
        -came_ns(allocation),
        key,
        application.number,
        allocation.allocation_id,
    )
