"""Refusals: why a request of a resource manager is refused, and by which rule."""

from __future__ import annotations

from typing import Final, NamedTuple


class Refusal(NamedTuple):
    """The reason that the RM is told, and the rule behind it; both empty: not refused."""

    reason: str
    rule: str


NO_REFUSAL: Final = Refusal("", "")
