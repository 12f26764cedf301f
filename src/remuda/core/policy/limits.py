"""Which entries of the limits of a queue path hold for a user or group (rules: LIM-3 to LIM-25)."""

from __future__ import annotations

from collections.abc import Sequence

from remuda.config.schema import WILDCARD
from remuda.core.model.queue import Queue
from remuda.core.model.trackers import Limit


def user_limits(leaf: Queue, user: str) -> list[tuple[Queue, Limit, bool]]:
    """Return what limits a user on the path of a leaf, leaf first, and whether by wildcard.

    A named entry switches off the wildcard of the same queue only. Rules: LIM-3, LIM-4.
    """
    found: list[tuple[Queue, Limit, bool]] = []
    for queue in leaf.path_up:
        limit = limit_of_user(queue, user)
        if limit is not None:
            found.append((queue, limit, user not in queue.user_limits))
    return found


def limit_of_user(queue: Queue, user: str) -> Limit | None:
    """Return what limits a user at one queue: the named entry, else the wildcard. Rules: LIM-4."""
    limits = queue.user_limits
    return limits.get(user) or limits.get(WILDCARD) if limits else None


def group_limits(leaf: Queue, group: str) -> list[tuple[Queue, Limit]]:
    """Return what limits a chosen group on the path of a leaf, leaf first. Rules: LIM-3, LIM-22."""
    if not group:
        return []
    limits = [(queue, queue.group_limits.get(group)) for queue in leaf.path_up]
    return [(queue, limit) for queue, limit in limits if limit is not None]


def choose_group(leaf: Queue, groups: Sequence[str]) -> str:
    """Return the group an application of these groups is tracked under, "" for none.

    The lowest queue that names one of them decides, in the order of the configuration; its
    wildcard comes after the names and hides what is above. Rules: LIM-5, LIM-21, LIM-22, LIM-23.
    """
    if not groups:
        return ""
    own = frozenset(groups)
    for queue in leaf.path_up:
        for name in queue.group_limits:
            if name in own and name != WILDCARD:
                return name
        if WILDCARD in queue.group_limits:
            return WILDCARD
    return ""
