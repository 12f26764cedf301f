"""Answers questions about applications that ended (rules: REST-78, REST-83).

Their records do not change, so nothing is copied when the question is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.rows import Rows
from remuda.core.model.applications.ended import EndedApplication
from remuda.core.model.calendar import ToWall
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import ResourceTypes
from remuda.core.views.applications import (
    NO_SECONDS,
    note_groups,
    placeholder_views,
    seconds_views,
)
from remuda.core.views.preemptions import Involved


def ended_application_rows(
    partition: Partition, found: Sequence[EndedApplication]
) -> Rows[ApplicationView]:
    """Return the views of some ended applications, each made when it is read.

    Rules: REST-77, REST-78, PRE-91, DMP-17.
    """
    calendar, types = partition.calendar, partition.types
    make = partial(_view, partition.name, types, calendar.to_wall, Involved(partition))
    return Rows(len(found), lambda place: make(found[place]))


def _view(
    name: str, types: ResourceTypes, to_wall: ToWall, involved: Involved, ended: EndedApplication
) -> ApplicationView:
    """Return one view. An ended application has neither asks nor allocations. Any thread."""
    resource, number, gang = types.resource, ended.number, ended.gang
    seconds = NO_SECONDS if ended.history is None else seconds_views(types, ended.history)
    used_seconds, preempted_seconds, placeholder_seconds = seconds
    return ApplicationView(
        application_id=ended.application_id,
        partition=name,
        queue=ended.queue_path,
        user=ended.user,
        groups=ended.user_groups,
        state=ended.state,
        submission_time_ns=to_wall(ended.submitted_ns),
        finished_time_ns=to_wall(ended.finished_ns),
        start_time_ns=to_wall(ended.started_ns),
        used=resource(ended.allocated),
        max_used=resource(ended.peak),
        pending=resource(ended.pending),
        rejected_message=ended.reject_reason,
        max_request_priority=ended.priority,
        state_log=tuple([(to_wall(at_ns), state) for at_ns, state in ended.state_log]),
        backoff_deadline_ns=to_wall(ended.backoff_until_ns),
        requests=(),
        allocations=(),
        placeholder={} if gang is None else resource(gang.usage),
        placeholder_data=() if gang is None else placeholder_views(note_groups(gang)),
        preemptions=tuple(involved.caused.get(number, ())),
        evictions=tuple(involved.suffered.get(number, ())),
        used_seconds=used_seconds,
        preempted_seconds=preempted_seconds,
        placeholder_seconds=placeholder_seconds,
        tags=ended.record.tags,
    )
