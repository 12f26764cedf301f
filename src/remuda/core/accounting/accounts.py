"""Which limits of users and groups concern an application, and what counts against them.

An application gets its account when its first ask or allocation comes and keeps it until it has
neither; usage moves with it. Rules: chapter 30 sections 4 to 9.
"""

from __future__ import annotations

from remuda.core.model.application import Application
from remuda.core.model.bound import Bound
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.trackers import GROUP, USER, Account, Limit, QueueTracker
from remuda.core.model.vectors import Vector, add_vector, subtract_vector, trimmed
from remuda.core.policy.limits import choose_group, group_limits, user_limits


def account_of(partition: Partition, application: Application) -> Account:
    """Return the account of an application, opening it if need be. Rules: LIM-20, LIM-31."""
    return application.account or open_account(partition, application)


def open_account(partition: Partition, application: Application) -> Account:
    """Find the trackers that concern an application, and let its usage count there.

    Its group is chosen here unless it was looked at before, or if a reload took its group.
    Rules: LIM-20, LIM-21, LIM-24, LIM-32, LIM-64.
    """
    leaf = application.queue
    assert leaf is not None
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
    account = _account(partition, tuple(trackers))
    account.references += 1
    application.account = account
    usage = application.usage()
    for tracker in account.trackers:
        add_vector(tracker.allocated, usage)
        if application.promised is not None:
            promise_at(tracker, application.promised)
        tracker.running += application.counted
    return account


def close_account(partition: Partition, application: Application) -> None:
    """Take an application and what it uses out of its trackers; those of nobody go.

    Rules: LIM-34, LIM-45, LIM-46.
    """
    account = application.account
    if account is None:
        return
    application.account = None
    usage = application.usage()
    for tracker in account.trackers:
        subtract_vector(tracker.allocated, usage)
        if application.promised is not None:
            withdraw_at(tracker, application.promised)
        tracker.running -= application.counted
    account.references -= 1
    if account.references:
        return
    del partition.accounts[tuple([each.number for each in account.trackers])]
    for tracker in account.trackers:
        tracker.references -= 1
        if tracker.references == 0:
            del partition.trackers[tracker.key]


def promise_at(bound: Bound, promised: Vector) -> None:
    """Keep room at a queue or tracker. Rules: PRE-89."""
    if bound.promised is None:
        bound.promised = Vector()
    add_vector(bound.promised, promised)


def withdraw_at(bound: Bound, promised: Vector) -> None:
    """Keep that room no more. Rules: PRE-89."""
    assert bound.promised is not None
    subtract_vector(bound.promised, promised)
    if not trimmed(bound.promised):
        bound.promised = None


def count_application(application: Application, change: int) -> None:
    """Count an application at its trackers, or no longer. Rules: LIM-32, LIM-36, LIM-61."""
    account = application.account
    assert account is not None
    application.counted = change > 0
    for tracker in account.trackers:
        tracker.running += change


def _account(partition: Partition, trackers: tuple[QueueTracker, ...]) -> Account:
    key = tuple([each.number for each in trackers])
    account = partition.accounts.get(key)
    if account is None:
        account = Account(partition.next_number(), trackers)
        partition.accounts[key] = account
        for tracker in trackers:
            tracker.references += 1
    return account


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
