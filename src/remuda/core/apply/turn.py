"""The state, the time and the collected effects of one call of ``handle`` or ``step``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from remuda.core.messages import events
from remuda.core.messages.effects import Effect, EventRecord
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.cluster import Cluster
from remuda.core.model.deadlines import Deadline
from remuda.core.model.finding import LogEntry, noted
from remuda.core.model.partition import Partition


@final
class Turn:
    """The context of one call of ``handle`` or ``step``.

    ``now_ns``: the scheduler's time; ``wall_ns``: the same moment by the wall clock (CYC-34).
    ``rm_id``: the RM whose objects are being changed, "" between two; a fault is held against it
    (SI-15). ``fault_point``: called before each report, None outside of tests. ``one_message``: the
    last log of an ask that was made of one message, shared by the next ones.

    Rules: CYC-34, SI-15.
    """

    __slots__ = ("cluster", "effects", "fault_point", "now_ns", "one_message", "rm_id", "wall_ns")

    def __init__(self, cluster: Cluster, now_ns: int, rm_id: str = "") -> None:
        self.cluster = cluster
        self.rm_id = rm_id
        self.fault_point = cluster.fault_point
        self.now_ns = now_ns
        self.wall_ns: int = now_ns + cluster.calendar.ahead_ns()
        self.effects: list[Effect] = []
        self.one_message: tuple[LogEntry, ...] = ()

    def emit(self, effect: Effect) -> None:
        """Add an effect."""
        if self.fault_point is not None:
            self.fault_point()
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
        """Add an event record, unless none are made.

        Implements: EVT-12, EVT-13, EVT-7. Rules: EVT-1, EVT-11, EVT-130.
        """
        if self.fault_point is not None:
            self.fault_point()
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
            self.wall_ns,
            resource,
            events.cut_message(message),
            queue,
        )
        self.effects.append(record)

    def log(self, request: Request, message: str) -> None:
        """Add a message to the log of an ask; asks with one equal message share their log.

        A decision may block 100,000 asks, all with the same message. Rules: CYC-24.
        """
        if request.log:
            request.log = noted(request.log, message, 1, self.now_ns)
            return
        if not self.one_message or self.one_message[0][0] != message:
            self.one_message = noted((), message, 1, self.now_ns)
        request.log = self.one_message

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
        """Add an event about an application. Implements: EVT-15. Rules: chapter 90 section 2.1."""
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
        """Add the event that an allocation came to its application, or left it.

        Implements: EVT-20, EVT-21.
        """
        identity, resource = allocation.allocation_id, allocation.amounts.resource
        application = allocation.application
        self.application_event(partition, application, change, detail, identity, resource)

    def node_event(self, partition: Partition, allocation: Allocation, change: int) -> None:
        """Add the event that an allocation came to its node, or left it.

        Implements: EVT-49, EVT-57. Rules: EVT-50.
        """
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
        """Set a timer that runs out after ``delay_ns``, and return it. Rules: APP-16."""
        deadline = Deadline(partition, what, application)
        deadline.allocation = allocation
        self.cluster.deadlines.set(self.now_ns, delay_ns, deadline)
        return deadline
