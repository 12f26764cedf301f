"""Works every counter and index out from scratch and compares (the meaning of ``check``).

The scheduler keeps totals, orders and indexes up to date incrementally; this module is the
other half of each pair. It is slow on purpose and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remuda.config.schema import WILDCARD
from remuda.core.accounting.lanes import gate_of
from remuda.core.invariants.configured import check_configured
from remuda.core.invariants.gangs import check_gangs
from remuda.core.invariants.nodes import check_nodes
from remuda.core.invariants.outstanding import check_outstanding, check_utilisation
from remuda.core.invariants.pauses import check_pauses
from remuda.core.invariants.preemption import check_preemption
from remuda.core.invariants.questions import check_listed, check_questions
from remuda.core.invariants.quota_changes import check_quota_timers, check_quotas
from remuda.core.invariants.require import require, same
from remuda.core.invariants.reservations import check_reservations
from remuda.core.invariants.shares import check_shares
from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.bound import Bound
from remuda.core.model.cluster import Cluster
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.priorities import MIN_PRIORITY, PriorityCount
from remuda.core.model.queue import Queue
from remuda.core.model.ranking import SortKey
from remuda.core.model.request import CLOSED, Lane, Strand
from remuda.core.model.shape import HOME
from remuda.core.model.trackers import GROUP, USER, QueueTracker, TrackerKey
from remuda.core.model.vectors import (
    Amounts,
    Vector,
    add_times,
    equal,
    trimmed,
)
from remuda.core.policy.standing import application_key, child_key, shown_priority


def check(cluster: Cluster) -> None:
    """Check everything. Raises: InvariantViolation naming the object and the difference.

    Rules: QUE-2, QUE-6, QUE-27, QUE-28, NOD-2, NOD-15, RES-16, RM-15, PRE-65.
    """
    check_pauses(cluster)
    check_quota_timers(cluster)
    for partition in cluster.partitions():
        stale = partition.shares_stale and trimmed(partition.root.pending)
        settled = not stale and not partition.unsettled
        require(settled, partition, "changes are not settled")
        for one in _CHECKS:
            one(partition)


def _applications(partition: Partition) -> None:
    """Usage, pending and priorities of applications are those of their parts."""
    kept = sorted([*partition.ended.applications, *partition.rejected.applications])
    require(kept == sorted(partition.kept), partition, "what ended is not what is kept")
    for state, count in partition.kept_states.items():
        found = [each for each in partition.kept.values() if each.state == state]
        require(count == len(found), partition, f"{len(found)} ended as {state}, not {count}")
    for application in partition.applications.values():
        name = f"application {application.application_id}"
        allocations = application.allocations.values()
        real = [each.amounts for each in allocations if not each.ask.placeholder]
        same(partition, f"{name} allocated", application.allocated, real)
        for allocation in allocations:
            held = allocation in allocation.node.allocations
            require(held, partition, f"{name}: an allocation is not on its node")
            node = partition.nodes.get(allocation.node.node_id)
            require(node is allocation.node, partition, f"{name}: its node is unknown")
        _identities(partition, application)
        wanted = Vector()
        priorities = PriorityCount()
        for request in application.requests.values():
            add_times(wanted, request.amounts, request.pending)
            require(request.pending >= 0, partition, f"{name}: negative pending")
            queued = request.group is not None
            require(queued == (request.pending > 0), partition, f"{name}: ask in no lane")
            if request.pending:
                priorities.add(request.ask.priority)
        require(equal(application.pending, wanted), partition, f"{name} pending is wrong")
        right = priorities.counts() == application.priorities.counts()
        require(right, partition, f"{name}: priorities are miscounted")
        highest = application.priority == priorities.highest
        require(highest, partition, f"{name}: its priority is stale")
        leaf = application.queue
        placed = leaf is not None and leaf.applications.get(application.application_id)
        require(placed is application, partition, f"{name} is not in its queue")


def _identities(partition: Partition, application: Application) -> None:
    """Every live allocation is listed once under its key, with its ask or where that is gone."""
    name = f"application {application.application_id}"
    listed: list[str] = []
    for key, request in application.requests.items():
        own = request.allocation_ids()
        listed += own
        enough = request.made + request.adopted >= len(own)
        require(enough, partition, f"{name}: ask {key} made less than it has")
    for key, identities in application.detached.items():
        listed += identities
        gone = key not in application.requests and len(identities) > 0
        require(gone, partition, f"{name}: key {key} is detached and not")
    live = sorted(application.allocations)
    require(sorted(listed) == live, partition, f"{name}: lists {listed}, has {live}")
    for identity, allocation in application.allocations.items():
        found = identity in application.identities(allocation.ask.allocation_key)
        require(found, partition, f"{name}: {identity} is listed under another key")


def _amounts(application: Application) -> list[Amounts]:
    return [allocation.amounts for allocation in application.allocations.values()]


def _queues(partition: Partition) -> None:
    """Usage, pending and running of queues are those of what is below them."""
    for queue in partition.queues(partition.root):
        name = f"queue {queue.path}"
        below = _applications_below(queue)
        parts = [amounts for application in below for amounts in _amounts(application)]
        same(partition, f"{name} allocated", queue.allocated, parts)
        wanted = Vector()
        for application in below:
            for request in application.requests.values():
                add_times(wanted, request.amounts, request.pending)
        require(equal(queue.pending, wanted), partition, f"{name} pending is wrong")
        running = [a for a in below if a.state in (states.STARTING, states.RUNNING)]
        require(queue.running == len(running), partition, f"{name} running is wrong")
        live = sum(len(each.allocations) for each in queue.applications.values())
        counted = queue.tally.allocated - queue.tally.released
        require(counted == live, partition, f"{name}: came minus went is {counted}, not {live}")
        priorities = PriorityCount()
        for shown in _priorities_below(queue):
            if shown != MIN_PRIORITY:
                priorities.add(shown)
        right = priorities.counts() == queue.priorities.counts()
        require(right, partition, f"{name}: priorities are miscounted")
        right = queue.priority == priorities.highest
        right = right and (queue.parent is None or queue.shown_priority == shown_priority(queue))
        require(right, partition, f"{name} shows a wrong priority")


def _applications_below(queue: Queue) -> list[Application]:
    below = [each for child in queue.children.values() for each in _applications_below(child)]
    return [*queue.applications.values(), *below]


def _priorities_below(queue: Queue) -> list[int]:
    own = [each.priorities.highest for each in queue.applications.values()]
    return [*own, *[child.shown_priority for child in queue.children.values()]]


def _child_orders(partition: Partition) -> None:
    """Every parent orders exactly its children with pending, by their current numbers."""
    for parent in partition.queues(partition.root):
        served = [each for each in parent.children.values() if each.state != states.STOPPED]
        expected = [child.name for child in served if trimmed(child.pending)]
        listed = parent.child_order.names()
        require(sorted(expected) == listed, partition, f"children of {parent.path} are wrong")
        for name in expected:
            child = parent.children[name]
            numbers = child_key(parent, child, parity=partition.parity)[:2]
            place = (numbers, trimmed(child.pending), child.has_ready())
            kept = parent.child_order.place(name)
            require(kept == place, partition, f"queue {child.path} stands at {kept}, not {place}")


def _lanes(partition: Partition) -> None:
    """Asks are in one group, groups in one strand, strands in one lane of their leaf."""
    groups: dict[int, int] = {}
    for leaf in partition.queues(partition.root):
        for number, lane in leaf.lanes.items():
            name = f"lane {lane.shape.key} of {leaf.path}"
            held = sum(len(strand.groups) for strand in lane.strands.values())
            groups[number] = groups.get(number, 0) + held
            keys = {strand.key(): strand for strand in lane.strands.values()}
            require(lane.strand_keys == keys, partition, f"{name} has wrong keys of strands")
            fresh = sorted(n for n, strand in lane.strands.items() if strand.unseen)
            require(sorted(lane.fresh) == fresh, partition, f"{name} forgot to look at some")
            _lane(partition, lane, name)
            for strand in lane.strands.values():
                _strand(partition, strand, f"strand {strand.key()} of {name}")
        ready = sorted(n for n, each in leaf.lanes.items() if each.order.keys and not each.parked)
        listed = sorted([*leaf.ready.keys, *leaf.urgent.keys])
        require(listed == ready, partition, f"ready lanes of {leaf.path}")
        urgent = [number for number in ready if leaf.lanes[number].shape.urgent]
        require(sorted(leaf.urgent.keys) == urgent, partition, f"urgent lanes of {leaf.path}")
        in_pass = leaf.path in partition.urgent
        stopped = any(each.state == states.STOPPED for each in leaf.path_up)
        require(
            in_pass == (bool(urgent) and not stopped), partition, f"{leaf.path} is urgent, or not"
        )
    for shape in partition.shapes.values():
        held = groups.get(shape.number, 0)
        require(shape.groups == held, partition, f"shape {shape.key} counts wrong groups")
    require(len(groups) == len(partition.shapes), partition, "a lane without shape")
    waiting = sorted(s.number for s in partition.shapes.values() if s.waiting)
    require(sorted(partition.starved.shapes) == waiting, partition, "starved shapes are wrong")


def _lane(partition: Partition, lane: Lane, name: str) -> None:
    """A lane is ready by its first strand, or parked for a true reason."""
    active = sorted(n for n, strand in lane.strands.items() if not strand.waits())
    require(sorted(lane.order.keys) == active, partition, f"{name} orders wrong strands")
    for number in active if len(active) > 1 else ():
        right = lane.order.keys[number] == lane.strands[number].standing()
        require(right, partition, f"{name}: a stale strand key")
    if not lane.parked:
        ready = lane.ranking.keys.get(lane.shape.number, ())
        first = _first_key(lane) if active else ()
        require(ready[: len(first)] == first, partition, f"{name}: a stale lane key")
        return
    require(len(active) > 0, partition, f"{name} is parked with nothing to try")
    if lane.listed is not None:
        check_listed(partition, lane, name)
        return
    queue = lane.parked_at
    if queue is not None:
        listed = queue.waiting.get(lane.shape.number, {}).get(lane.number)
        require(listed is lane, partition, f"{name} waits at no queue")
        blocked = not queue.lets_in(lane.shape)
        require(blocked, partition, f"{name} waits at {queue.path} though it fits")
        return
    listed = lane.shape.waiting.get(lane.number)
    require(listed is lane, partition, f"{name} waits for no node")
    if not partition.predicates:
        able = [n.node_id for n in partition.nodes.values() if _has_room(n, lane)]
        require(not able, partition, f"{name} waits though {able} fit it")


def _first_key(lane: Lane) -> SortKey:
    """Return the part of a ready lane's key that may ever be compared, worked out anew."""
    strand = min([lane.strands[number] for number in lane.order.keys], key=_standing)
    groups = [*strand.groups.values()]
    group = min(groups, key=lambda each: each.application.standing)
    standing = group.application.standing
    if len(group.application.request_groups) == 1:
        return standing
    first = min(request.sort_key for request in group.order.asks())
    home = (lane.shape.stage != HOME,) if lane.shape.urgent else ()
    return (*standing, *home, *first, lane.shape.number)


