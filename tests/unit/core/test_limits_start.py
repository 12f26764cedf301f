"""Whether an application may start: limits of users and groups (chapter 30, section 8)."""

from __future__ import annotations

import pytest

from remuda.config.schema import LimitConfig
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    APP,
    APP_CANNOTRUN_QUEUE,
    APP_CANNOTRUN_QUOTA,
    APP_RUNNABLE_QUEUE,
    APP_RUNNABLE_QUOTA,
    NONE,
)
from tests.unit.core.door import Caller, groups, leaf, of, parent, users
from tests.unit.core.tracking import caller, counted, memory, start

FLAGS = (APP_CANNOTRUN_QUEUE, APP_RUNNABLE_QUEUE, APP_CANNOTRUN_QUOTA, APP_RUNNABLE_QUOTA)
ONE = memory(1)


def flags(effects: list[e.Effect]) -> list[tuple[str, int]]:
    """Which application was told what about its being runnable."""
    found = [record for record in of(effects, e.EventRecord) if record.detail in FLAGS]
    assert {(record.kind, record.change) for record in found} <= {(APP, NONE)}
    return [(record.object_id, record.detail) for record in found]


@pytest.mark.remuda_rule("LIM-60", "LIM-62")
def test_only_accepted_applications_are_held_back() -> None:
    door = caller(leaf("a", limits=(users("ann", None, 1),)))
    assert start(door, "1", "root.a", ONE)
    assert not start(door, "2", "root.a", ONE)
    assert door.state("2") == "Accepted"
    door.ask("1", "more", ONE, 5)
    assert len(door.place()) == 5
    door.existing("2", "x", "n1", ONE)  # starts it by force
    assert door.order() == ["2.k"]


@pytest.mark.remuda_rule("LIM-61")
@pytest.mark.parametrize("limit", [users("bob", None, 0), users("bob", memory(99))])
def test_zero_is_no_limit(limit: LimitConfig) -> None:
    door = caller(leaf("a", limits=(limit,)))
    assert all(start(door, f"{n}", "root.a", ONE, user="bob") for n in range(9))


@pytest.mark.remuda_rule("LIM-61")
@pytest.mark.parametrize(
    "own, middle, root, most",
    [(1, 9, 9, 1), (9, 2, 9, 2), (9, 9, 3, 3), (0, 0, 3, 3), (0, 2, 0, 2)],
)
def test_all_levels_must_agree(own: int, middle: int, root: int, most: int) -> None:
    def limit(number: int) -> tuple[LimitConfig, ...]:
        return (users("ann", memory(1000), number),)

    door = caller(
        parent("p", leaf("a", limits=limit(own)), limits=limit(middle)), limits=limit(root)
    )
    assert sum(start(door, f"{n}", "root.p.a", ONE) for n in range(5)) == most


@pytest.mark.remuda_rule("LIM-61")
@pytest.mark.parametrize("own, shared, most", [(1, 2, 1), (3, 2, 2), (0, 1, 1), (2, 0, 2)])
def test_user_and_group_must_agree(own: int, shared: int, most: int) -> None:
    limits = (users("ann", memory(1000), own), groups("staff", memory(1000), shared))
    door = caller(leaf("a", limits=limits))
    assert sum(start(door, f"{n}", "root.a", ONE) for n in range(4)) == most


@pytest.mark.remuda_rule("LIM-61", "LIM-62")
def test_two_applications_in_one_cycle_do_not_both_take_the_last_place() -> None:
    door = caller(leaf("a", limits=(users("ann", None, 1),)))
    for app in ("1", "2"):
        door.app(app)
        door.ask(app, app, ONE, 2)
    assert door.order() == ["1", "1"]
    assert counted(door, "ann", "root.a") == ("1",)


@pytest.mark.remuda_rule("LIM-62")
def test_the_check_reserves_nothing() -> None:
    door = caller(leaf("a", limits=(users("ann", memory(10), 1),)))
    assert not start(door, "1", "root.a", memory(11))  # it may start but does not fit
    assert counted(door, "ann", "root.a") == ()
    assert start(door, "2", "root.a", ONE)


@pytest.mark.remuda_rule("LIM-60", "LIM-61")
def test_a_place_comes_free_when_an_application_holds_nothing_more() -> None:
    door = caller(leaf("a", limits=(groups("staff", None, 1),)), leaf("b"))
    assert start(door, "1", "root.a", ONE)
    assert not start(door, "2", "root.a", ONE, user="bob")
    door.release("1")
    assert door.order() == ["2.k"]


@pytest.mark.remuda_rule("LIM-60", "LIM-61")
def test_a_place_comes_free_anywhere_below_the_limit() -> None:
    door = caller(leaf("a"), parent("p", leaf("b")), limits=(users("*", None, 1),))
    assert start(door, "1", "root.a", ONE)
    assert not start(door, "2", "root.p.b", ONE)
    door.remove("1")
    assert door.order() == ["2.k"]


