"""Tells observers what users and groups use and which limits hold (rules: EVT-78 to EVT-83).

The counting itself is ``accounting``'s; here is what goes with it: the events, and the end of an
application's account when nothing of it is left.
"""

from __future__ import annotations

from remuda.base.resources import Resource
from remuda.core.accounting.accounts import close_account
from remuda.core.accounting.usage import uncount
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.effects import EventRecord
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.trackers import TrackerKey


def look(turn: Turn, partition: Partition, application: Application) -> None:
    """Note that an application was looked at: from now on its group is fixed.

    Rules: LIM-20, LIM-24, EVT-80.
    """
    application.seen = True
    if application.group and not application.linked:
        application.linked = True
        _link_event(turn, partition, application, events.SET)


def usage_grew(
    turn: Turn, partition: Partition, application: Application, resource: Resource
) -> None:
    """Tell that an allocation was booked. Rules: EVT-78, EVT-79, EVT-83 (wildcards)."""
    account = application.account
    if account is not None and account.trackers:
        for tracker in account.trackers:
            if tracker.wildcard and not tracker.announced:
                tracker.announced = True
                tell_wildcard(turn, partition, tracker.key, events.SET)
    if not turn.cluster.tracking:
        return
    # Built here and not by turn.event: every allocation comes this way.
    emit = turn.effects.append
    rm_id, name, path = partition.rm_id, partition.name, application.queue_path
    kind, detail, now_ns = events.USERGROUP, events.UG_USER_RESOURCE, turn.now_ns
    user = application.user
    emit(EventRecord(rm_id, name, kind, user, path, events.ADD, detail, now_ns, resource, "", path))
    if application.group:
        _group_usage_event(turn, partition, application, events.ADD, resource)


def tell_group_usage(
    turn: Turn, partition: Partition, application: Application, change: int
) -> None:
    """Tell that all an application uses came to, or went from, its group. Rules: EVT-79, D-U7."""
    held = partition.types.resource(application.usage())
    _group_usage_event(turn, partition, application, change, held)


def usage_shrank(
    turn: Turn, partition: Partition, application: Application, resource: Resource
) -> None:
    """Tell that usage was given back, and end what depends on there being some.

    Rules: LIM-36, EVT-78 to EVT-80, EVT-87.
    """
    _user_usage_event(turn, partition, application, events.REMOVE, resource)
    end_if_idle(turn, partition, application)
    _group_usage_event(turn, partition, application, events.REMOVE, resource)


def tell_usage(
    turn: Turn, partition: Partition, application: Application, change: int, resource: Resource
) -> None:
    """Tell one side of a swap, by which an application does not become idle. Rules: EVT-88."""
    _user_usage_event(turn, partition, application, change, resource)
    _group_usage_event(turn, partition, application, change, resource)


def end_if_idle(turn: Turn, partition: Partition, application: Application) -> None:
    """Stop counting an application that has nothing pending and nothing allocated.

    Its group is chosen anew should it go on. Rules: LIM-20, LIM-36, EVT-80.
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
    close_account(partition, application)


def _end_wildcards(turn: Turn, partition: Partition, application: Application) -> None:
    """Tell which wildcard limits hold for a user no more, now that nothing counts there."""
    account = application.account
    assert account is not None
    for tracker in account.trackers:
        if tracker.announced and tracker.running == 0:
            tracker.announced = False
            tell_wildcard(turn, partition, tracker.key, events.REMOVE)


def tell_wildcard(turn: Turn, partition: Partition, key: TrackerKey, change: int) -> None:
    """Tell that a wildcard limit holds for a user now, or no more. Rules: EVT-83."""
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
