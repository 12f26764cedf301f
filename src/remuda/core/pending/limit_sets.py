"""Finds the limits of users and groups that concern an application, and counts its usage there.

An application gets its limit set with its first ask or allocation and keeps it until it has
neither. The trackers of the set count the usage of the application. Rules: chapter 30 sections 4 to
9.
"""

from __future__ import annotations

from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import GROUP, USER, Limit, LimitSet, QueueTracker
from remuda.core.model.vectors import Vector, add_vector, subtract_vector, trimmed
from remuda.core.policy.limits import choose_group, group_limits, user_limits


def limit_set_of(partition: Partition, application: Application) -> LimitSet:
    """Return the limit set of an application; create it if it has none.

    Implements: LIM-31, LIM-55. Rules: LIM-20.
    """
    return application.limit_set or open_limit_set(partition, application)


def open_limit_set(partition: Partition, application: Application) -> LimitSet:
    """Find the trackers that concern an application, and add its usage to them.

    The group of the application is chosen here, unless a decision looked at it before; after a
    reload that removed its group, it is chosen again.
    Implements: LIM-66. Rules: LIM-20, LIM-21, LIM-24, LIM-32, LIM-64.
    """
    leaf = application.queue
    if not application.seen or application.unlinked:
        application.group = choose_group(leaf, application.user_groups)
    trackers = [
        _tracker(partition, USER, application.user, queue, limit, wildcard=wildcard)
        for queue, limit, wildcard in user_limits(leaf, application.user)
    ]
    trackers += [
        _tracker(partition, GROUP, application.group, queue, limit, wildcard=False)
        for queue, limit in group_limits(leaf, application.group)
    ]
    limit_set = _limit_set(partition, tuple(trackers))
    limit_set.references += 1
    application.limit_set = limit_set
    usage = application.usage()
    for tracker in limit_set.trackers:
        add_vector(tracker.allocated, usage)
        if application.promised is not None:
            promise_at(tracker, application.promised)
        tracker.running += application.counted
    return limit_set


def close_limit_set(partition: Partition, application: Application) -> None:
    """Remove an application and its usage from its trackers; delete trackers no one else has.

    Implements: LIM-45, LIM-46. Rules: LIM-34.
    """
    limit_set = application.limit_set
    if limit_set is None:
        return
    application.limit_set = None
    usage = application.usage()
    for tracker in limit_set.trackers:
        subtract_vector(tracker.allocated, usage)
        if application.promised is not None:
            withdraw_at(tracker, application.promised)
        tracker.running -= application.counted
    limit_set.references -= 1
    if limit_set.references:
        return
    del partition.limit_sets[tuple([each.number for each in limit_set.trackers])]
    for tracker in limit_set.trackers:
        tracker.references -= 1
        if tracker.references == 0:
            del partition.trackers[tracker.key]
            tracker.unblocked = {}


def promise_at(bound: Bound, promised: Vector) -> None:
    """Keep room at a queue or tracker. Rules: PRE-89."""
    if bound.promised is None:
        bound.promised = Vector()
    add_vector(bound.promised, promised)


def withdraw_at(bound: Bound, promised: Vector) -> None:
    """End keeping room at a queue or tracker. Rules: PRE-89."""
    assert bound.promised is not None
    subtract_vector(bound.promised, promised)
    if not trimmed(bound.promised):
        bound.promised = None


def count_application(application: Application, change: int) -> None:
    """Add ``change`` (1 or -1) to the applications of its trackers.

    Implements: LIM-37. Rules: LIM-32, LIM-36, LIM-61.
    """
    limit_set = application.limit_set
    assert limit_set is not None
    application.counted = change > 0
    for tracker in limit_set.trackers:
        tracker.running += change


def _limit_set(partition: Partition, trackers: tuple[QueueTracker, ...]) -> LimitSet:
    key = tuple([each.number for each in trackers])
    limit_set = partition.limit_sets.get(key)
    if limit_set is None:
        limit_set = LimitSet(partition.next_number(), trackers)
        partition.limit_sets[key] = limit_set
        for tracker in trackers:
            tracker.references += 1
    return limit_set


def _tracker(
    partition: Partition, kind: str, name: str, queue: Queue, limit: Limit, *, wildcard: bool
) -> QueueTracker:
    """Return the tracker of a user or group at a queue, with the limit now in force."""
    key = (kind, name, queue.path)
    tracker = partition.trackers.get(key)
    if tracker is None:
        tracker = QueueTracker(partition.next_number(), key, queue)
        partition.trackers[key] = tracker
    tracker.maximum = limit.maximum
    tracker.max_applications = limit.max_applications
    tracker.wildcard = wildcard
    return tracker
