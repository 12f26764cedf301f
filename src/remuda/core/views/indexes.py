"""Answers which applications there are, and in which order the waiting ones are served."""

from __future__ import annotations

from remuda.core.messages.application_queries import (
    COMPLETED,
    PENDING,
    REJECTED,
    ApplicationIndex,
    ApplicationIndexQuery,
    ApplicationKey,
    AskOrder,
    LiveIds,
    PendingPortionQuery,
    PendingView,
    Submissions,
)
from remuda.core.messages.queries import UnknownQueue
from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition
from remuda.core.views.chosen_applications import live_application
from remuda.core.views.findings import note_finding, since_ns


def live_ids(partition: Partition, path: str) -> LiveIds | UnknownQueue:
    """Return the IDs of the live applications of a queue, or of all queues. Rules: REST-76."""
    if not path:
        return LiveIds(tuple(partition.applications))
    queue = partition.queue(path)
    return UnknownQueue() if queue is None else LiveIds(tuple(queue.applications))


def submissions(partition: Partition) -> Submissions:
    """Return the live applications as their RM submitted them. Rules: EXT-68."""
    return Submissions(tuple([each.record for each in partition.applications.values()]))


def application_index(partition: Partition, query: ApplicationIndexQuery) -> ApplicationIndex:
    """Return the keys of the applications of one kind.

    Rules: REST-82, REST-121, QUE-40. Cost: about a microsecond for each ID that is looked at; the
    keys of those that ended are there already.
    """
    if query.which == COMPLETED:
        return ApplicationIndex(tuple(partition.kept.completed.keys))
    if query.which == REJECTED:
        return ApplicationIndex(tuple(partition.kept.rejected.keys))
    keys: list[ApplicationKey] = []
    pending, status = query.which == PENDING, query.status.lower()
    for application_id in query.ids:
        application = partition.applications.get(application_id)
        if application is None:
            continue
        if not pending:
            if status in ("", application.state.lower()):
                keys.append(((), application_id, application.number))
        elif application.request_groups:
            keys.append((application.sort_key, application_id, application.number))
    return ApplicationIndex(tuple(keys))


def pending_portion(partition: Partition, query: PendingPortionQuery) -> tuple[PendingView, ...]:
    """Return what some applications wait for, without those that no longer wait.

    Cost: the groups of their waiting asks.

    Rules: REST-121.
    """
    found: list[PendingView] = []
    for _, application_id, number in query.keys:
        application = live_application(partition, application_id, number)
        if application is not None and application.request_groups:
            found.append(_pending_view(partition, application))
    return tuple(found)


def ask_order(partition: Partition, application_id: str) -> AskOrder:
    """Return the keys of an application's waiting asks as they are served.

    An application that is not live has none.

    Rules: QUE-44, REST-120.
    """
    application = partition.applications.get(application_id)
    if application is None:
        return AskOrder(())
    waiting = [
        request for group in application.request_groups.values() for request in group.order.asks()
    ]
    waiting.sort(key=lambda each: each.sort_key)
    return AskOrder(tuple([each.ask.allocation_key for each in waiting]))


def _pending_view(partition: Partition, application: Application) -> PendingView:
    groups = application.request_groups.values()
    first = min([group.first() for group in groups], key=lambda each: each.sort_key)
    why = note_finding(partition, first)
    to_wall = partition.calendar.to_wall
    return PendingView(
        application_id=application.application_id,
        state=application.state,
        user=application.user,
        submission_time_ns=to_wall(application.submitted_ns),
        max_request_priority=application.priority,
        pending=partition.types.resource(application.pending),
        requests=sum([group.order.count for group in groups]),
        allocation_key=first.ask.allocation_key,
        gate="" if why is None else why.gate,
        subject="" if why is None else why.subject,
        since_ns=to_wall(first.created_ns if why is None else since_ns(why, first)),
    )
