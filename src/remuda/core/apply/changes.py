"""What a reload changed in the queues of a partition, and thus has to be renewed.

Everything that follows from settings follows from those of single queues. What depends on none
that changed stays as it is; of what depends on one nothing is patched, it is renewed as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, final

from remuda.config.queue_properties import FAIR
from remuda.core.accounting.renewal import (
    renew_bounds,
    renew_child_orders,
    renew_gates,
    renew_order,
    renew_stages,
)
from remuda.core.accounting.standing import reshow_priority
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.trackers import Limit
from remuda.core.model.vectors import same_limit

# Limits of users, and of groups, by name.
Tables: TypeAlias = tuple[Mapping[str, Limit], Mapping[str, Limit]]


@final
class Settings:
    """What the present settings of a queue are compared with later."""

    __slots__ = ("guaranteed", "max_applications", "maximum", "settings", "tables")

    def __init__(self, queue: Queue) -> None:
        self.maximum = queue.maximum
        self.guaranteed = queue.guaranteed
        self.max_applications = queue.max_applications
        self.settings = queue.settings
        self.tables: Tables = (queue.user_limits, queue.group_limits)


@final
class Changes:
    """Queues of which something changed, in the order in which that was found.

    ``bounds``: the maximum of resources or of applications is another one; ``gates``: there is such
    a maximum of applications now, or none any more. ``orders``: something that places of its
    applications depend on. ``shown``: how it shows its
    priority, or orders its children. ``limits``: what the limits of its
    users and groups were, by path.
    """

    __slots__ = ("bounds", "gates", "limits", "orders", "shown")

    def __init__(self) -> None:
        self.bounds: list[Queue] = []
        self.gates: list[Queue] = []
        self.orders: list[Queue] = []
        self.shown: list[Queue] = []
        self.limits: dict[str, Tables] = {}

    def note(self, queue: Queue, before: Settings) -> None:
        """Note what is not as it was. Rules: RLD-21 to RLD-23, RLD-27, LIM-63."""
        if before.max_applications != queue.max_applications:
            self.bounds.append(queue)
            if not before.max_applications or not queue.max_applications:
                self.gates.append(queue)
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
    """Renew what follows from the settings of queues, those of users and groups apart.

    ``preemption``: whether asks may preempt changed for all of them. Attempts to preempt may end
    otherwise, whatever changed.
    Rules: RLD-21 to RLD-23, QUE-21 (Ours), QUE-25, QUE-28, QUE-30 (Ours), PRE-2, PRE-90.
    """
    renew_bounds(partition, changes.bounds)
    for queue in changes.gates:
        renew_gates(partition, queue)
    for queue in changes.orders:
        renew_order(partition, queue)
    if preemption:
        renew_stages(partition, partition.applications.values())
        partition.renew_shares(partition.root)
    for queue in reversed(changes.shown):
        reshow_priority(queue)
    renew_child_orders(partition, changes.shown)
    partition.revision += 1
