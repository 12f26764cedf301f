"""Works out anew where each waiting ask is, why, and which asks are to be reported.

An ask is in one class queue. A class queue or limit group is blocked only for a reason that still
holds (part of ``check``).
"""

from __future__ import annotations

from remuda.core.invariants.questions import check_listed
from remuda.core.invariants.require import Name, require
from remuda.core.messages import gates
from remuda.core.model import states
from remuda.core.model.asks.ask_class import NODE_READY
from remuda.core.model.asks.blocked import CLOSED_GROUP, Blocked
from remuda.core.model.asks.class_queue import (
    CLOSED,
    ClassQueue,
    Group,
    LimitGroup,
    LimitGroupKey,
)
from remuda.core.model.asks.request import Request
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound
from remuda.core.model.queues.queue import Queue
from remuda.core.model.ranking import SortKey
from remuda.core.pending.admission import admission_of
from remuda.core.policy.sort_keys import application_key


def check_class_queues(partition: Partition) -> None:
    """Each ask is in one group, each group in one limit group, each of these in one class queue.

    Rules: CYC-12, QUE-40, QUE-44.
    """
    groups: dict[int, int] = {}
    for leaf in partition.queues(partition.root):
        for number, class_queue in leaf.class_queues.items():
            held = _class_queue(partition, class_queue)
            groups[number] = groups.get(number, 0) + held
        _ready(partition, leaf)
        _unblocked(partition, leaf, leaf.path)
    for tracker in partition.trackers.values():
        _unblocked(partition, tracker, tracker.key)
    for ask_class in partition.waiting.ask_classes.values():
        held = groups.get(ask_class.number, 0)
        require(
            ask_class.groups == held, partition, "ask class {} counts wrong groups", ask_class.key
        )
    require(
        len(groups) == len(partition.waiting.ask_classes),
        partition,
        "a class queue without ask class",
    )
    waiting = sorted([s.number for s in partition.waiting.ask_classes.values() if s.waiting])
    require(
        sorted(partition.waiting.waiting_classes.ask_classes) == waiting,
        partition,
        "the classes that wait for a node are wrong",
    )


def _unblocked(partition: Partition, bound: Bound, name: object) -> None:
    """What was unblocked for a free place is kept there only as long as it exists."""
    for number, limit_group in bound.unblocked.items():
        known = limit_group.class_queue.limit_groups.get(number) is limit_group
        require(known, partition, "{} keeps a limit group that ended", name)


def _ready(partition: Partition, leaf: Queue) -> None:
    """A leaf lists the class queues that may be tried, and is in the urgent pass with such ones."""
    in_pass = leaf.path in partition.waiting.urgent
    if not leaf.class_queues:
        right = not in_pass and not leaf.ready.keys and not leaf.urgent.keys
        require(right, partition, "{} lists class queues that it has not", leaf.path)
        return
    ready: list[int] = []
    urgent: list[int] = []
    for number, each in leaf.class_queues.items():
        if each.order.keys and each.blocked is None:
            ready.append(number)
            if each.ask_class.urgent:
                urgent.append(number)
    listed = sorted([*leaf.ready.keys, *leaf.urgent.keys])
    require(listed == sorted(ready), partition, "ready class queues of {}", leaf.path)
    right = sorted(leaf.urgent.keys) == sorted(urgent)
    require(right, partition, "urgent class queues of {}", leaf.path)
    if in_pass or urgent:
        stopped = any(each.state == states.STOPPED for each in leaf.path_up)
        right = in_pass == (len(urgent) > 0 and not stopped)
        require(right, partition, "{} has a wrong urgent flag", leaf.path)


def _class_queue(partition: Partition, class_queue: ClassQueue) -> int:
    """A class queue has each limit group under its key; return how many groups these have."""
    name = Name("class queue {} of {}", class_queue.ask_class.key, class_queue.leaf.path)
    limit_groups = class_queue.limit_groups
    held = 0
    keys: dict[LimitGroupKey, LimitGroup] = {}
    fresh: list[int] = []
    active: list[int] = []
    for number, limit_group in limit_groups.items():
        held += len(limit_group.groups)
        keys[limit_group.key()] = limit_group
        if limit_group.unseen:
            fresh.append(number)
        if not limit_group.waits():
            active.append(number)
    right = class_queue.limit_group_keys == keys
    require(right, partition, "{} has wrong keys of limit groups", name)
    right = sorted(class_queue.fresh) == sorted(fresh)
    require(right, partition, "{} lists wrong new ones", name)
    _order(partition, class_queue, sorted(active), name)
    for key, limit_group in keys.items():
        _limit_group(partition, limit_group, Name("limit group {} of {}", key, name))
    return held


