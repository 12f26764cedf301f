"""Children of a parent queue that are equal in priority and share (rules: QUE-35, QUE-36).

They are served by demand: the sum of the parts of the cluster that they want, then the name. That
is a sort key. The comparison of 1.5, type by type, gives no sort key, since one child may want more
of one type and another child more of another type. So a ``ParityTier`` chooses the first child by
name that no other child exceeds. The cost of a choice grows with the square of the number of
different amounts. With many different amounts it therefore uses the sum, which also serves no child
before one that exceeds it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping
from heapq import merge
from typing import Final, TypeAlias, final

from remuda.core.model.queues.demand import Demand, Scale
from remuda.core.model.ranking import SortKey
from remuda.core.model.vectors import Vector, exceeds, trimmed

# A priority and a share, in the order in force; with parity a share is a list, largest first.
Numbers: TypeAlias = SortKey

# In parity mode, at most so many different pending amounts are compared (KV-5).
KINDS_LIMIT: Final = 64

# The demand of a child, and its name.
_Key: TypeAlias = tuple[Demand, str]

_NOWHERE: Final[_Key] = ((0, 0), "")


@final
class Child:
    """A child of the queue: ``key``: its numbers and its name; ``ready``: it may be served.

    ``pending``: the vector of the queue itself; ``counted``: the copy that its tier uses, if it has
    one. ``listed``: its key in the tier; ``apart``: it is among the tier's ``others``.
    """

    __slots__ = ("apart", "counted", "key", "listed", "name", "pending", "ready", "tier")

    def __init__(self, name: str, key: SortKey, pending: Vector, ready: bool) -> None:
        self.name = name
        self.key = key
        self.pending = pending
        self.ready = ready
        self.tier: Tier | None = None
        self.counted: tuple[int, ...] = ()
        self.listed: _Key = _NOWHERE
        self.apart: bool = False


class Tier:
    """Children with equal numbers: ``line``: the ready ones in order; ``others``: the other ones.

    ``Child.listed`` is the key in one of the lists; ``Child.apart``: the list is ``others``.
    """

    __slots__ = ("line", "numbers", "others", "scale")

    def __init__(self, numbers: Numbers, scale: Scale) -> None:
        self.numbers = numbers
        self.scale = scale
        self.line: list[_Key] = []
        self.others: list[_Key] = []

    def count(self) -> int:
        """Return the number of children."""
        return len(self.line) + len(self.others)

    def put(self, child: Child) -> None:
        """Add a child. Cost: O(log n)."""
        child.tier = self
        child.counted = trimmed(child.pending)
        self._list(child)

    def take(self, child: Child) -> None:
        """Remove a child. Cost: O(log n)."""
        child.tier = None
        self._unlist(child)

    def renew(self, child: Child) -> None:
        """Update the pending amounts and readiness of a child. Cost: O(log n)."""
        pending = trimmed(child.pending)
        if pending != child.counted or child.ready == child.apart:
            self._unlist(child)
            child.counted = pending
            self._list(child)

    def first(self, children: Mapping[str, Child]) -> str:
        """Return the ready child that is served next; there must be one. Rules: QUE-35."""
        return self.line[0][1]

    def first_of(self, names: Collection[str], children: Mapping[str, Child]) -> str:
        """Return the child of ``names`` that is served first, ready or not.

        Rules: QUE-35, CYC-19.
        """
        return min([self.key_of(children[name]) for name in names])[1]

    def served(self, children: Mapping[str, Child]) -> Iterator[str]:
        """Return all children, ready or not, in the order of service. Rules: QUE-35."""
        return _names(self.line, self.others)

    def key_of(self, child: Child) -> _Key:
        """Return the sort key of a child in the tier. Rules: QUE-35, QUE-36."""
        return (self.scale.demand(child.counted), child.name)

    def _list(self, child: Child) -> None:
        child.listed = self.key_of(child)
        child.apart = not child.ready
        insort(self.others if child.apart else self.line, child.listed)

    def _unlist(self, child: Child) -> None:
        line = self.others if child.apart else self.line
        key = child.listed
        del line[0 if line[0] is key else bisect_left(line, key)]


@final
class ParityTier(Tier):
    """Children with equal numbers, as 1.5 compared them. Rules: QUE-36 (parity), KV-5.

    ``_names``: all names, sorted. ``_pending``: distinct pending amounts -> their count; ``_sums``:
    the same amounts by falling sum, since only amounts with a larger sum can exceed others.
    ``_served``: the order of service as far as it is computed; ``_served_counts``: pending amounts
    in it -> their count. Both are valid until a child is added, removed or changes its pending
    amounts.
    """

    __slots__ = ("_names", "_pending", "_served", "_served_counts", "_sums")

    def __init__(self, numbers: Numbers, scale: Scale) -> None:
        super().__init__(numbers, scale)
        self._names: list[str] = []
        self._pending: dict[tuple[int, ...], int] = {}
        self._sums: list[tuple[int, tuple[int, ...]]] = []
        self._served: dict[str, None] = {}
        self._served_counts: dict[tuple[int, ...], int] = {}

    def put(self, child: Child) -> None:
        """Add a child."""
        super().put(child)
        insort(self._names, child.name)
        self._count(child.counted)

    def take(self, child: Child) -> None:
        """Remove a child."""
        super().take(child)
        del self._names[bisect_left(self._names, child.name)]
        self._uncount(child.counted)

    def renew(self, child: Child) -> None:
        """Update the pending amounts and readiness of a child."""
        before = child.counted
        super().renew(child)
        if child.counted != before:
            self._uncount(before)
            self._count(child.counted)

    def first(self, children: Mapping[str, Child]) -> str:
        """Return the ready child that is served next; there must be one. Rules: QUE-36, KV-5."""
        if len(self._pending) > KINDS_LIMIT:
            return super().first(children)
        for name in self._served:
            if children[name].ready:
                return name
        while True:
            name = self._serve_next(children)
            if children[name].ready:
                return name

    def first_of(self, names: Collection[str], children: Mapping[str, Child]) -> str:
        """Return the child of ``names`` that is served first, ready or not. Rules: QUE-36, KV-5."""
        if len(self._pending) > KINDS_LIMIT:
            return super().first_of(names, children)
        for name in self._served:
            if name in names:
                return name
        while True:
            name = self._serve_next(children)
            if name in names:
                return name

    def served(self, children: Mapping[str, Child]) -> Iterator[str]:
        """Return all children, ready or not, in the order of service. Rules: QUE-36, KV-5."""
        if len(self._pending) > KINDS_LIMIT:
            return super().served(children)
        while len(self._served) < len(self._names):
            self._serve_next(children)
        return iter(list(self._served))

    def _count(self, pending: tuple[int, ...]) -> None:
        self._forget_order()
        count = self._pending.get(pending, 0)
        self._pending[pending] = count + 1
        if count == 0:
            insort(self._sums, (-sum(pending), pending))

    def _uncount(self, pending: tuple[int, ...]) -> None:
        self._forget_order()
        if self._pending[pending] > 1:
            self._pending[pending] -= 1
        else:
            del self._pending[pending]
            del self._sums[bisect_left(self._sums, (-sum(pending), pending))]

    def _forget_order(self) -> None:
        """Forget the order, so that it is computed again when needed."""
        if self._served:
            self._served = {}
            self._served_counts = {}

    def _serve_next(self, children: Mapping[str, Child]) -> str:
        """Add the next child to the order and return it.

        That is the first by name of the children not in the order that no other of these exceeds.
        """
        for name in self._names:
            pending = children[name].counted
            if name not in self._served and not self._exceeded(pending):
                self._served[name] = None
                self._served_counts[pending] = self._served_counts.get(pending, 0) + 1
                return name
        raise AssertionError("more pending than oneself is no order")

    def _exceeded(self, pending: tuple[int, ...]) -> bool:
        """Whether the pending amounts of a child not in the order exceed these.

        Rules: QUE-35 (parity).
        """
        served = self._served_counts
        total = sum(pending)
        for negative, other in self._sums:
            if -negative <= total:
                return False
            if served.get(other, 0) < self._pending[other] and exceeds(other, pending):
                return True
        return False


def _names(line: list[_Key], others: list[_Key]) -> Iterator[str]:
    """Yield the names of two sorted lists, merged."""
    for key in merge(line, others):
        yield key[1]


def new_tier(numbers: Numbers, scale: Scale) -> Tier:
    """Return a new tier for a scale. Rules: QUE-35, KV-5."""
    return ParityTier(numbers, scale) if scale.parity else Tier(numbers, scale)
