"""A check that never fails proves nothing: each counter is corrupted and must be noticed.

One scheduler is brought into a state in which everything exists: usage at three levels, asks
that are ready, asks stopped by a queue or by a user's limit, asks that fit no node, applications
that may not start, a draining node. Then one thing at a time is falsified behind its back.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.base.errors import InvariantViolation
from remuda.core.messages import commands as c
from remuda.core.messages.gates import NODES
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.blocked import Blocked
from remuda.core.model.asks.class_queue import FREE, START_LIMITED, ClassQueue, LimitGroup
from remuda.core.model.asks.request import Request
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import GROUP, USER, QueueTracker
from remuda.core.model.vectors import Vector
from tests.unit.core.door import Caller, groups, leaf, parent, users

Corruption = Callable[["World"], None]


class World:
    """The scheduler and short ways to its parts."""

    def __init__(self) -> None:
        a = leaf("a", maximum={"vcore": 4}, guaranteed={"vcore": 2})
        bounds = (users("ann", {"gpu": 1}), groups("staff", None, 1))
        self.door = Caller(
            parent("p", a, leaf("b", properties={"application.sort.policy": "fair"})),
            leaf("c", limits=bounds),
        )
        door = self.door
        door.node("n1", {"vcore": 8, "memory": 8}, occupied={"memory": 1})
        door.node("n2", {"vcore": 2, "memory": 2, "gpu": 4})
        door.node("n3", {"vcore": 2}, c.CREATE_DRAIN)
        daemon = c.Ask("", "daemon", {"vcore": 1}, tags={"foreign": "static"})
        others = (c.ExistingAllocation(daemon, "", "n3"),)
        door.send(c.UpdateAllocations(door.rm, allocations=others))
        for name, path in (("app-a", "root.p.a"), ("app-b", "root.p.b"), ("app-c", "root.p.b")):
            door.app(name, path)
        door.ask("app-a", "ka", {"vcore": 1}, 6, priority=3)
        door.ask("app-b", "kb", {"vcore": 1, "memory": 1}, 2)
        door.ask("app-b", "large", {"vcore": 50}, priority=7)
        door.ask("app-b", "scattered", {"memory": 8})
        for name in ("app-d", "app-e"):
            door.app(name, "root.c")
            door.ask(name, name, {"gpu": 1}, 2)
        door.place()
        door.ask("app-c", "ready", {"memory": 1}, 2)
        door.scheduler.check()

    @property
    def partition(self) -> Partition:
        (partition,) = self.door.scheduler._cluster.partitions()
        return partition

    def queue(self, path: str) -> Queue:
        found = self.partition.queue(path)
        assert found is not None
        return found

    @property
    def app(self) -> Application:
        return self.partition.applications["app-a"]

    @property
    def limited(self) -> Application:
        """The one that runs under limits."""
        return self.partition.applications["app-d"]

    @property
    def by_user(self) -> QueueTracker:
        return self.partition.trackers[USER, "ann", "root.c"]

    @property
    def by_group(self) -> QueueTracker:
        return self.partition.trackers[GROUP, "staff", "root.c"]

    def limit_group_of(self, name: str) -> LimitGroup:
        """The limit group of an application with one ask."""
        (group,) = self.partition.applications[name].request_groups.values()
        return group.limit_group

    @property
    def request(self) -> Request:
        return self.app.requests["ka"]

    @property
    def node(self) -> Node:
        return next(node for node in self.partition.nodes.values() if node.allocations)

    def class_queue(self, *, at_queue: bool) -> ClassQueue:
        """A class queue that waits at a queue, or for a node."""
        leaves = (self.queue("root.p.a"), self.queue("root.p.b"))
        for each in leaves:
            for class_queue in each.class_queues.values():
                blocked = class_queue.blocked
                if blocked is not None and (blocked.at is not None) is at_queue:
                    return class_queue
        raise LookupError("no class queue is blocked so")

    def stopping_queue(self) -> tuple[ClassQueue, Queue]:
        """A class queue that waits at a queue, and the queue."""
        class_queue = self.class_queue(at_queue=True)
        assert class_queue.blocked is not None
        queue = class_queue.blocked.at
        assert isinstance(queue, Queue)
        return class_queue, queue

    @property
    def ready_class_queue(self) -> ClassQueue:
        """A class queue that would be tried next."""
        return next(
            class_queue
            for class_queue in self.queue("root.p.b").class_queues.values()
            if class_queue.blocked is None
        )


def more(vector: Vector) -> None:
    """One unit too much of the first type."""
    vector.amounts[0] += 1


def forget_what_to_report(world: World) -> None:
    world.partition.waiting.outstanding.leaves.popitem()


def report_twice(world: World) -> None:
    world.partition.applications["app-b"].requests["large"].reported = True


def report_what_nobody_tried(world: World) -> None:
    world.partition.waiting.outstanding.add(world.partition.applications["app-c"].requests["ready"])


def forget_to_report(world: World) -> None:
    world.partition.waiting.outstanding.timer_set = False


def lose_from_tenths(world: World) -> None:
    world.partition.pool.utilisation.renew({})


def forget_allocation(world: World) -> None:
    world.app.allocations.popitem()


def forget_allocation_of_node(world: World) -> None:
    world.node.allocations.popitem()


def resize_on_node_only(world: World) -> None:
    allocation = next(iter(world.node.allocations))
    world.node.allocations[allocation] = world.partition.types.amounts({"vcore": 7})


def tell_nobody_of_an_order(world: World) -> None:
    allocation = next(iter(world.node.allocations))
    world.partition.leaving[allocation] = None


def forget_foreign(world: World) -> None:
    found = world.partition.pool.foreign.get("daemon")
    assert found is not None
    world.partition.pool.foreign.drop(found)


def forget_foreign_of_node(world: World) -> None:
    world.partition.nodes["n3"].foreign.clear()


def occupy_more(world: World) -> None:
    node = world.partition.nodes["n3"]
    more(node.occupied)
    node.available.amounts[0] -= 1


def forget_to_itemise(world: World) -> None:
    world.partition.nodes["n3"].itemised = False


def misplace_foreign(world: World) -> None:
    world.partition.nodes["n3"].foreign["daemon"].node = world.partition.nodes["n1"]


def forget_node(world: World) -> None:
    del world.partition.nodes["n3"]


def leave_queue(world: World) -> None:
    del world.queue("root.p.a").applications["app-a"]


def change_pending_count(world: World) -> None:
    world.request.pending += 1


def go_below_zero(world: World) -> None:
    world.request.pending = -1


def lose_group(world: World) -> None:
    world.request.group = None


def miscount_application_priorities(world: World) -> None:
    world.app.priorities.add(99)


def miscount_queue_priorities(world: World) -> None:
    world.queue("root.p").priorities.add(99)


def raise_application_priority(world: World) -> None:
    world.app.priority += 1


def raise_queue_priority(world: World) -> None:
    world.queue("root.p").priority += 1


def show_wrong_priority(world: World) -> None:
    world.queue("root.p.a").shown_priority += 1


def count_allocation_twice(world: World) -> None:
    world.partition.allocation_count += 1


def count_runner_twice(world: World) -> None:
    world.queue("root.p.a").running += 1


def lose_root_maximum(world: World) -> None:
    world.partition.root.maximum = None


def drop_from_node_order(world: World) -> None:
    world.partition.pool.node_order.drop(world.node.node_id)


def move_in_node_order(world: World) -> None:
    score = world.partition.pool.node_order.score
    world.partition.pool.node_order.score = lambda node: score(node) + (node.node_id == "n1")


def lower_bound(world: World) -> None:
    (shelf,) = world.partition.pool.node_order._shelves
    shelf.blocks[0].bound.amounts = [0] * len(shelf.blocks[0].bound.amounts)


def lower_shelf_bound(world: World) -> None:
    (shelf,) = world.partition.pool.node_order._shelves
    shelf.bound.amounts = [0] * len(shelf.bound.amounts)


def refuse_what_fits(world: World) -> None:
    amounts = world.partition.types.amounts({"vcore": 1})
    world.partition.pool.node_order._shelves[0].blocks[0].refused[amounts.number] = amounts


def refuse_what_fits_on_a_shelf(world: World) -> None:
    amounts = world.partition.types.amounts({"vcore": 1})
    world.partition.pool.node_order._shelves[0].refused[amounts.number] = amounts


def drop_from_child_order(world: World) -> None:
    world.queue("root.p").child_order.drop("a")


def move_in_child_order(world: World) -> None:
    world.queue("root.p").child_order.put("a", (-99.0, 0.0, "a"), Vector(), ready=True)


def drop_from_equal_children(world: World) -> None:
    order = world.queue("root.p").child_order
    place = order.sort_data("a")
    assert place is not None
    tier = order._tier(place[0], world.partition.waiting.scale)
    (tier.line or tier.others).pop()


def change_standing(world: World) -> None:
    world.app.sort_key = (-99,)


def move_group(world: World) -> None:
    order = world.ready_class_queue.first().order
    order.put((-99, order.first()))


def move_ready_class_queue(world: World) -> None:
    world.queue("root.p.b").ready.put((-99, world.ready_class_queue.ask_class.number))


def lose_ready_class_queue(world: World) -> None:
    world.queue("root.p.b").ready.drop(world.ready_class_queue.ask_class.number)


def block_at_no_queue(world: World) -> None:
    class_queue, queue = world.stopping_queue()
    del queue.waiting[class_queue.ask_class.number]


def block_for_no_node(world: World) -> None:
    class_queue = world.class_queue(at_queue=False)
    class_queue.ask_class.waiting.clear()


def block_without_reason_at_queue(world: World) -> None:
    _, queue = world.stopping_queue()
    queue.maximum = None


def block_without_reason_for_node(world: World) -> None:
    class_queue = world.ready_class_queue
    world.queue("root.p.b").ready.drop(class_queue.ask_class.number)
    class_queue.blocked = Blocked(NODES)
    class_queue.ask_class.waiting[class_queue.number] = class_queue
    world.partition.waiting.waiting_classes.add(class_queue.ask_class)


def miscount_ask_class(world: World) -> None:
    world.ready_class_queue.ask_class.groups += 1


def forget_waiting_classes(world: World) -> None:
    world.partition.waiting.waiting_classes.ask_classes.clear()


def leave_leaves_to_reorder(world: World) -> None:
    world.partition.waiting.leaves_to_reorder["root.p.a"] = world.queue("root.p.a")


def leave_shares_stale(world: World) -> None:
    world.partition.renew_shares(world.queue("root.p.a"))


def change_divisor(world: World) -> None:
    divisors = world.queue("root.p.a").divisors
    assert divisors is not None
    divisors[0] += 1


def change_fair_maximum(world: World) -> None:
    world.queue("root.p.a").fair_maximum = Vector()


def forget_divisors(world: World) -> None:
    world.queue("root.p.a").divisors = None


def forget_divisors_above(world: World) -> None:
    world.queue("root").divisors = None


def change_node_weights(world: World) -> None:
    index, weight, size = world.node.weights[0]
    world.node.weights = ((index, weight, size + 1), *world.node.weights[1:])


def miscount_made(world: World) -> None:
    world.request.made = 0


def forget_identity(world: World) -> None:
    world.request.forget_allocation(world.request.allocation_ids()[0])


def forget_tracker(world: World) -> None:
    del world.partition.trackers[world.by_user.key]


def do_not_count(world: World) -> None:
    world.limited.counted = False


def count_what_is_idle(world: World) -> None:
    world.door.app("app-f", "root.c")
    world.partition.applications["app-f"].counted = True


def count_a_member_twice(world: World) -> None:
    world.by_group.running += 1


def change_group(world: World) -> None:
    world.limited.group = "other"


def change_user(world: World) -> None:
    world.limited.user = "bob"


def lose_limit_set(world: World) -> None:
    world.limited.limit_set = None


def miscount_limit_set(world: World) -> None:
    assert world.limited.limit_set is not None
    world.limited.limit_set.references += 1


def forget_to_look(world: World) -> None:
    world.limited.seen = False


def let_everybody_start(world: World) -> None:
    world.limit_group_of("app-e").admission = FREE


def hold_what_runs(world: World) -> None:
    world.limit_group_of("app-d").admission = START_LIMITED


def hold_without_reason(world: World) -> None:
    world.by_group.max_applications = 5


def hold_nobody(world: World) -> None:
    limit_group = world.limit_group_of("app-e")
    assert limit_group.blocked is not None
    assert limit_group.blocked.at is world.by_group
    world.by_group.starting.remove(limit_group)


def wait_without_reason_at_user(world: World) -> None:
    blocked = world.limit_group_of("app-d").blocked
    assert blocked is not None
    assert blocked.at is world.by_user
    world.by_user.maximum = None


def wait_at_no_user(world: World) -> None:
    world.by_user.waiting.remove(world.limit_group_of("app-d"))


def misname_limit_group(world: World) -> None:
    keys = world.limit_group_of("app-d").class_queue.limit_group_keys
    limit_set, admission = next(iter(keys))
    keys[limit_set + 1, admission] = keys.pop((limit_set, admission))


CORRUPTIONS: dict[str, Corruption] = {
    "application allocated": lambda world: more(world.app.allocated),
    "application pending": lambda world: more(world.app.pending),
    "node allocated": lambda world: more(world.node.allocated),
    "node available": lambda world: more(world.node.available),
    "leaf allocated": lambda world: more(world.queue("root.p.a").allocated),
    "leaf pending": lambda world: more(world.queue("root.p.a").pending),
    "parent allocated": lambda world: more(world.queue("root.p").allocated),
    "parent pending": lambda world: more(world.queue("root.p").pending),
    "root allocated": lambda world: more(world.queue("root").allocated),
    "root pending": lambda world: more(world.queue("root").pending),
    "user allocated": lambda world: more(world.by_user.allocated),
    "group allocated": lambda world: more(world.by_group.allocated),
    "capacity": lambda world: more(world.partition.pool.capacity),
}
NAMED: list[Corruption] = [
    forget_what_to_report,
    report_twice,
    report_what_nobody_tried,
    forget_to_report,
    lose_from_tenths,
    forget_allocation,
    forget_allocation_of_node,
    resize_on_node_only,
    tell_nobody_of_an_order,
    forget_foreign,
    forget_foreign_of_node,
    occupy_more,
    forget_to_itemise,
    misplace_foreign,
    forget_node,
    leave_queue,
    change_pending_count,
    go_below_zero,
    lose_group,
    miscount_application_priorities,
    miscount_queue_priorities,
    raise_application_priority,
    raise_queue_priority,
    show_wrong_priority,
    count_allocation_twice,
    count_runner_twice,
    lose_root_maximum,
    drop_from_node_order,
    move_in_node_order,
    lower_bound,
    lower_shelf_bound,
    refuse_what_fits,
    refuse_what_fits_on_a_shelf,
    drop_from_child_order,
    move_in_child_order,
    drop_from_equal_children,
    change_standing,
    move_group,
    move_ready_class_queue,
    lose_ready_class_queue,
    block_at_no_queue,
    block_for_no_node,
    block_without_reason_at_queue,
    block_without_reason_for_node,
    miscount_ask_class,
    forget_waiting_classes,
    leave_leaves_to_reorder,
    leave_shares_stale,
    change_divisor,
    change_fair_maximum,
    forget_divisors,
    forget_divisors_above,
    change_node_weights,
    miscount_made,
    forget_identity,
    forget_tracker,
    do_not_count,
    count_what_is_idle,
    count_a_member_twice,
    change_group,
    change_user,
    lose_limit_set,
    miscount_limit_set,
    forget_to_look,
    let_everybody_start,
    hold_what_runs,
    hold_without_reason,
    hold_nobody,
    wait_without_reason_at_user,
    wait_at_no_user,
    misname_limit_group,
]
CORRUPTIONS |= {one.__name__.replace("_", " "): one for one in NAMED}


@pytest.mark.remuda_rule("QUE-2", "QUE-27", "QUE-28", "NOD-2", "NOD-15", "QUE-6", "QUE-23")
@pytest.mark.remuda_rule(
    "LIM-30", "LIM-32", "LIM-36", "D-U6", "D-U10", "CYC-29", "CYC-30", "NOD-22"
)
@pytest.mark.parametrize("what", CORRUPTIONS)
def test_every_corruption_is_noticed(what: str) -> None:
    world = World()
    CORRUPTIONS[what](world)
    with pytest.raises(InvariantViolation) as caught:
        world.door.scheduler.check()
    assert "[rm]default" in str(caught.value)
