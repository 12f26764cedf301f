"""Answers questions about queues (rules: REST-70), of which there may be thousands.

What may change later is noted with the question; the view is made when it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from remuda.config.queue_properties import FAIR
from remuda.config.schema import TemplateConfig
from remuda.core.messages.queries import QueueView
from remuda.core.messages.rows import Rows
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import Vector, copy
from remuda.core.policy.headroom import least, room_at


def queue_view(partition: Partition) -> QueueView:
    """Return the root queue with all below it. Rules: REST-70, REST-71, REST-74, REST-75."""
    return queue_rows(partition)[0]


def queue_rows(partition: Partition) -> Rows[QueueView]:
    """Return the root queue with all below it, made when it is read.

    Rules: REST-70, REST-71, REST-74, REST-75, DMP-15, DMP-17.
    """
    top = _NotedQueue(partition.root, "")
    return Rows(1, lambda _: top.view(partition, (), None))


@final
class _NotedQueue:
    """A queue as it was at one moment, and those below it; what is set is never changed in place.

    ``room``: what was left under its own maximum, None without one. Rules: REST-70, DMP-15.
    """

    __slots__ = (
        "allocated", "children", "guaranteed", "leaf", "managed", "max_applications", "maximum",
        "parent", "path", "pending", "preempting", "priority", "properties", "room", "running",
        "settings", "state", "template",
    )  # fmt: skip

    def __init__(self, queue: Queue, parent: str) -> None:
        self.path = queue.path
        self.parent = parent
        self.state = queue.state
        self.leaf = queue.leaf
        self.managed = queue.managed
        self.pending = copy(queue.pending)
        self.allocated = copy(queue.allocated)
        self.preempting = copy(queue.preempting)
        # That of root is the capacity of its partition, which does change.
        self.maximum = None if queue.maximum is None else copy(queue.maximum)
        self.guaranteed = queue.guaranteed
        self.room = None if queue.maximum is None else room_at(queue)
        self.properties = queue.properties
        self.running = queue.running
        self.max_applications = queue.max_applications
        self.template = queue.template
        self.priority = queue.priority
        self.settings = queue.settings
        path = queue.path
        self.children = [_NotedQueue(child, path) for child in queue.children.values()]

    def view(
        self, partition: Partition, above: Sequence[Vector], template: TemplateConfig | None
    ) -> QueueView:
        """Return the queue with all below it. Any thread.

        ``above``: what was left under each maximum above. ``template``: the nearest there (TPL-5).
        Rules: QUE-13, REST-70, REST-71, REST-74, REST-75.
        """
        resource = partition.types.resource
        settings = self.settings
        rooms = above if self.room is None else (*above, self.room)
        room = least(rooms)
        template = template if self.template is None else self.template
        children = sorted(self.children, key=_path)
        return QueueView(
            path=self.path,
            partition=partition.name,
            status=self.state,
            leaf=self.leaf,
            managed=self.managed,
            parent=self.parent,
            pending=resource(self.pending),
            allocated=resource(self.allocated),
            preempting=resource(self.preempting),
            maximum=None if self.maximum is None else resource(self.maximum),
            guaranteed=None if self.guaranteed is None else resource(self.guaranteed),
            headroom=None if room is None else resource(room),
            properties=dict(sorted(self.properties.items())),
            running_applications=self.running,
            max_applications=self.max_applications,
            template=None if self.leaf else template,
            current_priority=self.priority,
            sort_policy=settings.application_sort if self.leaf else FAIR,
            priority_sorting=settings.sort_by_priority,
            priority_fence=settings.priority_fence,
            priority_offset=settings.priority_offset,
            preemption_policy=settings.preemption_policy,
            preemption_delay_ns=settings.preemption_delay_ns,
            quota_preemption_delay_ns=settings.quota_preemption_delay_ns,
            children=tuple([child.view(partition, rooms, template) for child in children]),
        )


def _path(noted: _NotedQueue) -> str:
    return noted.path
