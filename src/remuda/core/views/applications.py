"""Answers questions about applications (rules: REST-77 ff.).

What may change later is noted with the question, column by column; a view is made when it is read,
on whatever thread that is. Few questions want them all: most are about one queue.
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
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application, higher
from remuda.core.model.gang import Gang
from remuda.core.model.history import History
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts, ResourceTypes, Vector, add_vector, copy
from remuda.core.views.allocations import InFlight, allocation_views, by_id, note_leaving
from remuda.core.views.columns import Column
from remuda.core.views.nodes import NotedNodes
from remuda.core.views.preemptions import Involved
from remuda.core.views.requests import NotedRequest, by_key, note_requests, request_view

# Task groups that had placeholders: name, size of the first, count, replaced, timed out.
_NotedGroup: TypeAlias = tuple[str, Amounts, int, int, int]
_NotedGroups: TypeAlias = tuple[_NotedGroup, ...]

# What the placeholders hold, None without any; their deadline; those groups.
_NotedGang: TypeAlias = tuple[Vector | None, int, _NotedGroups]
_NO_GANG: Final[_NotedGang] = (None, 0, ())

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
    found = _below(partition, path)
    return UnknownQueue() if found is None else chosen_application_views(partition, found)


def application_rows(partition: Partition, path: str) -> Rows[ApplicationView] | UnknownQueue:
    """Return the same, each made when it is read. Rules: REST-76, REST-77, PRE-91, DMP-17."""
    found = _below(partition, path)
    if found is None:
        return UnknownQueue()
    nodes = None
    if sum([len(each.allocations) for each in found]) > len(partition.nodes):
        # These know what all allocations hold, for less than a look at each.
        nodes = NotedNodes(partition, sorted(partition.nodes))
    return _NotedApplications(partition, found, nodes).rows()


def rows_beside(nodes: NotedNodes, partition: Partition) -> Rows[ApplicationView]:
    """Return all applications at the moment at which the nodes, all of them, were noted.

    Rules: REST-77, PRE-91, DMP-15, DMP-17.
    """
    return _NotedApplications(partition, _below(partition, "") or (), nodes).rows()


def chosen_application_views(
    partition: Partition, found: Sequence[Application]
) -> tuple[ApplicationView, ...]:
    """Return some applications, live or ended. Rules: REST-77, REST-78, REST-136, PRE-91."""
    if not found:
        return ()
    noted = _NotedApplications(partition, found, None)
    return tuple([noted.view(place, whole=True) for place in range(len(found))])


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
    """Some applications as they were at one moment, in few large lists, each by place.

    What is settled when one comes is not noted: its queue, user and groups, and why it is rejected.
    ``held``: its allocations, which are lent; what they hold is in ``amounts``, unless ``nodes``
    know it. What few have is only noted for these: ``gangs``, ``seconds``, ``requests``.
    Rules: REST-77, DMP-15, DMP-17.
    """

    __slots__ = (
        "allocated", "amounts", "applications", "backoff_until_ns", "finished_ns", "flying",
        "gangs", "held", "involved", "leaving", "max_allocated", "name", "nodes", "pending",
        "priority", "requests", "seconds", "started_ns", "state", "state_log", "submitted_ns",
        "types",
    )  # fmt: skip

    def __init__(
        self, partition: Partition, found: Sequence[Application], nodes: NotedNodes | None
    ) -> None:
        self.name = partition.name
        self.types = partition.types
        self.nodes = nodes
        self.applications = found
        self.state = [each.state for each in found]
        self.submitted_ns = [each.submitted_ns for each in found]
        self.started_ns = [each.started_ns for each in found]
        self.finished_ns = [each.finished_ns for each in found]
        self.priority = [each.priority for each in found]
        self.backoff_until_ns = [each.backoff_until_ns for each in found]
        self.state_log = [each.state_log for each in found]
        self.allocated = Column([each.allocated for each in found])
        self.max_allocated = Column([each.max_allocated for each in found])
        self.pending = Column([each.pending for each in found])
        self.held = [each.lend() for each in found]
        self.gangs: dict[int, _NotedGang] = {}
        self.seconds: dict[int, _NotedSeconds] = {}
        self.requests: dict[int, tuple[NotedRequest, ...]] = {}
        for place, each in enumerate(found):
            if each.gang is not None:
                self.gangs[place] = _note_gang(each.gang)
            if each.history is not None:
                self.seconds[place] = _note_seconds(self.types, each.history)
            if each.request_groups:
                self.requests[place] = note_requests(partition, each)
        self.amounts: dict[Allocation, Amounts] = {}
        if nodes is None:
            self.amounts = {each: each.amounts for held in self.held for each in held.values()}
            self.leaving, self.flying = note_leaving(self.amounts), InFlight(partition)
        else:
            self.leaving, self.flying = nodes.leaving, nodes.flying
        self.involved = Involved(partition)

    def rows(self) -> Rows[ApplicationView]:
        """Return them, what each has made when it is read."""
        return Rows(len(self.applications), lambda place: self.view(place, whole=False))

    def view(self, place: int, *, whole: bool) -> ApplicationView:
        """Return one; unless ``whole``, what it has is made when it is read. Any thread."""
        application = self.applications[place]
        record, number = application.record, application.number
        resource = self.types.resource
        allocated = self.allocated.vector(place)
        used = copy(allocated)
        placeholders, deadline_ns, groups = self.gangs.get(place, _NO_GANG)
        if placeholders is not None:
            add_vector(used, placeholders)
        used_seconds, preempted_seconds, placeholder_seconds = self.seconds.get(place, _NO_SECONDS)
        requests, allocations = self._requests(place), self._allocations(place)
        return ApplicationView(
            application_id=record.application_id,
            partition=self.name,
            queue=application.queue_path,
            user=application.user,
            groups=application.user_groups,
            state=self.state[place],
            submission_time_ns=self.submitted_ns[place],
            finished_time_ns=self.finished_ns[place],
            start_time_ns=self.started_ns[place],
            used=resource(allocated),
            max_used=resource(higher(self.max_allocated.vector(place), used)),
            pending=resource(self.pending.vector(place)),
            rejected_message=application.reject_reason,
            max_request_priority=self.priority[place],
            state_log=self.state_log[place],
            backoff_deadline_ns=self.backoff_until_ns[place],
            placeholder={} if placeholders is None else resource(placeholders),
            placeholder_deadline_ns=deadline_ns,
            placeholder_data=tuple([_placeholder_view(each) for each in groups]),
            preemptions=tuple(self.involved.caused.get(number, ())),
            evictions=tuple(self.involved.suffered.get(number, ())),
            used_seconds=used_seconds,
            preempted_seconds=preempted_seconds,
            placeholder_seconds=placeholder_seconds,
            requests=tuple(requests) if whole else requests,
            allocations=tuple(allocations) if whole else allocations,
        )

    def _requests(self, place: int) -> Rows[RequestView]:
        noted = by_key(self.requests.get(place, ()))
        make = partial(request_view, self.name)
        return Rows(len(noted), lambda number: make(noted[number]))

    def _allocations(self, place: int) -> Rows[AllocationView]:
        held = self.held[place].values()
        if self.nodes is None:
            noted = [(each, self.amounts[each]) for each in held]
        else:
            noted = [(each, self.nodes.amounts(each)) for each in held]
        noted.sort(key=by_id)
        return allocation_views(self.name, noted, self.leaving, self.flying)


def _note_gang(gang: Gang) -> _NotedGang:
    return copy(gang.usage), 0 if gang.timer is None else gang.timer.at_ns, _note_groups(gang)


def _note_seconds(types: ResourceTypes, history: History) -> _NotedSeconds:
    """Return what ended has used, was preempted of and held as placeholders. Rules: RES-57."""
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
