"""The sort keys of queues and applications (rules: QUE-33, QUE-40)."""

from __future__ import annotations

from remuda.config.queue_properties import FAIR
from remuda.core.model.applications.application import Application
from remuda.core.model.queues.priorities import visible
from remuda.core.model.queues.queue import Queue
from remuda.core.model.ranking import SortKey
from remuda.core.policy.shares import fair_share, usage_shares


def shown_priority(queue: Queue) -> int:
    """Return the priority a queue shows to its parent. Rules: QUE-28, QUE-29."""
    settings = queue.settings
    return visible(queue.priority, settings.priority_offset, settings.priority_fence)


def child_key(parent: Queue, child: Queue, *, parity: bool) -> SortKey:
    """Return the sort key of a child: two numbers, smallest first, and the child's name.

    ``parity``: shares are computed as in 1.5. Implements: QUE-33. Rules: RES-49, RES-50, RES-52,
    KV-5.
    """
    share = usage_shares(child.allocated, child.guaranteed) if parity else fair_share(child)
    if parent.settings.sort_by_priority:
        return (-child.shown_priority, share, child.name)
    return (share, -child.shown_priority, child.name)


def application_key(leaf: Queue, application: Application) -> SortKey:
    """Return an application's sort key in its leaf; the arrival number ends it.

    Implements: QUE-40.
    """
    settings = leaf.settings
    by_policy: object = application.submitted_ns
    if settings.application_sort == FAIR:
        by_policy = usage_shares(application.allocated, leaf.guaranteed)
    priority = -application.priority
    if settings.sort_by_priority:
        return (priority, by_policy, application.number)
    return (by_policy, priority, application.number)
