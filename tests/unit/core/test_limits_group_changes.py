"""Limits of groups that change while applications run (chapter 30, section 9)."""

from __future__ import annotations

import pytest

from remuda.config.schema import LimitConfig, QueueConfig
from remuda.core.messages.effects import EventRecord
from remuda.core.messages.events import (
    ADD,
    REMOVE,
    SET,
    UG_APP_LINK,
    UG_GROUP_LIMIT,
    UG_GROUP_RESOURCE,
)
from tests.unit.core.door import Caller, groups, leaf, of, parent, refusal, tracked
from tests.unit.core.tracking import (
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


def p(*limits: LimitConfig) -> QueueConfig:
    """The queue root.p with a leaf ``l``; the limits are those of root.p."""
    return parent("p", leaf("l"), limits=limits)


def change(door: Caller, *queues: QueueConfig, root: Limits = ()) -> None:
    """Reload, and see that it was accepted and left all counters right."""
    assert refusal(door.reload(*queues, root={"limits": root})) == ""
    door.scheduler.check()


@pytest.mark.remuda_rule("LIM-64")
def test_without_its_entry_a_group_is_no_more_and_applications_are_free() -> None:
    door = caller(p(groups("dev", memory(30))))
    assert start(door, "1", "root.p.l", memory(20), groups=("dev",))
    change(door, p())
    assert door.usage(of_groups=True) == {}
    assert door.usage()["ann"].applications == {}
    assert fits(door, "1", memory(500))


@pytest.mark.remuda_rule("LIM-64", "D-U6", "D-U7")
def test_usage_moves_to_the_group_that_is_found_anew() -> None:
    door = caller(p(groups("dev", memory(100)), groups("ops", memory(50))))
    assert start(door, "1", "root.p.l", memory(20), groups=("ops", "dev"))
    assert start(door, "2", "root.p.l", memory(5), groups=("ops",))
    change(door, p(groups("ops", memory(50))))
    door.ask("1", "large", memory(5000))
    assert door.place() == []
    assert door.usage()["ann"].applications == {"1": "ops", "2": "ops"}
    assert used(door, "ops", "root.p", of_groups=True) == memory(25)
    assert counted(door, "ops", "root.p", of_groups=True) == ("1", "2")
    door.release_ask("1", "large")
    assert has_room(door, "2", 25)


@pytest.mark.remuda_rule("EVT-79", "EVT-80", "LIM-64", "D-U7")
def test_usage_that_moves_is_told_so_that_sums_per_group_stay_true() -> None:
    door = caller(p(groups("dev", memory(100)), groups("ops", memory(50))))
    assert start(door, "1", "root.p.l", memory(20), groups=("ops", "dev"))
    told = door.reload(p(groups("ops", memory(50))))
    moved = [one for one in tracked(told) if one[2] != UG_GROUP_LIMIT]
    assert moved == [
        ("dev", REMOVE, UG_GROUP_RESOURCE, "root.p.l"),
        ("ops", SET, UG_APP_LINK, "1"),
        ("ops", ADD, UG_GROUP_RESOURCE, "root.p.l"),
    ]
    amounts = [r.resource for r in of(told, EventRecord) if r.detail == UG_GROUP_RESOURCE]
    assert amounts == [memory(20), memory(20)]


@pytest.mark.remuda_rule("LIM-64", "D-U6")
def test_a_removed_entry_takes_only_what_was_below_it() -> None:
    dev = (groups("dev", memory(100)),)
    door = caller(leaf("a", limits=dev), leaf("b", limits=dev))
    assert start(door, "1", "root.a", memory(10), groups=("dev",))
    assert start(door, "2", "root.b", memory(20), groups=("dev",))
    change(door, leaf("a"), leaf("b", limits=dev))
    assert used(door, "dev", "root", of_groups=True) == memory(20)
    assert used(door, "dev", "root.b", of_groups=True) == memory(20)
    assert node(door, "dev", "root.a", of_groups=True) is None
    assert has_room(door, "2", 80)


@pytest.mark.remuda_rule("D-U6", "LIM-64")
def test_a_limit_further_up_stays_enforced() -> None:
    dev = (groups("dev", memory(100)),)
    root = (groups("dev", memory(40)),)
    door = caller(leaf("a", limits=dev), leaf("b"), limits=root)
    assert start(door, "1", "root.a", memory(10), groups=("dev",))
    assert start(door, "2", "root.b", memory(20), groups=("dev",))
    change(door, leaf("a"), leaf("b"), root=root)
    door.ask("1", "large", memory(5000))
    assert door.place() == []
    door.release_ask("1", "large")
    assert used(door, "dev", "root", of_groups=True) == memory(30)
    assert has_room(door, "2", 10)


@pytest.mark.remuda_rule("D-U7", "LIM-34")
def test_after_a_cut_releases_leave_the_other_branch_alone() -> None:
    dev = (groups("dev", memory(30)),)
    door = caller(leaf("a", limits=dev), leaf("b", limits=dev))
    assert start(door, "1", "root.a", memory(10), groups=("dev",))
    assert start(door, "2", "root.b", memory(20), groups=("dev",))
    change(door, leaf("a"), leaf("b", limits=dev))
    door.existing("1", "x", "n1", memory(5))
    door.release("1", "1.k-0")
    assert used(door, "dev", "root", of_groups=True) == memory(20)
    door.release("1")
    assert used(door, "dev", "root", of_groups=True) == memory(20)
    assert has_room(door, "2", 10)
    door.scheduler.check()


@pytest.mark.remuda_rule("D-U8", "LIM-64")
@pytest.mark.parametrize("ended", [False, True])
def test_cutting_the_link_of_one_that_holds_nothing(ended: bool) -> None:
    door = caller(p(groups("dev", memory(10))))
    if ended:
        assert start(door, "1", "root.p.l", memory(5), groups=("dev",))
        door.release("1")
    else:
        assert not start(door, "1", "root.p.l", memory(50), groups=("dev",))
    assert door.usage() == {}
    change(door, p())
    assert door.usage() == {}
    assert door.usage(of_groups=True) == {}
    door.ask("1", "more", memory(50))
    assert len(door.place()) >= 1


@pytest.mark.remuda_rule("LIM-67")
def test_a_changed_group_wildcard_acts_like_a_named_group() -> None:
    dev = groups("dev", memory(100))
    door = caller(p(dev, groups("*", memory(30), 2)))
    assert start(door, "1", "root.p.l", memory(10), groups=("qa",))
    assert has_room(door, "1", 20)
    change(door, p(dev, groups("*", memory(60), 1)))
    assert has_room(door, "1", 50)
    assert not start(door, "2", "root.p.l", memory(1), groups=("hr",))


@pytest.mark.remuda_rule("LIM-67", "LIM-64")
def test_a_removed_group_wildcard_sets_its_applications_free() -> None:
    dev = groups("dev", memory(100))
    door = caller(p(dev, groups("*", memory(30))))
    assert start(door, "1", "root.p.l", memory(10), groups=("qa",))
    change(door, p(dev))
    assert set(door.usage(of_groups=True)) == {"dev"}
    assert fits(door, "1", memory(500))


@pytest.mark.remuda_rule("LIM-67", "LIM-24")
def test_an_added_group_wildcard_binds_new_applications() -> None:
    dev = groups("dev", memory(100))
    door = caller(p(dev))
    assert start(door, "1", "root.p.l", memory(10), groups=("qa",))
    change(door, p(dev, groups("*", memory(30))))
    assert fits(door, "1", memory(500))  # "no group" was its result
    assert start(door, "2", "root.p.l", memory(10), groups=("qa",))
    assert has_room(door, "2", 20)


@pytest.mark.remuda_rule("LIM-64", "LIM-67", "D-U7")
def test_example_x7_the_usage_moves_to_the_wildcard() -> None:
    g1, wildcard = groups("g1", memory(100)), groups("*", memory(50))
    door = caller(p(g1, groups("g2", memory(100)), wildcard))
    assert start(door, "a1", "root.p.l", memory(50), user="u2", groups=("g2",))
    assert start(door, "b1", "root.p.l", memory(50), user="u3", groups=("g3",))
    change(door, p(g1, wildcard))
    assert not fits(door, "a1", memory(1))
    assert set(door.usage(of_groups=True)) == {"g1", "*"}
    assert used(door, "*", "root.p", of_groups=True) == memory(100)
    assert not start(door, "a2", "root.p.l", memory(1), user="u2", groups=("g2",))
    door.release("b1")
    assert door.place() == []  # 50 - 50 of a1
    door.release("a1")
    assert door.order() == ["a2.k"]


@pytest.mark.remuda_rule("LIM-64", "LIM-21")
def test_a_group_moved_between_entries_keeps_its_usage() -> None:
    dev, ops = groups("dev", memory(40)), groups("ops", memory(40))
    door = caller(p(dev, ops))
    assert start(door, "1", "root.p.l", memory(10), groups=("dev", "ops"))
    change(door, p(groups("ops dev", memory(30))))
    assert door.usage()["ann"].applications == {"1": "dev"}
    assert has_room(door, "1", 20)
