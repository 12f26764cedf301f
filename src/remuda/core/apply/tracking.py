"""Emits events about the usage of users and groups, and about the limits that hold.

``accounting`` counts the usage. This module emits the events, and ends an application's limit set
when the application has nothing left.

Rules: chapter 90 section 2.5.
"""

from __future__ import annotations

from remuda.base.resources import Resource
from remuda.core.accounting.usage import uncount
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.effects import EventRecord
from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queues.trackers import TrackerKey
from remuda.core.pending.limit_sets import close_limit_set


def look(turn: Turn, partition: Partition, application: Application) -> None:
    """Note that an application was examined; from now on its group is fixed.

    Implements: LIM-20, LIM-24, EVT-80.
    """
    application.seen = True
    if application.group and not application.linked:
        application.linked = True
        _link_event(turn, partition, application, events.SET)


def usage_grew(
    turn: Turn, partition: Partition, application: Application, resource: Resource
) -> None:
    """Emit the events of usage for a booked allocation.

    Implements: EVT-78, LIM-40. Rules: EVT-79, EVT-83 (wildcards).
    """
    limit_set = application.limit_set
    if limit_set is not None and limit_set.trackers:
        for tracker in limit_set.trackers:
            if tracker.wildcard and not tracker.announced:
                tracker.announced = True
                report_wildcard(turn, partition, tracker.key, events.SET)
    if turn.fault_point is not None:
        turn.fault_point()
    if not turn.cluster.tracking:
        return
    # This function builds the record itself, as every allocation comes here.
    emit = turn.effects.append
    rm_id, name, path = partition.rm_id, partition.name, application.queue_path
    kind, detail, at_ns = events.USERGROUP, events.UG_USER_RESOURCE, turn.wall_ns
    user = application.user
    emit(EventRecord(rm_id, name, kind, user, path, events.ADD, detail, at_ns, resource, "", path))
    if application.group:
        _group_usage_event(turn, partition, application, events.ADD, resource)


def report_group_usage(
    turn: Turn, partition: Partition, application: Application, change: int
) -> None:
    """Emit the event that an application's whole usage was added to, or taken off, its group.

    Implements: EVT-79. Rules: D-U7.
    """
    held = partition.types.resource(application.usage())
    _group_usage_event(turn, partition, application, change, held)


def usage_shrank(
    turn: Turn, partition: Partition, application: Application, resource: Resource
) -> None:
    """Emit the events of decreased usage, and stop counting an application that became idle.

    Rules: LIM-36, EVT-78, EVT-79, EVT-80, EVT-87.
    """
    _user_usage_event(turn, partition, application, events.REMOVE, resource)
    end_if_idle(turn, partition, application)
    _group_usage_event(turn, partition, application, events.REMOVE, resource)


def report_usage(
    turn: Turn, partition: Partition, application: Application, change: int, resource: Resource
) -> None:
    """Emit the events of one side of a swap, after which the application is never idle.

    Rules: EVT-88.
    """
    _user_usage_event(turn, partition, application, change, resource)
    _group_usage_event(turn, partition, application, change, resource)


def end_if_idle(turn: Turn, partition: Partition, application: Application) -> None:
    """Stop counting an application that has nothing pending and nothing allocated.

    Its group is chosen anew if it goes on. Rules: LIM-20, LIM-36, EVT-80.
    """
    if not application.idle():
        return
    if application.counted:
        uncount(partition, application)
        _end_wildcards(turn, partition, application)
    if application.linked:
        application.linked = False
        _link_event(turn, partition, application, events.REMOVE)
    application.seen = False
    application.unlinked = False
    close_limit_set(partition, application)


def _end_wildcards(turn: Turn, partition: Partition, application: Application) -> None:
    """Emit events for wildcard limits that no longer hold, as no application counts there."""
    limit_set = application.limit_set
    assert limit_set is not None
    for tracker in limit_set.trackers:
        if tracker.announced and tracker.running == 0:
            tracker.announced = False
            report_wildcard(turn, partition, tracker.key, events.REMOVE)


def report_wildcard(turn: Turn, partition: Partition, key: TrackerKey, change: int) -> None:
    """Emit the event that a wildcard limit holds for a user now, or no longer.

    Implements: EVT-83.
    """
    _, name, path = key
    turn.event(partition, events.USERGROUP, name, change, events.UG_USER_LIMIT, path)


def _user_usage_event(
    turn: Turn, partition: Partition, application: Application, change: int, resource: Resource
) -> None:
    detail, path = events.UG_USER_RESOURCE, application.queue_path
    kind, user = events.USERGROUP, application.user
    turn.event(partition, kind, user, change, detail, path, resource, queue=path)


def _group_usage_event(
    turn: Turn, partition: Partition, application: Application, change: int, resource: Resource
) -> None:
    detail, path = events.UG_GROUP_RESOURCE, application.queue_path
    if application.group:
        kind, group = events.USERGROUP, application.group
        turn.event(partition, kind, group, change, detail, path, resource, queue=path)


def _link_event(turn: Turn, partition: Partition, application: Application, change: int) -> None:
    turn.event(
        partition,
        events.USERGROUP,
        application.group,
        change,
        events.UG_APP_LINK,
        application.application_id,
        queue=application.queue_path,
    )
