"""Percentages of resources, and the type used most (chapter 40, section 10).

Clients compare some of these numbers with the reference's, so the order of the floating-point
operations is part of the rule, and sums run over the types by name.
"""

from __future__ import annotations

import math
from typing import Final

from remuda.base.resources import Resource

PERCENT_MAX: Final = 2**31 - 1


def abs_used_capacity(capacity: Resource | None, used: Resource | None) -> dict[str, int]:
    """Return the used percentage of each type that both sides have, sorted by name.

    Division comes first, so 29 of 100 is 28. Implements: RES-55.
    """
    if capacity is None or used is None:
        return {}
    return {
        name: percentage(used[name], capacity[name]) for name in sorted(capacity) if name in used
    }


def percentage(used: int, capacity: int) -> int:
    """Return what part of the capacity is used, in whole percent, cut off. Rules: RES-55."""
    if used <= 0:
        return 0
    if capacity <= 0:
        return 100
    return min(PERCENT_MAX, math.trunc((float(used) / float(capacity)) * 100.0))


def dominant_resource_type(used: Resource | None, capacity: Resource | None) -> str:
    """Return the type with the largest used part of the capacity, "" if there is none.

    Equal parts go to the name that sorts first; negative parts never win. Implements: RES-56.
    """
    if used is None or capacity is None:
        return ""
    dominant = ""
    highest = 0.0
    for name in sorted(used):
        if name not in capacity:
            continue
        part = _part(used[name], capacity[name])
        if part > highest or (part == 0 and not dominant):
            dominant, highest = name, part
    return dominant


def _part(used: int, capacity: int) -> float:
    if capacity == 0:
        return 1.0 if used != 0 else 0.0
    return float(used) / float(capacity)
