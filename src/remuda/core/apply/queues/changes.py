"""Notes what a reload changed in queues, and renews what depends on it.

Every value derived from settings is derived from those of single queues. A value that depends on no
changed queue stays as it is. The others are worked out as a whole, never patched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, final

from remuda.config.queue_properties import FAIR
from remuda.core.accounting.renewal import (
    renew_admission,
    renew_bounds,
    renew_child_orders,
    renew_order,
    renew_stages,
)
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import Limit
from remuda.core.model.vectors import same_limit
from remuda.core.pending.marks import preemption_changed
from remuda.core.pending.ordering import reshow_priority

# Limits of users, and of groups, by name.
Tables: TypeAlias = tuple[Mapping[str, Limit], Mapping[str, Limit]]


@final
class Settings:
    """The settings of a queue before a change, to compare the new ones with."""

    __slots__ = ("guaranteed", "max_applications", "maximum", "settings", "tables")

    def __init__(self, queue: Queue) -> None:
        self.maximum = queue.maximum
        self.guaranteed = queue.guaranteed
        self.max_applications = queue.max_applications
        self.settings = queue.settings
        self.tables: Tables = (queue.user_limits, queue.group_limits)


@final
class Changes:
    """Queues whose settings changed, by kind of change, in the order they were found.

    ``bounds``: the maximum of resources or of applications changed. ``start_limits``: a maximum of
    applications was added or removed. ``orders``: a setting that orders its applications changed.
    ``shown``: its shown priority or the order of its children changed. ``limits``: the earlier
    limits of its users and groups, by path.
    """

    __slots__ = ("bounds", "limits", "orders", "shown", "start_limits")

    def __init__(self) -> None:
        self.bounds: list[Queue] = []
        self.start_limits: list[Queue] = []
        self.orders: list[Queue] = []
        self.shown: list[Queue] = []
        self.limits: dict[str, Tables] = {}

    def note(self, queue: Queue, before: Settings) -> None:
        """Note how a queue differs from its earlier settings.

        Rules: RLD-21, RLD-22, RLD-23, RLD-27, LIM-63.
        """
        if before.max_applications != queue.max_applications:
            self.bounds.append(queue)
            if not before.max_applications or not queue.max_applications:
                self.start_limits.append(queue)
        elif not same_limit(before.maximum, queue.maximum):
            self.bounds.append(queue)
        old, new = before.settings, queue.settings
        fair = new.application_sort == FAIR
        if old is not new and old.of_queues() != new.of_queues():
            self.shown.append(queue)
        if (old is not new and old.of_applications() != new.of_applications()) or (
            fair and not same_limit(before.guaranteed, queue.guaranteed)
        ):
            self.orders.append(queue)
        self.note_limits(queue, before.tables)

    def note_limits(self, queue: Queue, before: Tables) -> None:
        """Note that a queue got other limits of users and groups. Rules: LIM-63."""
        users, groups = before
        same = users is queue.user_limits and groups is queue.group_limits
        if not same and (users or groups or queue.user_limits or queue.group_limits):
            self.limits[queue.path] = before


def renew_changed(partition: Partition, changes: Changes, *, preemption: bool) -> None:
    """Renew what depends on changed settings of queues, except limits of users and groups.

    ``preemption``: preemption was switched on or off for the partition. Any change may make an
    attempt to preempt end differently.
    Rules: RLD-21, RLD-22, RLD-23, QUE-21 (Ours), QUE-25, QUE-28, QUE-30 (Ours), PRE-2, PRE-90.
    """
    renew_bounds(partition, changes.bounds)
    for queue in changes.start_limits:
        renew_admission(partition, queue)
    for queue in changes.orders:
        renew_order(partition, queue)
    if preemption:
        renew_stages(partition, partition.applications.values())
        partition.renew_shares(partition.root)
    for queue in reversed(changes.shown):
        reshow_priority(queue)
    renew_child_orders(partition, changes.shown)
    preemption_changed(partition)
