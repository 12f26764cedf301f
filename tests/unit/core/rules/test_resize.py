"""Allocations that get another size where they are (CYC-28, decision 55, edge case 22)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.messages.events import (
    ADD,
    REMOVE,
    UG_GROUP_RESOURCE,
    UG_USER_RESOURCE,
    USERGROUP,
)
from tests.unit.core.door import (
    SECOND,
    Caller,
    answers,
    existing_allocation,
    groups,
    leaf,
    of,
    parent,
    partition,
    users,
)
from tests.unit.core.rules.crowd import Reluctant

FAIR = {"application.sort.policy": "fair"}


class Checked(Caller):
    """A caller who has every counter worked out anew after every request."""

    def send(self, command: c.Command) -> list[Effect]:
        found = super().send(command)
        self.scheduler.check()
        return found


@pytest.fixture
def door() -> Checked:
    """Queues root.p.a and root.p.b, a node of ten cores, and an allocation of two in root.p.a."""
    found = Checked(parent("p", leaf("a"), leaf("b")))
    found.node("n1", {"vcore": 10})
    found.app("app", "root.p.a")
    found.existing("app", "k", "n1", {"vcore": 2})
    return found


def refused(effects: list[Effect]) -> list[tuple[str, str]]:
    """What was refused, and by which rule."""
    found = of(effects, e.AllocationsRejected)
    return [(bad.subject, bad.rule) for answer in found for bad in answer.rejected]


def usage_told(effects: list[Effect]) -> list[tuple[str, int, int, Resource]]:
    """The records about usage: whose, change, detail, delta."""
    return [
        (record.object_id, record.change, record.detail, dict(record.resource or {}))
        for record in of(effects, e.EventRecord)
        if record.kind == USERGROUP and record.detail in (UG_USER_RESOURCE, UG_GROUP_RESOURCE)
    ]


def free(door: Caller, node_id: str = "n1") -> Resource:
    """What a node has available."""
    return door.node_view(node_id).available


@pytest.mark.remuda_rule("CYC-28", "QUE-2", "NOD-2")
@pytest.mark.parametrize("size", [5, 1])
def test_the_difference_reaches_application_queues_and_node(door: Checked, size: int) -> None:
    found = answers(door.existing("app", "k", "n1", {"vcore": size}))
    assert [type(each) for each in found] == [e.AllocationNew]
    for path in ("root.p.a", "root.p", "root"):
        assert door.queue(path).allocated == {"vcore": size}
    assert door.apps()["app"].used == {"vcore": size}
    assert not any(door.queue("root.p.b").allocated.values())
    node = door.node_view("n1")
    assert (node.allocated, node.available) == ({"vcore": size}, {"vcore": 10 - size})
    assert [each.resource for each in node.allocations] == [{"vcore": size}]


@pytest.mark.remuda_rule("CYC-28", "LIM-30", "LIM-32")
def test_the_difference_reaches_user_and_group() -> None:
    bounds = (users("ann", {"vcore": 8}), groups("staff", {"vcore": 9}))
    door = Checked(leaf("a", limits=bounds))
    door.node("n1", {"vcore": 20})
    door.app("app")
    door.existing("app", "k", "n1", {"vcore": 2})
    door.existing("app", "k", "n1", {"vcore": 7})
    for of_groups, name in ((False, "ann"), (True, "staff")):
        (below,) = door.usage(of_groups=of_groups)[name].queues.children
        assert (below.path, below.used) == ("root.a", {"vcore": 7})
    door.ask("app", "two", {"vcore": 2})
    assert door.place() == []
    door.ask("app", "one", {"vcore": 1})
    assert [identity for identity, _ in door.place()] == ["one-0"]


@pytest.mark.remuda_rule("CYC-28", "NOD-9")
def test_growth_beyond_queue_user_and_node_is_taken_as_it_is() -> None:
    door = Checked(leaf("a", {"vcore": 4}, limits=(users("ann", {"vcore": 3}),)))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.existing("app", "k", "n1", {"vcore": 2})
    found = door.existing("app", "k", "n1", {"vcore": 12})
    assert refused(found) == []
    assert door.queue("root.a").allocated == {"vcore": 12}
    assert door.queue("root.a").headroom == {"vcore": -8}
    assert free(door) == {"vcore": -2}
    assert door.apps()["app"].max_used == {"vcore": 12}
    door.existing("app", "k", "n1", {"vcore": 1})
    assert door.queue("root.a").headroom == {"vcore": 3}
    assert free(door) == {"vcore": 9}
    assert door.apps()["app"].max_used == {"vcore": 12}


@pytest.mark.remuda_rule("CYC-28", "SI-43", "RES-35")
@pytest.mark.parametrize("size", [{"vcore": 2}, {"vcore": 2, "memory": 0}])
def test_the_same_size_changes_nothing_and_is_answered(door: Checked, size: Resource) -> None:
    before = (door.queue("root"), door.node_views(), door.apps())
    found = door.existing("app", "k", "n1", size)
    (new,) = found
    assert isinstance(new, e.AllocationNew)
    assert (new.allocation_id, new.node_id) == ("k", "n1")
    assert (door.queue("root"), door.node_views(), door.apps()) == before


@pytest.mark.remuda_rule("CYC-28", "SI-40")
@pytest.mark.parametrize(
    "size, rule",
    [
        ({"vcore": 0}, "CYC-28"),
        ({}, "CYC-28"),
        ({"vcore": 0, "memory": 0}, "CYC-28"),
        ({"vcore": -1}, "SI-40"),
        ({"vcore": 3, "memory": -1}, "SI-40"),
    ],
)
def test_nothing_and_less_than_nothing_are_refused(
    door: Checked, size: Resource, rule: str
) -> None:
    before = (door.queue("root"), door.node_views(), door.apps())
    assert refused(door.existing("app", "k", "n1", size)) == [("k", rule)]
    assert (door.queue("root"), door.node_views(), door.apps()) == before


@pytest.mark.remuda_rule("CYC-28", "SI-43", "RES-35")
@pytest.mark.parametrize("size", [{}, {"vcore": 0}, {"memory": 0}, {"memory": 0, "vcore": 0}])
def test_what_holds_nothing_may_be_reported_with_nothing_again(
    door: Checked, size: Resource
) -> None:
    door.existing("app", "empty", "n1", {"vcore": 0})
    before = (door.queue("root"), door.node_views(), door.apps())
    (new,) = door.existing("app", "empty", "n1", size)
    assert isinstance(new, e.AllocationNew)
    assert (new.allocation_id, new.node_id) == ("empty", "n1")
    assert (door.queue("root"), door.node_views(), door.apps()) == before


@pytest.mark.remuda_rule("CYC-28")
def test_types_come_and_go_with_the_size(door: Checked) -> None:
    door.node("n1", {"vcore": 10, "memory": 10}, c.UPDATE)
    door.existing("app", "k", "n1", {"memory": 3})
    assert door.queue("root.p.a").allocated == {"memory": 3, "vcore": 0}
    assert free(door) == {"memory": 7, "vcore": 10}
    door.release("app", "k")
    assert not any(door.queue("root").allocated.values())
    assert free(door) == {"memory": 10, "vcore": 10}


@pytest.mark.remuda_rule("CYC-28", "SI-34")
def test_the_ask_and_what_it_still_wants_stay_as_they_are() -> None:
    door = Checked(leaf("a", {"vcore": 7}))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "k", {"vcore": 2}, 3)
    door.step(1)
    door.existing("app", "k-0", "n1", {"vcore": 5}, key="k")
    assert door.queue("root").pending == {"vcore": 4}
    assert door.queue("root").allocated == {"vcore": 5}
    assert door.place() == [("k-1", "n1")]
    assert door.queue("root").allocated == {"vcore": 7}
    assert door.queue("root").pending == {"vcore": 2}
    door.release("app", "k-0")
    assert door.queue("root").allocated == {"vcore": 2}
    assert door.place() == [("k-2", "n1")]


@pytest.mark.remuda_rule("CYC-28", "CYC-25")
def test_room_on_a_node_wakes_what_waits_for_it(door: Checked) -> None:
    door.ask("app", "large", {"vcore": 9})
    assert door.place() == []
    assert not door.scheduler.has_work()
    door.existing("app", "k", "n1", {"vcore": 1})
    assert door.place() == [("large-0", "n1")]


@pytest.mark.remuda_rule("CYC-28", "CYC-25")
@pytest.mark.parametrize("where", ["leaf", "parent", "user", "group"])
def test_room_below_a_limit_wakes_what_waits_for_it(where: str) -> None:
    most = {"vcore": 4}
    limits = {"user": (users("ann", most),), "group": (groups("staff", most),)}
    child = leaf("a", most if where == "leaf" else None, limits=limits.get(where, ()))
    door = Checked(parent("p", child, maximum=most if where == "parent" else None))
    door.node("n1", {"vcore": 20})
    door.app("app", "root.p.a")
    door.existing("app", "k", "n1", {"vcore": 3})
    door.ask("app", "waits", {"vcore": 2})
    assert door.place() == []
    assert not door.scheduler.has_work()
    door.existing("app", "k", "n1", {"vcore": 2})
    assert door.place() == [("waits-0", "n1")]


@pytest.mark.remuda_rule("CYC-29", "CYC-28", "NOD-14", "NOD-15")
@pytest.mark.parametrize("size, chosen", [(9, "n2"), (1, "n1")])
def test_a_resized_node_stands_where_its_score_belongs(size: int, chosen: str) -> None:
    door = Checked(leaf("a"))
    for node_id in ("n1", "n2"):
        door.node(node_id, {"vcore": 20})
    door.app("app")
    door.existing("app", "on-1", "n1", {"vcore": 5})
    door.existing("app", "on-2", "n2", {"vcore": 4})
    door.existing("app", "on-1", "n1", {"vcore": size})
    door.ask("app", "next", {"vcore": 1})
    assert door.place() == [("next-0", chosen)]


@pytest.mark.remuda_rule("CYC-28", "NOD-14")
@pytest.mark.parametrize("policy, chosen", [("fair", "n2"), ("binpacking", "n1")])
def test_growth_counts_for_the_node_order_of_either_policy(policy: str, chosen: str) -> None:
    door = Checked(partitions=(partition(leaf("a"), node_sort_policy=policy),))
    for node_id in ("n1", "n2"):
        door.node(node_id, {"vcore": 20})
    door.app("app")
    door.existing("app", "on-1", "n1", {"vcore": 3})
    door.existing("app", "on-2", "n2", {"vcore": 4})
    door.existing("app", "on-1", "n1", {"vcore": 5})
    door.ask("app", "next", {"vcore": 1})
    assert door.place() == [("next-0", chosen)]


def reserved(maximum: Resource | None = None) -> Checked:
    """A node of ten cores of which four are in use, reserved for an ask of eight.

    A draining node makes the cluster larger, or the ask would not fit root.
    """
    door = Checked(leaf("a", maximum))
    door.node("n0", {"vcore": 20}, c.CREATE_DRAIN)
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.existing("app", "k", "n1", {"vcore": 4})
    door.ask("app", "large", {"vcore": 8})
    assert door.place() == []
    door.wait(2 * SECOND + 1)
    assert door.place() == []
    assert door.node_view("n1").reservations == (("app", "large"),)
    return door


@pytest.mark.remuda_rule("CYC-28", "CYC-20", "RSV-7", "RSV-8")
def test_room_on_a_reserved_node_is_for_the_ask_that_reserved_it() -> None:
    door = reserved()
    door.ask("app", "small", {"vcore": 3}, priority=5)
    assert door.place() == []
    door.existing("app", "k", "n1", {"vcore": 3})
    assert door.place() == []
    door.existing("app", "k", "n1", {"vcore": 2})
    assert door.place() == [("large-0", "n1")]
    assert door.node_view("n1").reservations == ()


@pytest.mark.remuda_rule("CYC-28", "CYC-20")
def test_room_that_is_taken_again_before_a_step_changes_nothing() -> None:
    door = reserved()
    door.existing("app", "k", "n1", {"vcore": 2})
    door.existing("app", "k", "n1", {"vcore": 3})
    assert door.place() == []
    assert not door.scheduler.has_work()
    assert door.node_view("n1").reservations == (("app", "large"),)


@pytest.mark.remuda_rule("CYC-28", "RSV-7", "RSV-10")
def test_growth_that_takes_the_headroom_opens_a_reserved_node_to_others() -> None:
    door = reserved({"vcore": 13})
    door.ask("app", "small", {"vcore": 1})
    assert door.place() == []
    door.existing("app", "k", "n1", {"vcore": 6})
    assert door.place() == [("small-0", "n1")]
    assert door.node_view("n1").reservations == (("app", "large"),)
    door.release("app", "small-0")
    door.existing("app", "k", "n1", {"vcore": 5})
    door.ask("app", "late", {"vcore": 1})
    assert door.place() == []
    door.existing("app", "k", "n1", {"vcore": 2})
    assert door.place()[0] == ("large-0", "n1")


@pytest.mark.remuda_rule("CYC-28", "RSV-8", "CYC-21")
def test_room_on_another_node_ends_the_reservation() -> None:
    door = reserved()
    door.node("n2", {"vcore": 9})
    door.existing("app", "there", "n2", {"vcore": 2})
    assert door.place() == []
    door.existing("app", "there", "n2", {"vcore": 1})
    assert door.place() == [("large-0", "n2")]
    assert door.node_view("n1").reservations == ()


@pytest.mark.remuda_rule("CYC-28", "SI-80")
def test_a_node_that_was_refused_is_asked_about_again() -> None:
    rm = Reluctant({("*", "n1", True): "no"})
    door = Checked(leaf("a"), predicates=rm)
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.existing("app", "runs", "n1", {"vcore": 1})
    door.ask("app", "k", {"vcore": 1}, equivalence="class")
    assert door.place() == []
    rm.refused.clear()
    door.existing("app", "runs", "n1", {"vcore": 1})
    assert door.place() == []
    door.existing("app", "runs", "n1", {"vcore": 2})
    assert door.place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("CYC-28", "NODE-11")
def test_a_draining_node_stays_out_of_the_order(door: Checked) -> None:
    door.node("n1", action=c.DRAIN_NODE)
    door.existing("app", "k", "n1", {"vcore": 1})
    door.ask("app", "next", {"vcore": 1})
    assert door.place() == []
    door.node("n1", action=c.DRAIN_TO_SCHEDULABLE)
    assert door.place() == [("next-0", "n1")]


@pytest.mark.remuda_rule("CYC-28", "QUE-40")
def test_the_order_of_applications_follows_the_new_size() -> None:
    door = Checked(leaf("a", guaranteed={"vcore": 10}, properties=FAIR))
    door.node("n1", {"vcore": 20})
    for app, size in (("one", 2), ("two", 3)):
        door.app(app)
        door.existing(app, f"on-{app}", "n1", {"vcore": size})
        door.ask(app, f"next-{app}", {"vcore": 1})
    door.existing("one", "on-one", "n1", {"vcore": 8})
    assert door.order() == ["next-two", "next-one"]


@pytest.mark.remuda_rule("CYC-28", "EVT-78", "EVT-79")
def test_users_and_groups_are_told_the_difference_by_type() -> None:
    door = Checked(leaf("a", limits=(groups("staff", {"vcore": 100}),)))
    door.node("n1", {"vcore": 20, "memory": 20})
    door.app("app")
    door.existing("app", "k", "n1", {"vcore": 2, "memory": 5})
    user, group = UG_USER_RESOURCE, UG_GROUP_RESOURCE
    assert usage_told(door.existing("app", "k", "n1", {"vcore": 6, "memory": 5})) == [
        ("ann", ADD, user, {"vcore": 4}),
        ("staff", ADD, group, {"vcore": 4}),
    ]
    assert usage_told(door.existing("app", "k", "n1", {"vcore": 7, "memory": 1})) == [
        ("ann", REMOVE, user, {"memory": 4}),
        ("staff", REMOVE, group, {"memory": 4}),
        ("ann", ADD, user, {"vcore": 1}),
        ("staff", ADD, group, {"vcore": 1}),
    ]
    assert usage_told(door.release("app", "k")) == [
        ("ann", REMOVE, user, {"vcore": 7, "memory": 1}),
        ("staff", REMOVE, group, {"vcore": 7, "memory": 1}),
    ]


@pytest.mark.remuda_rule("CYC-28", "SI-43")
def test_another_size_on_another_node_is_refused(door: Checked) -> None:
    door.node("n2", {"vcore": 10})
    assert refused(door.existing("app", "k", "n2", {"vcore": 5})) == [("k", "SI-43")]
    assert door.queue("root").allocated == {"vcore": 2}
    assert free(door, "n2") == {"vcore": 10}


@pytest.mark.remuda_rule("CYC-28", "NODE-6")
def test_a_node_may_come_with_an_allocation_listed_twice(door: Checked) -> None:
    twice = tuple(existing_allocation("app", "x", "n2", {"vcore": size}) for size in (3, 4))
    found = of(door.node("n2", {"vcore": 10}, existing=twice), e.NodesAnswered)
    assert [answer.accepted for answer in found] == [("n2",)]
    assert free(door, "n2") == {"vcore": 6}
    assert door.queue("root").allocated == {"vcore": 6}


@pytest.mark.remuda_rule("CYC-28", "NODE-6")
def test_a_node_whose_list_shrinks_something_to_nothing_is_refused(door: Checked) -> None:
    twice = tuple(existing_allocation("app", "x", "n2", {"vcore": size}) for size in (3, 0))
    (answer,) = of(door.node("n2", {"vcore": 10}, existing=twice), e.NodesAnswered)
    assert [bad.rule for bad in answer.rejected] == ["CYC-28"]
    assert set(door.node_views()) == {"n1"}
    assert door.queue("root").allocated == {"vcore": 2}


@pytest.mark.remuda_rule("CYC-28", "RES-1")
def test_a_size_with_too_many_types_is_refused(door: Checked) -> None:
    size = {f"type-{number}": 1 for number in range(1024)}
    assert refused(door.existing("app", "k", "n1", size)) == [("k", "SI-40")]
    assert door.queue("root").allocated == {"vcore": 2}
    assert free(door) == {"vcore": 8}
