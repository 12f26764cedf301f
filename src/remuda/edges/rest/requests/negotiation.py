"""Finds the form of an answer that a client prefers (REST-57).

Only media ranges and weights of the ``Accept`` header (RFC 9110, section 12.5.1) are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

JSON: Final = ("application/json",)
YAML: Final = ("application/x-yaml", "application/yaml", "text/x-yaml", "text/yaml")

_WEIGHT: Final = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


def prefers_json(accept: str) -> bool:
    """Whether JSON is preferred to YAML; YAML is the default.

    JSON has to be asked for: it needs a higher weight than YAML, or the same one with JSON
    named and YAML covered by a wildcard only.
    """
    ranges = dict(_ranges(accept))
    return _preference(JSON, ranges) > _preference(YAML, ranges)


def _ranges(accept: str) -> Iterable[tuple[str, float]]:
    """Yield media ranges, lower case, with their weights; invalid ones are skipped."""
    for offer in accept.lower().split(","):
        media, *parameters = (part.strip() for part in offer.split(";"))
        weight = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                found = _WEIGHT.fullmatch(value.strip())
                weight = float(found[0]) if found else 0.0
        if "/" in media:
            yield media, weight


def _preference(types: Iterable[str], ranges: dict[str, float]) -> tuple[float, bool]:
    """Return the weight of a form, and whether it is named itself; the most exact range counts."""
    named = [ranges[each] for each in types if each in ranges]
    if named:
        return max(named), max(named) > 0
    wild = [ranges.get(f"{each.partition('/')[0]}/*", ranges.get("*/*", 0.0)) for each in types]
    return max(wild), False
