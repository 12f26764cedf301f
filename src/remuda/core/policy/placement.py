"""Which queue an application goes to (rules: chapter 20, the part built so far).

Two rules exist: ``provided`` takes the requested queue, ``tag`` the value of an application tag.
A rule answers with a full path, which may name a queue that still has to be made.
"""

from __future__ import annotations

from typing import Final

from remuda.config.schema import QUEUE_DEPTH_LIMIT, QUEUE_NAME, PlacementRuleConfig
from remuda.core.messages.commands import NewApplication
from remuda.core.messages.tags import application_tag
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue

DEFAULT_QUEUE: Final = "root.default"
NO_MATCH: Final = "application rejected: no placement rule matched"


def place(partition: Partition, record: NewApplication) -> str:
    """Return the path of the first rule that gives a usable queue, "" if none does.

    Rules: PLC-55 to PLC-62. A path that does not exist yet may be created (PLC-63); the default
    queue, the last resort, must exist.
    """
    for rule in partition.placement_rules:
        path = _run(partition, rule, record)
        if path and _usable(partition, path):
            return path
    default = partition.queue(DEFAULT_QUEUE)
    return DEFAULT_QUEUE if default is not None and _usable(partition, DEFAULT_QUEUE) else ""


def nearest(partition: Partition, path: str) -> tuple[Queue, list[str]]:
    """Return the deepest existing queue on a path and the names missing below it."""
    found = partition.root
    parts = path.split(".")[1:]
    for number, part in enumerate(parts):
        child = found.children.get(part)
        if child is None:
            return found, parts[number:]
        found = child
    return found, []


def _run(partition: Partition, rule: PlacementRuleConfig, record: NewApplication) -> str:
    """Return the path one rule gives, "" for no match. Rules: PLC-20 to PLC-28, PLC-30, PLC-34."""
    own = record.queue if rule.name == "provided" else application_tag(record.tags, rule.value)
    own = own.lower()
    if not own:
        return ""
    qualified = own == "root" or own.startswith("root.")
    path = own if qualified else "root." + own.replace(".", "_dot_")
    if not rule.create and partition.queue(path) is None:
        return ""
    return path


def _usable(partition: Partition, path: str) -> bool:
    """Whether a result may be taken, or made. Rules: PLC-57, PLC-59, PLC-64."""
    queue, missing = nearest(partition, path)
    if not missing:
        return queue.leaf
    if len(queue.path_up) + len(missing) > QUEUE_DEPTH_LIMIT:
        return False
    return not queue.leaf and all(QUEUE_NAME.fullmatch(name) for name in missing)
