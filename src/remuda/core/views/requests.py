"""Makes the views of pending asks, of which there may be many (rules: REST-79).

Values that may change are copied when the question is asked; a view is made when it is read. For
too many asks only a list of them is made, and each ask is copied when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Final, TypeAlias, cast

from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.commands import Ask
from remuda.core.messages.rows import Rows, WaitingAsks
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.class_queue import Group
from remuda.core.model.asks.request import Request
from remuda.core.model.calendar import ToWall
from remuda.core.model.finding import LogEntry
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import Preemption
from remuda.core.model.vectors import Amounts
from remuda.core.views.findings import Why, finding_view, log_view, note_finding

# The parts of an ask that may change: ask, amounts, created_ns, pending, attempted, reported, log,
# waits_since_ns, preemption.
_State: TypeAlias = tuple[
    Ask, Amounts, int, int, bool, bool, tuple[LogEntry, ...], int, "Preemption | None"
]

# The cost of noting why the asks of a group wait, in units of one noted ask.
_GROUP_COST: Final = 5

# An ask at one moment, why it waits, and the IDs of its reserved nodes.
NotedRequest: TypeAlias = tuple[_State, "Why | None", tuple[str, ...]]

_state: Final = cast(
    "Callable[[Request], _State]",
    attrgetter(
        "ask", "amounts", "created_ns", "pending", "attempted", "reported", "log",
        "waits_since_ns", "preemption",
    ),
)  # fmt: skip


def note_requests(partition: Partition, application: Application) -> tuple[NotedRequest, ...]:
    """Note the waiting asks of an application as they are now, in no order.

    Cost: 1 µs each, and the reasons once for equal asks. Rules: REST-79, DMP-17.
    """
    found: list[NotedRequest] = []
    for group in application.request_groups.values():
        known: dict[tuple[str, bool], Why | None] = {}
        for request in group.order.asks():
            key = (request.ask.task_group, request.ask.placeholder)
            if key not in known:
                known[key] = note_finding(partition, request)
            found.append((_state(request), known[key], _reserved(request)))
    return tuple(found)


def cost(application: Application, limit: int) -> int:
    """Return the cost of noting the waiting asks: 1 for each, and more for each group.

    A cost above ``limit`` is not exact. Cost: O(limit) at most.
    """
    groups = application.request_groups
    found = _GROUP_COST * len(groups)
    if found <= limit:
        found += sum([group.order.count for group in groups.values()])
    return found


def waiting_asks(partition: Partition, application: Application) -> WaitingAsks[RequestView]:
    """Return the asks of an application without reading any of them. Rules: REST-144, DMP-17.

    Cost: 15 ns for each ask, waiting or not.
    """
    asks = list(application.requests.values())
    reserved = [
        (each.node.node_id, each.request.ask.allocation_key)
        for each in application.reservations.values()
    ]
    note = partial(_note_chosen, partition)
    return WaitingAsks(asks, _key, _rank, note, tuple(reserved))


def _key(ask: object) -> str:
    assert isinstance(ask, Request)
    return ask.ask.allocation_key


def _rank(ask: object) -> tuple[object, ...]:
    assert isinstance(ask, Request)
    return ask.sort_key


def _note_chosen(partition: Partition, chosen: Sequence[object]) -> Rows[RequestView]:
    """Note the asks, of those given, that still wait, as they are now."""
    found: list[NotedRequest] = []
    known: dict[tuple[Group, str, bool], Why | None] = {}
    for request in chosen:
        assert isinstance(request, Request)
        group = request.group
        if group is None:
            continue
        key = (group, request.ask.task_group, request.ask.placeholder)
        if key not in known:
            known[key] = note_finding(partition, request)
        found.append((_state(request), known[key], _reserved(request)))
    name, to_wall = partition.name, partition.calendar.to_wall
    return Rows(len(found), lambda place: request_view(name, to_wall, found[place]))


def _reserved(request: Request) -> tuple[str, ...]:
    return tuple(request.reservations) if request.reservations else ()


def by_key(noted: tuple[NotedRequest, ...]) -> list[NotedRequest]:
    """Return the sort key of a noted ask: its allocation key. Rules: REST-20."""
    return sorted(noted, key=lambda each: each[0][0].allocation_key)


def request_view(partition: str, to_wall: ToWall, noted: NotedRequest) -> RequestView:
    """Return the view of a noted ask. Any thread. Rules: REST-79, REST-120, PRE-89."""
    state, why, reserved = noted
    ask, amounts, created_ns, pending, attempted, reported, log, waits_since_ns, preemption = state
    finding = None
    if why is not None:
        finding = finding_view(why, amounts, to_wall, created_ns, waits_since_ns)
    return RequestView(
        allocation_key=ask.allocation_key,
        tags=dict(ask.tags),
        request_time_ns=to_wall(created_ns),
        resource=dict(amounts.resource),
        pending_count=pending,
        priority=ask.priority,
        required_node=ask.tags.get(REQUIRED_NODE, ""),
        application_id=ask.application_id,
        partition=partition,
        task_group=ask.task_group,
        placeholder=ask.placeholder,
        execution_timeout_ms=ask.execution_timeout_ms,
        originator=ask.originator,
        scheduling_attempted=attempted,
        triggered_scale_up=reported,
        log=log_view(log, to_wall),
        finding=finding,
        reservations=reserved,
        preemption=0 if preemption is None else preemption.number,
    )
