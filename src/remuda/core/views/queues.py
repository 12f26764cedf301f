"""Answers questions about queues (rules: REST-70), of which there may be thousands.

Values that may change are copied when the question is asked; the view is made when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from remuda.config.queue_properties import FAIR
from remuda.config.schema import TemplateConfig
from remuda.core.messages.queries import QueueView
from remuda.core.messages.rows import Rows
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound
from remuda.core.model.vectors import Vector, copy
from remuda.core.policy.headroom import least, room_at
from remuda.core.views.columns import Column


def queue_view(partition: Partition) -> QueueView:
    """Return the root queue with all below it. Rules: REST-70, REST-71, REST-74, REST-75."""
    return queue_rows(partition)[0]


def queue_rows(partition: Partition) -> Rows[QueueView]:
    """Return the root queue with all below it, made when it is read.

    Rules: REST-70, REST-71, REST-74, REST-75, DMP-15, DMP-17.
    """
    noted = _NotedQueues(partition)
    return Rows(1, lambda _: noted.view())


@final
class _NotedQueues:
    """All queues of a partition as they were at one moment, parents before children.

    Settings and configured amounts are never changed in place, so they are not copied.
    ``root_maximum`` is copied: it is the size of the cluster and changes in place. ``promised``: by
    place, only for queues with promised room (PRE-89).
    Rules: REST-70, DMP-15, DMP-17.
    """

    __slots__ = (
        "allocated", "guaranteed", "leaf", "managed", "max_applications", "maximum", "partition",
        "pending", "preempting", "priority", "promised", "properties", "queues", "root_maximum",
        "running", "settings", "state", "template",
    )  # fmt: skip

    def __init__(self, partition: Partition) -> None:
        queues = partition.queues(partition.root)
        self.partition = partition
        self.queues = queues
        self.state = [queue.state for queue in queues]
        self.leaf = [queue.leaf for queue in queues]
        self.managed = [queue.managed for queue in queues]
        self.pending = Column([queue.pending for queue in queues])
        self.allocated = Column([queue.allocated for queue in queues])
        self.preempting = Column([queue.preempting for queue in queues])
        self.promised = {
            place: copy(queue.promised)
            for place, queue in enumerate(queues)
            if queue.promised is not None
        }
        self.maximum = [queue.maximum for queue in queues]
        self.root_maximum = None if self.maximum[0] is None else copy(self.maximum[0])
        self.guaranteed = [queue.guaranteed for queue in queues]
        self.properties = [queue.properties for queue in queues]
        self.running = [queue.running for queue in queues]
        self.max_applications = [queue.max_applications for queue in queues]
        self.template = [queue.template for queue in queues]
        self.priority = [queue.priority for queue in queues]
        self.settings = [queue.settings for queue in queues]

    def view(self) -> QueueView:
        """Return the root queue with all below it. Any thread."""
        below: dict[str, list[int]] = {}
        for place, queue in enumerate(self.queues):
            if queue.parent is not None:
                below.setdefault(queue.parent.path, []).append(place)
        return self._view(0, below, (), None)

    def _view(
        self,
        place: int,
        below: Mapping[str, list[int]],
        above: Sequence[Vector],
        template: TemplateConfig | None,
    ) -> QueueView:
        """Return one queue with all below it.

        ``below``: places of children, by path. ``above``: the room left under each maximum above.
        ``template``: the nearest one above (TPL-5). Rules: QUE-13, REST-70, REST-71, REST-74.
        """
        queue = self.queues[place]
        resource = self.partition.types.resource
        settings = self.settings[place]
        maximum = self.maximum[place] if place else self.root_maximum
        guaranteed = self.guaranteed[place]
        rooms = above if maximum is None else (*above, self._room(place, maximum))
        room = least(rooms)
        own = self.template[place]
        template = template if own is None else own
        children = sorted(below.get(queue.path, ()), key=self._path)
        leaf = self.leaf[place]
        return QueueView(
            path=queue.path,
            partition=self.partition.name,
            status=self.state[place],
            leaf=leaf,
            managed=self.managed[place],
            parent="" if queue.parent is None else queue.parent.path,
            pending=resource(self.pending.vector(place)),
            allocated=resource(self.allocated.vector(place)),
            preempting=resource(self.preempting.vector(place)),
            maximum=None if maximum is None else resource(maximum),
            guaranteed=None if guaranteed is None else resource(guaranteed),
            headroom=None if room is None else resource(room),
            properties=dict(sorted(self.properties[place].items())),
            running_applications=self.running[place],
            max_applications=self.max_applications[place],
            template=None if leaf else template,
            current_priority=self.priority[place],
            sort_policy=settings.application_sort if leaf else FAIR,
            priority_sorting=settings.sort_by_priority,
            priority_fence=settings.priority_fence,
            priority_offset=settings.priority_offset,
            preemption_policy=settings.preemption_policy,
            preemption_delay_ns=settings.preemption_delay_ns,
            quota_preemption_delay_ns=settings.quota_preemption_delay_ns,
            children=tuple([self._view(each, below, rooms, template) for each in children]),
        )

    def _room(self, place: int, maximum: Vector) -> Vector:
        """Return the room that was left under the maximum of a queue."""
        bound = Bound()
        bound.maximum = maximum
        bound.allocated = self.allocated.vector(place)
        bound.preempting = self.preempting.vector(place)
        bound.promised = self.promised.get(place)
        return room_at(bound)

    def _path(self, place: int) -> str:
        return self.queues[place].path
