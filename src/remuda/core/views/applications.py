"""Answers questions about applications (rules: REST-77 ff.).

What may change later is noted with the question, amounts in large columns; a view is made when it
is read, on whatever thread that is. Few questions want them all: most are about one queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias, final

from remuda.base.resources import Resource
from remuda.core.messages.queries import (
    AllocationView,
    ApplicationView,
    PlaceholderView,
    RequestView,
    UnknownQueue,
)
from remuda.core.messages.rows import Rows
from remuda.core.model.application import Application, higher
from remuda.core.model.gang import Gang
from remuda.core.model.history import History
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, ResourceTypes, Vector, add_vector, copy
from remuda.core.views.allocations import (
    InFlight,
    NotedAllocations,
    allocation_views,
    by_id,
    note_allocations,
)
from remuda.core.views.columns import Column
from remuda.core.views.nodes import NotedNodes
from remuda.core.views.preemptions import Involved
from remuda.core.views.requests import by_key, note_requests, request_view

# Task groups that had placeholders: name, size of the first, count, replaced, timed out.
_NotedGroup: TypeAlias = tuple[str, Amounts, int, int, int]
_NotedGroups: TypeAlias = tuple[_NotedGroup, ...]

# Resource-seconds by instance type: used, preempted, held as placeholders.
_Seconds: TypeAlias = dict[str, Resource]
_NotedSeconds: TypeAlias = tuple[_Seconds, _Seconds, _Seconds]
_NO_SECONDS: Final[_NotedSeconds] = ({}, {}, {})


def application_views(
    partition: Partition, path: str
) -> tuple[ApplicationView, ...] | UnknownQueue:
    """Return the live applications of a queue, or of all queues, by ID.

    Rules: REST-76, REST-77, PRE-91.
    """
    noted = _note_all(partition, path)
    return UnknownQueue() if noted is None else tuple([each.view(whole=True) for each in noted])


def application_rows(partition: Partition, path: str) -> Rows[ApplicationView] | UnknownQueue:
    """Return the same, each made when it is read. Rules: REST-76, REST-77, PRE-91, DMP-17."""
    noted = _note_all(partition, path)
    return UnknownQueue() if noted is None else _rows(noted)


def rows_beside(nodes: NotedNodes, partition: Partition) -> Rows[ApplicationView]:
    """Return all applications at the moment at which the nodes were noted.

    Rules: REST-77, PRE-91, DMP-15, DMP-17.
    """
    return _rows(_note_all(partition, "", nodes) or [])


def _rows(noted: list[_NotedApplication]) -> Rows[ApplicationView]:
    return Rows(len(noted), lambda place: noted[place].view(whole=False))


def chosen_application_views(
    partition: Partition, found: Sequence[Application]
) -> tuple[ApplicationView, ...]:
    """Return some applications, live or ended. Rules: REST-77, REST-78, REST-136, PRE-91."""
    if not found:
        return ()
    return tuple([each.view(whole=True) for each in _noted(partition, found, None)])


def _note_all(
    partition: Partition, path: str, nodes: NotedNodes | None = None
) -> list[_NotedApplication] | None:
    """Note the applications of a queue, None if it is unknown."""
    applications = partition.applications
    if path:
        queue = partition.queue(path)
        if queue is None:
            return None
        applications = queue.applications
    return _noted(partition, [applications[each] for each in sorted(applications)], nodes)


def _noted(
    partition: Partition, found: Sequence[Application], nodes: NotedNodes | None
) -> list[_NotedApplication]:
    common = _Common(partition, found, nodes)
    return [_NotedApplication(common, place, each) for place, each in enumerate(found)]


@final
class _Common:
    """What the applications of one answer share, and their amounts, by place.

    ``nodes``: know what allocations hold, if any.
    """

    __slots__ = (
        "allocated", "flying", "involved", "max_allocated", "name", "nodes", "partition", "pending",
        "types",
    )  # fmt: skip

    def __init__(
        self, partition: Partition, found: Sequence[Application], nodes: NotedNodes | None
    ) -> None:
        self.allocated = Column([each.allocated for each in found])
        self.max_allocated = Column([each.max_allocated for each in found])
        self.pending = Column([each.pending for each in found])
        self.nodes = nodes
        self.partition = partition
        self.name = partition.name
        self.types = partition.types
        self.flying = InFlight(partition) if nodes is None else nodes.flying
        self.involved = Involved(partition)


@final
class _NotedApplication:
    """An application as it was at one moment. Rules: REST-77, DMP-15, DMP-17."""

    __slots__ = (
        "allocations", "application", "backoff_until_ns", "common", "deadline_ns", "finished_ns",
        "groups", "place", "placeholders", "priority", "queue",
        "reason", "requests", "seconds", "started_ns", "state", "state_log", "submitted_ns", "user",
        "user_groups",
    )  # fmt: skip

    def __init__(self, common: _Common, place: int, application: Application) -> None:
        gang = application.gang
        self.common = common
        self.place = place
        self.application = application
        self.queue = application.queue_path
        self.user = application.user
        self.user_groups = application.user_groups
        self.state = application.state
        self.submitted_ns = application.submitted_ns
        self.finished_ns = application.finished_ns
        self.started_ns = application.started_ns
        self.reason = application.reject_reason
        self.priority = application.priority
        self.state_log = tuple(application.state_log)
        self.backoff_until_ns = application.backoff_until_ns
        self.placeholders: Vector | None = None if gang is None else copy(gang.usage)
        self.deadline_ns = 0 if gang is None or gang.timer is None else gang.timer.at_ns
        self.groups: _NotedGroups = () if gang is None else _note_groups(gang)
        self.seconds = _note_seconds(common.types, application.history)
        self.requests = note_requests(common.partition, application)
        self.allocations: NotedAllocations = (
            note_allocations([application.allocations.values()])
            if common.nodes is None
            else ([], [], {})
        )

    def view(self, *, whole: bool) -> ApplicationView:
        """Return the application; unless ``whole``, what it has is made when read. Any thread."""
        record = self.application.record
        number = self.application.number
        common = self.common
        resource = common.types.resource
        allocated = common.allocated.vector(self.place)
        used = copy(allocated)
        if self.placeholders is not None:
            add_vector(used, self.placeholders)
        requests, allocations = self._requests(), self._allocations()
        used_seconds, preempted_seconds, placeholder_seconds = self.seconds
        return ApplicationView(
            application_id=record.application_id,
            partition=common.name,
            queue=self.queue,
            user=self.user,
            groups=self.user_groups,
            state=self.state,
            submission_time_ns=self.submitted_ns,
            finished_time_ns=self.finished_ns,
            start_time_ns=self.started_ns,
            used=resource(allocated),
            max_used=resource(higher(common.max_allocated.vector(self.place), used)),
            pending=resource(common.pending.vector(self.place)),
            rejected_message=self.reason,
            max_request_priority=self.priority,
            state_log=self.state_log,
            backoff_deadline_ns=self.backoff_until_ns,
            placeholder={} if self.placeholders is None else resource(self.placeholders),
            placeholder_deadline_ns=self.deadline_ns,
            placeholder_data=tuple([_placeholder_view(each) for each in self.groups]),
            preemptions=tuple(common.involved.caused.get(number, ())),
            evictions=tuple(common.involved.suffered.get(number, ())),
            used_seconds=used_seconds,
            preempted_seconds=preempted_seconds,
            placeholder_seconds=placeholder_seconds,
            requests=tuple(requests) if whole else requests,
            allocations=tuple(allocations) if whole else allocations,
        )

    def _requests(self) -> Rows[RequestView]:
        noted = by_key(self.requests)
        make = partial(request_view, self.common.name)
        return Rows(len(noted), lambda place: make(noted[place]))

    def _allocations(self) -> Rows[AllocationView]:
        common = self.common
        allocations, amounts, going = self.allocations
        if common.nodes is not None:
            allocations = sorted(common.nodes.of(self.application), key=by_id)
            noted = [(each, common.nodes.amounts(each)) for each in allocations]
            return allocation_views(common.name, noted, common.nodes.allocations[2], common.flying)
        pairs = sorted(zip(allocations, amounts, strict=True), key=lambda each: by_id(each[0]))
        return allocation_views(common.name, pairs, going, common.flying)


def _note_seconds(types: ResourceTypes, history: History | None) -> _NotedSeconds:
    """Return what ended has used, was preempted of and held as placeholders. Rules: RES-57."""
    if history is None:
        return _NO_SECONDS
    return (
        _sums(types, history.used),
        _sums(types, history.preempted),
        _sums(types, history.placeholder),
    )


def _sums(types: ResourceTypes, sums: Mapping[str, Vector]) -> dict[str, Resource]:
    """Return sums by instance type, sorted; each is cut to 64 bits. Rules: RES-57."""
    return {kind: types.resource(vector) for kind, vector in sorted(sums.items())}


def _note_groups(gang: Gang) -> _NotedGroups:
    """Note the task groups that had placeholders, by name. Rules: GANG-35."""
    return tuple(
        [
            (name, group.minimum, group.count, group.replaced, group.timed_out)
            for name, group in sorted(gang.groups.items())
            if group.minimum is not None
        ]
    )


def _placeholder_view(noted: _NotedGroup) -> PlaceholderView:
    name, minimum, *counts = noted
    return PlaceholderView(name, dict(minimum.resource), *counts)
