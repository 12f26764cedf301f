"""Chooses the queue of an application (rules: chapter 20 sections 1 to 7).

The placement rules of a partition are tried in order. The first rule wins whose queue the user may
use and which exists or may be created. A rule gives a full path in lower case, no path, or an
error; an error ends placement. Nothing is changed here: the caller creates the queue if it is
missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from remuda.base.go_text import parse_bool
from remuda.config.schema import (
    QUEUE_DEPTH_LIMIT,
    QUEUE_NAME,
    RECOVERY_QUEUE,
    ROOT,
    RULE_FIXED,
    RULE_PROVIDED,
    RULE_USER,
)
from remuda.core.messages.commands import Tags
from remuda.core.messages.tags import FORCE_CREATE, application_tag
from remuda.core.model import states
from remuda.core.model.applications.submission import Submission
from remuda.core.model.partition import Partition
from remuda.core.model.placement_rule import Filter, PlacementRule
from remuda.core.model.queues.queue import Queue
from remuda.core.policy.access import may_submit

DEFAULT_QUEUE: Final = "root.default"
NO_MATCH: Final = "application rejected: no placement rule matched"

# How many characters of a bad name a reason repeats.
SHOWN_NAME: Final = 80


@final
class Placement:
    """The queue ``path`` of an application, or "" with the reason and the rule of the refusal."""

    __slots__ = ("path", "reason", "rule")

    def __init__(self, path: str, reason: str = "", rule: str = "") -> None:
        self.path = path
        self.reason = reason
        self.rule = rule


def place(partition: Partition, application: Submission) -> Placement:
    """Return the queue of the first rule that gives a usable one, else the default queue.

    A forced application does not go to the default queue: if no rule matches, the caller puts it
    into the recovery queue. Implements: PLC-55, PLC-56, PLC-62, PLC-2. Rules: PLC-57, PLC-58,
    PLC-59, PLC-61.
    """
    for rule in partition.settings.rules:
        found = _run(partition, rule, application)
        if found.reason:
            return found
        if found.path and _usable(partition, found.path, application):
            return found
    default = None if forced(application.record.tags) else partition.queue(DEFAULT_QUEUE)
    if default is not None and _usable(partition, DEFAULT_QUEUE, application):
        return Placement(DEFAULT_QUEUE)
    return Placement("", NO_MATCH, "PLC-5")


def forced(tags: Tags) -> bool:
    """Whether an application must be accepted, in the recovery queue if necessary.

    Implements: PLC-70.
    """
    return parse_bool(application_tag(tags, FORCE_CREATE)) is True


def nearest(partition: Partition, path: str) -> tuple[Queue, list[str]]:
    """Return the deepest existing queue on a path and the missing names below it.

    Rules: PLC-59, PLC-63. ``path``: lower case, from root.
    """
    found = partition.root
    parts = path.split(".")[1:]
    for number, part in enumerate(parts):
        child = found.children.get(part)
        if child is None:
            return found, parts[number:]
        found = child
    return found, []


def _run(partition: Partition, rule: PlacementRule, application: Submission) -> Placement:
    """Run a rule with its parent rules; return the path, "" for no match, or an error.

    Each rule computes its own part before its parent rule runs. So the chain is walked up to the
    rule that needs no parent, and its queues are looked up on the way down. Implements: PLC-23,
    PLC-24, PLC-25, PLC-26, PLC-27, PLC-28, PLC-29. Rules: chapter 20 section 3, PLC-33.
    """
    chain: list[tuple[PlacementRule, str]] = []
    level: PlacementRule | None = rule
    while level is not None:
        own = _own_part(level, application)
        fault = _name_fault(own)
        if not own or fault:
            return Placement("", fault, "CFG-30" if fault else "")
        chain.append((level, own.lower()))
        level = None if _is_qualified(level, own) else level.parent
    path = ROOT
    for level, own in reversed(chain):
        above = partition.queue(path)
        if above is not None and above.leaf:
            return Placement("", f"parent rule returned a leaf queue: {path}", "PLC-25")
        path = own if _is_qualified(level, own) else f"{path}.{own}"
        if not level.create and partition.queue(path) is None:
            return Placement("")
    return Placement(path)


def _own_part(rule: PlacementRule, application: Submission) -> str:
    """Return the part a rule adds to the path, "" if it has no input or excludes the user.

    Implements: PLC-20, PLC-21, PLC-42. Rules: PLC-27.
    """
    own = _input(rule, application)
    if not own or not _lets_pass(rule.filter, application.user, application.user_groups):
        return ""
    if rule.name == RULE_FIXED or _is_qualified(rule, own):
        return own
    return own.replace(".", "_dot_")


def _input(rule: PlacementRule, application: Submission) -> str:
    """Return the text from which a rule makes its part.

    Implements: PLC-30, PLC-31, PLC-33, PLC-34, PLC-87. Rules: PLC-20, PLC-32.
    """
    if rule.name == RULE_PROVIDED:
        return application.record.queue
    if rule.name == RULE_USER:
        return application.user
    if rule.name == RULE_FIXED:
        return rule.value
    return application_tag(application.record.tags, rule.value)


def _is_qualified(rule: PlacementRule, own: str) -> bool:
    """Whether a part is a full path from root, in lower or upper case.

    The text ``root`` alone is a full path only in a fixed rule (PLC-24).

    Implements: PLC-22, PLC-32, PLC-41. Rules: PLC-31.
    """
    start = own[: len(ROOT) + 1].lower()
    return rule.name != RULE_USER and (
        start == f"{ROOT}." or (rule.name == RULE_FIXED and start == ROOT)
    )


def _name_fault(own: str) -> str:
    """Return why a name in a rule's part is invalid, "" if all names are valid.

    Implements: PLC-43, PLC-65. Rules: PLC-42.
    """
    if own:
        for part in own.split("."):
            if not QUEUE_NAME.fullmatch(part):
                return (
                    "invalid queue name, max 64 characters out of letters, digits and _-:#/@ : "
                    f"'{part[:SHOWN_NAME]}'"
                )
    return ""


def _usable(partition: Partition, path: str, application: Submission) -> bool:
    """Whether an application may go to a queue that exists or may be created.

    No rule may place an application in the recovery queue by its name.
    Implements: PLC-57, PLC-58, PLC-59, PLC-61, PLC-74, QLC-2, ACL-14. Rules: PLC-64.
    """
    queue, missing = nearest(partition, path)
    if f"{path}.".startswith(f"{RECOVERY_QUEUE}."):
        return False
    if missing:
        deepest = len(queue.path_up) + len(missing)
        if queue.leaf or deepest > QUEUE_DEPTH_LIMIT:
            return False
    elif not queue.leaf or queue.state == states.DRAINING:
        return False
    return may_submit(queue, application.user, application.user_groups)


def _lets_pass(filter_: Filter | None, user: str, groups: Sequence[str]) -> bool:
    """Whether a rule applies to a user: the user is tested first, then each group in order.

    A filter without names applies to all users or to none, by its type. Implements: PLC-44, PLC-45,
    PLC-46, PLC-49. Rules: PLC-21.
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
