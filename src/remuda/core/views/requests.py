"""Answers about asks with something pending (rules: REST-79), of which there may be many.

What may change later is noted with the question; the view is made when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Final, TypeAlias, cast

from remuda.core.messages.commands import Ask
from remuda.core.messages.queries import RequestView
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model.application import Application
from remuda.core.model.finding import LogEntry
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import Preemption
from remuda.core.model.request import Request
from remuda.core.model.vectors import Amounts
from remuda.core.views.findings import Why, finding_view, log_view, note_finding

# What of an ask may change: itself, amounts, created_ns, pending, attempted, reported, log,
# waits_since_ns, preemption.
_State: TypeAlias = tuple[
    Ask, Amounts, int, int, bool, bool, tuple[LogEntry, ...], int, "Preemption | None"
]

# An ask as it was at one moment, why it waits, and the IDs of the nodes it has reserved.
NotedRequest: TypeAlias = tuple[_State, "Why | None", tuple[str, ...]]

_state: Final = cast(
    "Callable[[Request], _State]",
    attrgetter(
        "ask", "amounts", "created_ns", "pending", "attempted", "reported", "log",
        "waits_since_ns", "preemption",
    ),
)  # fmt: skip


def note_requests(partition: Partition, application: Application) -> tuple[NotedRequest, ...]:
    """Note what the asks of an application that wait are at this moment, in no order.

    Cost: 1 µs each, and the reasons once for equal asks. Rules: REST-79, DMP-17.
    """
    found: list[NotedRequest] = []
    for group in application.request_groups.values():
        known: dict[tuple[str, bool], Why | None] = {}
        for request in group.order.asks():
            key = (request.ask.task_group, request.ask.placeholder)
            if key not in known:
                known[key] = note_finding(partition, request)
            reserved = tuple(request.reservations) if request.reservations else ()
            found.append((_state(request), known[key], reserved))
    return tuple(found)


def by_key(noted: tuple[NotedRequest, ...]) -> list[NotedRequest]:
    """Return noted asks of one application by key. Rules: REST-20."""
    return sorted(noted, key=lambda each: each[0][0].allocation_key)


def request_view(partition: str, noted: NotedRequest) -> RequestView:
    """Return an ask as it was noted. Any thread. Rules: REST-79, REST-120, PRE-89."""
    state, why, reserved = noted
    ask, amounts, created_ns, pending, attempted, reported, log, waits_since_ns, preemption = state
    return RequestView(
        allocation_key=ask.allocation_key,
        tags=dict(ask.tags),
        request_time_ns=created_ns,
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
        log=log_view(log),
        finding=None if why is None else finding_view(why, amounts, created_ns, waits_since_ns),
        reservations=reserved,
        preemption=0 if preemption is None else preemption.number,
    )
