"""Shares: how much of a whole a user of resources takes (chapter 40, section 9).

Two measures exist. The older one compares sorted lists of shares and takes a type without a
whole at its raw amount, so bytes beat every ratio (RES-50); applications of a leaf queue are
compared by it against one common total, where that does not happen. Queues are compared by the
newer one, a single number (RES-52), unless parity is switched on (KV-5).

All numbers are double precision, as in the reference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from remuda.base.resources import Resource


def share(amount: int, total: int) -> float:
    """Return one type's share; without a total it is the raw amount. Implements: RES-46."""
    if amount == 0:
        return 0.0
    if total == 0:
        return float(amount)
    return float(amount) / float(total)


def shares(used: Resource | None, total: Resource | None) -> list[float]:
    """Return the shares of all used types, ascending. Rules: RES-46."""
    return _shares_of(used or {}, total, used or {})


def _shares_of(used: Resource, total: Resource | None, types: Iterable[str]) -> list[float]:
    whole = total or {}
    return sorted(share(used[name], whole.get(name, 0)) for name in types)


def compare_shares(left: Sequence[float], right: Sequence[float]) -> int:
    """Compare two ascending share lists from their largest end: -1, 0 or 1.

    The rest of the longer list decides by its first share that is not 0. Implements: RES-47.
    """
    for a, b in zip(reversed(left), reversed(right), strict=False):
        if a != b:
            return 1 if a > b else -1
    longer = len(left) - len(right)
    if longer >= 0:
        return _sign_of_rest(left[:longer])
    return -_sign_of_rest(right[:-longer])


def _sign_of_rest(rest: Sequence[float]) -> int:
    for value in reversed(rest):
        if value != 0:
            return 1 if value > 0 else -1
    return 0


def compare_usage_ratio(
    left: Resource | None, right: Resource | None, total: Resource | None
) -> int:
    """Compare two usages against one total: -1, 0 or 1. Implements: RES-48."""
    return compare_shares(shares(left, total), shares(right, total))


def compare_usage_ratio_separately(
    left: Resource | None,
    left_total: Resource | None,
    right: Resource | None,
    right_total: Resource | None,
) -> int:
    """Compare two usages, each against its own total: -1, 0 or 1. Implements: RES-49, RES-50."""
    return compare_shares(shares(left, left_total), shares(right, right_total))


def compare_usage_shares(left: Resource | None, right: Resource | None) -> int:
    """Compare two usages by their raw amounts: -1, 0 or 1. Rules: RES-51."""
    return compare_usage_ratio(left, right, None)


def compare_usage_ratio_specific_types(
    left: Resource | None,
    right: Resource | None,
    total: Resource | None,
    only: Resource | None,
) -> int:
    """Compare as ``compare_usage_ratio`` on the types of ``only``; None means all types.

    Implements: RES-53.
    """
    if only is None:
        return compare_usage_ratio(left, right, total)
    lists = [
        _shares_of(used, total, (name for name in used if name in only))
        for used in (left or {}, right or {})
    ]
    return compare_shares(lists[0], lists[1])


def fairness_ratio(left: Resource | None, right: Resource | None, total: Resource | None) -> float:
    """Return the largest share of left over the largest of right.

    0/0 is 1, anything else over 0 is infinite. Implements: RES-51.
    """
    a = max(shares(left, total), default=0.0)
    b = max(shares(right, total), default=0.0)
    if b == 0:
        return 1.0 if a == 0 else math.copysign(math.inf, a)
    return a / b


def fair_share(
    used: Resource | None, guaranteed: Resource | None, fair_max: Resource | None
) -> float:
    """Return a queue's fair share: the largest of its types' parts of what it is meant to have.

    A type counts against the guaranteed amount, else against the fair maximum, else not at all;
    negative usage does not count. Implements: RES-52. Rules: QUE-38.
    """
    best = 0.0
    for name, amount in (used or {}).items():
        if amount < 0:
            continue
        if guaranteed is not None and name in guaranteed:
            best = max(best, _part(amount, guaranteed[name]))
        elif fair_max is not None and name in fair_max:
            best = max(best, _part(amount, fair_max[name]))
    return best


def _part(amount: int, whole: int) -> float:
    if whole > 0:
        return float(amount) / float(whole)
    return 1.0 if amount > 0 else 0.0


def type_matching(resource: Resource | None, other: Resource | None) -> int:
    """Return how many percent of the resource's types the other has too, rounded down.

    Rules: RES-53.
    """
    if not resource or other is None:
        return 0
    return 100 * sum(1 for name in resource if name in other) // len(resource)
