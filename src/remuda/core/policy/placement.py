"""Which queue an application goes to (rules: chapter 20 sections 1 to 7).

The rules of a partition are asked in order; the first whose queue exists and is open to the user,
or may be made, wins. A rule gives a full path in lower case, nothing, or an error, which ends
placement. Nothing is changed here: what has to be made is made by who asked.
"""

from __future__ import annotations

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
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.placement_rule import PlacementRule
from remuda.core.model.queue import Queue
from remuda.core.policy.access import may_submit
from remuda.core.policy.filters import lets_pass

DEFAULT_QUEUE: Final = "root.default"
NO_MATCH: Final = "application rejected: no placement rule matched"

# Characters of a bad name that a reason repeats.
SHOWN_NAME: Final = 80


@final
class Placement:
    """Where an application goes: ``path``, or "" and why not, with the rule that says so."""

    __slots__ = ("path", "reason", "rule")

    def __init__(self, path: str, reason: str = "", rule: str = "") -> None:
        self.path = path
        self.reason = reason
        self.rule = rule


def place(partition: Partition, application: Application) -> Placement:
    """Find the first rule that gives a usable queue, else the default queue if it is there.

    The default queue is not for a forced application: where nothing matches, that goes to the
    recovery queue, which is not tried here. Rules: PLC-55 to PLC-59, PLC-61, PLC-62.
    """
    for rule in partition.rules:
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
    """Whether an application must be taken, if need be by the recovery queue. Rules: PLC-70."""
    return parse_bool(application_tag(tags, FORCE_CREATE)) is True


def nearest(partition: Partition, path: str) -> tuple[Queue, list[str]]:
    """Return the deepest existing queue on a path and the names missing below it.

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


def _run(partition: Partition, rule: PlacementRule, application: Application) -> Placement:
    """Run a rule with its parents: the path it gives, "" for no match, or an error.

    Each rule looks at its own part first and only then at its parent, so the chain is walked up
    to the rule that needs no parent, and its queues are found on the way down.
    Rules: PLC-23 to PLC-29, PLC-33.
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


def _own_part(rule: PlacementRule, application: Application) -> str:
    """Return what a rule itself adds to the path, "" if it has no input or is not for this user.

    Rules: PLC-20, PLC-21, PLC-27, PLC-42.
    """
    own = _input(rule, application)
    if not own or not lets_pass(rule.filter, application.user, application.user_groups):
        return ""
    if rule.name == RULE_FIXED or _is_qualified(rule, own):
        return own
    return own.replace(".", "_dot_")


def _input(rule: PlacementRule, application: Application) -> str:
    """Return what a rule makes its part of the path from. Rules: PLC-20, PLC-30 to PLC-34."""
    if rule.name == RULE_PROVIDED:
        return application.record.queue
    if rule.name == RULE_USER:
        return application.user
    if rule.name == RULE_FIXED:
        return rule.value
    return application_tag(application.record.tags, rule.value)


def _is_qualified(rule: PlacementRule, own: str) -> bool:
    """Whether a part is a whole path from root, in any case. Rules: PLC-22, PLC-31, PLC-32, PLC-41.

    The exact text ``root`` is one only where it is configured (PLC-24).
    """
    start = own[: len(ROOT) + 1].lower()
    return rule.name != RULE_USER and (
        start == f"{ROOT}." or (rule.name == RULE_FIXED and start == ROOT)
    )


def _name_fault(own: str) -> str:
    """Return which name in a rule's part no queue may have, "" if all are fine. Rules: PLC-42."""
    if own:
        for part in own.split("."):
            if not QUEUE_NAME.fullmatch(part):
                return (
                    "invalid queue name, max 64 characters out of letters, digits and _-:#/@ : "
                    f"'{part[:SHOWN_NAME]}'"
                )
    return ""


def _usable(partition: Partition, path: str, application: Application) -> bool:
    """Whether an application may go to a queue, or have it made.

    Nobody gets to the recovery queue by its name, be it there or not.
    Rules: PLC-57, PLC-58, PLC-59, PLC-61, PLC-64, PLC-74.
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
