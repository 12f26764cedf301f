"""Answers questions about applications (rules: REST-77 ff.).

Values that may change are copied when the question is asked, column by column. A view is made when
it is read, on the thread of the reader. Most questions are about the applications of one queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias, final

from remuda.base.resources import Resource
from remuda.core.messages.application_views import AllocationView, ApplicationView, PlaceholderView
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.queries import UnknownQueue
from remuda.core.messages.rows import Rows, WaitingAsks
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application, History, higher
from remuda.core.model.applications.gang import Gang
from remuda.core.model.calendar import ToWall
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, ResourceTypes, Vector, add_vector, copy
from remuda.core.views.allocations import InFlight, allocation_views, by_id, note_leaving
from remuda.core.views.columns import Column
from remuda.core.views.nodes import NotedNodes
from remuda.core.views.preemptions import Involved
from remuda.core.views.requests import (
    NotedRequest,
    by_key,
    cost,
    note_requests,
    request_view,
    waiting_asks,
)

# How many asks are copied for one question, which takes some milliseconds; a group of equal asks
# counts some more. Then the most allocations of one application that are sorted.
_NOTED: Final = 20_000
_SORTED: Final = 4_096

# More than any question costs.
_ANY: Final = 2**62

# Task groups that had placeholders: name, size of the first, count, replaced, timed out.
_NotedGroup: TypeAlias = tuple[str, Amounts, int, int, int]
NotedGroups: TypeAlias = tuple[_NotedGroup, ...]

# Amounts the placeholders hold, None without any; their deadline; the task groups.
_NotedGang: TypeAlias = tuple[Vector | None, int, NotedGroups]
_NO_GANG: Final[_NotedGang] = (None, 0, ())

# Resource-seconds by instance type: used, preempted, held as placeholders.
_Seconds: TypeAlias = dict[str, Resource]
NotedSeconds: TypeAlias = tuple[_Seconds, _Seconds, _Seconds]
NO_SECONDS: Final[NotedSeconds] = ({}, {}, {})


def application_views(
    partition: Partition, path: str
) -> tuple[ApplicationView, ...] | UnknownQueue:
    """Return the live applications of a queue, or of all queues, by ID.

    Rules: REST-76, REST-77, REST-136, PRE-91.
    """
    found = _below(partition, path)
    if found is None:
        return UnknownQueue()
    if not found:
        return ()
    noted = _NotedApplications(partition, found, None, _ANY)
    return tuple([noted.view(place, whole=True) for place in range(len(found))])


def application_rows(partition: Partition, path: str) -> Rows[ApplicationView] | UnknownQueue:
    """Return the same views, each made when it is read. Rules: REST-76, REST-77, PRE-91, DMP-17."""
    found = _below(partition, path)
    if found is None:
        return UnknownQueue()
    return chosen_application_rows(partition, found)


def rows_beside(nodes: NotedNodes, partition: Partition) -> Rows[ApplicationView]:
    """Return all applications, at the same moment as ``nodes``, which must be all nodes.

    Rules: REST-77, PRE-91, DMP-15, DMP-17.
    """
    return _NotedApplications(partition, _below(partition, "") or (), nodes, _NOTED).rows()


def chosen_application_rows(
    partition: Partition, found: Sequence[Application]
) -> Rows[ApplicationView]:
    """Return the views of some live applications, each made when it is read.

    Rules: REST-77, REST-144, DMP-17.
    """
    nodes = None
    if sum([len(each.allocations) for each in found]) > len(partition.nodes):
        # The noted nodes have the amounts of all allocations, which costs less than reading each.
        nodes = NotedNodes(partition, sorted(partition.nodes))
    return _NotedApplications(partition, found, nodes, _NOTED).rows()


def _below(partition: Partition, path: str) -> list[Application] | None:
    """Return the live applications of a queue by ID, of all without a path; None: no such queue."""
    applications = partition.applications
    if path:
        queue = partition.queue(path)
        if queue is None:
            return None
        applications = queue.applications
    return [applications[each] for each in sorted(applications)]


@final
class _NotedApplications:
    """Some live applications as they were at one moment, in few large lists by place.

    Facts that never change are not copied: queue, user, groups. ``held``: the
    allocations, which are lent; their amounts are in ``amounts``, unless ``nodes`` has them. Facts
    that few applications have are copied for these only: ``gangs``, ``seconds``, ``requests``. Once
    asks at a cost of ``room`` were copied, ``waiting`` is filled instead of ``requests``.
    Rules: REST-77, DMP-15, DMP-17.
    """

    __slots__ = (
        "allocated", "amounts", "applications", "backoff_until_ns", "flying",
        "gangs", "held", "involved", "leaving", "max_allocated", "name", "nodes", "pending",
        "priority", "requests", "seconds", "started_ns", "state", "state_log", "submitted_ns",
        "to_wall", "types", "waiting",
    )  # fmt: skip

    def __init__(
        self,
        partition: Partition,
        found: Sequence[Application],
        nodes: NotedNodes | None,
        room: int,
    ) -> None:
        self.name = partition.name
        self.to_wall: ToWall = partition.calendar.to_wall
        self.types = partition.types
        self.nodes = nodes
        self.applications = found
        self.state = [each.state for each in found]
        self.submitted_ns = [each.submitted_ns for each in found]
        self.started_ns = [each.started_ns for each in found]
        self.priority = [each.priority for each in found]
        self.backoff_until_ns = [each.backoff_until_ns for each in found]
        self.state_log = [each.state_log for each in found]
        self.allocated = Column([each.allocated for each in found])
        self.max_allocated = Column([each.max_allocated for each in found])
        self.pending = Column([each.pending for each in found])
        self.held = [each.lend() for each in found]
        self.gangs: dict[int, _NotedGang] = {}
        self.seconds: dict[int, NotedSeconds] = {}
        self.requests: dict[int, tuple[NotedRequest, ...]] = {}
        self.waiting: dict[int, WaitingAsks[RequestView]] = {}
        for place, each in enumerate(found):
            if each.gang is not None:
                self.gangs[place] = _note_gang(each.gang)
            if each.history is not None:
                self.seconds[place] = seconds_views(self.types, each.history)
            if each.request_groups:
                needed = cost(each, room)
                if needed <= room:
                    room -= needed
                    self.requests[place] = note_requests(partition, each)
                else:
                    self.waiting[place] = waiting_asks(partition, each)
        self.amounts: dict[Allocation, Amounts] = {}
        if nodes is None:
            self.amounts = {each: each.amounts for held in self.held for each in held.values()}
            self.leaving, self.flying = note_leaving(self.amounts), InFlight(partition)
        else:
            self.leaving, self.flying = nodes.leaving, nodes.flying
        self.involved = Involved(partition)

    def rows(self) -> Rows[ApplicationView]:
        """Return the views; the asks and allocations of each are made when they are read."""
        return Rows(len(self.applications), lambda place: self.view(place, whole=False))

    def view(self, place: int, *, whole: bool) -> ApplicationView:
        """Return one view. ``whole``: with its asks and allocations made at once. Any thread."""
        application, to_wall = self.applications[place], self.to_wall
        record, number = application.record, application.number
        resource = self.types.resource
        allocated = self.allocated.vector(place)
        used = copy(allocated)
        placeholders, deadline_ns, groups = self.gangs.get(place, _NO_GANG)
        if placeholders is not None:
            add_vector(used, placeholders)
        used_seconds, preempted_seconds, placeholder_seconds = self.seconds.get(place, NO_SECONDS)
        requests, allocations = self._requests(place), self._allocations(place, whole=whole)
        return ApplicationView(
            application_id=record.application_id,
            partition=self.name,
            queue=application.queue_path,
            user=application.user,
            groups=application.user_groups,
            state=self.state[place],
            submission_time_ns=to_wall(self.submitted_ns[place]),
            finished_time_ns=0,
            start_time_ns=to_wall(self.started_ns[place]),
            used=resource(allocated),
            max_used=resource(higher(self.max_allocated.vector(place), used)),
            pending=resource(self.pending.vector(place)),
            rejected_message="",
            max_request_priority=self.priority[place],
            state_log=tuple([(to_wall(at_ns), state) for at_ns, state in self.state_log[place]]),
            backoff_deadline_ns=to_wall(self.backoff_until_ns[place]),
            placeholder={} if placeholders is None else resource(placeholders),
            placeholder_deadline_ns=to_wall(deadline_ns),
            placeholder_data=placeholder_views(groups),
            preemptions=tuple(self.involved.caused.get(number, ())),
            evictions=tuple(self.involved.suffered.get(number, ())),
            used_seconds=used_seconds,
            preempted_seconds=preempted_seconds,
            placeholder_seconds=placeholder_seconds,
            requests=tuple(requests) if whole else requests,
            allocations=tuple(allocations) if whole else allocations,
            waiting=self.waiting.get(place),
            tags=record.tags,
        )

    def _requests(self, place: int) -> Rows[RequestView]:
        noted = by_key(self.requests.get(place, ()))
        make = partial(request_view, self.name, self.to_wall)
        return Rows(len(noted), lambda number: make(noted[number]))

    def _allocations(self, place: int, *, whole: bool) -> Rows[AllocationView]:
        """Return the allocations of one application, sorted unless there are too many."""
        held = list(self.held[place].values())
        ordered = whole or len(held) <= _SORTED
        if ordered:
            held.sort(key=by_id)
        amounts = self.amounts.__getitem__ if self.nodes is None else self.nodes.amounts
        return allocation_views(
            self.name, held, amounts, going=self.leaving, flying=self.flying, ordered=ordered
        )


def _note_gang(gang: Gang) -> _NotedGang:
    return copy(gang.usage), 0 if gang.timer is None else gang.timer.at_ns, note_groups(gang)


def seconds_views(types: ResourceTypes, history: History) -> NotedSeconds:
    """Return the resource-seconds of ended allocations: used, preempted, held as placeholders.

    Rules: RES-57.
    """
    return (
        _sums(types, history.used),
        _sums(types, history.preempted),
        _sums(types, history.placeholder),
    )


def _sums(types: ResourceTypes, sums: Mapping[str, Vector]) -> dict[str, Resource]:
    """Return sums by instance type, sorted; each is cut to 64 bits. Rules: RES-57."""
    return {kind: types.resource(vector) for kind, vector in sorted(sums.items())}


def note_groups(gang: Gang) -> NotedGroups:
    """Note the task groups that had placeholders, by name. Rules: GANG-35."""
    return tuple(
        [
            (name, group.minimum, group.count, group.replaced, group.timed_out)
            for name, group in sorted(gang.groups.items())
            if group.minimum is not None
        ]
    )


def placeholder_views(groups: NotedGroups) -> tuple[PlaceholderView, ...]:
    """Return the views of noted task groups. Rules: GANG-35."""
    return tuple(
        [
            PlaceholderView(name, dict(minimum.resource), *counts)
            for name, minimum, *counts in groups
        ]
    )
