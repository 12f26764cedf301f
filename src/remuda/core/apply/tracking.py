"""Tells observers what users and groups use and which limits hold (rules: EVT-78 to EVT-83).

The counting itself is ``accounting``'s; here is what goes with it: the events, and the end of an
application's account when nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Iterable

from remuda.base.resources import Resource
from remuda.core.accounting.accounts import close_account
from remuda.core.accounting.usage import uncount
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.trackers import QueueTracker


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
    assert account is not None
    assert application.queue is not None
    for tracker in account.trackers:
        if tracker.wildcard and not tracker.announced:
            tracker.announced = True
            _limit_event(turn, partition, tracker, events.SET)
    path = application.queue.path
    turn.event(
        partition,
        events.USERGROUP,
        application.user,
        events.ADD,
        events.UG_USER_RESOURCE,
        path,
        resource,
    )
    if application.group:
        turn.event(
            partition,
            events.USERGROUP,
            application.group,
            events.ADD,
            events.UG_GROUP_RESOURCE,
            path,
            resource,
        )


def tell_group_usage(
    turn: Turn, partition: Partition, application: Application, change: int
) -> None:
    """Tell that all an application uses came to, or went from, its group. Rules: EVT-79, D-U7."""
    if application.group:
        held = partition.types.resource(application.allocated)
        path = application.queue_path
        detail = events.UG_GROUP_RESOURCE
        turn.event(partition, events.USERGROUP, application.group, change, detail, path, held)


def usage_shrank(
    turn: Turn, partition: Partition, application: Application, resource: Resource
) -> None:
    """Tell that usage was given back, and end what depends on there being some.

    Rules: LIM-36, EVT-78 to EVT-80, EVT-87.
    """
    path = application.queue_path
    group = application.group
    turn.event(
        partition,
        events.USERGROUP,
        application.user,
        events.REMOVE,
        events.UG_USER_RESOURCE,
        path,
        resource,
    )
    end_if_idle(turn, partition, application)
    if group:
        turn.event(
            partition,
            events.USERGROUP,
            group,
            events.REMOVE,
            events.UG_GROUP_RESOURCE,
            path,
            resource,
        )


def end_if_idle(turn: Turn, partition: Partition, application: Application) -> None:
    """Stop counting an application that has nothing pending and nothing allocated.

    Its group is chosen anew should it go on. Rules: LIM-20, LIM-36, EVT-80.
    """
    if not application.idle():
        return
    if application.counted:
        uncount(partition, application)
    if application.linked:
        application.linked = False
        _link_event(turn, partition, application, events.REMOVE)
    application.seen = False
    end_limits(turn, partition, close_account(partition, application))
    application.group = ""


def end_limits(turn: Turn, partition: Partition, gone: Iterable[QueueTracker]) -> None:
    """Tell that wildcard limits hold for a user no more. Rules: EVT-83."""
    for tracker in gone:
        if tracker.announced:
            _limit_event(turn, partition, tracker, events.REMOVE)


def _limit_event(turn: Turn, partition: Partition, tracker: QueueTracker, change: int) -> None:
    _, name, path = tracker.key
    turn.event(partition, events.USERGROUP, name, change, events.UG_USER_LIMIT, path)


def _link_event(turn: Turn, partition: Partition, application: Application, change: int) -> None:
    turn.event(
        partition,
        events.USERGROUP,
        application.group,
        change,
        events.UG_APP_LINK,
        application.application_id,
    )
