"""Chooses victims that bring a queue within its changed maximum (rules: chapter 60 part D).

First, candidates of each leaf are chosen that fit into its share. The rest is taken from all leaves
below the queue: first candidates that fit into the rest, then, if none fits, one that is larger
than the rest. No victim takes a queue on its path below its guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import lcm
from typing import Final, TypeAlias, final

from remuda.core.model.allocation import Allocation
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.candidates import came_ns, is_candidate
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector, add, amount_at, copy, subtract, subtract_vector
from remuda.core.preempt.quota_change import Part, allowed, distribute, excess, names

HOUR_NS: Final = 3_600 * 10**9

# The order of victims by their kind (PRE-70).
ORDINARY: Final = 0
OPTED_OUT: Final = 1
ORIGINATOR: Final = 2

VictimKey: TypeAlias = tuple[int, int, int, int, int, int, str, str, int]


@final
class QuotaChoice:
    """The decision to begin a quota preemption in a queue: its victims.

    ``excess``: how far the queue exceeds its maximum; ``planned``: the part of the excess that
    guarantees allow to preempt; ``candidates``: how many allocations could have been chosen.
    """

    __slots__ = ("candidates", "excess", "planned", "queue", "victims")

    def __init__(
        self,
        queue: Queue,
        above: Part,
        planned: Part,
        candidates: int = 0,
        victims: Sequence[Allocation] = (),
    ) -> None:
        self.queue = queue
        self.excess = above
        self.planned = planned
        self.candidates = candidates
        self.victims = victims


def decide_quota(partition: Partition, now_ns: int) -> QuotaChoice | None:
    """Return the next quota preemption that is due, None if none is; nothing is changed.

    Parents come before children. While a run is in progress in a queue or above it, no other begins
    there. Implements: PRE-65. Rules: PRE-73, PRE-75.
    """
    due = [
        queue
        for queue in partition.preempting.quotas.armed.values()
        if queue.quota_due_ns <= now_ns and not shielded(queue)
    ]
    if not due:
        return None
    return _choose(min(due, key=lambda queue: (len(queue.path_up), queue.path)))


def shielded(queue: Queue) -> bool:
    """Whether a run is in progress in a queue or above it. Rules: PRE-65."""
    return any(each.quota_run is not None for each in queue.path_up)


def _choose(queue: Queue) -> QuotaChoice:
    """Return the victims for the maximum of a queue; nothing is changed.

    Implements: PRE-73. Rules: PRE-67, PRE-68, PRE-69, PRE-70, PRE-71. Cost: O(c log c + c x types x
    (types + depth)) for c candidates.
    """
    above = excess(queue)
    planned = allowed(queue, above)
    if not planned:
        return QuotaChoice(queue, above, planned)
    candidates = _candidates(queue, planned)
    own: dict[str, list[Allocation]] = {}
    for each in candidates:
        own.setdefault(each.application.queue_path, []).append(each)
    trial = _Trial(planned)
    for share in distribute(queue, planned):
        trial.take_of_share(own.get(share.queue.path, []), dict(share.part))
    trial.take_left(candidates)
    while trial.spare_needless():
        trial.take_left(candidates)  # guarantees may permit more now
    return QuotaChoice(queue, above, planned, len(candidates), list(trial.chosen.values()))


def victim_key(allocation: Allocation, wanted: Part) -> VictimKey:
    """Return the sort key of candidates; the best victim comes first.

    The order: ordinary candidates, then those that opted out, then originators; a larger part of
    wanted types; lower priority; newer by the hour; a smaller part of the wanted amounts; newer;
    then key, ID and number of the application. Implements: PRE-70 (Ours). Rules: RES-53.
    """
    ask = allocation.ask
    need = allocation.amounts.need
    matching = 100 * sum([1 for index, _ in need if index in wanted]) // max(1, len(need))
    return (
        _kind(allocation),
        -matching,
        ask.priority,
        -(came_ns(allocation) // HOUR_NS),
        _size(allocation, wanted),
        -came_ns(allocation),
        ask.allocation_key,
        allocation.allocation_id,
        allocation.application.number,
    )


def _candidates(queue: Queue, wanted: Part) -> list[Allocation]:
    """Return the candidates that hold a wanted type, sorted. Rules: PRE-70."""
    found: list[Allocation] = []
    ahead = [queue]
    while ahead:
        each = ahead.pop()
        ahead.extend(each.children.values())
        found += [
            allocation
            for application in each.applications.values()
            for allocation in application.allocations.values()
            if _holds(allocation, wanted) and is_candidate(allocation)
        ]
    return sorted(found, key=lambda allocation: victim_key(allocation, wanted))


def _kind(allocation: Allocation) -> int:
    """Return the kind of a candidate; a higher one is spared longer. Rules: PRE-70."""
    if allocation.ask.originator:
        return ORIGINATOR
    return ORDINARY if allocation.ask.allow_preempt_self else OPTED_OUT


def _holds(allocation: Allocation, wanted: Part) -> bool:
    """Whether an allocation holds some of a wanted type. Rules: PRE-70."""
    return any(index in wanted for index, _ in allocation.amounts.need)


def _size(allocation: Allocation, wanted: Part) -> int:
    """Return the largest share that an allocation has of the wanted amount of a type.

    The result is an integer: all shares are multiplied by the same number.
    """
    unit = lcm(*wanted.values())
    shares = [
        amount * (unit // wanted[index])
        for index, amount in allocation.amounts.need
        if index in wanted
    ]
    return max(shares, default=0)


def _coverage(allocation: Allocation, left: Part) -> int:
    """Return how much of the rest an allocation covers; each type has the same weight.

    The result is an integer: all shares are multiplied by the same number.
    """
    unit = lcm(*left.values())
    covered = 0
    for index, amount in allocation.amounts.need:
        if index in left:
            covered += min(amount, left[index]) * (unit // left[index])
    return covered


@final
class _Trial:
    """The victims chosen so far, by key, and the rest that is still wanted.

    ``left``: the amount still wanted by type index, negative if the victims hold more than is
    wanted. ``_stays``: the usage of queues after the victims end, by path.
    """

    __slots__ = ("_stays", "chosen", "left", "wanted")

    def __init__(self, wanted: Part) -> None:
        self.wanted = wanted
        self.left: dict[int, int] = dict(wanted)
        self.chosen: dict[tuple[int, str], Allocation] = {}
        self._stays: dict[str, Vector] = {}

    def take_of_share(self, candidates: Iterable[Allocation], share: dict[int, int]) -> None:
        """Choose candidates of one queue that fit into its share in all wanted types.

        Rules: PRE-71.
        """
        for allocation in candidates:
            pairs = [pair for pair in allocation.amounts.need if pair[0] in self.wanted]
            fit = all(amount <= share.get(index, 0) for index, amount in pairs)
            if fit and self._permits(allocation):
                self._take(allocation)
                for index, amount in pairs:
                    share[index] -= amount

    def take_left(self, candidates: list[Allocation]) -> None:
        """Choose candidates for the rest, in their order, as far as guarantees permit.

        Candidates that exceed the rest in no type come first, then candidates that exceed it only
        in types that are covered already. If there are none, one candidate is chosen that is larger
        than the rest of a type. That covers the type, so this happens at most once for each type.
        Implements: PRE-71 (Ours).
        """
        if self._open():
            self._fill(candidates, strict=True)
        while wanted := self._open():
            self._fill(candidates, strict=False)
            if len(self._open()) < len(wanted):
                continue  # candidates that exceeded a type may fit now
            last = self._largest_use(candidates)
            if last is None:
                return
            self._take(last)

    def spare_needless(self) -> bool:
        """Spare victims that are not needed because of later ones, the last chosen first.

        Return whether a victim was spared. A victim with a type that is not covered yet is never
        spared, so choosing and sparing in turn always ends.
        """
        before = len(self.chosen)
        for key, allocation in reversed(list(self.chosen.items())):
            pairs = [pair for pair in allocation.amounts.need if pair[0] in self.wanted]
            if all(self.left[index] + amount <= 0 for index, amount in pairs):
                del self.chosen[key]
                for index, amount in pairs:
                    self.left[index] += amount
                for queue in _path(allocation):
                    add(self._stays[queue.path], allocation.amounts)
        return len(self.chosen) < before

    def _fill(self, candidates: Iterable[Allocation], *, strict: bool) -> None:
        """Choose candidates that fit the rest; ``strict``: covered types count, too."""
        for allocation in candidates:
            left = self.left if strict else self._open()
            pairs = [pair for pair in allocation.amounts.need if pair[0] in left]
            fit = all(amount <= left[index] for index, amount in pairs)
            if pairs and fit and self._may_take(allocation):
                self._take(allocation)

    def _largest_use(self, candidates: Iterable[Allocation]) -> Allocation | None:
        """Return the smallest candidate of the lowest kind that covers the rest.

        If none covers all types of the rest, return the one that covers most. None: guarantees
        permit none.
        Rules: PRE-71 (Ours).
        """
        left = self._open()
        best: Allocation | None = None
        best_key: tuple[int, int, int] = (0, 0, 0)
        for allocation in candidates:
            if not _holds(allocation, left) or not self._may_take(allocation):
                continue
            covered = _coverage(allocation, left)
            key = (_kind(allocation), -covered, _size(allocation, self.wanted))
            if best is None or key < best_key:
                best, best_key = allocation, key
        return best

    def _open(self) -> dict[int, int]:
        """Return the amounts that are not covered yet."""
        return {index: amount for index, amount in self.left.items() if amount > 0}

    def _may_take(self, allocation: Allocation) -> bool:
        return allocation.key() not in self.chosen and self._permits(allocation)

    def _take(self, allocation: Allocation) -> None:
        self.chosen[allocation.key()] = allocation
        for index, amount in allocation.amounts.need:
            if index in self.left:
                self.left[index] -= amount
        for queue in _path(allocation):
            subtract(self._stays_of(queue), allocation.amounts)

    def _permits(self, allocation: Allocation) -> bool:
        """Whether all guarantees on the path are kept if this candidate is chosen, too.

        Types that the allocation does not hold are not checked.

        Rules: PRE-71.
        """
        for queue in _path(allocation):
            guaranteed = queue.guaranteed
            if guaranteed is None:
                continue
            stay = self._stays_of(queue)
            for index, amount in allocation.amounts.need:
                least = amount_at(guaranteed, index)
                if names(guaranteed, index) and amount_at(stay, index) - amount < least:
                    return False
        return True

    def _stays_of(self, queue: Queue) -> Vector:
        found = self._stays.get(queue.path)
        if found is None:
            found = self._stays[queue.path] = copy(queue.allocated)
            subtract_vector(found, queue.preempting)
        return found


def _path(allocation: Allocation) -> tuple[Queue, ...]:
    leaf = allocation.application.queue
    return leaf.path_up