def _order(partition: Partition, class_queue: ClassQueue, active: list[int], name: Name) -> None:
    """A class queue is sorted by its first limit group, or is blocked for a true reason."""
    require(
        sorted(class_queue.order.keys) == active, partition, "{} orders wrong limit groups", name
    )
    for number in active if len(active) > 1 else ():
        right = class_queue.order.keys[number] == class_queue.limit_groups[number].sort_key()
        require(right, partition, "{}: a stale limit group key", name)
    blocked = class_queue.blocked
    if blocked is None:
        ready = class_queue.ranking.keys.get(class_queue.ask_class.number, ())
        first = _first_key(class_queue) if active else ()
        require(ready[: len(first)] == first, partition, "{}: a stale class queue key", name)
        return
    require(len(active) > 0, partition, "{} is blocked with nothing to try", name)
    if class_queue.waits_for_manager():
        check_listed(partition, class_queue, name)
        return
    queue = blocked.at
    right = isinstance(queue, Queue) == (blocked.reason in (gates.QUEUE_QUOTA, gates.GANG))
    require(right, partition, "{} is blocked by {}, and waits elsewhere", name, blocked.reason)
    if isinstance(queue, Queue):
        listed = queue.waiting.get(class_queue.ask_class.number, {}).get(class_queue.number)
        require(listed is class_queue, partition, "{} waits at no queue", name)
        stopped = not queue.has_room_for(class_queue.ask_class)
        stopped = stopped or partition.waiting.gained_room.is_eligible(class_queue)
        require(stopped, partition, "{} waits at {} though it fits", name, queue.path)
        return
    listed = class_queue.ask_class.waiting.get(class_queue.number)
    require(listed is class_queue, partition, "{} waits for no node", name)
    if not partition.settings.predicates and not partition.waiting.gained_room.is_eligible(
        class_queue
    ):
        able = [n.node_id for n in partition.nodes.values() if _has_room(n, class_queue)]
        require(not able, partition, "{} waits though {} fit it", name, able)


def _first_key(class_queue: ClassQueue) -> SortKey:
    """Work out anew the part of a ready class queue's sort key that is ever compared."""
    served = [class_queue.limit_groups[number] for number in class_queue.order.keys]
    limit_group = served[0] if len(served) == 1 else min(served, key=_sort_key)
    groups = [*limit_group.groups.values()]
    group = groups[0] if len(groups) == 1 else min(groups, key=_application_key)
    sort_key = group.application.sort_key
    if len(group.application.request_groups) == 1:
        return sort_key
    first = min([request.sort_key for request in group.order.asks()])
    node_ready = (
        (class_queue.ask_class.stage != NODE_READY,) if class_queue.ask_class.urgent else ()
    )
    return (*sort_key, *node_ready, *first, class_queue.ask_class.number)


def _sort_key(limit_group: LimitGroup) -> SortKey:
    return limit_group.sort_key()


def _application_key(group: Group) -> SortKey:
    return group.application.sort_key


def _earliest(asks: list[Request]) -> Request:
    """Return the ask with the smallest sort key."""
    first = asks[0]
    for request in asks:
        if request.sort_key < first.sort_key:
            first = request
    return first


def _limit_group(partition: Partition, limit_group: LimitGroup, name: Name) -> None:
    """A limit group has the right groups, in order, and is blocked for a true reason only."""
    leaf = limit_group.class_queue.leaf
    unseen = limit_group.fresh()
    for number, group in limit_group.groups.items():
        application = group.application
        right = application_key(leaf, application)
        require(application.sort_key == right, partition, "{}: a stale application key", name)
        asks = group.order.asks()
        right_first = len(asks) > 0 and group.first() is _earliest(asks)
        require(right_first, partition, "{} orders asks wrongly", name)
        belongs = (
            group.limit_group is limit_group and application.limit_set is limit_group.limit_set
        )
        require(belongs, partition, "{} has a group of another limit group", name)
        admission = admission_of(application, limit_group.limit_set, limit_group.class_queue)
        paused = application.backoff_until_ns > 0 and CLOSED in (admission, limit_group.admission)
        admitted = limit_group.admission == admission or paused
        require(admitted, partition, "{} has the wrong admission, not {}", name, admission)
        require(group.order.count == len(asks), partition, "{} counts asks wrongly", name)
        fresh = [each.number for each in asks if not each.looked]
        listed = [each.number for each in unseen if each.group is group]
        require(listed == sorted(fresh), partition, "{} forgot asks to look at", name)
        require(application.seen or bool(fresh), partition, "{} forgot an application", name)
        placed = limit_group.order.keys.get(number) == right
        require(placed, partition, "{}: a stale group key", name)
    closed = limit_group.admission == CLOSED
    require(
        closed == (limit_group.blocked is CLOSED_GROUP),
        partition,
        "{} is closed wrongly",
        name,
    )
    blocked = limit_group.blocked
    if blocked is not None and blocked.at is not None:
        _blocked_group(partition, limit_group, blocked, blocked.at, name)


