"""The JSON shapes of what users and groups use and may use (REST-63, REST-66, REST-138)."""

from __future__ import annotations

import msgspec

from remuda.core.messages.queries import QueueUsageView, UsageView
from remuda.edges.questions.shapes import Shape, amounts, plain


class UsageQueue(Shape, kw_only=True):
    """What one user or group uses and may use in and below one queue."""

    queue_path: str
    resource_usage: dict[str, int] = amounts()
    running_applications: list[str] = msgspec.field(default_factory=list)
    max_resources: dict[str, int] = amounts()
    max_applications: int = 0
    children: list[UsageQueue] = msgspec.field(default_factory=list)


class UserUsage(Shape, kw_only=True):
    """One user; ``groups``: application ID -> group it is counted under."""

    user_name: str
    groups: dict[str, str] = msgspec.field(default_factory=dict)
    queues: UsageQueue


class GroupUsage(Shape, kw_only=True):
    """One group and the applications that are counted under it."""

    group_name: str
    applications: list[str] = msgspec.field(default_factory=list)
    queues: UsageQueue


def user(view: UsageView) -> UserUsage:
    """Return the shape of one user. Implements: REST-63, REST-138."""
    return UserUsage(
        user_name=view.name, groups=dict(view.applications), queues=_queue(view.queues)
    )


def group(view: UsageView) -> GroupUsage:
    """Return the shape of one group (REST-63)."""
    return GroupUsage(
        group_name=view.name, applications=sorted(view.applications), queues=_queue(view.queues)
    )


def _queue(view: QueueUsageView) -> UsageQueue:
    return UsageQueue(
        queue_path=view.path,
        resource_usage=plain(view.used),
        running_applications=list(view.applications),
        max_resources=plain(view.maximum),
        max_applications=view.max_applications,
        children=[_queue(child) for child in view.children],
    )
