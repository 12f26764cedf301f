"""Questions about applications: what is placed, what is pending, and why one ask waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import AllocationView, ApplicationView
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.queries import AskPortionQuery, Query, View
from remuda.core.messages.rows import ApplicationRowsQuery
from remuda.library import inputs
from remuda.library.engine import RM_ID
from remuda.library.errors import RequestError
from remuda.library.explanation import Explanation, explained
from remuda.library.records import Allocation, Ask
from remuda.runtime.rows import rows

Look: TypeAlias = Callable[[Query], View]


def known(look: Look, partition: str, application_id: str) -> bool:
    """Whether there is such an application, or was one that is remembered."""
    query = ApplicationQuery(partition, application_id, completed=True, rejected=True, rm_id=RM_ID)
    return bool(rows(ApplicationView, look(query)))


def pending(look: Look, partition: str, application_id: str) -> list[Ask]:
    """Return the asks that wait, by application and key; "": those of all applications."""
    return [
        _ask(request)
        for application in _applications(look, partition, application_id)
        for request in _requests(look, application)
    ]


def allocations(look: Look, partition: str, application_id: str) -> list[Allocation]:
    """Return what is placed, by application and ID; "": of all applications."""
    return [
        _allocation(view)
        for application in _applications(look, partition, application_id)
        for view in application.allocations
    ]


def explanation(look: Look, partition: str, ask: object, now_ns: int) -> Explanation:
    """Return why an ask waits, or that it does not. Raises: RequestError."""
    if not isinstance(ask, Ask):
        raise RequestError(f"{ask!r:.80} is no Ask; pass one that ask() or pending() returned")
    application_id = inputs.name(ask.application_id, "application_id of the ask")
    key = inputs.name(ask.allocation_key, "allocation_key of the ask")
    for application in _applications(look, partition, application_id):
        placed = tuple(
            [
                f"{view.allocation_id} runs on {view.node_id}"
                for view in application.allocations
                if view.allocation_key == key
            ]
        )
        for request in _requests(look, application, key):
            return explained(ask.application_id, request, placed, now_ns)
        return Explanation(ask.application_id, key, 0, placed=placed)
    return Explanation(ask.application_id, key, 0)


def _applications(look: Look, partition: str, application_id: str) -> list[ApplicationView]:
    if application_id:
        return rows(ApplicationView, look(ApplicationQuery(partition, application_id, rm_id=RM_ID)))
    return rows(ApplicationView, look(ApplicationRowsQuery(partition, rm_id=RM_ID)))


def _requests(look: Look, application: ApplicationView, key: str = "") -> Iterator[RequestView]:
    """The asks of an application that wait, by key; with a ``key`` only that one."""
    waiting = application.waiting
    if waiting is None:
        found = list(application.requests)
    else:
        chosen = tuple([each for each in waiting.asks if key in ("", waiting.key(each))])
        found = rows(RequestView, look(AskPortionQuery(waiting, chosen)))
    for request in sorted(found, key=lambda each: each.allocation_key):
        if key in ("", request.allocation_key):
            yield request


def _ask(view: RequestView) -> Ask:
    return Ask(
        view.application_id,
        view.allocation_key,
        dict(view.resource),
        view.pending_count,
        view.priority,
        view.task_group,
        view.placeholder,
        dict(view.tags),
    )


def _allocation(view: AllocationView) -> Allocation:
    return Allocation(
        view.application_id,
        view.allocation_key,
        view.allocation_id,
        view.node_id,
        dict(view.resource),
        view.priority,
        view.task_group,
        view.placeholder,
        dict(view.tags),
    )
