"""Puts changed limits of users and groups in force (rules: chapter 30 section 9, EVT-83).

If a queue now limits other users or groups than before, each application below it gets a new limit
set with all its usage. So no usage is lost or counted twice (D-U6, D-U7). All tables are complete
before the first limit set is opened.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from remuda.config.schema import WILDCARD
from remuda.core.apply.queues.changes import Tables
from remuda.core.apply.tracking import look, report_group_usage, report_wildcard
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import USER, Limit, QueueTracker, TrackerKey
from remuda.core.model.vectors import value_of
from remuda.core.pending.asks import look_again, regroup
from remuda.core.pending.changes import place_free, user_gained_room
from remuda.core.pending.limit_sets import close_limit_set, open_limit_set

# The values by which two limits are compared.
_Value: TypeAlias = tuple[tuple[int, tuple[int, ...]] | None, int]


def announce_limits(turn: Turn, partition: Partition) -> None:
    """Emit events for all limits of a new partition, root first.

    Implements: EVT-81, EVT-82. Rules: EVT-83.
    """
    for queue in partition.queues(partition.root):
        _report_changes(turn, partition, queue, {}, {})


def renew_limits(turn: Turn, partition: Partition, before: Mapping[str, Tables]) -> None:
    """Put changed limits in force, and emit an event for each change.

    ``before``: the earlier limits of the queues that changed, by path.

    Where only the numbers of limits changed, the applications keep their limit sets. Elsewhere all
    applications below get new limit sets.

    Implements: LIM-63, LIM-65, LIM-67. Rules: LIM-24, LIM-64, EVT-74, EVT-83.
    """
    if not before:
        return
    changed = [each for each in partition.queues(partition.root) if each.path in before]
    for queue in changed:
        users, groups = before[queue.path]
        _report_changes(turn, partition, queue, users, groups)
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
            user_gained_room(partition, now)
            place_free(partition, now)
    _report_wildcards(turn, partition, sorted(keys), announced)


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
    """Return the applications with a limit set in and below some queues, oldest first."""
    found: dict[int, Application] = {}
    for top in tops:
        for queue in partition.queues(top):
            for application in queue.applications.values():
                if application.limit_set is not None:
                    found[application.number] = application
    return [found[number] for number in sorted(found)]


def _keys_at(partition: Partition, paths: Collection[str]) -> dict[TrackerKey, None]:
    """Return the keys of the trackers at some queues."""
    if not paths:
        return {}
    return {key: None for key in partition.trackers if key[2] in paths}


def _add_keys(keys: dict[TrackerKey, None], concerned: Sequence[Application]) -> None:
    """Add the keys of the trackers that count these applications."""
    for application in concerned:
        assert application.limit_set is not None
        for tracker in application.limit_set.trackers:
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
    """Give applications the limit sets of the limits now in force.

    Rules: LIM-24, LIM-63, LIM-64.
    """
    for application in concerned:
        close_limit_set(partition, application)
    for application in concerned:
        if application.group and _is_cut(application, before):
            _cut_link(turn, partition, application)
        open_limit_set(partition, application)
        if application.unlinked and application.group:
            _link_anew(turn, partition, application)
        regroup(partition, application)
        if not application.seen:
            look_again(partition, application)


def _cut_link(turn: Turn, partition: Partition, application: Application) -> None:
    """Take an application's group away, and its usage off that group.

    Implements: LIM-64. Rules: EVT-79.
    """
    if application.counted:
        report_group_usage(turn, partition, application, events.REMOVE)
    application.group = ""
    application.linked = False
    application.unlinked = True


def _link_anew(turn: Turn, partition: Partition, application: Application) -> None:
    """Link an application that lost its group to the group found for it. Rules: LIM-64, EVT-80."""
    application.unlinked = False
    if application.counted:
        look(turn, partition, application)
        report_group_usage(turn, partition, application, events.ADD)
    else:
        application.seen = False


def _is_cut(application: Application, before: Mapping[str, Tables]) -> bool:
    """Whether a queue on the path has lost its entry for an application's group. Rules: LIM-64."""
    leaf = application.queue
    group = application.group
    for queue in leaf.path_up:
        tables = before.get(queue.path)
        if tables is not None and group in tables[1] and group not in queue.group_limits:
            return True
    return False


def _report_changes(
    turn: Turn,
    partition: Partition,
    queue: Queue,
    users: Mapping[str, Limit],
    groups: Mapping[str, Limit],
) -> None:
    """Emit an event for each changed limit of one queue."""
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


def _report_wildcards(
    turn: Turn,
    partition: Partition,
    keys: Sequence[TrackerKey],
    announced: Mapping[TrackerKey, _Value],
) -> None:
    """Emit an event for each user for whom a wildcard limit holds now, or no longer.

    ``keys``: the keys of all trackers that may have changed, sorted.

    Rules: EVT-83.
    """
    for key in keys:
        tracker = partition.trackers.get(key)
        if tracker is None or key[0] != USER or not tracker.wildcard:
            continue
        tracker.announced = tracker.running > 0
        if tracker.announced and announced.get(key) != _value(_granted(tracker)):
            report_wildcard(turn, partition, key, events.SET)
    for key in sorted(announced):
        now = partition.trackers.get(key)
        gone = now is None or not now.announced
        if gone and key[1] not in _user_limits(partition, key[2]):
            report_wildcard(turn, partition, key, events.REMOVE)


def _user_limits(partition: Partition, path: str) -> Mapping[str, Limit]:
    queue = partition.queue(path)
    return {} if queue is None else queue.user_limits


def _granted(tracker: QueueTracker) -> Limit:
    return Limit(tracker.maximum, tracker.max_applications)


def _value(limit: Limit) -> _Value:
    return (value_of(limit.maximum), limit.max_applications)
