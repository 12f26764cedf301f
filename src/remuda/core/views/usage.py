"""Answers questions about users and groups (rules: chapter 95 section 6, LIM-39).

The usage is added up from the live applications for each question, because the scheduler itself
counts it only where there is a limit.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from remuda.config.schema import WILDCARD
from remuda.core.messages.queries import QueueUsageView, UsageView
from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import Limit
from remuda.core.model.vectors import Vector, add_vector
from remuda.core.policy.limits import limit_of_user

_NO_LIMIT: Final = Limit(None, 0)

# Counted applications by queue path, for their queue and all queues above it.
_ByPath: TypeAlias = dict[str, list[Application]]


def usage_views(partition: Partition, *, groups: bool) -> tuple[UsageView, ...]:
    """Return the users, or the groups, that have usage or are named in a limit, by name.

    Implements: LIM-39, REST-65, REST-66, REST-64. Rules: LIM-31, REST-63.
    """
    found: dict[str, list[Application]] = {}
    limited: dict[str, set[str]] = {}
    for queue in partition.queues(partition.root):
        for name in queue.group_limits if groups else queue.user_limits:
            if groups or name != WILDCARD:
                found.setdefault(name, [])
                limited.setdefault(name, set()).update(each.path for each in queue.path_up)
    for application_id in sorted(partition.applications):
        application = partition.applications[application_id]
        name = application.group if groups else application.user
        if application.counted and name:
            found.setdefault(name, []).append(application)
    views: list[UsageView] = []
    for name in sorted(found):
        by_path = _by_path(found[name])
        shown = limited.get(name, set()) | set(by_path) | {partition.root.path}
        tree = _tree(partition, partition.root, name, by_path, shown, groups=groups)
        linked = {each.application_id: each.group for each in found[name] if each.group}
        views.append(UsageView(name, linked, tree))
    return tuple(views)


def _by_path(applications: list[Application]) -> _ByPath:
    found: _ByPath = {}
    for application in applications:
        leaf = application.queue
        for queue in leaf.path_up:
            found.setdefault(queue.path, []).append(application)
    return found


def _tree(
    partition: Partition,
    queue: Queue,
    name: str,
    by_path: _ByPath,
    shown: set[str],
    *,
    groups: bool,
) -> QueueUsageView:
    """Return one queue of a user's or group's tree, with the queues below that concern them."""
    applications = by_path.get(queue.path, [])
    used = Vector()
    for application in applications:
        add_vector(used, application.usage())
    limit = _limit(queue, name, groups=groups)
    children = [queue.children[child] for child in sorted(queue.children)]
    return QueueUsageView(
        path=queue.path,
        used=partition.types.resource(used) if applications else None,
        applications=tuple([each.application_id for each in applications]),
        maximum=None if limit.maximum is None else partition.types.resource(limit.maximum),
        max_applications=limit.max_applications,
        children=tuple(
            [
                _tree(partition, child, name, by_path, shown, groups=groups)
                for child in children
                if child.path in shown
            ]
        ),
    )


def _limit(queue: Queue, name: str, *, groups: bool) -> Limit:
    """Return the limit of a user or group at a queue; for a user it may be the wildcard's."""
    limit = queue.group_limits.get(name) if groups else limit_of_user(queue, name)
    return limit or _NO_LIMIT
