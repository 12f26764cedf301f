"""The children of a parent queue in the order of service (rules: chapter 50 section A.7).

Children are sorted by two numbers, priority and share, in the configured order. Children with equal
numbers form a *tier* and are served by demand, see ``tiers``.

Usually no two children have equal numbers. So a tier is created, and pending amounts are looked at,
only when the order has to choose between such children.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator
from typing import TypeAlias, final

from remuda.core.model.queues.demand import Scale
from remuda.core.model.queues.tiers import Child, Numbers, Tier, new_tier
from remuda.core.model.ranking import SortKey
from remuda.core.model.vectors import Vector, trimmed

# The sort data of a child: its numbers, its pending amounts, and whether it is ready.
SortData: TypeAlias = tuple[Numbers, tuple[int, ...], bool]


@final
class ChildOrder:
    """An incremental order over named children. Cost of a change: O(log n).

    ``ready``: the sorted keys of the ready children; ``_others``: those of the others. ``_tiers``:
    the tiers created so far that still have several children. Rules: QUE-32, QUE-33, QUE-35,
    QUE-36.
    """

    __slots__ = ("_children", "_others", "_tiers", "ready")

    def __init__(self) -> None:
        self._children: dict[str, Child] = {}
        self._tiers: dict[Numbers, Tier] = {}
        self._others: list[SortKey] = []
        self.ready: list[SortKey] = []

    def put(self, name: str, key: SortKey, pending: Vector, ready: bool) -> None:
        """Add a child or move it. ``ready``: the regular pass has something to try in it.

        ``key``: its two numbers and its name. ``pending`` may change until the next call for it.
        """
        child = self._children.get(name)
        if child is None:
            child = Child(name, key, pending, ready)
            self._children[name] = child
        elif key == child.key:
            if ready != child.ready:
                self._leave_line(child)
                child.ready = ready
                insort(self.ready if ready else self._others, child.key)
            if child.tier is not None:
                child.tier.renew(child)
            return
        else:
            self._leave_line(child)
            if child.tier is not None:
                self._leave_tier(child, child.tier)
            child.key = key
            child.ready = ready
        insort(self.ready if ready else self._others, key)
        if self._tiers:
            tier = self._tiers.get(key[:2])
            if tier is not None:
                tier.put(child)

    def drop(self, name: str) -> None:
        """Remove a child; unknown names are ignored."""
        child = self._children.pop(name, None)
        if child is not None:
            self._leave_line(child)
            if child.tier is not None:
                self._leave_tier(child, child.tier)

    def first(self, scale: Scale) -> str:
        """Return the ready child to serve next, "" if there is none.

        ``scale``: the current units of demands. Implements: QUE-36. Rules: QUE-33.
        """
        ready = self.ready
        if not ready:
            return ""
        key = ready[0]
        if len(ready) > 1:
            second = ready[1]
            if second[1] == key[1] and second[0] == key[0]:
                return self._tier(key[:2], scale).first(self._children)
        return str(key[2])

    def first_among(self, names: Collection[str], scale: Scale) -> str:
        """Return the child of ``names`` that is served first, ready or not; "" if none is listed.

        Rules: QUE-33, QUE-36, CYC-19.
        """
        children = self._children
        ranked = sorted([children[name].key for name in names if name in children])
        if not ranked:
            return ""
        numbers = ranked[0][:2]
        alike = [str(key[2]) for key in ranked if key[:2] == numbers]
        if len(alike) == 1:
            return alike[0]
        return self._tier(numbers, scale).first_of(alike, children)

    def served(self, scale: Scale) -> Iterator[str]:
        """Yield all children, ready or not, in the order of service; do not change them meanwhile.

        Rules: QUE-33, QUE-36.
        """
        ready, others = self.ready, self._others
        at = beside = 0
        while at < len(ready) or beside < len(others):
            first = beside == len(others) or (at < len(ready) and ready[at] < others[beside])
            key = ready[at] if first else others[beside]
            numbers = key[:2]
            if _alike(ready, at + first, numbers) or _alike(others, beside + 1 - first, numbers):
                tier = self._tier(numbers, scale)
                yield from tier.served(self._children)
                at += len(tier.line)
                beside += len(tier.others)
            else:
                yield str(key[2])
                at += first
                beside += not first

    def sort_data(self, name: str) -> SortData | None:
        """Return the sort data of a child, None if it is not in the order."""
        child = self._children.get(name)
        if child is None:
            return None
        pending = trimmed(child.pending) if child.tier is None else child.counted
        return child.key[:2], pending, child.ready

    def names(self) -> list[str]:
        """Return all children, sorted, for checks."""
        return sorted([child.name for child in self._children.values()])

    def misplaced(self) -> list[Numbers]:
        """Return the numbers of tiers whose order does not fit the demands, for checks."""
        found: list[Numbers] = []
        for numbers, tier in self._tiers.items():
            members = self._with(numbers)
            line = sorted([tier.key_of(each) for each in members if each.ready])
            others = sorted([tier.key_of(each) for each in members if not each.ready])
            if tier.line != line or tier.others != others:
                found.append(numbers)
        return found

    def _leave_line(self, child: Child) -> None:
        """Remove a child from the sorted keys; usually it is the first one, which was served."""
        line = self.ready if child.ready else self._others
        key = child.key
        del line[0 if line[0] is key else bisect_left(line, key)]

    def _leave_tier(self, child: Child, tier: Tier) -> None:
        """Remove a child from its tier; delete a tier with a single child."""
        tier.take(child)
        if tier.count() == 1:
            tier.take(self._with(tier.numbers)[0])
        if tier.count() == 0:
            del self._tiers[tier.numbers]

    def _tier(self, numbers: Numbers, scale: Scale) -> Tier:
        """Return the tier of all children with these numbers; create it for a new scale."""
        tier = self._tiers.get(numbers)
        if tier is None or tier.scale is not scale:
            tier = new_tier(numbers, scale)
            self._tiers[numbers] = tier
            for child in self._with(numbers):
                tier.put(child)
        return tier

    def _with(self, numbers: Numbers) -> list[Child]:
        """Return the children with these numbers, the ready ones first."""
        found: list[Child] = []
        for line in (self.ready, self._others):
            for at in range(bisect_left(line, numbers), len(line)):
                if line[at][:2] != numbers:
                    break
                found.append(self._children[str(line[at][2])])
        return found


def _alike(line: list[SortKey], at: int, numbers: Numbers) -> bool:
    """Whether the child at an index of a list of keys has these numbers."""
    return at < len(line) and line[at][:2] == numbers
