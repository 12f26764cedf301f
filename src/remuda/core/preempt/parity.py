"""Parity with 1.5: whether an attempt can help, and the victims beyond the node (rules: PRE-84).

1.5 compares the whole path of the ask with its guarantees, where ours uses the room owed to it.
Implements: PRE-83.
"""

from __future__ import annotations

from typing import final

from remuda.core.model.allocation import Allocation
from remuda.core.model.preemption.candidates import came_ns
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts, amount_at
from remuda.core.policy.guarantees import effective_guarantee, lower_of, path_maximum
from remuda.core.preempt.nodes import Found, NodeSide
from remuda.core.preempt.trial import Option, Trial


@final
class PathUse:
    """The usage of the queues on an ask's path, with the ask and without the victims so far.

    ``_used``: by queue, the usage per type; ``_limits``: by queue, the guaranteed amounts per type.
    Rules: PRE-15.
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
        """Whether leaf and ancestors are within their guarantees. Implements: PRE-15."""
        return self._guaranteed and not any(self._beyond().values())

    def _beyond(self) -> dict[int, int]:
        """Return per type the excess of the path over its guarantees, 0 for none.

        Implements: PRE-32.
        """
        beyond: dict[int, int] = {}
        for queue, used in self._used.items():
            limit = self._limits[queue]
            for index, amount in used.items():
                over = max(0, amount - max(0, limit.get(index, 0)))
                beyond[index] = max(over, beyond.get(index, 0))
        return beyond

    def take(self, option: Option, sign: int = 1) -> None:
        """Remove a victim from the usage; with ``sign`` -1 put it back."""
        for queue in option.kind.leaf.path_up:
            used = self._used.get(queue)
            if used is not None:
                for index, amount in option.kind.amounts.pairs:
                    used[index] = used.get(index, 0) - sign * amount

    def could_be_within(self, trial: Trial) -> bool:
        """Whether the path would be within its guarantees without any candidates.

        Implements: PRE-16.
        """
        for option in trial.options.values():
            for _ in option.kind.age_keys:
                self.take(option)
        feasible = bool(trial.options) and self.within()
        for option in trial.options.values():
            for _ in option.kind.age_keys:
                self.take(option, -1)
        return feasible

    def victims(self, trial: Trial, side: NodeSide, taken: set[Allocation]) -> list[Found] | None:
        """Return victims until the path is within its guarantee, None if it cannot be.

        ``taken``: the victims chosen already; they are removed on trial. Implements: PRE-31,
        PRE-33.
        Rules: PRE-32.
        """
        chosen: list[Found] = []
        for found in _ordered(trial, side, taken):
            if self.within():
                break
            allocation, option = found
            if not trial.permits(option, charged=False):
                continue
            before = self._beyond()
            self.take(option)
            if self._beyond() == before:
                self.take(option, -1)
            else:
                trial.take(option)
                chosen.append((allocation, option))
        return chosen if self.within() else None


def _ordered(trial: Trial, side: NodeSide, taken: set[Allocation]) -> list[Found]:
    """Return all other candidates, ordinary ones first, then newest first. Rules: PRE-31."""
    found = [
        (allocation, option)
        for option in trial.options.values()
        for allocation in option.kind.allocations.values()
        if allocation not in taken and side.free_for(allocation.node)
    ]
    found.sort(key=_sort_key)
    return found


def _sort_key(found: Found) -> tuple[int, int, str, int, str]:
    allocation, option = found
    application, key = allocation.application, allocation.ask.allocation_key
    return (
        option.kind.bits,
        -came_ns(allocation),
        key,
        application.number,
        allocation.allocation_id,
    )