@pytest.mark.remuda_rule("LIM-61")
def test_example_x3() -> None:
    inner = leaf("a", limits=(users("bob", None, 2),))
    door = caller(inner, leaf("b"), limits=(users("bob", None, 3),))
    for app in ("a1", "a2"):
        assert start(door, app, "root.a", ONE, user="bob")
    assert not start(door, "a3", "root.a", ONE, user="bob")
    door.ask("a1", "again", ONE)
    assert door.order() == ["again"]
    assert start(door, "b1", "root.b", ONE, user="bob")
    assert not start(door, "b2", "root.b", ONE, user="bob")
    door.ask("b1", "again", ONE)
    assert door.order() == ["again"]


@pytest.mark.remuda_rule("EVT-24", "LIM-60", "EVT-32")
@pytest.mark.parametrize("limit", [users("ann", None, 1), groups("staff", None, 1)])
def test_being_held_back_is_told_once_and_so_is_its_end(limit: LimitConfig) -> None:
    door = caller(leaf("a", limits=(limit,)))
    assert start(door, "1", "root.a", ONE)
    door.app("2")
    assert flags(door.ask("2", "k", ONE)) == []  # looked at when scheduling only
    assert flags(door.step()) == [("2", APP_CANNOTRUN_QUOTA)]
    assert flags(door.ask("2", "more", ONE) + door.step()) == []
    assert flags(door.release("1")) == []
    assert flags(door.step()) == [("2", APP_RUNNABLE_QUOTA)]
    assert door.state("2") == "Running"


@pytest.mark.remuda_rule("EVT-23", "EVT-24", "EVT-32", "QUE-26", "LIM-60")
def test_queue_and_quota_are_told_separately_the_queue_first() -> None:
    door = caller(leaf("a", max_applications=1, limits=(users("ann", None, 1),)))
    assert start(door, "1", "root.a", ONE)
    door.app("2")
    door.ask("2", "k", ONE)
    assert flags(door.step()) == [("2", APP_CANNOTRUN_QUEUE), ("2", APP_CANNOTRUN_QUOTA)]
    door.release("1")
    assert flags(door.step()) == [("2", APP_RUNNABLE_QUEUE), ("2", APP_RUNNABLE_QUOTA)]


@pytest.mark.remuda_rule("EVT-33", "QUE-25", "LIM-60", "UPD-1")
def test_running_applications_are_never_told() -> None:
    door = caller(leaf("a", max_applications=1, limits=(users("ann", None, 1),)))
    assert start(door, "1", "root.a", ONE)
    assert flags(door.ask("1", "more", ONE, 3) + door.step()) == []
    assert flags(door.ask("1", "large", memory(10**6)) + door.step()) == []


@pytest.mark.remuda_rule("EVT-32")
def test_an_application_without_asks_is_not_looked_at() -> None:
    door = caller(leaf("a", limits=(users("ann", None, 1),)))
    assert start(door, "1", "root.a", ONE)
    assert flags(door.app("2") + door.step()) == []


@pytest.mark.remuda_rule("LIM-63", "EVT-24")
def test_a_raised_limit_lets_the_next_start() -> None:
    def limits(number: int) -> tuple[LimitConfig, ...]:
        return (users("ann", None, number),)

    door = caller(leaf("a", limits=limits(1)))
    assert start(door, "1", "root.a", ONE)
    assert not start(door, "2", "root.a", ONE)
    door.reload(leaf("a", limits=limits(2)))
    assert flags(found := door.step()) == [("2", APP_RUNNABLE_QUOTA)]
    assert [new.allocation_id for new in of(found, e.AllocationNew)] == ["2.k-0"]


@pytest.mark.remuda_rule("LIM-60", "LIM-71")
def test_one_held_back_does_not_hold_up_others() -> None:
    door = caller(leaf("a", limits=(users("ann", None, 1),)))
    assert start(door, "1", "root.a", ONE)
    for app, user in (("2", "ann"), ("3", "bob"), ("4", "ann"), ("5", "eve")):
        door.app(app, user=user)
        door.ask(app, app, ONE)
    assert door.order() == ["3", "5"]


@pytest.mark.remuda_rule("LIM-60")
def test_the_held_back_start_in_their_order() -> None:
    door = Caller(leaf("a", limits=(users("ann", None, 1),)))
    door.node("n1", {"memory": 100})
    assert start(door, "1", "root.a", ONE)
    for app in ("2", "3"):
        door.now += 1
        assert not start(door, app, "root.a", ONE)
    door.release("1")
    assert door.order() == ["2.k"]
    door.release("2")
    assert door.order() == ["3.k"]
