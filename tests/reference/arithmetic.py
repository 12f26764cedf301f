"""Resource arithmetic of the reference model, on plain dicts, one rule a function.

Written from chapter 40 alone and sharing nothing with the scheduler, so that an error in either
shows as a difference. A missing type counts as nothing (RES-14); None is "no such limit".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Amounts = Mapping[str, int]
Limit = Mapping[str, int] | None


def add(left: Amounts, right: Amounts) -> dict[str, int]:
    """The union of both, summed. Rules: RES-16."""
    return {t: left.get(t, 0) + right.get(t, 0) for t in sorted({*left, *right})}


def subtract(left: Amounts, right: Amounts) -> dict[str, int]:
    """The union of both, right taken from left. Rules: RES-17."""
    return {t: left.get(t, 0) - right.get(t, 0) for t in sorted({*left, *right})}


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    """The sum of any number of resources."""
    result: dict[str, int] = {}
    for part in parts:
        for type_name, amount in part.items():
            result[type_name] = result.get(type_name, 0) + amount
    return dict(sorted(result.items()))


def times(amounts: Amounts, count: int) -> dict[str, int]:
    """One resource several times. Rules: RES-27."""
    return {t: v * count for t, v in amounts.items()} if count else {}


def fits(limit: Amounts, wanted: Amounts) -> bool:
    """Whether wanted fits, a type without limit counting as 0. Rules: RES-29."""
    return all(v <= max(0, limit.get(t, 0)) for t, v in wanted.items())


def fits_where_limited(limit: Limit, wanted: Amounts) -> bool:
    """Whether wanted fits, a type without limit being unlimited. Rules: RES-30, RES-31."""
    if limit is None:
        return True
    return all(v <= max(0, limit[t]) for t, v in wanted.items() if t in limit)


def equal(left: Amounts, right: Amounts) -> bool:
    """Whether both are the same, a missing type equal to 0. Rules: RES-35."""
    return not any(subtract(left, right).values())


def exceeds(left: Amounts, right: Amounts) -> bool:
    """Nowhere smaller and somewhere larger. Rules: RES-36."""
    differences = subtract(left, right).values()
    return all(d >= 0 for d in differences) and any(differences)


def positive(amounts: Amounts) -> bool:
    """Something above zero and nothing below. Rules: RES-38."""
    return any(v > 0 for v in amounts.values()) and all(v >= 0 for v in amounts.values())


def smaller_of_each(left: Limit, right: Limit) -> Limit:
    """Per type the smaller limit; a limit on one side only stays. Rules: RES-43."""
    if left is None or right is None:
        return right if left is None else left
    both = sorted({*left, *right})
    return {t: min(side[t] for side in (left, right) if t in side) for t in both}


def shares(used: Amounts, of: Limit) -> list[float]:
    """The shares of every used type, largest first. Rules: RES-46."""

    def share(type_name: str, amount: int) -> float:
        whole = of.get(type_name, 0) if of is not None else 0
        return amount / whole if whole else float(amount)

    return sorted((share(t, v) for t, v in used.items()), reverse=True)


def compare_usage(left: Amounts, right: Amounts, of: Limit) -> int:
    """-1, 0 or 1: who uses more of the same total. Rules: RES-47, RES-48."""
    mine, theirs = shares(left, of), shares(right, of)
    for a, b in zip(mine, theirs, strict=False):
        if a != b:
            return 1 if a > b else -1
    common = min(len(mine), len(theirs))
    for rest, side in ((mine[common:], 1), (theirs[common:], -1)):
        for value in rest:
            if value:
                return side if value > 0 else -side
    return 0


def usage_key(of: Limit) -> Callable[[Amounts], Any]:
    """A sort key for amounts used of one total."""

    def compare(left: Amounts, right: Amounts) -> int:
        return compare_usage(left, right, of)

    return functools.cmp_to_key(compare)


def fair_share(used: Amounts, guaranteed: Limit, fair_max: Limit) -> float:
    """The largest share of any used type, 0 if there is none. Rules: RES-52."""
    largest = 0.0
    for type_name, amount in used.items():
        if amount < 0:
            continue
        for whole in (guaranteed, fair_max):
            if whole is not None and type_name in whole:
                if whole[type_name] > 0:
                    largest = max(largest, amount / whole[type_name])
                else:
                    largest = max(largest, 1.0 if amount > 0 else 0.0)
                break
    return largest
