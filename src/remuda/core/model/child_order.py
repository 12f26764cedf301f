"""The children of a parent queue in the order they are served (rules: QUE-32 to QUE-36).

Children are sorted by two numbers, priority and share, in the configured order. Equal ones are
ranked by pending: the next is the first by name that no other of them has more pending than,
in every type. That relation is no sort key, so children with equal numbers form a *tier* and
the choice is made inside it, among distinct pending amounts only. All children with pending
count, also those that cannot be served now; the order of the others must not depend on them.

Most children have their numbers to themselves most of the time, so a tier is founded only when a
choice has to be made in it, and nobody looks at pending amounts before.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection
from typing import TypeAlias, final

from remuda.core.model.ranking import SortKey
from remuda.core.model.vectors import Vector, exceeds, trimmed

# A priority and a share, in the order in force; with parity a share is a list, largest first.
Numbers: TypeAlias = SortKey

# Where one child stands: its numbers, its pending amounts, and whether it is ready.
Place: TypeAlias = tuple[Numbers, tuple[int, ...], bool]


@final
class _Child:
    """A child of the queue: ``key`` is its numbers and its name, ``ready`` that it may be served.

    ``pending`` is that of the queue itself, ``counted`` what its tier reckons with, if it has one.
    """

    __slots__ = ("counted", "key", "name", "pending", "ready", "tier")

    def __init__(self, name: str, key: SortKey, pending: Vector, ready: bool) -> None:
        self.name = name
        self.key = key
        self.pending = pending
        self.ready = ready
        self.tier: _Tier | None = None
        self.counted: tuple[int, ...] = ()


@final
class _Tier:
    """Children with equal numbers.

    ``names`` are sorted. ``pending`` counts the distinct pending amounts, ``sums`` has them by
    falling sum: only one with a larger sum can exceed. ``served`` is the order of QUE-36 as far as
    it was worked out, ``gone`` counts the pending amounts in it; both hold until a child comes,
    goes or wants something else.
    """

    __slots__ = ("gone", "names", "numbers", "pending", "served", "sums")

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.names: list[str] = []
        self.pending: dict[tuple[int, ...], int] = {}
        self.sums: list[tuple[int, tuple[int, ...]]] = []
        self.served: dict[str, None] = {}
        self.gone: dict[tuple[int, ...], int] = {}

    def put(self, child: _Child) -> None:
        """Add a child."""
        child.tier = self
        insort(self.names, child.name)
        self._count(child)

    def take(self, child: _Child) -> None:
        """Take a child out."""
        child.tier = None
        del self.names[bisect_left(self.names, child.name)]
        self._uncount(child)

    def renew(self, child: _Child) -> None:
        """Reckon with what a child has pending now."""
        if trimmed(child.pending) != child.counted:
            self._uncount(child)
            self._count(child)

    def _count(self, child: _Child) -> None:
        self._forget_order()
        pending = child.counted = trimmed(child.pending)
        count = self.pending.get(pending, 0)
        self.pending[pending] = count + 1
        if count == 0:
            insort(self.sums, (-sum(pending), pending))

    def _uncount(self, child: _Child) -> None:
        self._forget_order()
        pending = child.counted
        if self.pending[pending] > 1:
            self.pending[pending] -= 1
        else:
            del self.pending[pending]
            del self.sums[bisect_left(self.sums, (-sum(pending), pending))]

    def _forget_order(self) -> None:
        """Work the order of QUE-36 out anew when it is needed next."""
        if self.served:
            self.served = {}
            self.gone = {}

    def exceeded(self, pending: tuple[int, ...]) -> bool:
        """Whether a child that is not served has more pending than this. Rules: QUE-35."""
        gone = self.gone
        total = sum(pending)
        for negative, other in self.sums:
            if -negative <= total:
                return False
            if gone.get(other, 0) < self.pending[other] and exceeds(other, pending):
                return True
        return False


@final
class ChildOrder:
    """An incremental order over named children. Cost of a change: O(log n).

    ``ready``: the keys of those that may be served, sorted, ``_others`` likewise. ``_tiers``: those
    founded so far that still have company.
    """

    __slots__ = ("_children", "_others", "_tiers", "ready")

    def __init__(self) -> None:
        self._children: dict[object, _Child] = {}
        self._tiers: dict[Numbers, _Tier] = {}
        self._others: list[SortKey] = []
        self.ready: list[SortKey] = []

    def put(self, name: str, key: SortKey, pending: Vector, ready: bool) -> None:
        """Add a child or move it. ``ready``: it has something that may be placed.

        ``key``: its two numbers and its name. ``pending`` may change until the next call for it.
        """
        child = self._children.get(name)
        if child is None:
            child = _Child(name, key, pending, ready)
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
        """Take a child out; unknown names are fine."""
        child = self._children.pop(name, None)
        if child is not None:
            self._leave_line(child)
            if child.tier is not None:
                self._leave_tier(child, child.tier)

    def first(self) -> str:
        """Return the ready child to serve next, "" when there is none. Rules: QUE-33, QUE-36."""
        ready = self.ready
        if not ready:
            return ""
        key = ready[0]
        child = self._children[key[2]]
        if len(ready) > 1:
            second = ready[1]
            if second[1] == key[1] and second[0] == key[0]:
                return self._choose(child)
        return child.name

    def first_among(self, names: Collection[str]) -> str:
        """Return which of some children is served first, ready or not; "" if none is in the order.

        Rules: QUE-33, QUE-36, CYC-19.
        """
        ranked = sorted([self._children[name].key for name in names if name in self._children])
        if not ranked:
            return ""
        numbers = ranked[0][:2]
        alike = [self._children[key[2]].name for key in ranked if key[:2] == numbers]
        if len(alike) == 1:
            return alike[0]
        tier = self._tiers.get(numbers) or self._found(numbers)
        if len(tier.pending) == 1:
            return alike[0]
        for name in tier.served:
            if name in alike:
                return name
        while True:
            name = self._serve_next(tier)
            if name in alike:
                return name

    def place(self, name: str) -> Place | None:
        """Return where a child stands, None if it is not in the order, for checks."""
        child = self._children.get(name)
        if child is None:
            return None
        pending = trimmed(child.pending) if child.tier is None else child.counted
        return child.key[:2], pending, child.ready

    def names(self) -> list[str]:
        """Return all children, sorted, for checks."""
        return sorted([child.name for child in self._children.values()])

    def _leave_line(self, child: _Child) -> None:
        """Take a child out of the sorted keys; that is the first one mostly, which was served."""
        line = self.ready if child.ready else self._others
        key = child.key
        del line[0 if line[0] is key else bisect_left(line, key)]

    def _leave_tier(self, child: _Child, tier: _Tier) -> None:
        """Take a child out of its tier; whoever is left alone there needs none."""
        tier.take(child)
        if len(tier.names) == 1:
            self._children[tier.names[0]].tier = None
            del self._tiers[tier.numbers]

    def _found(self, numbers: Numbers) -> _Tier:
        """Found the tier of all children with these numbers."""
        tier = _Tier(numbers)
        self._tiers[numbers] = tier
        for line in (self.ready, self._others):
            for at in range(bisect_left(line, numbers), len(line)):
                if line[at][:2] != numbers:
                    break
                tier.put(self._children[line[at][2]])
        return tier

    def _choose(self, child: _Child) -> str:
        """Return the first in the order of QUE-36 of the ready ones with the numbers of a child.

        The child is the first of them by name.
        """
        tier = child.tier or self._found(child.key[:2])
        if len(tier.pending) == 1:
            return child.name
        for name in tier.served:
            if self._children[name].ready:
                return name
        while True:
            name = self._serve_next(tier)
            if self._children[name].ready:
                return name

    def _serve_next(self, tier: _Tier) -> str:
        """Add the next child to the order of a tier and return it."""
        name = self._next(tier)
        pending = self._children[name].counted
        tier.served[name] = None
        tier.gone[pending] = tier.gone.get(pending, 0) + 1
        return name

    def _next(self, tier: _Tier) -> str:
        """Return the first by name, of those not served yet, that no other of them exceeds."""
        for name in tier.names:
            if name not in tier.served and not tier.exceeded(self._children[name].counted):
                return name
        raise AssertionError("more pending than oneself is no order")
