"""Answers what applications there are, and in what order those that wait are served."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.core.messages.application_queries import (
    ACTIVE,
    COMPLETED,
    PENDING,
    REJECTED,
    ApplicationIndex,
    ApplicationIndexQuery,
    AskOrder,
    PendingPortionQuery,
    PendingView,
)
from remuda.core.messages.queries import UnknownQueue
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.views.chosen_applications import locate
from remuda.core.views.findings import note_finding, since_ns


def application_index(
    partition: Partition, query: ApplicationIndexQuery
) -> ApplicationIndex | UnknownQueue:
    """Return the keys of the applications of one kind.

    Rules: REST-82, REST-121, QUE-40. Cost: their number, about 0.1 microseconds each.
    """
    queue: Queue | None = None
    if query.queue:
        queue = partition.queue(query.queue)
        if queue is None:
            return UnknownQueue()
    found = _of_kind(partition, query.which, queue)
    if query.which == PENDING:
        return ApplicationIndex(
            tuple(
                [
                    (each.standing, each.record.application_id, each.number)
                    for each in found
                    if each.request_groups
                ]
            )
        )
    status = query.status.lower()
    return ApplicationIndex(
        tuple(
            [
                ((), each.record.application_id, each.number)
                for each in found
                if status in ("", each.state.lower())
            ]
        )
    )


def pending_portion(partition: Partition, query: PendingPortionQuery) -> tuple[PendingView, ...]:
    """Return what some applications wait for, but for those that wait no longer. Rules: REST-121.

    Cost: the groups of their waiting asks.
    """
    found: list[PendingView] = []
    for _, application_id, number in query.keys:
        application = locate(partition, ACTIVE, application_id, number)
        if application is not None and application.request_groups:
            found.append(_pending_view(partition, application))
    return tuple(found)


def ask_order(partition: Partition, application_id: str) -> AskOrder:
    """Return the keys of an application's waiting asks as they are served. Rules: QUE-44, REST-120.

    None of an application that is not live.
    """
    application = partition.applications.get(application_id)
    if application is None:
        return AskOrder(())
    waiting = [
        request
        for group in application.request_groups.values()
        for request in group.requests.values()
    ]
    waiting.sort(key=lambda each: each.sort_key)
    return AskOrder(tuple([each.ask.allocation_key for each in waiting]))


def _of_kind(partition: Partition, which: str, queue: Queue | None) -> Iterable[Application]:
    if which == COMPLETED:
        return partition.ended.values()
    if which == REJECTED:
        return partition.rejected.values()
    return (partition.applications if queue is None else queue.applications).values()


def _pending_view(partition: Partition, application: Application) -> PendingView:
    groups = application.request_groups.values()
    first = min([group.first() for group in groups], key=lambda each: each.sort_key)
    why = note_finding(partition, first)
    return PendingView(
        application_id=application.application_id,
        state=application.state,
        user=application.user,
        submission_time_ns=application.submitted_ns,
        max_request_priority=application.priority,
        pending=partition.types.resource(application.pending),
        requests=sum([len(group.requests) for group in groups]),
        allocation_key=first.ask.allocation_key,
        gate="" if why is None else why.gate,
        subject="" if why is None else why.subject,
        since_ns=first.created_ns if why is None else since_ns(why, first),
    )
