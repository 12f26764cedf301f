"""Recomputes every counter and index and compares: this is what ``check`` does.

The scheduler keeps totals, orders and indexes up to date incrementally. This package recomputes
each of them in the simplest way. It is slow on purpose and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from remuda.base.errors import InvariantViolation
from remuda.config.schema import WILDCARD
from remuda.config.settings import read_settings
from remuda.core.invariants.configured import check_configured
from remuda.core.invariants.counts import check_counts
from remuda.core.invariants.gangs import check_gangs
from remuda.core.invariants.nodes import check_nodes, check_utilisation
from remuda.core.invariants.pending import check_class_queues, check_outstanding
from remuda.core.invariants.preemption import check_preemption
from remuda.core.invariants.questions import check_questions
from remuda.core.invariants.quota_changes import check_quota_timers, check_quotas
from remuda.core.invariants.require import Name, require, same, same_sum
from remuda.core.invariants.reservations import check_reservations
from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.cluster import Cluster, ResourceManager
from remuda.core.model.partition import Partition
from remuda.core.model.queues.priorities import MIN_PRIORITY
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import GROUP, USER, TrackerKey
from remuda.core.model.vectors import (
    Amounts,
    Vector,
    add,
    add_times,
    add_vector,
    equal,
    same_limit,
    trimmed,
)
from remuda.core.policy.shares import divisors, fair_maximum
from remuda.core.policy.sort_keys import child_key, shown_priority


def check(cluster: Cluster) -> None:
    """Check everything. Raises: InvariantViolation naming the object and the difference.

    Rules: QUE-2, QUE-6, QUE-27, QUE-28, NOD-2, NOD-15, RES-16, RM-15, PRE-65.
    """
    _pauses(cluster)
    check_quota_timers(cluster)
    for partition in cluster.partitions():
        for one in _CHECKS:
            one(partition)


def _pauses(cluster: Cluster) -> None:
    """Partitions rest with their RM, and timers stand still while it is away.

    Raises: InvariantViolation.

    Rules: RM-15, RM-18.
    """
    away = [rm_id for rm_id, each in cluster.managers.items() if each.away_since_ns is not None]
    frozen = cluster.deadlines.frozen
    if sorted(frozen) != sorted(away):
        raise InvariantViolation(f"away are {sorted(away)}, timers stand still of {sorted(frozen)}")
    for manager in cluster.managers.values():
        if manager.stop_ns != _stop_ns(manager):
            raise InvariantViolation(f"{manager.record.rm_id} is given up at another time")
        for partition in manager.own():
            rests = manager.resting() or (
                partition.resting and len(partition.waiting.questions.asked) > 0
            )
            text = "it rests without a reason, or does not rest"
            require(partition.resting == rests, partition, text)
    for deadline in cluster.deadlines.running():
        partition = deadline.partition
        runs = partition.rm_id not in frozen or not deadline.freezes()
        require(runs, partition, "a timer for {} does not stand still", deadline.what)
        require(cluster.has(partition), partition, "a timer of a partition that is gone")


def _stop_ns(manager: ResourceManager) -> int | None:
    if manager.away_since_ns is None:
        return None
    settings, _ = read_settings(manager.extra_config)
    if settings.rm_pause_timeout_ns < 0:
        return None
    return manager.away_since_ns + settings.rm_pause_timeout_ns


def _settled(partition: Partition) -> None:
    """No change of shares or sort keys is left to be made, unless nothing waits. Rules: QUE-28."""
    stale = partition.waiting.shares_stale and trimmed(partition.root.pending)
    settled = not stale and not partition.waiting.leaves_to_reorder
    require(settled, partition, "changes are not settled")


def _applications(partition: Partition) -> None:
    """Usage, pending and priorities of applications are the sums of their parts."""
    kept = sorted([*partition.kept.completed.applications, *partition.kept.rejected.applications])
    require(
        kept == sorted(partition.kept.applications), partition, "what ended is not what is kept"
    )
    for state, count in partition.kept.states.items():
        found = [each for each in partition.kept.applications.values() if each.state == state]
        require(count == len(found), partition, "{} ended as {}, not {}", len(found), state, count)
    for application in partition.applications.values():
        name = Name("application {}", application.application_id)
        allocations = application.allocations.values()
        real = [each.amounts for each in allocations if not each.ask.placeholder]
        same(partition, Name("{} allocated", name), application.allocated, real)
        for allocation in allocations:
            held = allocation in allocation.node.allocations
            require(held, partition, "{}: an allocation is not on its node", name)
            node = partition.nodes.get(allocation.node.node_id)
            require(node is allocation.node, partition, "{}: its node is unknown", name)
        _identities(partition, application, name)
        wanted = Vector()
        priorities = _counted(
            [each.ask.priority for each in application.requests.values() if each.pending]
        )
        for request in application.requests.values():
            add_times(wanted, request.amounts, request.pending)
            require(request.pending >= 0, partition, "{}: negative pending", name)
            require(not request.over(), partition, "{}: an ask that ended is kept", name)
            queued = request.group is not None
            require(queued == (request.pending > 0), partition, "{}: ask in no class queue", name)
        require(equal(application.pending, wanted), partition, "{} pending is wrong", name)
        count = sum([request.pending for request in application.requests.values()])
        require(application.wanted == count, partition, "{} waits for another number", name)
        right = priorities == application.priorities.counts()
        require(right, partition, "{}: priorities are miscounted", name)
        highest = application.priority == application.priorities.highest == _highest(priorities)
        require(highest, partition, "{}: its priority is stale", name)
        leaf = application.queue
        placed = leaf.applications.get(application.application_id)
        require(placed is application, partition, "{} is not in its queue", name)


def _counted(priorities: list[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for priority in priorities:
        counts[priority] = counts.get(priority, 0) + 1
    return counts


def _highest(priorities: dict[int, int]) -> int:
    return max(priorities) if priorities else MIN_PRIORITY


def _identities(partition: Partition, application: Application, name: Name) -> None:
    """Every live allocation is listed once under its key, with its ask or else as detached."""
    listed: list[str] = []
    for key, request in application.requests.items():
        own = request.allocation_ids()
        listed += own
        enough = request.made + request.adopted >= len(own)
        require(enough, partition, "{}: ask {} made less than it has", name, key)
    for key, identities in application.detached.items():
        listed += identities
        gone = key not in application.requests and len(identities) > 0
        require(gone, partition, "{}: key {} is detached and not", name, key)
    live = sorted(application.allocations)
    require(sorted(listed) == live, partition, "{}: lists {}, has {}", name, listed, live)
    for identity, allocation in application.allocations.items():
        found = identity in application.identities(allocation.ask.allocation_key)
        require(found, partition, "{}: {} is listed under another key", name, identity)


def _amounts(application: Application) -> list[Amounts]:
    return [allocation.amounts for allocation in application.allocations.values()]


def _queues(partition: Partition) -> None:
    """Usage, pending and running counts of queues are the sums of the applications below."""
    _below(partition, partition.root)


@final
class _Sums:
    """What the applications of a queue and below have together, added up anew."""

    __slots__ = ("allocated", "running", "wanted")

    def __init__(self) -> None:
        self.allocated = Vector()
        self.wanted = Vector()
        self.running: int = 0


def _below(partition: Partition, queue: Queue) -> _Sums:
    """Check a queue and all below it; return their sums. Each application is added up once."""
    sums = _Sums()
    live = 0
    for application in queue.applications.values():
        for allocation in application.allocations.values():
            add(sums.allocated, allocation.amounts)
            live += 1
        for request in application.requests.values():
            add_times(sums.wanted, request.amounts, request.pending)
        if application.state in (states.STARTING, states.RUNNING):
            sums.running += 1
    for child in queue.children.values():
        below = _below(partition, child)
        add_vector(sums.allocated, below.allocated)
        add_vector(sums.wanted, below.wanted)
        sums.running += below.running
    name = Name("queue {}", queue.path)
    same_sum(partition, Name("{} allocated", name), queue.allocated, sums.allocated)
    require(equal(queue.pending, sums.wanted), partition, "{} pending is wrong", name)
    require(queue.running == sums.running, partition, "{} running is wrong", name)
    counted = queue.counts.allocated - queue.counts.released
    require(counted == live, partition, "{}: came minus went is {}, not {}", name, counted, live)
    _queue_priority(partition, queue, name)
    return sums


def _queue_priority(partition: Partition, queue: Queue, name: Name) -> None:
    """A queue counts the priorities that its applications and children show."""
    shown = [each.priorities.highest for each in queue.applications.values()]
    shown += [child.shown_priority for child in queue.children.values()]
    priorities = _counted([priority for priority in shown if priority != MIN_PRIORITY])
    right = priorities == queue.priorities.counts()
    require(right, partition, "{}: priorities are miscounted", name)
    right = queue.priority == queue.priorities.highest == _highest(priorities)
    right = right and (queue.parent is None or queue.shown_priority == shown_priority(queue))
    require(right, partition, "{} shows a wrong priority", name)


def _child_orders(partition: Partition) -> None:
    """Every parent orders exactly its children with pending, by their current numbers."""
    for parent in partition.queues(partition.root):
        if not parent.children:
            order = parent.child_order
            right = not order.names() and not order.misplaced()
            require(right, partition, "{} orders children that it has not", parent.path)
            continue
        served = [each for each in parent.children.values() if each.state != states.STOPPED]
        expected = [child.name for child in served if trimmed(child.pending)]
        listed = parent.child_order.names()
        require(sorted(expected) == listed, partition, "children of {} are wrong", parent.path)
        for name in expected:
            child = parent.children[name]
            numbers = child_key(parent, child, parity=partition.settings.parity)[:2]
            place = (numbers, trimmed(child.pending), child.has_ready())
            kept = parent.child_order.sort_data(name)
            require(
                kept == place, partition, "queue {} has key {}, not {}", child.path, kept, place
            )
        wrong = parent.child_order.misplaced()
        require(
            not wrong, partition, "equal children of {} are not in order: {}", parent.path, wrong
        )


def _shares(partition: Partition) -> None:
    """Known divisors are those of the settings now in force.

    Only queues that a change concerns get new divisors, so this finds a change that was not
    reported. A queue that is in no order may have no divisors. Rules: QUE-38, RES-52.
    """
    if partition.waiting.shares_stale:
        return
    fair: dict[str, Vector | None] = {}
    for queue in partition.queues(partition.root):
        above = None if queue.parent is None else fair[queue.parent.path]
        fair[queue.path] = fair_maximum(queue, above)
        if queue.divisors is None:
            _unknown_shares(partition, queue)
            continue
        wanted = divisors(queue, fair[queue.path])
        text = "shares of {} are of {}, not {}"
        require(queue.divisors == wanted, partition, text, queue.path, queue.divisors, wanted)
        same = same_limit(queue.fair_maximum, fair[queue.path])
        require(same, partition, "the fair maximum of {} is another one", queue.path)


def _unknown_shares(partition: Partition, queue: Queue) -> None:
    """A queue without divisors is in no order, and neither are the queues below it."""
    placed = queue.parent is not None and queue.parent.child_order.sort_data(queue.name) is not None
    require(not placed, partition, "{} is in an order, but its shares are not known", queue.path)
    below = [child.name for child in queue.children.values() if child.divisors is not None]
    text = "shares of {} are not known, but those of {} below it are"
    require(not below, partition, text, queue.path, below)


def _trackers(partition: Partition) -> None:
    """The usage each tracker counts is the sum of its user's or group's applications.

    Rules: LIM-30, LIM-32, LIM-33, LIM-34, LIM-35, LIM-36, D-U6, D-U7, D-U10.
    """
    used: dict[TrackerKey, list[Application]] = {}
    limit_sets: dict[int, int] = {}
    for application in partition.applications.values():
        name = Name("application {}", application.application_id)
        counted = application.counted and not application.idle()
        require(application.counted == counted, partition, "{} counts and is idle", name)
        right = application.counted or not application.allocations
        require(right, partition, "{} holds something and does not count", name)
        limit_set = application.limit_set
        require((limit_set is None) == application.idle(), partition, "{}: wrong limit set", name)
        if limit_set is None:
            continue
        limit_sets[limit_set.number] = limit_sets.get(limit_set.number, 0) + 1
        expected = _expected_trackers(application)
        listed = [each.key for each in limit_set.trackers]
        require(listed == expected, partition, "{} counts at {}, not {}", name, listed, expected)
        for key in expected:
            used.setdefault(key, []).append(application)
    kept = sorted(partition.trackers)
    require(kept == sorted(used), partition, "trackers are {}, not {}", kept, sorted(used))
    for key, tracker in partition.trackers.items():
        parts = [amounts for application in used[key] for amounts in _amounts(application)]
        same(partition, Name("tracker {} allocated", key), tracker.allocated, parts)
        running = len([each for each in used[key] if each.counted])
        require(tracker.running == running, partition, "tracker {} counts {}", key, tracker.running)
    for limit_set in partition.limit_sets.values():
        right = limit_sets.get(limit_set.number) == limit_set.references
        require(right, partition, "limit set {} has wrong references", limit_set.number)


def _expected_trackers(application: Application) -> list[TrackerKey]:
    """Return the keys of the limits of an application, from the tables of its queues."""
    leaf = application.queue
    user, group = application.user, application.group
    found = [
        (USER, user, queue.path)
        for queue in leaf.path_up
        if user in queue.user_limits or WILDCARD in queue.user_limits
    ]
    return found + [(GROUP, group, q.path) for q in leaf.path_up if group in q.group_limits]


_CHECKS: Final[tuple[Callable[[Partition], None], ...]] = (
    _settled,
    _applications,
    check_counts,
    check_nodes,
    _queues,
    _shares,
    _child_orders,
    check_class_queues,
    _trackers,
    check_reservations,
    check_outstanding,
    check_utilisation,
    check_gangs,
    check_questions,
    check_preemption,
    check_quotas,
    check_configured,
)
