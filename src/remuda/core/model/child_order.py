"""The children of a parent queue in the order they are served (rules: QUE-32 to QUE-36).

Children are sorted by two numbers, priority and share, in the configured order. Equal ones are
ranked by pending: the next is the first by name that no other of them has more pending than,
in every type. That relation is no sort key, so children with equal numbers share a *tier* and
the choice is made inside it, among distinct pending amounts only. All children with pending
count, also those that cannot be served now; the order of the others must not depend on them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TypeAlias, final

from remuda.core.model.ranking import Ranking
from remuda.core.model.vectors import exceeds

Numbers: TypeAlias = tuple[float, float]

# Where one child stands: its numbers, its pending amounts, and whether it is ready.
Place: TypeAlias = tuple[Numbers, tuple[int, ...], bool]


@final
class _Tier:
    """Children with equal numbers: their names by pending, and how many are ready."""

    __slots__ = ("names", "number", "ready")

    def __init__(self, number: int) -> None:
        self.number = number
        self.ready: int = 0
        self.names: dict[tuple[int, ...], list[str]] = {}


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
            self._take(name, old)
        self._places[name] = place
        tier = self._tiers.get(numbers)
        if tier is None:
            self._count += 1
            tier = _Tier(self._count)
            self._tiers[numbers] = tier
            self._by_number[tier.number] = numbers
        names = tier.names.get(pending)
        if names is None:
            tier.names[pending] = [name]
        else:
            insort(names, name)
        if ready:
            tier.ready += 1
            if tier.ready == 1:
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

    def place(self, name: str) -> Place | None:
        """Return where a child stands, None if it is not in the order, for checks."""
        return self._places.get(name)

    def names(self) -> list[str]:
        """Return all children, sorted, for checks."""
        return sorted(self._places)

    def _take(self, name: str, place: Place) -> None:
        numbers, pending, ready = place
        tier = self._tiers[numbers]
        names = tier.names[pending]
        if len(names) > 1:
            del names[bisect_left(names, name)]
        else:
            del tier.names[pending]
        if ready:
            tier.ready -= 1
            if tier.ready == 0:
                self._ready.drop(tier.number)
        if not tier.names:
            del self._tiers[numbers]
            del self._by_number[tier.number]

    def _choose(self, tier: _Tier) -> str:
        """Return the first ready child of a tier in the order of QUE-36."""
        if len(tier.names) == 1:
            for names in tier.names.values():
                for name in names:
                    if self._places[name][2]:
                        return name
        heads = {pending: names[0] for pending, names in tier.names.items()}
        used = dict.fromkeys(heads, 1)
        while True:
            chosen = _next(heads)
            name = heads[chosen]
            if self._places[name][2]:
                return name
            names = tier.names[chosen]
            if used[chosen] < len(names):
                heads[chosen] = names[used[chosen]]
                used[chosen] += 1
            else:
                del heads[chosen]


def _next(heads: dict[tuple[int, ...], str]) -> tuple[int, ...]:
    """Return the pending whose head comes next: the first by name that no other exceeds."""
    best = ""
    chosen: tuple[int, ...] = ()
    for pending, name in heads.items():
        if (not best or name < best) and not _exceeded(pending, heads):
            best = name
            chosen = pending
    return chosen


def _exceeded(pending: tuple[int, ...], heads: dict[tuple[int, ...], str]) -> bool:
    for other in heads:
        if exceeds(other, pending):
            return True
    return False
