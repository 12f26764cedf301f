"""Whom a placement rule is for (rules: PLC-44 to PLC-52)."""

from __future__ import annotations

from collections.abc import Sequence

from remuda.core.model.placement_rule import Filter


def lets_pass(filter_: Filter | None, user: str, groups: Sequence[str]) -> bool:
    """Whether a rule is for this user: the user is tested first, then each group in order.

    Without names the type decides alone. Rules: PLC-21, PLC-44, PLC-45, PLC-46, PLC-49.
    """
    if filter_ is None:
        return True
    if filter_.users is None and filter_.groups is None:
        return not filter_.deny
    return _hits(filter_, user, groups) != filter_.deny


def _hits(filter_: Filter, user: str, groups: Sequence[str]) -> bool:
    if filter_.users is not None and filter_.users.hits(user):
        return True
    if filter_.groups is None:
        return False
    for group in groups:
        if filter_.groups.hits(group):
            return True
    return False
