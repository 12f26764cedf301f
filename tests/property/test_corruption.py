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
from remuda.core.model.application import Application
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import FREE, GATED, Lane, Request, Strand
from remuda.core.model.trackers import GROUP, USER, QueueTracker
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

    def strand_of(self, name: str) -> Strand:
        """The strand of an application with one ask."""
        (group,) = self.partition.applications[name].request_groups.values()
        return group.strand

    @property
    def request(self) -> Request:
        return self.app.requests["ka"]

    @property
    def node(self) -> Node:
        return next(node for node in self.partition.nodes.values() if node.allocations)

    def lane(self, *, at_queue: bool) -> Lane:
        """A lane that waits at a queue, or for a node."""
        leaves = (self.queue("root.p.a"), self.queue("root.p.b"))
        lanes = [lane for leaf in leaves for lane in leaf.lanes.values()]
        parked = [lane for lane in lanes if lane.parked]
        return next(lane for lane in parked if (lane.parked_at is not None) is at_queue)

    @property
    def ready_lane(self) -> Lane:
        """A lane that would be tried next."""
        return next(lane for lane in self.queue("root.p.b").lanes.values() if not lane.parked)


def more(vector: Vector) -> None:
    """One unit too much of the first type."""
    vector.amounts[0] += 1


def forget_what_to_report(world: World) -> None:
    world.partition.outstanding.leaves.popitem()


def report_twice(world: World) -> None:
    world.partition.applications["app-b"].requests["large"].reported = True


def report_what_nobody_tried(world: World) -> None:
    world.partition.outstanding.add(world.partition.applications["app-c"].requests["ready"])


def forget_to_report(world: World) -> None:
    world.partition.outstanding.timer_set = False


def lose_from_tenths(world: World) -> None:
    world.partition.utilisation.renew({})


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
    found = world.partition.foreign.get("daemon")
    assert found is not None
    world.partition.foreign.drop(found)


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
    world.partition.node_order.drop(world.node.node_id)


def move_in_node_order(world: World) -> None:
    score = world.partition.node_order.score
    world.partition.node_order.score = lambda node: score(node) + (node.node_id == "n1")


def lower_bound(world: World) -> None:
    (shelf,) = world.partition.node_order._shelves
    shelf.blocks[0].bound.amounts = [0] * len(shelf.blocks[0].bound.amounts)


def lower_shelf_bound(world: World) -> None:
    (shelf,) = world.partition.node_order._shelves
    shelf.bound.amounts = [0] * len(shelf.bound.amounts)


def refuse_what_fits(world: World) -> None:
    amounts = world.partition.types.amounts({"vcore": 1})
    world.partition.node_order._shelves[0].blocks[0].refused[amounts.number] = amounts


def refuse_what_fits_on_a_shelf(world: World) -> None:
    amounts = world.partition.types.amounts({"vcore": 1})
    world.partition.node_order._shelves[0].refused[amounts.number] = amounts


def drop_from_child_order(world: World) -> None:
    world.queue("root.p").child_order.drop("a")


def move_in_child_order(world: World) -> None:
    world.queue("root.p").child_order.put("a", (-99.0, 0.0, "a"), Vector(), ready=True)


def change_standing(world: World) -> None:
    world.app.standing = (-99,)


def move_group(world: World) -> None:
    order = world.ready_lane.first().order
    order.put((-99, order.first()))


def move_ready_lane(world: World) -> None:
    world.queue("root.p.b").ready.put((-99, world.ready_lane.shape.number))


def lose_ready_lane(world: World) -> None:
    world.queue("root.p.b").ready.drop(world.ready_lane.shape.number)


def park_for_no_queue(world: World) -> None:
    lane = world.lane(at_queue=True)
    assert lane.parked_at is not None
    del lane.parked_at.waiting[lane.shape.number]


def park_for_no_node(world: World) -> None:
    lane = world.lane(at_queue=False)
    lane.shape.waiting.clear()


def park_without_reason_at_queue(world: World) -> None:
    limiting = world.lane(at_queue=True).parked_at
    assert limiting is not None
    limiting.maximum = None


def park_without_reason_for_node(world: World) -> None:
    lane = world.ready_lane
    world.queue("root.p.b").ready.drop(lane.shape.number)
    lane.parked = True
    lane.shape.waiting[lane.number] = lane
    world.partition.starved.add(lane.shape)


def miscount_shape(world: World) -> None:
    world.ready_lane.shape.groups += 1


def forget_starved(world: World) -> None:
    world.partition.starved.shapes.clear()


def leave_unsettled(world: World) -> None:
    world.partition.unsettled["root.p.a"] = world.queue("root.p.a")


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


def lose_account(world: World) -> None:
    world.limited.account = None


def miscount_account(world: World) -> None:
    assert world.limited.account is not None
    world.limited.account.references += 1


def forget_to_look(world: World) -> None:
    world.limited.seen = False


def let_everybody_start(world: World) -> None:
    world.strand_of("app-e").gate = FREE


def hold_what_runs(world: World) -> None:
    world.strand_of("app-d").gate = GATED


def hold_without_reason(world: World) -> None:
    world.by_group.max_applications = 5


def hold_nobody(world: World) -> None:
    strand = world.strand_of("app-e")
    assert strand.aside is world.by_group
    world.by_group.held.remove(strand)


def wait_without_reason_at_user(world: World) -> None:
    assert world.strand_of("app-d").aside is world.by_user
    world.by_user.maximum = None


def wait_at_no_user(world: World) -> None:
    world.by_user.waiting.remove(world.strand_of("app-d"))


def misname_strand(world: World) -> None:
    keys = world.strand_of("app-d").lane.strand_keys
    account, gated = next(iter(keys))
    keys[account + 1, gated] = keys.pop((account, gated))


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
    "capacity": lambda world: more(world.partition.capacity),
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
    change_standing,
    move_group,
    move_ready_lane,
    lose_ready_lane,
    park_for_no_queue,
    park_for_no_node,
    park_without_reason_at_queue,
    park_without_reason_for_node,
    miscount_shape,
    forget_starved,
    leave_unsettled,
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
    lose_account,
    miscount_account,
    forget_to_look,
    let_everybody_start,
    hold_what_runs,
    hold_without_reason,
    hold_nobody,
    wait_without_reason_at_user,
    wait_at_no_user,
    misname_strand,
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
