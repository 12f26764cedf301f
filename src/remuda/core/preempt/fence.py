"""Computes where an ask may look for victims, and which priorities they may have.

Rules: PRE-7, PRE-8, PRE-9, PRE-10, PRE-11, PRE-12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, final

from remuda.config.queue_properties import DISABLED, FENCE
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts, amount_at

# The queues from the leaf of an ask up to its fence root -> the priority of the ask in each.
Path: TypeAlias = Mapping[Queue, int]


@final
class Side:
    """A leaf inside the fence that is not on the path of the ask.

    ``common``: the lowest common ancestor of the leaf and the ask; ``below``: the queues from the
    leaf up, below ``common``. ``threshold``: the highest priority that a victim may have. ``rank``:
    the rank of all allocations if a priority fence hides their priorities, else None.
    """

    __slots__ = ("below", "common", "leaf", "rank", "threshold")

    def __init__(self, leaf: Queue, common: Queue, threshold: int, rank: int | None) -> None:
        self.leaf = leaf
        self.common = common
        self.threshold = threshold
        self.rank = rank
        self.below: tuple[Queue, ...] = leaf.path_up[: leaf.path_up.index(common)]

    def rank_of(self, priority: int) -> int:
        """Return a priority relative to the threshold; at most 0 if a victim may have it.

        Implements: PRE-9.
        """
        return priority - self.threshold if self.rank is None else self.rank


def ask_path(leaf: Queue, priority: int, amounts: Amounts, *, parity: bool) -> Path:
    """Return the queues from an ask's leaf up to its fence root, with its priority in each.

    A queue that would exceed its maximum with the ask is a fence, too: the victims must be below
    it.
    Implements: PRE-7, PRE-51 (not in parity).
    """
    path: dict[Queue, int] = {}
    for queue in leaf.path_up:
        settings = queue.settings
        offset = settings.priority_offset
        priority = offset if settings.priority_fence else priority + offset
        path[queue] = priority
        if settings.preemption_policy == FENCE or (not parity and is_over(queue, amounts)):
            break
    return path


def due(queue: Queue, index: int) -> int:
    """Return the usage of a type in a queue after all preemptions in effect."""
    left = amount_at(queue.allocated, index) - amount_at(queue.preempting, index)
    return left if queue.promised is None else left + amount_at(queue.promised, index)


def is_over(queue: Queue, amounts: Amounts) -> bool:
    """Whether a queue would exceed its own maximum with an ask. Rules: PRE-51, PRE-88."""
    maximum = queue.maximum
    if maximum is None:
        return False
    for index, amount in amounts.need:
        named = maximum.types >> index & 1 or queue.closed
        if named and due(queue, index) + amount > amount_at(maximum, index):
            return True
    return False


@final
class Fence:
    """The part of the tree in which an ask may look for victims.

    Priority fences below another priority fence are ignored, but not in parity mode. Rules: PRE-7,
    PRE-8, PRE-9, PRE-10, PRE-11, PRE-12.
    """

    __slots__ = ("_parity", "_seen", "path")

    def __init__(self, path: Path, *, parity: bool) -> None:
        self.path = path
        self._parity = parity
        self._seen: dict[Queue, tuple[Queue, int, int | None] | None] = {}

    def side_of(self, leaf: Queue) -> Side | None:
        """Return the Side of a leaf, None if no allocation in it may be a victim.

        There are no victims in the leaf of the ask, outside the fence, behind a priority fence with
        a higher priority, or in a queue with preemption disabled.

        Implements: PRE-8, PRE-12.
        """
        seen = None if leaf in self.path else self._look_at(leaf)
        return None if seen is None else Side(leaf, *seen)

    def _look_at(self, queue: Queue) -> tuple[Queue, int, int | None] | None:
        """Return common queue, threshold and rank for a queue that is not on the path."""
        if queue in self._seen:
            return self._seen[queue]
        found = None
        if queue.settings.preemption_policy != DISABLED:
            found = self._derive(queue)
        self._seen[queue] = found
        return found

    def _derive(self, queue: Queue) -> tuple[Queue, int, int | None] | None:
        """Work out common queue, threshold and rank of a queue from those of its parent."""
        parent = queue.parent
        if parent is None:
            return None
        if parent in self.path:
            if any(each.settings.preemption_policy == DISABLED for each in parent.path_up):
                return None
            above = self._threshold_beside(parent)
            if above is None:
                return None
            common, threshold, rank = parent, above, None
        else:
            seen = self._look_at(parent)
            if seen is None:
                return None
            common, threshold, rank = seen
        if rank is not None and not self._parity:
            return common, threshold, rank
        offset = queue.settings.priority_offset
        if queue.settings.priority_fence:
            return None if offset > threshold else (common, threshold, offset - threshold)
        return common, threshold - offset, rank

    def _threshold_beside(self, common: Queue) -> int | None:
        """Return the ask's priority in the path's child of a queue on its path.

        None if the queue is the leaf itself. Implements: PRE-10 (Ours).
        """
        before = None
        for queue, priority in self.path.items():
            if queue is common:
                return before
            before = priority
        return None
