"""Answers questions about single applications and about some of an index, ended ones included."""

from __future__ import annotations

from remuda.core.messages.application_queries import (
    COMPLETED,
    REJECTED,
    ApplicationPortionQuery,
    ApplicationQuery,
)
from remuda.core.messages.queries import ApplicationView, UnknownQueue
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.views.applications import chosen_application_views


def one_application(
    partition: Partition, query: ApplicationQuery
) -> tuple[ApplicationView, ...] | UnknownQueue:
    """Return an application by ID: the live one, else the last that ended. Rules: REST-34, REST-35.

    Ended ones only as far as they are wanted (REST-83).
    """
    path = ""
    if query.queue:
        queue = partition.queue(query.queue)
        if queue is None:
            return UnknownQueue()
        path = queue.path
    live = partition.applications.get(query.application_id)
    if live is not None and path in ("", live.queue_path):
        return chosen_application_views(partition, [live])
    ended: list[Application] = []
    for wanted, kept in (
        (query.completed, partition.ended),
        (query.rejected, partition.rejected),
    ):
        latest = kept.latest.get(query.application_id) if wanted else None
        if latest is not None and path in ("", latest.queue_path):
            ended.append(latest)
    ended.sort(key=lambda each: (each.finished_ns, each.number))
    return chosen_application_views(partition, ended[-1:])


def application_portion(
    partition: Partition, query: ApplicationPortionQuery
) -> tuple[ApplicationView, ...]:
    """Return some applications of an index, but for those that are not of it any more.

    Rules: REST-36, REST-82, DMP-4.
    """
    found = [locate(partition, query.which, key[1], key[2]) for key in query.keys]
    return chosen_application_views(partition, [each for each in found if each is not None])


def locate(
    partition: Partition, which: str, application_id: str, number: int
) -> Application | None:
    """Return the application of a key, None if it is none of those any more. Rules: REST-82."""
    if which == COMPLETED:
        return partition.ended.applications.get(number)
    if which == REJECTED:
        return partition.rejected.applications.get(number)
    found = partition.applications.get(application_id)
    return found if found is not None and found.number == number else None
