"""The JSON shapes of the placement rules in force (REST-95, PLC-16)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from remuda.config.schema import (
    RECOVERY_QUEUE,
    ROOT,
    RULE_FIXED,
    RULE_RECOVERY,
    RULE_TAG,
    FilterConfig,
    PlacementRuleConfig,
)
from remuda.edges.questions.shapes import Shape


class PlacementFilter(Shape, kw_only=True):
    """The users and the groups that a rule is for, each as names or as one expression."""

    type: str
    user_list: list[str] = msgspec.field(default_factory=list)
    group_list: list[str] = msgspec.field(default_factory=list)
    user_exp: str = ""
    group_exp: str = ""


class PlacementRule(Shape, kw_only=True):
    """One rule; the values of ``parameters`` are texts, ``true`` and ``false`` too."""

    name: str
    parameters: dict[str, str] = msgspec.field(default_factory=dict)
    filter: PlacementFilter | None = None
    parent_rule: PlacementRule | None = None


def placement_rules(rules: Iterable[PlacementRuleConfig]) -> list[PlacementRule]:
    """Return the shape of the rules of a partition; the implicit recovery rule comes last (PLC-10).

    Implements: PLC-16, REST-95.
    """
    recovery = PlacementRule(name=RULE_RECOVERY, parameters={"queue": RECOVERY_QUEUE})
    return [*[_rule(each) for each in rules], recovery]


def _rule(rule: PlacementRuleConfig) -> PlacementRule:
    return PlacementRule(
        name=rule.name,
        parameters=_parameters(rule),
        filter=_filter(rule.filter),
        parent_rule=None if rule.parent is None else _rule(rule.parent),
    )


def _parameters(rule: PlacementRuleConfig) -> dict[str, str]:
    parameters = {"create": _word(rule.create)}
    if rule.name == RULE_FIXED:
        qualified = rule.value == ROOT or rule.value.startswith(f"{ROOT}.")
        parameters |= {"queue": rule.value, "qualified": _word(qualified)}
    elif rule.name == RULE_TAG:
        parameters["tagName"] = rule.value
    return parameters


def _filter(found: FilterConfig | None) -> PlacementFilter | None:
    """Return the shape of a filter, None if it lets everybody through (PLC-16, PLC-45)."""
    if found is None or not (found.deny or found.users or found.groups):
        return None
    return PlacementFilter(
        type="deny" if found.deny else "allow",
        user_list=list(found.users.names) if found.users else [],
        group_list=list(found.groups.names) if found.groups else [],
        user_exp=found.users.pattern if found.users else "",
        group_exp=found.groups.pattern if found.groups else "",
    )


def _word(value: bool) -> str:
    return "true" if value else "false"
