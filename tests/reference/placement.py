"""Where the reference puts applications: chapter 20, sections 2 to 7.

A rule that cannot go on raises ``RuleError``; no match is None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from remuda.config.schema import FilterConfig, NameFilter, PlacementRuleConfig
from remuda.core.messages.commands import Tags
from tests.reference.access import (
    RECOVERY,
    application_tag,
    is_forced,
    may_submit,
    nearest,
)
from tests.reference.state import Partition

QUEUE_NAME = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}")


class RuleError(Exception):
    """A rule failed, which ends placement (PLC-25, PLC-55)."""


@dataclass
class Applicant:
    """What the rules see of an application (PLC-2)."""

    user: str
    groups: tuple[str, ...] = ()
    requested: str = ""
    tags: Tags = field(default_factory=dict)


def place(partition: Partition, who: Applicant) -> str | None:
    """The queue of an application, which may have to be made. Rules: chapter 20 section 7."""
    try:
        found = by_rules(partition, who)
    except RuleError:
        return RECOVERY if is_forced(who.tags) else None
    if found is not None and not creatable(partition, found):
        found = None if not is_forced(who.tags) else RECOVERY
    return found


def by_rules(partition: Partition, who: Applicant) -> str | None:
    """The first result that is accepted."""
    for rule in partition.rules:
        result = run(partition, rule, who)
        if result is not None and accepted(partition, result, who):
            return result
    if is_forced(who.tags):
        return RECOVERY
    fallback = "root.default"
    if fallback in partition.queues and accepted(partition, fallback, who):
        return fallback
    return None


def accepted(partition: Partition, path: str, who: Applicant) -> bool:
    """Chapter 20 section 7 with D-P7 and D-P10."""
    if path == RECOVERY or path.startswith(RECOVERY + "."):
        return False
    here = nearest(partition, path)
    queue = partition.queues[here]
    if here == path and (not queue.leaf or queue.draining):
        return False
    if here != path and queue.leaf:
        return False
    return may_submit(partition, here, who.user, who.groups)


def creatable(partition: Partition, path: str) -> bool:
    """Whether what is missing can be made; draining queues get no children. Rules: PLC-67."""
    here = nearest(partition, path)
    return here == path or not partition.queues[here].draining


def run(partition: Partition, rule: PlacementRuleConfig, who: Applicant) -> str | None:
    """One rule with its parents. Rules: chapter 20 section 3."""
    own = value(rule, who)
    if not own or (rule.filter is not None and not passes(rule.filter, who)):
        return None
    if rule.name == "fixed":
        whole = own == "root" or own.startswith("root.")
    else:
        whole = rule.name != "user" and own.startswith("root.")
        own = own if whole else own.replace(".", "_dot_")
        if not all(QUEUE_NAME.fullmatch(part) for part in own.split(".")):
            raise RuleError(f"illegal name in '{own}'")
    parent = "" if whole else above(partition, rule, who)
    if parent is None:
        return None
    name = own if whole else f"{parent}.{own}"
    return name if rule.create or name in partition.queues else None


def above(partition: Partition, rule: PlacementRuleConfig, who: Applicant) -> str | None:
    """The queue the parent rule names. Rules: PLC-23, PLC-24, PLC-25, PLC-26."""
    if rule.parent is None:
        return "root"
    found = run(partition, rule.parent, who)
    if found in partition.queues and partition.queues[found].leaf:
        raise RuleError(f"parent rule returned a leaf queue: {found}")
    return found


def value(rule: PlacementRuleConfig, who: Applicant) -> str:
    """A rule's own part, "" if there is none. Rules: chapter 20 section 4, D-P4."""
    match rule.name:
        case "provided":
            return who.requested.lower()
        case "user":
            return who.user.lower()
        case "fixed":
            return rule.value.lower()
        case _:
            return application_tag(who.tags, rule.value.lower()).lower()


def passes(chosen: FilterConfig, who: Applicant) -> bool:
    """Whether a filter lets someone pass. Rules: PLC-45, PLC-46, PLC-49."""
    if chosen.users is None and chosen.groups is None:
        return not chosen.deny
    hit = matches(chosen.users, who.user) or any(matches(chosen.groups, g) for g in who.groups)
    return hit != chosen.deny


def matches(part: NameFilter | None, name: str) -> bool:
    """Whether a filter's part names someone. Rules: PLC-47, PLC-48."""
    if part is None:
        return False
    return bool(re.search(part.pattern, name)) if part.pattern else name in part.names
