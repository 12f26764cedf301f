"""Fit checks and comparisons of resources (chapter 40, sections 6 and 7).

There are several because the callers mean different things by a type that is not there: for a
node it is room of 0, for a limit it is no limit. Which one applies where is RES-34.
None stands for "no resource object" and counts as the empty map unless a function says otherwise.
Implements: RES-34.
"""

from __future__ import annotations

from collections.abc import Iterable

from remuda.base.resources import Resource

# -------------------------------------------------------------------------------------- fitting


def fit_in(larger: Resource | None, smaller: Resource | None) -> bool:
    """Whether smaller fits in larger; a type that larger lacks, or has below 0, is room of 0.

    For what exists: nodes, allocated totals, the root queue's size.
    Implements: RES-29, RES-31, RES-32. Rules: RES-34.
    """
    room = larger or {}
    return all(value <= max(0, room.get(name, 0)) for name, value in (smaller or {}).items())


def fit_in_max_undef(larger: Resource | None, smaller: Resource | None) -> bool:
    """Whether smaller fits in larger; a type that larger lacks is unlimited, below 0 is 0.

    For limits: queue maximum, headroom, user limits. Implements: RES-30. Rules: RES-31, RES-32,
    RES-34.
    """
    limit = larger or {}
    return all(
        value <= max(0, limit[name]) for name, value in (smaller or {}).items() if name in limit
    )


def fit_in_actual(larger: Resource | None, smaller: Resource | None) -> bool:
    """Whether smaller fits in larger, negative amounts taken as they are.

    A type that larger lacks is unlimited. Implements: RES-33.
    """
    limit = larger or {}
    return all(value <= limit[name] for name, value in (smaller or {}).items() if name in limit)


# ------------------------------------------------------------------------------------- equality


def equals(left: Resource | None, right: Resource | None) -> bool:
    """Whether all amounts are equal, a missing type being 0; None equals only None.

    Implements: RES-35.
    """
    if left is None or right is None:
        return left is right
    return all(left.get(name, 0) == right.get(name, 0) for name in _union(left, right))


def equals_or_empty(left: Resource | None, right: Resource | None) -> bool:
    """Whether both are zero (None included) or equal. Rules: RES-35."""
    return (is_zero(left) and is_zero(right)) or equals(left, right)


def deep_equals(left: Resource | None, right: Resource | None) -> bool:
    """Whether both have the same types with the same amounts. Implements: RES-40."""
    if left is None or right is None:
        return left is right
    return dict(left) == dict(right)


def match_any(left: Resource | None, right: Resource | None) -> bool:
    """Whether some type is defined in both, with any amount. Rules: RES-40."""
    if left is None or right is None:
        return False
    return any(name in right for name in left)


# ------------------------------------------------------------------------------------- ordering


def strictly_greater_than(larger: Resource | None, smaller: Resource | None) -> bool:
    """Whether larger is at least smaller in every type of the union, and more in one.

    Implements: RES-36.
    """
    return strictly_greater_than_or_equals(larger, smaller) and not equals(
        larger or {}, smaller or {}
    )


def strictly_greater_than_or_equals(larger: Resource | None, smaller: Resource | None) -> bool:
    """Whether larger is at least smaller in every type of the union. Implements: RES-37."""
    left = larger or {}
    right = smaller or {}
    return all(left.get(name, 0) >= right.get(name, 0) for name in _union(left, right))


def strictly_greater_than_zero(resource: Resource | None) -> bool:
    """Whether some amount is above 0 and none below. Implements: RES-38."""
    values = (resource or {}).values()
    return any(value > 0 for value in values) and not has_negative_value(resource)


def strictly_greater_than_only_existing(larger: Resource | None, smaller: Resource | None) -> bool:
    """Compare the types both have, as published; a type only one side has is not 0.

    This makes it unusable as a test for "still short of resources". Implements: RES-41.
    """
    verdict = _compare_shared(larger or {}, smaller or {})
    if verdict is not None:
        return verdict
    return any(value != (smaller or {}).get(name, value) for name, value in (larger or {}).items())


def strictly_greater_than_or_equals_only_existing(
    larger: Resource | None, smaller: Resource | None
) -> bool:
    """As ``strictly_greater_than_only_existing``, but equal shared types pass. Rules: RES-41."""
    verdict = _compare_shared(larger or {}, smaller or {})
    return True if verdict is None else verdict


def _compare_shared(larger: Resource, smaller: Resource) -> bool | None:
    """Return the verdict of the clauses that both forms of RES-41 share, None if none applies."""
    if any(name in larger and value > larger[name] for name, value in smaller.items()):
        return False
    if larger and not smaller:
        return all(value > 0 for value in larger.values())
    if not match_any(larger, smaller):
        return bool(larger) and bool(smaller)
    return None


# ------------------------------------------------------------------------- properties of a value


def is_zero(resource: Resource | None) -> bool:
    """Whether there is no amount other than 0. Implements: RES-39."""
    return not any((resource or {}).values())


def is_empty(resource: Resource | None) -> bool:
    """Whether there is no type at all; an explicit zero is a type. Rules: RES-39."""
    return not resource


def has_negative_value(resource: Resource | None) -> bool:
    """Whether some amount is below 0. Rules: RES-39."""
    return any(value < 0 for value in (resource or {}).values())


def _union(left: Resource, right: Resource) -> Iterable[str]:
    yield from left
    yield from (name for name in right if name not in left)
