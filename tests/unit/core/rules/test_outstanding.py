"""Asks that wait for a larger cluster are told to the RM (chapter 50, B.8; decision 57)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import LimitConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.effects import Effect
from tests.unit.core.door import (
    REQUIRED_NODE,
    SECOND,
    Caller,
    groups,
    leaf,
    of,
    parent,
    partition,
    users,
)

REASON = "request is waiting for cluster resources become available"


def memory(amount: int) -> dict[str, int]:
    return {"memory": amount}


def keys(effects: Sequence[Effect]) -> list[str]:
    """The keys of the asks that were reported, in order."""
    return [told.allocation_key for told in of(effects, e.ContainerStateUpdated)]


class Full(Caller):
    """A cluster with one node that has no room, and a large one that is draining.

    So an ask fits root's headroom, which is no matter here, and finds no node.
    """

    def __init__(self, *queues: QueueConfig, **other: Any) -> None:
        super().__init__(*queues, **other)
        self.node("full", memory(1))
        self.node("spare", {"memory": 1000, "vcore": 1000}, c.CREATE_DRAIN)

    def want(self, app: str, *asks: tuple[str, int], count: int = 1, **other: Any) -> None:
        """Asks of an application for memory, as (key, amount)."""
        sent = tuple(
            c.Ask(app, key, memory(amount), max_allocations=count, **other) for key, amount in asks
        )
        self.send(c.UpdateAllocations(self.rm, asks=sent))

    def told(self, seconds: int = 1) -> list[str]:
        """Try everything, let time pass, and return what was reported meanwhile."""
        found = keys(self.step())
        for _ in range(seconds):
            self.now += SECOND
            found += keys(self.step())
        self.scheduler.check()
        return found

    def request(self, app: str, key: str) -> RequestView:
        """One waiting ask."""
        (found,) = [each for each in self.apps()[app].requests if each.allocation_key == key]
        return found


@pytest.mark.remuda_rule("CYC-30")
def test_an_ask_that_finds_no_node_is_reported_after_a_second() -> None:
    door = Full(leaf("a"))
    door.app("app")
    door.want("app", ("k", 5))
    assert keys(door.step()) == []
    door.now += SECOND - 1
    assert keys(door.step()) == []
    door.now += 1
    (told,) = of(door.step(), e.ContainerStateUpdated)
    assert told == e.ContainerStateUpdated("rm", "app", "k", e.FAILED, REASON)


@pytest.mark.remuda_rule("CYC-30")
def test_each_ask_is_reported_once() -> None:
    door = Full(leaf("a"))
    door.app("app")
    door.want("app", ("k", 5))
    assert door.told() == ["k"]
    door.want("app", ("later", 5))
    door.app("other")
    assert door.told(5) == ["later"]


@pytest.mark.remuda_rule("CYC-30", "REST-134")
def test_a_view_shows_what_was_reported() -> None:
    door = Full(leaf("a"), root={"limits": (users("bob", memory(1)),)})
    door.app("app")
    door.app("blocked", user="bob")
    door.want("app", ("k", 5))
    door.want("blocked", ("b", 6))
    assert not door.request("app", "k").triggered_scale_up
    assert door.told() == ["k"]
    shown = door.request("app", "k")
    assert (shown.scheduling_attempted, shown.triggered_scale_up) == (True, True)
    shown = door.request("blocked", "b")
    assert (shown.scheduling_attempted, shown.triggered_scale_up) == (False, False)


@pytest.mark.remuda_rule("CYC-30")
def test_nothing_is_due_while_nothing_can_be_reported() -> None:
    door = Full(leaf("a"), leaf("small", maximum=memory(3)))
    assert door.scheduler.next_deadline() is None
    door.app("app")
    door.app("over", "root.small")
    door.want("app", ("k", 5))
    door.step()
    assert door.scheduler.next_deadline() == door.now + SECOND
    assert door.told(3) == ["k"]
    assert door.scheduler.next_deadline() is None  # everything was reported
    door.want("over", ("large", 4))
    assert door.told(5) == []
    assert door.scheduler.next_deadline() is None  # it cannot be, and nothing changed since
    door.want("over", ("larger", 5))
    door.step()
    assert door.scheduler.next_deadline() == door.now + SECOND


@pytest.mark.remuda_rule("CYC-30")
def test_what_is_placed_within_the_second_is_not_reported() -> None:
    door = Full(leaf("a"))
    door.app("app")
    door.want("app", ("k", 5), ("gone", 5))
    door.step()
    door.release_ask("app", "gone")
    door.node("n1", memory(5))
    assert door.place() == [("k-0", "n1")]
    assert door.told() == []


@pytest.mark.remuda_rule("CYC-30")
def test_what_is_left_of_an_ask_that_was_placed_in_part_is_reported() -> None:
    door = Full(leaf("a"))
    door.node("n1", memory(10))
    door.app("app")
    door.want("app", ("k", 5), count=3)
    assert len(door.place()) == 2
    assert door.told() == ["k"]


@pytest.mark.remuda_rule("CYC-30", "CYC-12")
def test_an_ask_that_nobody_tried_is_not_reported() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    door.ask("app", "k", memory(5))
    door.step()
    door.now += 5 * SECOND
    assert keys(door.step()) == []  # no nodes, no attempt (CYC-4)


@pytest.mark.remuda_rule("CYC-30", "LIM-54")
@pytest.mark.parametrize("limit", [users("ann", memory(4)), groups("staff", memory(4))])
def test_an_ask_beyond_the_room_of_its_user_or_group_is_not_reported(limit: LimitConfig) -> None:
    door = Full(leaf("a"), root={"limits": (limit,)})
    door.app("app")
    door.want("app", ("over", 5), ("within", 4))
    assert door.told() == ["within"]


@pytest.mark.remuda_rule("CYC-30", "LIM-71")
def test_the_asks_of_an_application_that_may_not_start_are_not_reported() -> None:
    door = Full(leaf("a", max_applications=1))
    door.app("first")
    door.existing("first", "x", "full", memory(1))
    door.app("second")
    door.want("second", ("k", 5))
    assert door.told() == []
    door.remove("first")
    assert door.told() == ["k"]


@pytest.mark.remuda_rule("CYC-30", "QUE-14")
def test_the_size_of_the_cluster_is_no_limit() -> None:
    door = Full(leaf("a"))
    door.app("app")
    door.want("app", ("huge", 10**15))
    door.ask("app", "strange", {"nobody has it": 1})
    assert door.told() == ["huge", "strange"]


@pytest.mark.remuda_rule("QUE-14", "CYC-30")
@pytest.mark.parametrize(
    "wanted, fits",
    [
        ({"gpu": 1, "memory": 40, "vcore": 6000}, True),
        ({"gpu": 1, "memory": 40, "vcore": 6001}, False),
        ({"gpu": 1, "memory": 41, "vcore": 6000}, False),
        ({"gpu": 2, "memory": 40, "vcore": 6000}, False),
        ({"gpu": 1, "memory": 40, "vcore": 6000, "pods": 10**6}, True),
    ],
)
def test_the_example_of_the_max_headroom(wanted: Resource, fits: bool) -> None:
    inner = leaf("b", maximum={"memory": 50, "gpu": 2})
    door = Caller(parent("a", inner, maximum={"vcore": 10_000}))
    door.node("n1", {"vcore": 4000, "memory": 10})
    door.node("n2", {"vcore": 16_000, "memory": 90}, c.CREATE_DRAIN)
    door.app("app", "root.a.b")
    held = {"vcore": 4000, "memory": 10, "gpu": 1, "pods": 3}
    door.existing("app", "x", "n1", held)
    door.ask("app", "k", wanted)
    door.step()
    door.now += SECOND
    assert keys(door.step()) == (["k"] if fits else [])


@pytest.mark.remuda_rule("CYC-30", "QUE-14")
def test_an_ask_beyond_its_queue_is_reported_when_the_queue_has_room() -> None:
    door = Full(leaf("a", maximum=memory(8)))
    door.node("n1", memory(4))
    door.app("app")
    door.want("app", ("held", 4))
    assert door.place() == [("held-0", "n1")]
    door.want("app", ("k", 5))
    assert door.told() == []
    door.node("n1", action=c.DRAIN_NODE)
    door.release("app", "held-0")
    assert door.told() == ["k"]


@pytest.mark.remuda_rule("CYC-30", "RLD-22")
def test_an_ask_beyond_its_queue_is_reported_when_the_maximum_is_raised() -> None:
    door = Full(leaf("a", maximum=memory(4)))
    door.app("app")
    door.want("app", ("k", 5))
    assert door.told() == []
    door.reload(leaf("a", maximum=memory(5)))
    assert door.told() == ["k"]


@pytest.mark.remuda_rule("CYC-30")
def test_an_ask_counts_with_all_it_still_wants() -> None:
    door = Full(leaf("a", maximum=memory(10)))
    door.app("app")
    door.want("app", ("thrice", 4), count=3)
    door.want("app", ("two", 2))
    # The first fits, so it is reported; it takes 12 of 10.
    assert door.told() == ["thrice"]
    door.want("app", ("thrice", 4), count=2)
    assert door.told() == ["two"]


@pytest.mark.remuda_rule("CYC-30")
def test_what_was_reported_still_takes_its_part() -> None:
    door = Full(leaf("a", maximum=memory(10)))
    door.app("app")
    door.want("app", ("first", 6))
    assert door.told() == ["first"]
    door.want("app", ("second", 6), ("third", 4))
    assert door.told() == ["third"]
    door.release_ask("app", "first")
    assert door.told() == ["second"]


@pytest.mark.remuda_rule("CYC-30")
def test_sibling_leaves_share_what_their_parent_has_left() -> None:
    door = Full(parent("p", leaf("x"), leaf("y"), maximum=memory(10)), leaf("z"))
    for name, queue in (("x", "root.p.x"), ("y", "root.p.y"), ("z", "root.z")):
        door.app(name, queue)
        door.want(name, (f"{name}6", 6), (f"{name}3", 3))
    # x is served before y: equal in everything but the name (QUE-36).
    assert door.told() == ["x6", "x3", "z6", "z3"]


@pytest.mark.remuda_rule("CYC-30")
def test_a_change_in_a_sibling_lets_an_ask_be_reported() -> None:
    door = Full(parent("p", leaf("x"), leaf("y"), maximum=memory(10)))
    door.app("1", "root.p.x")
    door.app("2", "root.p.y")
    door.want("1", ("k1", 6))
    door.want("2", ("k2", 6))
    assert door.told() == ["k1"]
    door.release_ask("1", "k1")
    assert door.told() == ["k2"]


@pytest.mark.remuda_rule("CYC-30")
def test_a_later_level_can_be_narrower_than_the_one_above() -> None:
    inner = parent("q", leaf("x", maximum=memory(5)), leaf("y"), maximum=memory(9))
    door = Full(parent("p", inner, leaf("z"), maximum=memory(12)))
    for name, queue in (("x", "root.p.q.x"), ("y", "root.p.q.y"), ("z", "root.p.z")):
        door.app(name, queue)
        door.want(
            name, *[(f"{name}{n}", 2) for n in range(5)], priority={"x": 3, "y": 2}.get(name, 1)
        )
    # x: 2 of 5; y: 2 of the 5 that q has left; z: 2 of the 4 that p has left.
    assert door.told() == ["x0", "x1", "y0", "y1", "z0", "z1"]


@pytest.mark.remuda_rule("CYC-30", "QUE-33", "QUE-40", "QUE-44")
def test_asks_are_told_in_the_order_of_service() -> None:
    door = Full(leaf("a"), leaf("b", properties={"priority.offset": "5"}), leaf("c"))
    for queue in "abc":
        door.app(f"{queue}1", f"root.{queue}")
        door.app(f"{queue}2", f"root.{queue}")
    for app, key, priority in (
        ("c1", "c1-low", 0),
        ("c2", "c2-high", 9),
        ("a2", "a2", 1),
        ("a1", "a1-first", 1),
        ("a1", "a1-second", 1),
        ("b1", "b1", 2),
    ):
        door.want(app, (key, 5), priority=priority)
    # Shown priorities: c 9, b 7, a 1.
    assert door.told() == ["c2-high", "c1-low", "b1", "a1-first", "a1-second", "a2"]


@pytest.mark.remuda_rule("CYC-30", "QUE-35", "QUE-36")
def test_of_equal_queues_the_one_with_more_pending_is_told_first() -> None:
    door = Full(leaf("a"), leaf("b"), leaf("c"), leaf("d"))
    wants: tuple[tuple[str, Resource], ...] = (
        ("a", {"memory": 2, "vcore": 2}),
        ("b", {"memory": 9, "vcore": 1}),
        ("c", {"memory": 3, "vcore": 3}),
        ("d", {"memory": 4, "vcore": 3}),
    )
    for name, wanted in wants:
        door.app(name, f"root.{name}")
        door.ask(name, name, wanted)
    # d exceeds c, c exceeds a, nobody exceeds b.
    assert door.told() == ["b", "d", "c", "a"]


@pytest.mark.remuda_rule("CYC-30", "QUE-35", "QUE-36")
def test_all_that_exceed_a_queue_are_told_before_it() -> None:
    door = Full(leaf("a"), leaf("b"), leaf("c"), leaf("d"))
    for name, amount in (("a", 3), ("b", 4), ("c", 2), ("d", 4)):
        door.app(name, f"root.{name}")
        door.want(name, (name, amount))
    assert door.told() == ["b", "d", "a", "c"]


@pytest.mark.remuda_rule("CYC-30", "QUE-33", "QUE-38")
def test_another_size_of_the_cluster_may_change_who_comes_first() -> None:
    both = parent("p", leaf("x"), leaf("y"), maximum=memory(9))
    door = Caller(both)
    door.node("n1", {"vcore": 10, "memory": 10}, c.CREATE_DRAIN)
    for name, held in (("x", {"vcore": 4}), ("y", memory(3))):
        door.app(name, f"root.p.{name}")
        door.existing(name, f"{name}-runs", "n1", held)
        door.ask(name, name, memory(6))
    door.step()
    door.now += SECOND
    assert keys(door.step()) == ["y"]  # x has 4 of 10 cores, y has 3 of the 9 p may have
    door.node("n1", {"vcore": 20, "memory": 10}, c.UPDATE)
    door.step()
    door.now += SECOND
    assert keys(door.step()) == ["x"]  # now it has 4 of 20


@pytest.mark.remuda_rule("CYC-30", "LIM-54")
def test_the_asks_of_one_application_share_what_its_user_has_left() -> None:
    door = Full(leaf("a", limits=(users("ann", memory(10)),)))
    door.app("app")
    door.want("app", ("first", 6), ("second", 6), ("third", 4))
    assert door.told() == ["first", "third"]


@pytest.mark.remuda_rule("CYC-30", "LIM-54")
def test_each_application_begins_with_all_its_user_has_left() -> None:
    door = Full(leaf("a", limits=(users("ann", memory(10)),)))
    door.app("1")
    door.app("2")
    door.want("1", ("k1", 6))
    door.want("2", ("k2", 6))
    assert door.told() == ["k1", "k2"]


@pytest.mark.remuda_rule("CYC-30", "LIM-54")
def test_room_a_user_gets_in_another_queue_lets_an_ask_be_reported() -> None:
    door = Full(leaf("a"), leaf("b"), root={"limits": (users("ann", memory(10)),)})
    door.node("n1", memory(4))
    door.app("1", "root.a")
    door.app("2", "root.b")
    door.want("2", ("k2", 4))
    assert door.place() == [("k2-0", "n1")]
    door.want("1", ("k1", 6), ("more", 2))
    assert door.told() == ["k1"]
    door.node("n1", action=c.DECOMISSION)  # and k2 with it
    assert door.told() == ["more"]


@pytest.mark.remuda_rule("CYC-30", "LIM-54")
def test_an_end_in_another_queue_lets_an_ask_of_the_user_be_reported() -> None:
    door = Full(leaf("a"), leaf("b"), root={"limits": (users("ann", memory(10)),)})
    door.node("n1", memory(4))
    door.app("1", "root.a")
    door.app("2", "root.b")
    door.want("2", ("k2", 4))
    assert door.place() == [("k2-0", "n1")]
    door.node("n1", action=c.DRAIN_NODE)
    door.want("1", ("k1", 6), ("more", 2))
    assert door.told() == ["k1"]
    door.release("2", "k2-0")
    assert door.told() == ["more"]


@pytest.mark.remuda_rule("CYC-30", "LIM-54")
def test_what_a_user_may_not_have_any_more_is_left_to_others() -> None:
    both = parent("p", leaf("x"), leaf("y"), maximum=memory(10))
    door = Full(both, leaf("z"), root={"limits": (users("ann", memory(10)),)})
    door.app("ann's", "root.p.x")
    door.app("bob's", "root.p.y", user="bob")
    door.app("also ann's", "root.z")
    door.want("ann's", ("first", 6))
    door.want("bob's", ("second", 6))
    assert door.told() == ["first"]
    door.existing("also ann's", "x", "full", memory(5))
    assert door.told() == ["second"]


@pytest.mark.remuda_rule("CYC-30")
def test_an_ask_for_one_node_is_not_reported_and_takes_its_part() -> None:
    door = Full(leaf("a", maximum=memory(10)))
    door.app("app")
    door.want("app", ("there", 6), tags={REQUIRED_NODE: "full"})
    door.want("app", ("large", 6), ("small", 4))
    assert door.told() == ["small"]
    assert not door.request("app", "there").triggered_scale_up


@pytest.mark.remuda_rule("CYC-30")
def test_each_rm_hears_of_its_own_asks() -> None:
    door = Full(partitions=[partition(leaf("a")), partition(leaf("a"), name="batch")])
    door.node("also full", memory(1), home="batch")
    door.app("app")
    door.app("app", partition="batch")
    door.want("app", ("there", 5), partition="batch")
    door.want("app", ("here", 5))
    door.step()
    door.now += SECOND
    told = of(door.step(), e.ContainerStateUpdated)
    assert [(each.rm_id, each.allocation_key) for each in told] == [("rm", "there"), ("rm", "here")]


@pytest.mark.remuda_rule("CYC-30", "RLD-27")
def test_draining_children_of_a_leaf_come_before_its_own_asks() -> None:
    door = Full(parent("p", leaf("x")))
    door.app("old", "root.p.x")
    door.want("old", ("k1", 5))
    door.reload(leaf("p", maximum=memory(8)))
    door.app("new", "root.p")
    door.want("new", ("k2", 5), priority=9)
    assert door.told() == ["k1"]


@pytest.mark.remuda_rule("CYC-30", "QUE-41")
def test_a_state_aware_leaf_is_walked_like_a_fifo_one() -> None:
    door = Full(leaf("a", properties={"application.sort.policy": "stateaware"}))
    door.app("young")
    door.want("young", ("k1", 5))
    door.step()
    door.app("old")
    door.want("old", ("k2", 5), tags={"creationTime": "1600000000"})
    # It is the turn of the older one now, but both were tried.
    assert door.told() == ["k2", "k1"]


@pytest.mark.remuda_rule("CYC-30", "CYC-33")
def test_what_was_not_tried_because_of_a_pause_is_reported_after_it() -> None:
    pause = {
        "application.unschedasks.backoff": "1",
        "application.unschedasks.backoff.delay": "1s",
    }
    door = Full(leaf("a", properties=pause))
    door.app("app")
    door.want("app", ("k1", 5), ("k2", 6))
    assert door.told() == ["k1"]
    assert door.told() == ["k2"]


@pytest.mark.remuda_rule("CYC-30", "CYC-33")
def test_what_was_not_tried_takes_nothing_from_others() -> None:
    pause = {"application.unschedasks.backoff": "1"}
    door = Full(leaf("a", maximum=memory(20), properties=pause))
    door.app("1")
    door.app("2")
    door.want("1", ("tried", 9), ("untried", 6))
    door.want("2", ("other", 11))
    assert door.told() == ["tried", "other"]


@pytest.mark.remuda_rule("CYC-30", "RSV-3")
def test_an_ask_with_a_reservation_is_reported_and_takes_its_part() -> None:
    door = Full(leaf("a", maximum=memory(20)), leaf("old"))
    door.node("n1", memory(9))
    door.app("runs", "root.old")
    door.existing("runs", "x", "n1", memory(9))
    door.app("app")
    door.want("app", ("k", 9), tags={"creationTime": "1600000000"})
    door.step()
    assert door.node_view("n1").reservations == (("app", "k"),)
    door.want("app", ("large", 12), ("small", 11))
    assert door.told() == ["k", "small"]


@pytest.mark.remuda_rule("CYC-30", "OBJ-8")
def test_nothing_is_reported_of_a_partition_that_is_configured_no_more() -> None:
    door = Full(partitions=[partition(leaf("a")), partition(leaf("a"), name="batch")])
    door.node("also full", memory(1), home="batch")
    door.app("app", partition="batch")
    door.want("app", ("k", 5), partition="batch")
    door.step()
    door.reload(partitions=[partition(leaf("a"))])
    assert door.told(3) == []


@pytest.mark.remuda_rule("CYC-30", "QUE-32")
def test_nothing_is_reported_below_a_stopped_queue() -> None:
    door = Full(parent("p", leaf("x")), leaf("y"))
    for name, queue in (("x", "root.p.x"), ("y", "root.y")):
        door.app(name, queue)
        door.want(name, (name, 5))
    door.step()
    (found,) = door.scheduler._cluster.partitions()
    found.root.children["p"].state = "Stopped"  # nothing stops one yet
    assert keys(door.wait(SECOND)) == ["y"]


@pytest.mark.remuda_rule("CYC-30", "OBJ-8")
def test_nothing_is_reported_while_a_partition_drains() -> None:
    door = Full(leaf("a"))
    door.app("app")
    door.want("app", ("k", 5))
    door.step()
    (found,) = door.scheduler._cluster.partitions()
    found.state = "Draining"  # as it is between two portions of a large one
    assert door.told(3) == []
