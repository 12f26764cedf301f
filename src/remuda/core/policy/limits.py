"""Finds the limits on a queue path for a user or group (rules: chapter 30 sections 4 and 5)."""

from __future__ import annotations

from collections.abc import Sequence

from remuda.config.schema import WILDCARD
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import Limit


def user_limits(leaf: Queue, user: str) -> list[tuple[Queue, Limit, bool]]:
    """Return the limits of a user on the path of a leaf, leaf first, and whether by wildcard.

    A named entry replaces the wildcard of the same queue only. Implements: LIM-25. Rules: LIM-3,
    LIM-4.
    """
    found: list[tuple[Queue, Limit, bool]] = []
    for queue in leaf.path_up:
        limit = limit_of_user(queue, user)
        if limit is not None:
            found.append((queue, limit, user not in queue.user_limits))
    return found


def limit_of_user(queue: Queue, user: str) -> Limit | None:
    """Return the limit of a user at one queue: the named entry, else the wildcard.

    Implements: LIM-4.
    """
    limits = queue.user_limits
    return limits.get(user) or limits.get(WILDCARD) if limits else None


def group_limits(leaf: Queue, group: str) -> list[tuple[Queue, Limit]]:
    """Return the limits of a chosen group on the path of a leaf, leaf first.

    Implements: LIM-22. Rules: LIM-3.
    """
    if not group:
        return []
    limits = [(queue, queue.group_limits.get(group)) for queue in leaf.path_up]
    return [(queue, limit) for queue, limit in limits if limit is not None]


def choose_group(leaf: Queue, groups: Sequence[str]) -> str:
    """Return the group that an application is tracked under, "" for none.

    The lowest queue with a limit for one of ``groups`` decides; its limits are tried in the order
    of the configuration. Its wildcard comes after the names and hides the limits of higher queues.
    Implements: LIM-5, LIM-21, LIM-23. Rules: LIM-22.
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
