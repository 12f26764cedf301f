"""Limits that change while applications run (chapter 30, section 9)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.config.schema import LimitConfig, PartitionConfig, QueueConfig
from tests.unit.core.door import Caller, groups, leaf, parent, partition, refusal, tracked, users
from tests.unit.core.tracking import (
    NODE,
    caller,
    counted,
    fits,
    has_room,
    memory,
    node,
    start,
    used,
)

Limits = tuple[LimitConfig, ...]
Limited = Callable[..., LimitConfig]
VCORE = {"vcore": 1}


def p(*limits: LimitConfig) -> QueueConfig:
    """The queue root.p with a leaf ``l``; the limits are those of root.p."""
    return parent("p", leaf("l"), limits=limits)


def change(door: Caller, *queues: QueueConfig, root: Limits = ()) -> None:
    """Reload, and see that it was accepted and left all counters right."""
    assert refusal(door.reload(*queues, root={"limits": root})) == ""
    door.scheduler.check()


def maximum(door: Caller, name: str, path: str) -> int | None:
    """The memory a user may use in a queue, None if that is not limited."""
    found = node(door, name, path)
    return None if found is None or found.maximum is None else found.maximum["memory"]


@pytest.mark.remuda_rule("LIM-63")
def test_all_limits_are_replaced_at_once() -> None:
    before = (users("ann", memory(50)), users("bob", memory(50)), groups("staff", memory(500)))
    door = caller(p(*before))
    assert start(door, "1", "root.p.l", memory(10))
    assert start(door, "2", "root.p.l", memory(10), user="bob")
    change(door, p(users("bob", memory(30)), users("eve", memory(70))))
    assert fits(door, "1", memory(5000))
    assert has_room(door, "2", 20)
    assert maximum(door, "eve", "root.p") == 70
    assert used(door, "ann", "root.p") == memory(10)
    assert counted(door, "ann", "root.p") == ("1",)


@pytest.mark.remuda_rule("LIM-63", "LIM-7")
def test_example_x5_lowered_below_usage() -> None:
    door = caller(p(users("bob", memory(100), 5)))
    for app, amount in (("a1", 70), ("a2", 10)):
        assert start(door, app, "root.p.l", memory(amount), user="bob")
    door.existing("a1", "x", "n1", VCORE)
    change(door, p(users("bob", memory(50), 1)))
    assert not fits(door, "a1", memory(1))
    assert fits(door, "a1", VCORE)  # it may run: it is counted already
    assert not start(door, "a3", "root.p.l", VCORE, user="bob")
    door.remove("a3")
    assert used(door, "bob", "root.p") == {"memory": 80, "vcore": 1}
    door.release("a1", "a1.k-0")
    door.existing("a1", "y", "n1", memory(30))
    assert has_room(door, "a1", 10)


@pytest.mark.remuda_rule("LIM-60", "LIM-61", "LIM-63")
@pytest.mark.parametrize("limited", [users, groups])
def test_a_number_of_applications_may_be_limited_where_an_amount_was(limited: Limited) -> None:
    name = "ann" if limited is users else "staff"
    door = caller(p(limited(name, memory(80))))
    assert start(door, "1", "root.p.l", memory(1))
    change(door, p(limited(name, memory(80), 1)))
    assert not start(door, "2", "root.p.l", memory(1))
    door.release("1")
    assert door.order() == ["2.k"]
    # And back: the amount is limited, the number no more.
    assert not start(door, "3", "root.p.l", memory(1))
    change(door, p(limited(name, memory(80))))
    assert door.order() == ["3.k"]


@pytest.mark.remuda_rule("LIM-63")
@pytest.mark.parametrize("limit", [users("ann", memory(80)), groups("staff", memory(80))])
def test_a_raised_limit_gives_room_at_once(limit: LimitConfig) -> None:
    door = caller(p(users("ann", memory(20)), groups("staff", memory(20))))
    assert start(door, "1", "root.p.l", memory(20))
    door.ask("1", "more", memory(20), 9)
    assert door.place() == []
    change(door, p(limit))
    assert len(door.place()) == 3


@pytest.mark.remuda_rule("LIM-63")
@pytest.mark.parametrize("limit", [users("ann", memory(20)), users("*", memory(20))])
def test_a_removed_user_limit_is_no_limit(limit: LimitConfig) -> None:
    door = caller(p(limit))
    assert start(door, "1", "root.p.l", memory(20))
    assert not fits(door, "1", memory(1))
    change(door, p())
    assert fits(door, "1", memory(500))
    assert maximum(door, "ann", "root.p") is None


@pytest.mark.remuda_rule("LIM-63")
def test_the_same_limits_again_change_nothing() -> None:
    limits = (users("ann", memory(50), 2), users("*", memory(20)), groups("staff", memory(70)))
    door = caller(p(*limits))
    assert start(door, "1", "root.p.l", memory(10))
    before = (door.usage(), door.usage(of_groups=True))
    change(door, p(*limits))
    assert (door.usage(), door.usage(of_groups=True)) == before
    assert has_room(door, "1", 40)


@pytest.mark.remuda_rule("LIM-65", "LIM-4")
def test_example_x8_the_wildcard_takes_the_place_of_the_name() -> None:
    door = caller(p(users("bob", memory(100)), users("*", memory(10))))
    assert start(door, "1", "root.p.l", memory(5), user="bob")
    assert has_room(door, "1", 95)
    change(door, p(users("*", memory(10))))
    assert maximum(door, "bob", "root.p") == 10
    assert has_room(door, "1", 5)
    assert used(door, "bob", "root.p") == memory(5)


@pytest.mark.remuda_rule("LIM-65", "LIM-46", "REST-65")
def test_example_x9_a_tracker_that_exists_for_its_limit() -> None:
    door = caller(p(users("bob", memory(100)), groups("dev", memory(9))))
    assert set(door.usage()) == {"bob"}
    assert set(door.usage(of_groups=True)) == {"dev"}
    change(door, p())
    assert door.usage() == {}
    assert door.usage(of_groups=True) == {}


@pytest.mark.remuda_rule("LIM-65", "D-U4")
@pytest.mark.parametrize("wildcard", [10, 30, None])
def test_a_name_beats_the_wildcard_at_once_in_a_nested_queue(wildcard: int | None) -> None:
    door = caller(p(users("*", memory(10))))
    assert start(door, "1", "root.p.l", memory(5), user="bob")
    rest = () if wildcard is None else (users("*", memory(wildcard)),)
    change(door, p(users("bob", memory(60)), *rest))
    assert maximum(door, "bob", "root.p") == 60
    assert has_room(door, "1", 55)


@pytest.mark.remuda_rule("D-U4", "LIM-65")
def test_a_name_beats_the_wildcard_at_once_at_root() -> None:
    door = caller(p(), limits=(users("*", memory(10)),))
    assert start(door, "1", "root.p.l", memory(5), user="bob")
    change(door, p(), root=(users("bob", memory(60)), users("*", memory(20))))
    assert has_room(door, "1", 55)


@pytest.mark.remuda_rule("D-U5")
def test_a_removed_wildcard_is_cleared_where_names_remain() -> None:
    door = caller(p(users("bob", memory(100)), users("*", memory(10))))
    assert start(door, "1", "root.p.l", memory(5), user="eve")
    assert has_room(door, "1", 5)
    change(door, p(users("bob", memory(100))))
    assert maximum(door, "eve", "root.p") is None
    assert fits(door, "1", memory(500))


@pytest.mark.remuda_rule("LIM-63")
@pytest.mark.parametrize("named", [False, True])
def test_a_changed_wildcard_reaches_those_without_a_name(named: bool) -> None:
    rest = (users("bob", memory(100)),) if named else ()
    door = caller(p(*rest, users("*", memory(10))))
    assert start(door, "1", "root.p.l", memory(5), user="eve")
    assert start(door, "2", "root.p.l", memory(5), user="bob")
    change(door, p(*rest, users("*", memory(40))))
    assert has_room(door, "1", 35)
    assert has_room(door, "2", 95 if named else 35)


@pytest.mark.remuda_rule("LIM-66")
def test_new_users_get_the_wildcard_in_force() -> None:
    door = caller(p(users("*", memory(10))))
    change(door, p(users("*", memory(40))))
    assert start(door, "1", "root.p.l", memory(5), user="eve")
    assert maximum(door, "eve", "root.p") == 40
    assert has_room(door, "1", 35)


@pytest.mark.remuda_rule("D-U9", "LIM-63", "RLD-6", "D-C15")
def test_a_refused_change_leaves_the_limits() -> None:
    limits = (users("ann", memory(50)), groups("staff", memory(30)))
    door = caller(leaf("a", limits=limits))
    assert start(door, "1", "root.a", memory(10))
    before = (door.usage(), door.usage(of_groups=True))
    other = (users("ann", memory(500)), users("*", memory(5)))
    assert refusal(door.reload(parent("a", leaf("x"), limits=other)))
    assert (door.usage(), door.usage(of_groups=True)) == before
    assert has_room(door, "1", 20)


@pytest.mark.remuda_rule("LIM-63", "RLD-28")
def test_the_limits_of_a_queue_that_left_are_gone() -> None:
    door = caller(
        leaf("a", limits=(users("ann", memory(20)), groups("dev", memory(20)))), leaf("b")
    )
    assert start(door, "1", "root.a", memory(10), groups=("dev",))
    change(door, leaf("b"))
    assert fits(door, "1", memory(500))
    assert door.usage(of_groups=True) == {}
    door.remove("1")
    assert door.usage() == {}


@pytest.mark.remuda_rule("LIM-6", "D-U1", "LIM-63")
def test_changing_one_partition_leaves_the_limits_of_the_other() -> None:
    def homes(amount: int) -> list[PartitionConfig]:
        return [
            partition(leaf("a", limits=(users("ann", memory(amount)),))),
            partition(leaf("a", limits=(users("ann", memory(30)),)), name="gpu"),
        ]

    door = Caller(partitions=homes(20))
    for home in ("default", "gpu"):
        door.node(f"n-{home}", NODE, home=home)
    assert refusal(door.reload(partitions=homes(70))) == ""
    for home, most in (("default", 7), ("gpu", 3)):
        door.app("app", partition=home)
        door.ask("app", "k", memory(10), 20, partition=home)
        assert len(door.place()) == most


@pytest.mark.remuda_rule("LIM-63", "LIM-64", "LIM-65")
def test_back_and_forth_ends_where_it_began() -> None:
    first = (users("ann", memory(60)), users("*", memory(40)), groups("dev ops *", memory(90)))
    second = (users("bob", memory(10), 1), groups("ops", memory(20)))
    door = caller(p(*first))
    for app, user, name in (("1", "ann", "dev"), ("2", "bob", "ops"), ("3", "eve", "qa")):
        assert start(door, app, "root.p.l", memory(10), user=user, groups=(name,))
    before = (door.usage(), door.usage(of_groups=True))
    change(door, p(*second))
    door.step()
    change(door, p(*first))
    for app in ("1", "2", "3"):
        assert fits(door, app, memory(30))  # each is looked at again
    assert used(door, "ops", "root.p", of_groups=True) == memory(10)
    assert door.usage().keys() == before[0].keys()
    for app in ("1", "2", "3"):
        door.remove(app)
    assert set(door.usage()) == {"ann"}
    assert set(door.usage(of_groups=True)) == {"dev", "ops", "*"}
    door.scheduler.check()


@pytest.mark.remuda_rule("LIM-63")
@pytest.mark.parametrize(
    "limit", [users("ann", memory(15)), users("*", memory(15)), groups("staff", memory(15))]
)
def test_an_added_limit_counts_what_runs_already(limit: LimitConfig) -> None:
    door = caller(p())
    assert start(door, "1", "root.p.l", memory(10))
    change(door, p(limit))
    assert start(door, "2", "root.p.l", VCORE)
    # The group of the first application was found to be none before (LIM-24).
    assert has_room(door, "2", 15 if limit.groups else 5)


@pytest.mark.remuda_rule("LIM-65", "LIM-4")
def test_the_wildcard_takes_the_place_of_the_name_at_root() -> None:
    door = caller(p(), limits=(users("bob", memory(100)),))
    assert start(door, "1", "root.p.l", memory(5), user="bob")
    change(door, p(), root=(users("*", memory(30)),))
    assert has_room(door, "1", 25)
    assert maximum(door, "bob", "root") == 30


@pytest.mark.remuda_rule("LIM-63", "LIM-46")
def test_limits_of_queues_that_come_later_hold_for_those_who_run() -> None:
    limits = (users("*", memory(20)), groups("staff", memory(90)))
    door = caller(leaf("a"))
    assert start(door, "1", "root.a", memory(10))
    change(door, leaf("a"), p(*limits))
    assert node(door, "ann", "root.p") is None
    assert start(door, "2", "root.p.l", memory(5))
    assert has_room(door, "2", 15)


@pytest.mark.remuda_rule("EVT-83", "UPD-7")
def test_a_wildcard_is_not_told_for_those_who_hold_nothing() -> None:
    door = caller(leaf("a"))
    assert not start(door, "1", "root.a", memory(10**6))
    for amount in (50, 60):
        assert tracked(door.reload(leaf("a", limits=(users("*", memory(amount)),)))) == []
    assert tracked(door.reload(leaf("a"))) == []