def _standing(strand: Strand) -> SortKey:
    return strand.standing()


def _strand(partition: Partition, strand: Strand, name: str) -> None:
    """A strand has the groups that belong there, in order, and is aside for a true reason."""
    leaf = strand.lane.leaf
    for number, group in strand.groups.items():
        application = group.application
        right = application_key(leaf, application)
        require(application.standing == right, partition, f"{name}: a stale application key")
        first = min(group.order.asks(), key=lambda each: each.sort_key)
        require(group.first() is first, partition, f"{name} orders asks wrongly")
        belongs = group.strand is strand and application.account is strand.account
        require(belongs, partition, f"{name} has a group of another strand")
        gate = gate_of(application, strand.account, strand.lane)
        paused = application.backoff_until_ns > 0 and CLOSED in (gate, strand.gate)
        right_gate = strand.gate == gate or paused
        require(right_gate, partition, f"{name} has the wrong gate, not {gate}")
        asks = group.order.asks()
        require(group.order.count == len(asks), partition, f"{name} counts asks wrongly")
        fresh = [each.number for each in asks if not each.looked]
        listed = [each.number for each in strand.fresh() if each.group is group]
        require(listed == sorted(fresh), partition, f"{name} forgot asks to look at")
        require(application.seen or bool(fresh), partition, f"{name} forgot an application")
        placed = strand.order.keys.get(number) == right
        require(placed, partition, f"{name}: a stale group key")
    if strand.aside is not None:
        _aside(partition, strand, strand.aside, name)


