"""The waiting asks and applications with their reasons, as JSON (REST-120, REST-121)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

import msgspec

from remuda.core.messages.application_queries import PendingView
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.ask_views import LogEntryView, RequestView
from remuda.edges.questions.shapes import Shape, amounts, plain
from remuda.edges.rest.requests.asking import Views
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.shapes.objects import Finding, LogEntry
from remuda.edges.rest.text.ordering import asks_in_order
from remuda.edges.rest.text.units import Layout, array, items


class PendingRequest(Shape, kw_only=True):
    """One ask that waits (REST-120).

    ``position``: among the asks of its application, as they are served, from 1. ``reason``: the
    gate it waits for, left out while nobody looked at it; ``subject``: what is in the way there.
    ``attempts``: how often in a row that was found to be the reason. ``event``: the last record of
    the ask itself that is kept (EVT-133).
    """

    allocation_key: str
    position: int
    reason: str = ""
    subject: str = ""
    since: int
    attempts: int = 0
    last_event: LogEntry | None = None
    allocation_log: list[LogEntry] = msgspec.field(default_factory=list)
    event: msgspec.Raw | None = None
    finding: Finding | None = None


class PendingRequests(Shape, kw_only=True):
    """The asks of an application that wait (REST-120).

    ``position``: of the application among those of its queue that wait, as they are served, from 1;
    left out while it waits for nothing. ``of``: how many of the queue wait.
    """

    application_id: str = msgspec.field(name="applicationID")
    partition: str
    queue_name: str
    position: int = 0
    of: int = 0
    requests: list[PendingRequest]


class PendingApplication(Shape, kw_only=True):
    """One application that waits (REST-121); ``allocationKey`` and on: its ask served first."""

    position: int
    application_id: str = msgspec.field(name="applicationID")
    application_state: str
    user: str
    submission_time: int
    max_request_priority: int = 0
    pending_resource: dict[str, int] = amounts()
    pending_requests: int
    allocation_key: str
    reason: str = ""
    subject: str = ""
    since: int


def no_event(_: str) -> msgspec.Raw | None:
    """Answer where no event records are kept."""
    return None


def served_asks(
    view: ApplicationView, keys: Sequence[str], core: Views
) -> Iterator[RequestView | None]:
    """Yield the asks of an application in the order of their keys; None: work was done meanwhile.

    Those that are too many for the view are in the order in which they are served.
    Implements: REST-144.
    """
    if view.waiting is not None:
        return asks_in_order(view.waiting, view.waiting.rank, core)
    requests = {request.allocation_key: request for request in view.requests}
    return iter([requests[key] for key in keys if key in requests])


def pending_text(
    view: ApplicationView,
    asks: Iterable[RequestView | None],
    event_of: Callable[[str], msgspec.Raw | None],
    position: tuple[int, int],
) -> Iterator[bytes]:
    """Yield the text of PendingRequests with these asks, in units.

    ``position``: of the application, and among how many. Implements: EVT-133. Rules: REST-120,
    DMP-17.
    """
    shape = PendingRequests(
        application_id=view.application_id,
        partition=view.partition,
        queue_name=view.queue,
        position=position[0],
        of=position[1],
        requests=[],
    )
    yield dao.encode(shape).removesuffix(b"[]}\n")
    numbers = count(1)
    shapes = (each and _request(each, next(numbers), event_of) for each in asks)
    layout = Layout(lines=False)
    yield from array(layout, items(layout, shapes))
    yield b"}"


def pending_application(view: PendingView, position: int) -> PendingApplication:
    """Return the shape of one application that waits."""
    return PendingApplication(
        position=position,
        application_id=view.application_id,
        application_state=view.state,
        user=view.user,
        submission_time=view.submission_time_ns,
        max_request_priority=view.max_request_priority,
        pending_resource=plain(view.pending),
        pending_requests=view.requests,
        allocation_key=view.allocation_key,
        reason=view.gate,
        subject=view.subject,
        since=view.since_ns,
    )


def _request(
    view: RequestView, position: int, event_of: Callable[[str], msgspec.Raw | None]
) -> PendingRequest:
    found = view.finding
    return PendingRequest(
        allocation_key=view.allocation_key,
        position=position,
        reason="" if found is None else found.gate,
        subject="" if found is None else found.subject,
        since=view.request_time_ns if found is None else found.since_ns,
        attempts=0 if found is None else found.looks,
        last_event=_last(view.log),
        allocation_log=dao.allocation_log(view.log),
        event=event_of(view.allocation_key),
        finding=dao.finding(view),
    )


def _last(log: Sequence[LogEntryView]) -> LogEntry | None:
    """Return what was noted last about an ask, None if nothing ever was."""
    if not log:
        return None
    return dao.log_entry(max(log, key=lambda each: (each.last_ns, each.message)))
