"""Puts changed limits of users and groups in force (rules: LIM-63 to LIM-67, EVT-81 to EVT-83).

An application below a queue that now limits others gets its account anew from the tables in force,
with all it uses, so that what is counted is always what is there: nothing is lost and nothing
counted twice (D-U6, D-U7). The tables are complete before the first account is opened.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from remuda.config.schema import WILDCARD
from remuda.core.accounting.accounts import close_account, open_account
from remuda.core.accounting.lanes import look_again, regroup
from remuda.core.accounting.waiting import wake_held, wake_waiting
from remuda.core.apply.changes import Tables
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


def announce_limits(turn: Turn, partition: Partition) -> None:
    """Tell all limits of a new partition, root first. Rules: EVT-81, EVT-82, EVT-83."""
    for queue in partition.queues(partition.root):
        _tell_changes(turn, partition, queue, {}, {})


def renew_limits(turn: Turn, partition: Partition, before: Mapping[str, Tables]) -> None:
    """Put limits in force; tell what changed. ``before``: the earlier ones where there are others.

    Where the same users and groups are limited as before, and just the numbers are new, those who
    count go on counting where they do. Else all applications below get their accounts anew.

    Rules: LIM-24, LIM-63, LIM-64, LIM-65, LIM-67, EVT-74, EVT-83.
    """
    if not before:
        return
    changed = [each for each in partition.queues(partition.root) if each.path in before]
    for queue in changed:
        users, groups = before[queue.path]
        _tell_changes(turn, partition, queue, users, groups)
    rebuilt = [each for each in changed if not _just_numbers(each, before[each.path])]
    retuned = {each.path for each in changed}.difference([each.path for each in rebuilt])
    concerned = _applications_below(partition, rebuilt)
    keys = _keys_at(partition, retuned)
    _add_keys(keys, concerned)
    announced = {
        key: _value(_granted(partition.trackers[key]))
        for key in keys
        if partition.trackers[key].announced
    }
    for key in keys:
        tracker = partition.trackers[key]
        if tracker.queue.path in retuned:
            _retune(tracker)
    _reopen(turn, partition, concerned, before)
    _add_keys(keys, concerned)
    for key in keys:
        now = partition.trackers.get(key)
        if now is not None:
            wake_waiting(partition, now)
            wake_held(partition, now)
    _tell_wildcards(turn, partition, sorted(keys), announced)


def _just_numbers(queue: Queue, before: Tables) -> bool:
    """Whether a queue limits the same users and groups as before, and in the same respects."""
    for old, new in zip(before, (queue.user_limits, queue.group_limits), strict=True):
        if list(old) != list(new):
            return False
        for name, limit in new.items():
            was = old[name]
            if (was.maximum is None) != (limit.maximum is None):
                return False
            if (was.max_applications == 0) != (limit.max_applications == 0):
                return False
    return True


def _applications_below(partition: Partition, tops: Sequence[Queue]) -> list[Application]:
    """Return the applications in and below some queues that count anywhere, oldest first."""
    found: dict[int, Application] = {}
    for top in tops:
        for queue in partition.queues(top):
            for application in queue.applications.values():
                if application.account is not None:
                    found[application.number] = application
    return [found[number] for number in sorted(found)]


def _keys_at(partition: Partition, paths: Collection[str]) -> dict[TrackerKey, None]:
    """Return the keys of the trackers at some queues."""
    if not paths:
        return {}
    return {key: None for key in partition.trackers if key[2] in paths}


def _add_keys(keys: dict[TrackerKey, None], concerned: Sequence[Application]) -> None:
    """Add the keys of the trackers where these applications count."""
    for application in concerned:
        assert application.account is not None
        for tracker in application.account.trackers:
            keys[tracker.key] = None


def _retune(tracker: QueueTracker) -> None:
    """Give a tracker the numbers now in force. Rules: LIM-63."""
    kind, name, _ = tracker.key
    queue = tracker.queue
    if kind == USER:
        limit = queue.user_limits[WILDCARD if tracker.wildcard else name]
    else:
        limit = queue.group_limits[name]
    tracker.maximum = limit.maximum
    tracker.max_applications = limit.max_applications


def _reopen(
    turn: Turn,
    partition: Partition,
    concerned: Sequence[Application],
    before: Mapping[str, Tables],
) -> None:
    """Let applications count under the limits now in force. Rules: LIM-24, LIM-63, LIM-64."""
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


def _is_cut(application: Application, before: Mapping[str, Tables]) -> bool:
    """Whether a queue on the path has lost its entry for an application's group. Rules: LIM-64."""
    leaf = application.queue
    assert leaf is not None
    group = application.group
    for queue in leaf.path_up:
        tables = before.get(queue.path)
        if tables is not None and group in tables[1] and group not in queue.group_limits:
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
    turn: Turn,
    partition: Partition,
    keys: Sequence[TrackerKey],
    announced: Mapping[TrackerKey, _Value],
) -> None:
    """Tell for which users a wildcard limit holds now, or no more. Rules: EVT-83.

    ``keys``: of all trackers that may be concerned, sorted.
    """
    for key in keys:
        tracker = partition.trackers.get(key)
        if tracker is None or key[0] != USER or not tracker.wildcard:
            continue
        tracker.announced = tracker.running > 0
        if tracker.announced and announced.get(key) != _value(_granted(tracker)):
            tell_wildcard(turn, partition, key, events.SET)
    for key in sorted(announced):
        now = partition.trackers.get(key)
        gone = now is None or not now.announced
        if gone and key[1] not in _user_limits(partition, key[2]):
            tell_wildcard(turn, partition, key, events.REMOVE)


def _user_limits(partition: Partition, path: str) -> Mapping[str, Limit]:
    queue = partition.queue(path)
    return {} if queue is None else queue.user_limits


def _granted(tracker: QueueTracker) -> Limit:
    return Limit(tracker.maximum, tracker.max_applications)


def _value(limit: Limit) -> _Value:
    return (value_of(limit.maximum), limit.max_applications)
