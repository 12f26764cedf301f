"""Resource amounts as integer vectors over interned type names.

The hot path compares and adds amounts millions of times. So queues, applications and nodes keep
their usage in dense lists indexed by type (``Vector``), and asks have short sparse tuples
(``Amounts``). The set of known types is part of a value: a type that was never set differs from a
type set to zero (RES-14, RES-31, RES-32). So a vector has a bit mask beside its list.
``remuda.base.resources`` has the algebra of chapter 40 on sparse maps; tests check that both agree.

Amounts are unbounded Python integers here, so that what was added can always be taken away
exactly; they are cut to 64 bits where they leave the core (RES-25).
Rules: RES-14, RES-31, RES-32, RES-25.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, final

from remuda.base.resources import sat

# More resource types than any cluster has; a request that would exceed it is refused as a whole.
TYPES_LIMIT: Final = 1_024

# How many resources are remembered, so that equal asks share one Amounts.
KNOWN_LIMIT: Final = 4096

# Amounts up to this are far inside of 64 bits, which compiled code sees at once.
_SMALL: Final = 1 << 61


@final
class Amounts:
    """An immutable sparse resource.

    ``pairs``: (type index, amount), sorted by the name of the type. ``need``: the pairs with an
    amount above zero; fit checks need only these. ``types``, ``need_types``: bit masks of the two.
    ``resource``: the same by name, for effects and views; it never changes. ``number``: equal
    numbers mean equal amounts, so it serves as a short key; equal amounts may have different
    numbers.
    """

    __slots__ = ("need", "need_types", "number", "pairs", "resource", "types")

    def __init__(
        self, number: int, pairs: tuple[tuple[int, int], ...], resource: dict[str, int]
    ) -> None:
        self.number = number
        self.pairs = pairs
        self.resource = resource
        self.need: tuple[tuple[int, int], ...] = tuple([p for p in pairs if p[1] > 0])
        self.types: int = _mask(pairs)
        self.need_types: int = _mask(self.need)


def _mask(pairs: tuple[tuple[int, int], ...]) -> int:
    mask = 0
    for index, _ in pairs:
        mask |= 1 << index
    return mask


@final
class Vector:
    """A mutable dense resource: ``amounts`` by type index, ``types`` says which are set."""

    __slots__ = ("amounts", "types")

    def __init__(self) -> None:
        self.amounts: list[int] = []
        self.types: int = 0


@final
class ResourceTypes:
    """The type names seen so far, each with its index. Rules: RES-1.

    ``_by_name``: the names in order with their indexes; it is replaced as a whole, since other
    threads read it.
    """

    __slots__ = ("_by_name", "_indexes", "_known", "_number", "_read", "names")

    def __init__(self) -> None:
        self.names: list[str] = []
        self._indexes: dict[str, int] = {}
        self._by_name: list[tuple[str, int]] = []
        self._known: dict[tuple[tuple[str, int], ...], Amounts] = {}
        self._number: int = 0
        # What the present request brought, by identity, which the entry keeps alive.
        self._read: dict[int, tuple[Mapping[str, int], Amounts]] | None = None

    def known(self, name: str) -> int:
        """Return the index of a type, or -1 if it was never seen."""
        return self._indexes.get(name, -1)

    def room_for(self, names: Iterable[str]) -> bool:
        """Whether all these types are known or could be added without exceeding the limit."""
        new = {name for name in names if name not in self._indexes}
        return len(self.names) + len(new) <= TYPES_LIMIT

    def recall(self, resource: Mapping[str, int]) -> Amounts | None:
        """Return the amounts of a resource if an equal one is remembered, else None."""
        if self._read is not None:
            read = self._read.get(id(resource))
            if read is not None:
                return read[1]
        found = self._known.get(tuple(resource.items()))
        if found is not None:
            self._note_read(resource, found)
        return found

    def amounts(self, resource: Mapping[str, int]) -> Amounts:
        """Return the amounts of a sparse map; add its types to those known.

        Equal maps usually give the same object; the number of remembered maps is bounded.

        Rules: RES-11, RES-13.
        """
        known = self.recall(resource)
        if known is not None:
            return known
        if len(self._known) >= KNOWN_LIMIT:
            self._known.clear()
        names = sorted(resource)
        pairs = tuple([(self._index(name), resource[name]) for name in names])
        self._number += 1
        found = Amounts(self._number, pairs, {name: resource[name] for name in names})
        self._known[tuple(resource.items())] = found
        self._note_read(resource, found)
        return found

    def begin(self) -> None:
        """Begin a request: forget the mappings that were read, since they may have changed.

        Within one request a mapping does not change, and most asks share some.
        Rules: RES-13.
        """
        self._read = None

    def _note_read(self, resource: Mapping[str, int], amounts: Amounts) -> None:
        if self._read is None or len(self._read) >= KNOWN_LIMIT:
            self._read = {}
        self._read[id(resource)] = (resource, amounts)

    def resource(self, vector: Vector) -> dict[str, int]:
        """Return a vector by name, sorted, each amount cut to 64 bits. Rules: RES-11, RES-25."""
        return self.named(vector.amounts, vector.types)

    def named(self, amounts: list[int], types: int) -> dict[str, int]:
        """Return the parts of a vector by name, as ``resource`` does.

        Any thread. Rules: RES-11, RES-25.
        """
        found: dict[str, int] = {}
        for name, index in self._by_name:
            if types >> index & 1:
                amount = amounts[index]
                found[name] = amount if -_SMALL < amount < _SMALL else sat(amount)
        return found

    def _index(self, name: str) -> int:
        index = self._indexes.get(name, -1)
        if index < 0:
            index = len(self.names)
            self.names.append(name)
            self._indexes[name] = index
            self._by_name = sorted(self._indexes.items())
        return index


def define(vector: Vector, types: int) -> None:
    """Set the types of a mask to zero where the vector does not have them yet."""
    vector.types |= types
    missing = types.bit_length() - len(vector.amounts)
    if missing > 0:
        vector.amounts.extend([0] * missing)


def add(vector: Vector, amounts: Amounts) -> None:
    """Add in place; types the vector lacked appear. Rules: RES-18."""
    if amounts.types & ~vector.types:
        define(vector, amounts.types)
    values = vector.amounts
    for index, amount in amounts.pairs:
        values[index] = values[index] + amount


def subtract(vector: Vector, amounts: Amounts) -> None:
    """Subtract in place; types the vector lacked appear. Rules: RES-19."""
    if amounts.types & ~vector.types:
        define(vector, amounts.types)
    values = vector.amounts
    for index, amount in amounts.pairs:
        values[index] = values[index] - amount


def move(source: Vector, target: Vector, amounts: Amounts) -> None:
    """Take amounts from one vector and add them to another, in place."""
    types = amounts.types
    if types & ~target.types or types & ~source.types:
        define(source, types)
        define(target, types)
    left = source.amounts
    right = target.amounts
    for index, amount in amounts.pairs:
        left[index] = left[index] - amount
        right[index] = right[index] + amount


def add_times(vector: Vector, amounts: Amounts, times: int) -> None:
    """Add ``times`` (which may be negative) copies of amounts in place."""
    if amounts.types & ~vector.types:
        define(vector, amounts.types)
    values = vector.amounts
    for index, amount in amounts.pairs:
        values[index] = values[index] + amount * times


def add_vector(vector: Vector, other: Vector) -> None:
    """Add another vector in place; types the vector lacked appear. Rules: RES-18."""
    define(vector, other.types)
    for index, amount in enumerate(other.amounts):
        if amount:
            vector.amounts[index] += amount


def subtract_vector(vector: Vector, other: Vector) -> None:
    """Subtract another vector in place; types the vector lacked appear. Rules: RES-19."""
    define(vector, other.types)
    for index, amount in enumerate(other.amounts):
        if amount:
            vector.amounts[index] -= amount


def fits(free: Vector, amounts: Amounts) -> bool:
    """Whether amounts fit into ``free``; a missing type counts as 0. Rules: RES-29."""
    if amounts.need_types & ~free.types:
        return False
    values = free.amounts
    for index, amount in amounts.need:
        if values[index] < amount:
            return False
    return True


def covers(have: Vector, amounts: Amounts) -> bool:
    """Whether ``have`` is at least ``amounts`` in each type of ``amounts``. Rules: GANG-5."""
    for index, amount in amounts.pairs:
        if amount_at(have, index) < amount:
            return False
    return True


def smaller(left: Amounts, right: Amounts) -> bool:
    """Whether the left amounts are below the right ones in at least one type. Rules: GANG-15."""
    if left is right:
        return False
    have = dict(left.pairs)
    for index, amount in right.pairs:
        if have.get(index, 0) < amount:
            return True
    return False


def fit_within(total: Amounts, amounts: Amounts) -> bool:
    """Whether amounts fit into a total; a missing type counts as 0. Rules: RES-29, NOD-9."""
    if amounts.need_types & ~total.types:
        return False
    have = dict(total.pairs)
    for index, amount in amounts.need:
        if have[index] < amount:
            return False
    return True


def shortage(free: Vector, amounts: Amounts) -> float:
    """Return how much of amounts is missing in ``free``, as a score.

    0: all amounts fit; each missing type adds at most 1. Types are added in the order of their
    names.

    Implements: RES-54. Rules: RSV-4 (Ours).
    """
    score = 0.0
    for index, amount in amounts.need:
        have = amount_at(free, index)
        if have <= 0:
            score += 1.0
        elif have < amount:
            score += (amount - have) / amount
    return score


def fits_limit(limit: Vector, used: Vector, amounts: Amounts) -> bool:
    """Whether used + amounts stay within a limit, on the types of amounts.

    A type the limit does not name is unlimited. Rules: RES-30, QUE-8 [>=1.6].
    """
    types = limit.types
    values = limit.amounts
    taken = used.amounts
    known = len(taken)
    for index, amount in amounts.need:
        if types >> index & 1:
            most = values[index]
            if amount > (most - taken[index] if index < known else most):
                return False
    return True


def amount_at(vector: Vector, index: int) -> int:
    """Return the amount of a type, 0 if the vector does not have it."""
    return vector.amounts[index] if index < len(vector.amounts) else 0


def vector_of(amounts: Amounts) -> Vector:
    """Return a fresh vector with the same value."""
    vector = Vector()
    add(vector, amounts)
    return vector


def copy(vector: Vector) -> Vector:
    """Return an independent copy. Rules: RES-13."""
    twin = Vector()
    twin.amounts = vector.amounts[:]
    twin.types = vector.types
    return twin


def equal(left: Vector, right: Vector) -> bool:
    """Whether two vectors hold equal amounts, a missing type being 0. Rules: RES-35."""
    return left.amounts == right.amounts or trimmed(left) == trimmed(right)


def trimmed(vector: Vector) -> tuple[int, ...]:
    """Return the amounts without trailing zeros: equal vectors give equal tuples."""
    values = vector.amounts
    end = len(values)
    while end and values[end - 1] == 0:
        end -= 1
    return tuple(values[:end])


def value_of(vector: Vector | None) -> tuple[int, tuple[int, ...]] | None:
    """Return a value that is equal for equal limits: a type at zero is not a missing type.

    Rules: RES-31, RES-32, EVT-74.
    """
    return None if vector is None else (vector.types, trimmed(vector))


def same_limit(left: Vector | None, right: Vector | None) -> bool:
    """Whether two limits are equal by ``value_of``. Rules: RES-31, RES-32, EVT-74."""
    if left is right:
        return True
    if left is None or right is None or left.types != right.types:
        return False
    if len(left.amounts) == len(right.amounts):
        return left.amounts == right.amounts
    return trimmed(left) == trimmed(right)


def exceeds(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """Whether left is at least right in every type and more in one. Rules: RES-36, QUE-35.

    Both are results of ``trimmed``; no amount is negative.
    """
    if len(left) < len(right) or left == right:
        return False
    for index, amount in enumerate(right):
        if left[index] < amount:
            return False
    return True


def positive(vector: Vector) -> bool:
    """Whether one amount is above zero and none below. Rules: RES-38."""
    some = False
    for amount in vector.amounts:
        if amount < 0:
            return False
        if amount > 0:
            some = True
    return some
