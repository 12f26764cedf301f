"""Answers questions about single applications and about some of an index, ended ones included."""

from __future__ import annotations

from remuda.core.messages.application_queries import (
    COMPLETED,
    REJECTED,
    ApplicationPortionQuery,
    ApplicationQuery,
)
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import UnknownQueue
from remuda.core.messages.rows import Rows
from remuda.core.model.applications.application import Application
from remuda.core.model.applications.ended import EndedApplication
from remuda.core.model.partition import Partition
from remuda.core.views.applications import chosen_application_rows
from remuda.core.views.ended_applications import ended_application_rows


def one_application(
    partition: Partition, query: ApplicationQuery
) -> Rows[ApplicationView] | UnknownQueue:
    """Return an application by ID: the live one, else the last that ended.

    Ended ones are considered only if the query wants them (REST-83).

    Rules: REST-34, REST-35.
    """
    path = ""
    if query.queue:
        queue = partition.queue(query.queue)
        if queue is None:
            return UnknownQueue()
        path = queue.path
    live = partition.applications.get(query.application_id)
    if live is not None and path in ("", live.queue_path):
        return chosen_application_rows(partition, [live])
    ended: list[EndedApplication] = []
    for wanted, kept in (
        (query.completed, partition.kept.completed),
        (query.rejected, partition.kept.rejected),
    ):
        latest = kept.latest.get(query.application_id) if wanted else None
        if latest is not None and path in ("", latest.queue_path):
            ended.append(latest)
    ended.sort(key=lambda each: (each.finished_ns, each.number))
    return ended_application_rows(partition, ended[-1:])


def application_portion(
    partition: Partition, query: ApplicationPortionQuery
) -> Rows[ApplicationView]:
    """Return some applications of an index, without those that left it since.

    Rules: REST-36, REST-82, DMP-4.
    """
    if query.which in (COMPLETED, REJECTED):
        completed = query.which == COMPLETED
        kept = partition.kept.completed if completed else partition.kept.rejected
        ended = [kept.applications.get(number) for _, _, number in query.keys]
        return ended_application_rows(partition, [each for each in ended if each is not None])
    live = [live_application(partition, key[1], key[2]) for key in query.keys]
    return chosen_application_rows(partition, [each for each in live if each is not None])


def live_application(partition: Partition, application_id: str, number: int) -> Application | None:
    """Return the live application of a key, None if it ended since. Rules: REST-82."""
    found = partition.applications.get(application_id)
    return found if found is not None and found.number == number else None
