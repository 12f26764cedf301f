"""Resources as sparse maps, and the exact 64-bit arithmetic on them (chapter 40).

A resource maps a type name to a whole number of base units: milli-cores for ``vcore``, bytes for
``memory``, whatever the resource manager counts for anything else. No list of types exists, any
name is legal, and no name is an alias of another (RES-4). None is "no resource
object" and differs from the empty map in some operations; each function says how.

Resources are values: no function changes its arguments, and what the reference does in place
returns a new map here. Python integers do not overflow, so every result passes through ``sat``,
the one place that knows the 64-bit bounds.

Comparisons live in ``fits``, shares in ``shares``, scores in ``scores``, texts in ``quantity``
and ``resource_text``.
Implements: RES-1, RES-2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

Resource: TypeAlias = Mapping[str, int]

MAX: Final = 2**63 - 1
MIN: Final = -(2**63)


def sat(value: int) -> int:
    """Clamp an exact integer into the signed 64-bit range. Implements: RES-25."""
    return MAX if value > MAX else max(value, MIN)


def clone(resource: Resource | None) -> dict[str, int] | None:
    """Copy all types, zeros included; None stays None. Implements: RES-13."""
    return None if resource is None else dict(resource)


def prune(resource: Resource | None) -> dict[str, int] | None:
    """Return the resource without its zero valued types. Implements: RES-15."""
    if resource is None:
        return None
    return {name: value for name, value in resource.items() if value != 0}


# ------------------------------------------------------------------- addition and subtraction


def add(left: Resource | None, right: Resource | None) -> dict[str, int]:
    """Return left + right over the union of their types.

    Implements: RES-14, RES-16. Rules: RES-25.
    """
    result = dict(left or {})
    for name, value in (right or {}).items():
        result[name] = sat(result.get(name, 0) + value)
    return result


def subtract(left: Resource | None, right: Resource | None) -> dict[str, int]:
    """Return left - right; a type only in right becomes negative. Implements: RES-17, RES-26."""
    result = dict(left or {})
    for name, value in (right or {}).items():
        result[name] = sat(result.get(name, 0) - value)
    return result


def add_to(base: Resource | None, delta: Resource | None) -> dict[str, int] | None:
    """Return what an existing holder becomes when delta is added.

    Without a holder (None) there is nothing to add to, so None stays None. Implements: RES-18.
    """
    return None if base is None else add(base, delta)


def subtract_from(base: Resource | None, delta: Resource | None) -> dict[str, int] | None:
    """Return what an existing holder becomes when delta is taken; as ``add_to``.

    Implements: RES-19.
    """
    return None if base is None else subtract(base, delta)


def add_only_existing(base: Resource | None, delta: Resource | None) -> dict[str, int] | None:
    """Add for the types base has, ignore all others; None stays None. Implements: RES-24."""
    if base is None:
        return None
    other = delta or {}
    return {name: sat(value + other.get(name, 0)) for name, value in base.items()}


def subtract_only_existing(base: Resource | None, delta: Resource | None) -> dict[str, int] | None:
    """Subtract for the types base has, ignore all others; None stays None.

    Results may be negative. Implements: RES-20. Rules: RES-24.
    """
    if base is None:
        return None
    other = delta or {}
    return {name: sat(value - other.get(name, 0)) for name, value in base.items()}


def subtract_eliminate_negative(left: Resource | None, right: Resource | None) -> dict[str, int]:
    """Subtract; what falls below zero becomes zero, for the types of right only.

    A negative amount that left already has for a type not in right stays. Implements: RES-21.
    Rules: RES-23.
    """
    return subtract_error_negative(left, right)[0]


def subtract_error_negative(
    left: Resource | None, right: Resource | None
) -> tuple[dict[str, int], str]:
    """Subtract as ``subtract_eliminate_negative`` and say what fell below zero.

    Returns the difference and an error text that names the types, sorted; "" if there is none.
    Implements: RES-22, RES-23.
    """
    result = subtract(left, right)
    below = sorted(name for name in right or {} if result[name] < 0)
    for name in below:
        result[name] = 0
    error = f"resource quantity less than zero for: {', '.join(below)}" if below else ""
    return result, error


# ------------------------------------------------------------------------------ multiplication


def multiply(resource: Resource | None, factor: int) -> dict[str, int]:
    """Return resource x factor; None or factor 0 gives no types at all. Implements: RES-27."""
    if resource is None or factor == 0:
        return {}
    return {name: sat(value * factor) for name, value in resource.items()}


def multiply_by(resource: Resource | None, ratio: float) -> dict[str, int]:
    """Return resource x ratio in double precision, truncated toward zero and saturated.

    None or ratio 0 gives no types at all. A product that is not a number counts as 0.
    Implements: RES-28.
    """
    if resource is None or ratio == 0:
        return {}
    return {name: _truncate(value * ratio) for name, value in resource.items()}


def multiply_to(resource: Resource | None, ratio: float) -> dict[str, int] | None:
    """Scale what a holder has: as ``multiply_by``, but ratio 0 keeps the types at 0.

    Without a holder (None) there is nothing to scale, so None stays None. Rules: RES-28.
    """
    if resource is None:
        return None
    return {name: _truncate(value * ratio) for name, value in resource.items()}


def _truncate(product: float) -> int:
    """Turn a double into a 64-bit integer; infinities saturate, not-a-number is 0."""
    if math.isnan(product):
        return 0
    if math.isinf(product):
        return MAX if product > 0 else MIN
    return sat(math.trunc(product))


# ------------------------------------------------------------------- component-wise min and max


def component_wise_min_zeroing(left: Resource | None, right: Resource | None) -> dict[str, int]:
    """Return the minimum over the union, a missing type counting as 0.

    None on either side gives the empty resource. Implements: RES-42.
    """
    return _over_union(left, right, min)


def component_wise_max(left: Resource | None, right: Resource | None) -> dict[str, int]:
    """Return the maximum over the union, a missing type counting as 0.

    None on either side gives the empty resource. Implements: RES-44.
    """
    return _over_union(left, right, max)


def component_wise_min(left: Resource | None, right: Resource | None) -> dict[str, int] | None:
    """Return the minimum; a type defined on one side only keeps that side's value.

    One None gives a copy of the other side, two give None. This is the operation that the
    reference first called ComponentWiseMinPermissive. Implements: RES-43. Rules: RES-45.
    """
    if left is None or right is None:
        return clone(right if left is None else left)
    result = dict(left)
    for name, value in right.items():
        result[name] = min(value, result.get(name, value))
    return result


def component_wise_min_only_existing(
    left: Resource | None, right: Resource | None
) -> dict[str, int] | None:
    """Return the types of left only, at their minimum where right has them too. Rules: RES-45."""
    if left is None:
        return None
    other = right or {}
    return {name: min(value, other.get(name, value)) for name, value in left.items()}


def merge_if_not_present(left: Resource | None, right: Resource | None) -> dict[str, int] | None:
    """Return left plus the types of right that left lacks. Implements: RES-45."""
    if left is None or right is None:
        return clone(right if left is None else left)
    return {**right, **left}


def _over_union(
    left: Resource | None, right: Resource | None, choose: Callable[[int, int], int]
) -> dict[str, int]:
    if left is None or right is None:
        return {}
    result = {name: choose(value, right.get(name, 0)) for name, value in left.items()}
    for name, value in right.items():
        if name not in left:
            result[name] = choose(value, 0)
    return result