def _blocked_group(
    partition: Partition, limit_group: LimitGroup, blocked: Blocked, bound: Bound, name: Name
) -> None:
    """A blocked limit group is listed in order, and the first of a list waits for a true reason."""
    known = blocked.reason in (gates.USER_QUOTA, gates.MAX_APPLICATIONS)
    require(known, partition, "{} is blocked by {}", name, blocked.reason)
    waitlist = blocked.waitlist()
    assert waitlist is not None
    able = not bound.full()
    if blocked.reason == gates.USER_QUOTA:
        able = limit_group.class_queue.ask_class.fits(bound)
    require(
        waitlist.limit_groups.get(limit_group.number) is limit_group,
        partition,
        "{} is not listed",
        name,
    )
    ahead = waitlist.first(limit_group.wait_key())
    in_order = ahead is not None and ahead.sort_key() <= limit_group.sort_key()
    require(in_order, partition, "{} waits in a wrong order", name)
    tried = not able or _has_candidate(limit_group, bound)
    require(tried, partition, "{} waits though it could go on", name)


def _has_candidate(limit_group: LimitGroup, bound: Bound) -> bool:
    """Whether another limit group of the class queue is served first and may use the room.

    While the class queue is blocked, its limit groups wait as well.
    """
    blocked = limit_group.blocked
    for other in limit_group.class_queue.limit_groups.values():
        bounds: list[Bound] = [*limit_group.class_queue.leaf.path_up, *other.limit_set.trackers]
        starting = blocked is not None and blocked.reason == gates.MAX_APPLICATIONS
        alike = bool(other.start_queues or other.start_trackers) or not starting
        if not other.waits() and alike and bound in bounds:
            return True
    return False


def _has_room(node: Node, class_queue: ClassQueue) -> bool:
    """Whether a node has room for a class queue's asks, worked out without the node order."""
    required = class_queue.ask_class.required_node
    if required and (required != node.node_id or class_queue.ask_class.urgent):
        return False
    if not required and node.held:
        return False
    free = node.available.amounts
    for index, amount in class_queue.ask_class.amounts.pairs:
        if amount > 0 and (index >= len(free) or free[index] < amount):
            return False
    return node.schedulable or required != ""


def check_outstanding(partition: Partition) -> None:
    """The asks to report are those that were tried, want more and were never reported.

    Rules: CYC-30.
    """
    outstanding = partition.waiting.outstanding
    listed: list[int] = []
    for path, asks in outstanding.leaves.items():
        right = partition.queue(path) is asks.leaf and len(asks.by_application) > 0
        require(right, partition, "{} is no leaf with asks to report", path)
        kinds: dict[int, int] = {}
        for number, equal in asks.by_application.items():
            alike = all(each.application.number == number for each in equal.values())
            require(alike and len(equal) > 0, partition, "{}: unlike asks to report", path)
            listed += equal
            for request in equal.values():
                kinds[request.amounts.number] = kinds.get(request.amounts.number, 0) + 1
        counted = kinds == asks.kinds and list(asks.amounts) == list(asks.kinds)
        require(counted, partition, "{}: amounts of the asks to report", path)
    wanted: list[int] = []
    for application in partition.applications.values():
        for request in application.requests.values():
            waits = request.pending > 0 and request.attempted and not request.required_node()
            right = request.outstanding == (waits and not request.reported)
            require(
                right,
                partition,
                "ask {}: outstanding flag",
                request.ask.allocation_key,
            )
            if request.outstanding:
                wanted.append(request.number)
    require(sorted(listed) == sorted(wanted), partition, "the asks to report are not listed")
    idle = not outstanding.leaves or not (outstanding.changed or outstanding.all_changed)
    require(idle or outstanding.timer_set, partition, "no timer is set for the asks to report")
