"""Who may use a queue, and who an application runs for: chapter 30, sections 1 and 3."""

from __future__ import annotations

import re

from remuda.config.schema import AccessList
from remuda.core.messages import commands as c
from tests.reference.state import Partition

RECOVERY = "root.@recovery@"
USER_NAME = re.compile(r"[_a-zA-Z][a-zA-Z0-9:_.@#/-]*[$]?")
TRUE = ("1", "t", "T", "true", "TRUE", "True")


def application_tag(tags: c.Tags, wanted: str) -> str:
    """A tag's value, looked up without regard to case. Rules: PLC-34, SI-26."""
    return next((value for name, value in tags.items() if name.lower() == wanted), "")


def is_forced(tags: c.Tags) -> bool:
    """Whether an application has to be taken. Rules: PLC-70."""
    return application_tag(tags, "application.create.force") in TRUE


def identify(new: c.NewApplication) -> tuple[str, tuple[str, ...]] | None:
    """User and groups of an application, None if it is refused. Rules: UGR-3, UGR-6, UGR-8."""
    forced = is_forced(new.tags)
    if not new.user:
        return ("nobody", ("nogroup",)) if forced else None
    if not USER_NAME.fullmatch(new.user):
        return None
    if new.user_fault:
        return (new.user, ("nogroup",)) if forced else None
    return new.user, new.groups


def listed(access: AccessList, user: str, groups: tuple[str, ...]) -> bool:
    """Whether a list lets someone in. Rules: ACL-7."""
    if access.everybody or (user and user in access.users):
        return True
    return any(group in access.groups for group in groups)


def lineage(path: str) -> list[str]:
    """A path and those above it, root last."""
    names = path.split(".")
    return [".".join(names[:depth]) for depth in range(len(names), 0, -1)]


def nearest(partition: Partition, path: str) -> str:
    """The queue of a path, or the lowest one above it that exists."""
    return next(here for here in lineage(path) if here in partition.queues)


def may_administer(partition: Partition, path: str, user: str, groups: tuple[str, ...]) -> bool:
    """Admin access. Rules: ACL-11, ACL-12."""
    found = [partition.queues[here] for here in lineage(path) if here in partition.queues]
    return any(listed(queue.admin, user, groups) for queue in found)


def may_submit(partition: Partition, path: str, user: str, groups: tuple[str, ...]) -> bool:
    """Submit access. Rules: ACL-10, ACL-12, ACL-13."""
    if path == RECOVERY:
        return False
    found = [partition.queues[here] for here in lineage(path) if here in partition.queues]
    open_to = any(listed(queue.submit, user, groups) for queue in found)
    return open_to or may_administer(partition, path, user, groups)
