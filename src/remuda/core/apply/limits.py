"""Puts changed limits of users and groups in force (rules: LIM-63 to LIM-67, EVT-81 to EVT-83).

Every live application gets its account anew from the tables now in force, with all it uses, so
that what is counted is always what is there: nothing is lost and nothing counted twice (D-U6,
D-U7). The tables are complete before the first account is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, final

from remuda.config.schema import WILDCARD
from remuda.core.accounting.accounts import close_account, open_account
from remuda.core.accounting.lanes import look_again, regroup
from remuda.core.apply.tracking import look, tell_group_usage, tell_wildcard
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.trackers import USER, Limit, QueueTracker, TrackerKey
from remuda.core.model.vectors import value_of

# What makes two limits equal.
_Value: TypeAlias = tuple[tuple[int, tuple[int, ...]] | None, int]


@final
class LimitsBefore:
    """The limits of a partition before a change: by queue path, then by name."""

    __slots__ = ("groups", "users")

    def __init__(self, partition: Partition) -> None:
        queues = partition.queues(partition.root)
        self.users = {queue.path: queue.user_limits for queue in queues if queue.user_limits}
        self.groups = {queue.path: queue.group_limits for queue in queues if queue.group_limits}


def announce_limits(turn: Turn, partition: Partition) -> None:
    """Tell all limits of a new partition, root first. Rules: EVT-81, EVT-82, EVT-83."""
    for queue in partition.queues(partition.root):
        _tell_changes(turn, partition, queue, {}, {})


def renew_limits(turn: Turn, partition: Partition, before: LimitsBefore) -> None:
    """Let every application count under the limits now in force; tell what changed.

    Rules: LIM-24, LIM-63, LIM-64, LIM-65, LIM-67, EVT-74, EVT-83.
    """
    for queue in partition.queues(partition.root):
        old_users = before.users.get(queue.path, {})
        _tell_changes(turn, partition, queue, old_users, before.groups.get(queue.path, {}))
    trackers = partition.trackers.values()
    announced = {each.key: _value(_granted(each)) for each in trackers if each.announced}
    concerned = [each for each in partition.applications.values() if each.account is not None]
    for application in concerned:
        close_account(partition, application)
    for application in concerned:
        if application.group and _is_cut(application, before):
            _cut_link(turn, partition, application)
        open_account(partition, application)
        if application.unlinked and application.group:
            _link_anew(turn, partition, application)
        regroup(partition, application)
        if not application.seen:
            look_again(partition, application)
    _tell_wildcards(turn, partition, announced)


def _cut_link(turn: Turn, partition: Partition, application: Application) -> None:
    """Take the group of an application away; its usage goes with it. Rules: LIM-64, EVT-79."""
    if application.counted:
        tell_group_usage(turn, partition, application, events.REMOVE)
    application.group = ""
    application.linked = False
    application.unlinked = True


def _link_anew(turn: Turn, partition: Partition, application: Application) -> None:
    """Link an application that lost its group to the one that was found. Rules: LIM-64, EVT-80."""
    application.unlinked = False
    if application.counted:
        look(turn, partition, application)
        tell_group_usage(turn, partition, application, events.ADD)
    else:
        application.seen = False


def _is_cut(application: Application, before: LimitsBefore) -> bool:
    """Whether a queue on the path has lost its entry for an application's group. Rules: LIM-64."""
    leaf = application.queue
    assert leaf is not None
    group = application.group
    for queue in leaf.path_up:
        if group in before.groups.get(queue.path, {}) and group not in queue.group_limits:
            return True
    return False


def _tell_changes(
    turn: Turn,
    partition: Partition,
    queue: Queue,
    users: Mapping[str, Limit],
    groups: Mapping[str, Limit],
) -> None:
    """Tell how the limits of one queue differ from what they were."""
    named = {name: limit for name, limit in queue.user_limits.items() if name != WILDCARD}
    before = {name: limit for name, limit in users.items() if name != WILDCARD}
    for old, new, detail in (
        (before, named, events.UG_USER_LIMIT),
        (groups, queue.group_limits, events.UG_GROUP_LIMIT),
    ):
        for name, limit in new.items():
            if name not in old or _value(old[name]) != _value(limit):
                turn.event(partition, events.USERGROUP, name, events.SET, detail, queue.path)
        for name in old:
            if name not in new:
                turn.event(partition, events.USERGROUP, name, events.REMOVE, detail, queue.path)


def _tell_wildcards(
    turn: Turn, partition: Partition, announced: Mapping[TrackerKey, _Value]
) -> None:
    """Tell for which users a wildcard limit holds now, or no more. Rules: EVT-83."""
    for key, tracker in sorted(partition.trackers.items()):
        if key[0] != USER or not tracker.wildcard:
            continue
        tracker.announced = tracker.running > 0
        if tracker.announced and announced.get(key) != _value(_granted(tracker)):
            tell_wildcard(turn, partition, key, events.SET)
    for key in sorted(announced):
        now = partition.trackers.get(key)
        named = key[1] in _user_limits(partition, key[2])
        if (now is None or not now.announced) and not named:
            tell_wildcard(turn, partition, key, events.REMOVE)


def _user_limits(partition: Partition, path: str) -> Mapping[str, Limit]:
    queue = partition.queue(path)
    return {} if queue is None else queue.user_limits


def _granted(tracker: QueueTracker) -> Limit:
    return Limit(tracker.maximum, tracker.max_applications)


def _value(limit: Limit) -> _Value:
    return (value_of(limit.maximum), limit.max_applications)
