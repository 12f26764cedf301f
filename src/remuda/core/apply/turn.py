"""One turn at the door: the state, the time, and the effects collected so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from remuda.core.messages import events
from remuda.core.messages.effects import Effect, EventRecord
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.cluster import Cluster
from remuda.core.model.deadlines import Deadline
from remuda.core.model.partition import Partition


@final
class Turn:
    """What one call of ``handle`` or ``step`` works with."""

    __slots__ = ("cluster", "effects", "now_ns")

    def __init__(self, cluster: Cluster, now_ns: int) -> None:
        self.cluster = cluster
        self.now_ns = now_ns
        self.effects: list[Effect] = []

    def emit(self, effect: Effect) -> None:
        """Add an effect."""
        self.effects.append(effect)

    def event(
        self,
        partition: Partition,
        kind: int,
        object_id: str,
        change: int,
        detail: int,
        reference_id: str = "",
        resource: Mapping[str, int] | None = None,
        message: str = "",
        queue: str = "",
    ) -> None:
        """Add an event record, unless none are made. Rules: EVT-1, EVT-11 to 13, EVT-130."""
        if not self.cluster.tracking:
            return
        record = EventRecord(
            partition.rm_id,
            partition.name,
            kind,
            object_id,
            reference_id,
            change,
            detail,
            self.now_ns,
            resource,
            events.cut_message(message),
            queue,
        )
        self.effects.append(record)

    def application_event(
        self,
        partition: Partition,
        application: Application,
        change: int,
        detail: int,
        reference_id: str = "",
        resource: Mapping[str, int] | None = None,
        message: str = "",
    ) -> None:
        """Add an event about an application. Rules: EVT-15 to EVT-22."""
        application_id = application.record.application_id
        self.event(
            partition,
            events.APP,
            application_id,
            change,
            detail,
            reference_id,
            resource,
            message,
            application.queue_path,
        )

    def allocation_event(
        self, partition: Partition, allocation: Allocation, change: int, detail: int
    ) -> None:
        """Tell that an allocation came to its application, or left it. Rules: EVT-20, EVT-21."""
        identity, resource = allocation.allocation_id, allocation.amounts.resource
        application = allocation.application
        self.application_event(partition, application, change, detail, identity, resource)

    def node_event(self, partition: Partition, allocation: Allocation, change: int) -> None:
        """Tell that an allocation came to its node, or left it. Rules: EVT-49, EVT-50."""
        identity, resource = allocation.allocation_id, allocation.amounts.resource
        node_id, detail = allocation.node.node_id, events.NODE_ALLOC
        queue = allocation.application.queue_path
        self.event(partition, events.NODE, node_id, change, detail, identity, resource, queue=queue)

    def set_timer(
        self,
        partition: Partition,
        what: str,
        delay_ns: int,
        application: Application | None = None,
        *,
        allocation: Allocation | None = None,
    ) -> Deadline:
        """Set a timer that far from now, and return it. Rules: APP-16."""
        deadline = Deadline(partition, what, application)
        deadline.allocation = allocation
        self.cluster.deadlines.set(self.now_ns, delay_ns, deadline)
        return deadline