def _aside(partition: Partition, strand: Strand, bound: Bound, name: str) -> None:
    """Who waits is listed, and nobody before him could go on; the first waits for a true reason."""
    waitlist = bound.held
    able = not bound.full()
    if not strand.held:
        assert isinstance(bound, QueueTracker)
        waitlist = bound.waiting
        able = strand.lane.shape.fits(bound)
    require(waitlist.strands.get(strand.number) is strand, partition, f"{name} is not listed")
    ahead = waitlist.first(strand.place())
    in_order = ahead is not None and ahead.standing() <= strand.standing()
    require(in_order, partition, f"{name} waits in a wrong order")
    tried = not able or _has_candidate(strand, bound)
    require(tried, partition, f"{name} waits though it could go on")


def _has_candidate(strand: Strand, bound: Bound) -> bool:
    """Whether another strand of the lane stands before one that waits and may take what is free.

    Should the lane be parked, the one that waits would be parked with it.
    """
    for other in strand.lane.strands.values():
        bounds: list[Bound] = [*strand.lane.leaf.path_up, *other.account.trackers]
        alike = bool(other.queue_gates or other.quota_gates) or not strand.held
        if not other.waits() and alike and bound in bounds:
            return True
    return False


def _trackers(partition: Partition) -> None:
    """What users and groups use where they are limited is that of their applications.

    Rules: LIM-30, LIM-32 to LIM-36, D-U6, D-U7, D-U10.
    """
    used: dict[TrackerKey, list[Application]] = {}
    accounts: dict[int, int] = {}
    for application in partition.applications.values():
        name = f"application {application.application_id}"
        counted = application.counted and not application.idle()
        require(application.counted == counted, partition, f"{name} counts and is idle")
        right = application.counted or not application.allocations
        require(right, partition, f"{name} holds something and does not count")
        account = application.account
        require((account is None) == application.idle(), partition, f"{name}: wrong account")
        if account is None:
            continue
        accounts[account.number] = accounts.get(account.number, 0) + 1
        expected = _expected_trackers(application)
        listed = [each.key for each in account.trackers]
        require(listed == expected, partition, f"{name} counts at {listed}, not {expected}")
        for key in expected:
            used.setdefault(key, []).append(application)
    kept = sorted(partition.trackers)
    require(kept == sorted(used), partition, f"trackers are {kept}, not {sorted(used)}")
    for key, tracker in partition.trackers.items():
        parts = [amounts for application in used[key] for amounts in _amounts(application)]
        same(partition, f"tracker {key} allocated", tracker.allocated, parts)
        running = len([each for each in used[key] if each.counted])
        require(tracker.running == running, partition, f"tracker {key} counts {tracker.running}")
    for account in partition.accounts.values():
        right = accounts.get(account.number) == account.references
        require(right, partition, f"account {account.number} has wrong references")


def _expected_trackers(application: Application) -> list[TrackerKey]:
    """Return the limits that concern an application, straight from the tables of its queues."""
    leaf = application.queue
    assert leaf is not None
    user, group = application.user, application.group
    found = [
        (USER, user, queue.path)
        for queue in leaf.path_up
        if user in queue.user_limits or WILDCARD in queue.user_limits
    ]
    return found + [(GROUP, group, q.path) for q in leaf.path_up if group in q.group_limits]


def _has_room(node: Node, lane: Lane) -> bool:
    """Whether a node could take a lane's asks, worked out apart from what parked them."""
    required = lane.shape.required_node
    if required and (required != node.node_id or lane.shape.urgent):
        return False
    if not required and node.held:
        return False
    free = node.available.amounts
    wanted = [(index, amount) for index, amount in lane.shape.amounts.pairs if amount > 0]
    fit = all(index < len(free) and free[index] >= amount for index, amount in wanted)
    return fit and (node.schedulable or required != "")


_CHECKS: Final[tuple[Callable[[Partition], None], ...]] = (
    _applications,
    check_nodes,
    _queues,
    check_shares,
    _child_orders,
    _lanes,
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
