"""The children of a parent queue in the order they are served (rules: QUE-32 to QUE-36).

Children are sorted by two numbers, priority and share, in the configured order. Equal ones are
ranked by pending: the next is the first by name that no other of them has more pending than,
in every type. That relation is no sort key, so children with equal numbers share a *tier* and
the choice is made inside it, among distinct pending amounts only. All children with pending
count, also those that cannot be served now; the order of the others must not depend on them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection
from typing import TypeAlias, final

from remuda.core.model.ranking import Ranking
from remuda.core.model.vectors import exceeds

# A priority and a share, in the order in force; with parity a share is a list, largest first.
Numbers: TypeAlias = tuple[float | tuple[float, ...], float | tuple[float, ...]]

# Where one child stands: its numbers, its pending amounts, and whether it is ready.
Place: TypeAlias = tuple[Numbers, tuple[int, ...], bool]


@final
class _Tier:
    """Children with equal numbers.

    ``names`` and ``ready`` (those that may be served) are sorted. ``pending`` counts the distinct
    pending amounts, ``sums`` has them by falling sum: only one with a larger sum can exceed.
    ``served`` is the order of QUE-36 as far as it was worked out, ``gone`` counts the pending
    amounts in it; both hold until a child comes, goes or wants something else.
    """

    __slots__ = ("gone", "names", "number", "pending", "ready", "served", "sums")

    def __init__(self, number: int) -> None:
        self.number = number
        self.names: list[str] = []
        self.ready: list[str] = []
        self.pending: dict[tuple[int, ...], int] = {}
        self.sums: list[tuple[int, tuple[int, ...]]] = []
        self.served: dict[str, None] = {}
        self.gone: dict[tuple[int, ...], int] = {}

    def put(self, name: str, pending: tuple[int, ...], ready: bool) -> None:
        """Add a child."""
        self.forget_order()
        insort(self.names, name)
        if ready:
            insort(self.ready, name)
        count = self.pending.get(pending, 0)
        self.pending[pending] = count + 1
        if count == 0:
            insort(self.sums, (-sum(pending), pending))

    def take(self, name: str, pending: tuple[int, ...], ready: bool) -> None:
        """Take a child out."""
        self.forget_order()
        del self.names[bisect_left(self.names, name)]
        if ready:
            del self.ready[bisect_left(self.ready, name)]
        if self.pending[pending] > 1:
            self.pending[pending] -= 1
        else:
            del self.pending[pending]
            del self.sums[bisect_left(self.sums, (-sum(pending), pending))]

    def forget_order(self) -> None:
        """Work the order of QUE-36 out anew when it is needed next."""
        if self.served:
            self.served = {}
            self.gone = {}

    def set_ready(self, name: str, ready: bool) -> None:
        """Note that a child may be served now, or no more; the order stays."""
        if ready:
            insort(self.ready, name)
        else:
            del self.ready[bisect_left(self.ready, name)]

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
    """An incremental order over named children. Cost of a change: O(log n)."""

    __slots__ = ("_by_number", "_count", "_places", "_ready", "_tiers")

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._tiers: dict[Numbers, _Tier] = {}
        self._by_number: dict[int, Numbers] = {}
        self._ready = Ranking()
        self._count = 0

    def put(self, name: str, numbers: Numbers, pending: tuple[int, ...], ready: bool) -> None:
        """Add a child or move it. ``ready``: it has something that may be placed."""
        place: Place = (numbers, pending, ready)
        old = self._places.get(name)
        if old is not None:
            if old == place:
                return
            if old[:2] == place[:2]:
                self._set_ready(name, place)
                return
            if self._moved_alone(old, name, place):
                return
            self._take(name, old)
        self._places[name] = place
        tier = self._tiers.get(numbers)
        if tier is None:
            self._count += 1
            tier = _Tier(self._count)
            self._tiers[numbers] = tier
            self._by_number[tier.number] = numbers
        tier.put(name, pending, ready)
        if ready and len(tier.ready) == 1:
            self._ready.put(tier.number, numbers)

    def drop(self, name: str) -> None:
        """Take a child out; unknown names are fine."""
        place = self._places.pop(name, None)
        if place is not None:
            self._take(name, place)

    def has_ready(self) -> bool:
        """Whether first would find a child."""
        return bool(self._ready.keys)

    def first(self) -> str:
        """Return the ready child to serve next, "" when there is none. Rules: QUE-33, QUE-36."""
        number = self._ready.first()
        if number < 0:
            return ""
        return self._choose(self._tiers[self._by_number[number]])

    def first_among(self, names: Collection[str]) -> str:
        """Return which of some children is served first, ready or not; "" if none is in the order.

        Rules: QUE-33, QUE-36, CYC-19.
        """
        ranked = sorted([(self._places[name][0], name) for name in names if name in self._places])
        if not ranked:
            return ""
        numbers = ranked[0][0]
        alike = [name for other, name in ranked if other == numbers]
        tier = self._tiers[numbers]
        if len(alike) == 1 or len(tier.pending) == 1:
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
        return self._places.get(name)

    def names(self) -> list[str]:
        """Return all children, sorted, for checks."""
        return sorted(self._places)

    def _set_ready(self, name: str, place: Place) -> None:
        numbers, _, ready = place
        self._places[name] = place
        tier = self._tiers[numbers]
        tier.set_ready(name, ready)
        if ready and len(tier.ready) == 1:
            self._ready.put(tier.number, numbers)
        elif not tier.ready:
            self._ready.drop(tier.number)

    def _moved_alone(self, old: Place, name: str, place: Place) -> bool:
        """Move a child that has a tier to itself, tier and all, if nobody is where it goes.

        The usual case, and half the price of leaving one tier and founding another.
        """
        tier = self._tiers[old[0]]
        numbers, pending, ready = place
        if len(tier.names) > 1 or (numbers != old[0] and numbers in self._tiers):
            return False
        self._places[name] = place
        del self._tiers[old[0]]
        self._tiers[numbers] = tier
        self._by_number[tier.number] = numbers
        tier.forget_order()
        if pending != old[1]:
            tier.pending = {pending: 1}
            tier.sums = [(-sum(pending), pending)]
        tier.ready = [name] if ready else []
        if ready:
            self._ready.put(tier.number, numbers)
        elif old[2]:
            self._ready.drop(tier.number)
        return True

    def _take(self, name: str, place: Place) -> None:
        numbers, pending, ready = place
        tier = self._tiers[numbers]
        tier.take(name, pending, ready)
        if ready and not tier.ready:
            self._ready.drop(tier.number)
        if not tier.names:
            del self._tiers[numbers]
            del self._by_number[tier.number]

    def _choose(self, tier: _Tier) -> str:
        """Return the first ready child of a tier in the order of QUE-36."""
        if len(tier.ready) == 1 or len(tier.pending) == 1:
            return tier.ready[0]
        for name in tier.served:
            if self._places[name][2]:
                return name
        while True:
            name = self._serve_next(tier)
            if self._places[name][2]:
                return name

    def _serve_next(self, tier: _Tier) -> str:
        """Add the next child to the order of a tier and return it."""
        name = self._next(tier)
        pending = self._places[name][1]
        tier.served[name] = None
        tier.gone[pending] = tier.gone.get(pending, 0) + 1
        return name

    def _next(self, tier: _Tier) -> str:
        """Return the first by name, of those not served yet, that no other of them exceeds."""
        for name in tier.names:
            if name not in tier.served and not tier.exceeded(self._places[name][1]):
                return name
        raise AssertionError("more pending than oneself is no order")
