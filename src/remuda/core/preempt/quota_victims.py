"""Chooses who goes to bring a queue down to its maximum (rules: PRE-67 to PRE-71).

First each leaf gives of its share what fits in it. What is left is taken from anywhere below the
queue: what fits, and where nothing fits any more one allocation that is larger than what is left.
Nothing is chosen that takes a queue on the way to root below its guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm
from typing import Final, TypeAlias, final

from remuda.core.model.allocation import Allocation
from remuda.core.model.candidates import came_ns, is_candidate
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import Vector, add, amount_at, copy, subtract, subtract_vector
from remuda.core.preempt.quota_change import Part, allowed, distribute, excess, names

HOUR_NS: Final = 3_600 * 10**9

# Who goes first (PRE-70).
ORDINARY: Final = 0
OPTED_OUT: Final = 1
ORIGINATOR: Final = 2

VictimKey: TypeAlias = tuple[int, int, int, int, int, int, str, str, int]


@final
class QuotaChoice:
    """What was chosen to bring a queue down to its maximum.

    ``excess``: how much it is above it; ``planned``: the part of it that guarantees let go;
    ``candidates``: how many allocations could have been chosen.
    """

    __slots__ = ("candidates", "excess", "planned", "victims")

    def __init__(
        self, above: Part, planned: Part, candidates: int, victims: list[Allocation]
    ) -> None:
        self.excess = above
        self.planned = planned
        self.candidates = candidates
        self.victims = victims


def choose_for_quota(queue: Queue) -> QuotaChoice:
    """Return who goes for the maximum of a queue; nothing is changed.

    Rules: PRE-67 to PRE-71. Cost: O(c log c + c x types x (types + depth)) for c candidates.
    """
    above = excess(queue)
    planned = allowed(queue, above)
    if not planned:
        return QuotaChoice(above, planned, 0, [])
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
    return QuotaChoice(above, planned, len(candidates), list(trial.chosen.values()))


def victim_key(allocation: Allocation, wanted: Part) -> VictimKey:
    """Return what orders those that may go, the first of them first.

    Ordinary ones, then those that opted out, then originators; those of whose types most are
    wanted; lower priority; newer by the hour; the smaller part of what is wanted; newer at all.
    Last the key, the ID and the number of the application. Rules: PRE-70 (Ours), RES-53.
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
    """Return those that may go and hold some of what is wanted, in their order. Rules: PRE-70."""
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
    """Return how much an allocation is to be spared; originators most of all. Rules: PRE-70."""
    if allocation.ask.originator:
        return ORIGINATOR
    return ORDINARY if allocation.ask.allow_preempt_self else OPTED_OUT


def _holds(allocation: Allocation, wanted: Part) -> bool:
    """Whether an allocation has more than nothing of a type that is wanted. Rules: PRE-70."""
    return any(index in wanted for index, _ in allocation.amounts.need)


def _size(allocation: Allocation, wanted: Part) -> int:
    """Return the largest share of what is wanted that an allocation has of a type.

    It is a whole multiple of a fraction that is the same for all.
    """
    unit = lcm(*wanted.values())
    shares = [
        amount * (unit // wanted[index])
        for index, amount in allocation.amounts.need
        if index in wanted
    ]
    return max(shares, default=0)


def _coverage(allocation: Allocation, left: Part) -> int:
    """Return how much of what is left one allocation covers, each type counting the same.

    It is a whole multiple of a fraction that is the same for all.
    """
    unit = lcm(*left.values())
    covered = 0
    for index, amount in allocation.amounts.need:
        if index in left:
            covered += min(amount, left[index]) * (unit // left[index])
    return covered


@final
class _Trial:
    """Those chosen so far, by what identifies them, and what that leaves.

    ``left``: what is wanted yet by type index, below zero where more goes than is wanted.
    ``_stays``: what stays of the queues on the way of victims, by path.
    """

    __slots__ = ("_stays", "chosen", "left", "wanted")

    def __init__(self, wanted: Part) -> None:
        self.wanted = wanted
        self.left: dict[int, int] = dict(wanted)
        self.chosen: dict[tuple[int, str], Allocation] = {}
        self._stays: dict[str, Vector] = {}

    def take_of_share(self, candidates: Iterable[Allocation], share: dict[int, int]) -> None:
        """Take of one queue's candidates what exceeds its share in no type that is wanted.

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
        """Take what is left from all candidates, in their order, as far as guarantees permit.

        What exceeds nothing comes first, then what exceeds only types of which enough goes. Where
        nothing like that remains one is taken that is larger than what is left of a type; that is
        enough of this type then, so there is one at most for each. Rules: PRE-71 (Ours).
        """
        if self._open():
            self._fill(candidates, strict=True)
        while wanted := self._open():
            self._fill(candidates, strict=False)
            if len(self._open()) < len(wanted):
                continue  # what exceeded a type may not do so any more
            last = self._largest_use(candidates)
            if last is None:
                return
            self._take(last)

    def spare_needless(self) -> bool:
        """Spare those that need not go because of others that do, the last chosen first.

        Whether there was any. Nobody is spared who has something of a type of which not enough
        goes, so only more can go of it: taking and sparing in turn comes to an end.
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
        """Take what fits what is left; ``strict``: types of which enough goes count, too."""
        for allocation in candidates:
            left = self.left if strict else self._open()
            pairs = [pair for pair in allocation.amounts.need if pair[0] in left]
            fit = all(amount <= left[index] for index, amount in pairs)
            if pairs and fit and self._may_take(allocation):
                self._take(allocation)

    def _largest_use(self, candidates: Iterable[Allocation]) -> Allocation | None:
        """Return who goes beyond what is left: of the least spared the smallest that suffices.

        If nobody suffices for all types, whoever covers most of what is left. None: nobody may.
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
        """Return what is wanted and not covered."""
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
        """Whether no guarantee on the way to root is broken if this one goes, too. Rules: PRE-71.

        Of types of which it has nothing nothing is asked.
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
    assert leaf is not None
    return leaf.path_up
