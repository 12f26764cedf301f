"""How much room a user has left (chapter 30, section 7)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import Caller, groups, leaf, parent, users
from tests.unit.core.tracking import caller, fits, has_room, memory, start, used


def attempted(door: Caller, app: str, key: str) -> bool:
    """Whether an ask came past the limits of its user (CYC-12, step 3)."""
    (found,) = [r for r in door.apps()[app].requests if r.allocation_key == key]
    return found.scheduling_attempted


@pytest.mark.remuda_rule("LIM-50")
def test_room_is_maximum_less_usage_per_type_and_level() -> None:
    inner = leaf("a", limits=(users("ann", {"memory": 40}),))
    limits = (users("ann", {"memory": 90, "vcore": 6}),)
    door = caller(parent("p", inner), leaf("b"), limits=limits)
    assert start(door, "1", "root.p.a", {"memory": 10, "vcore": 1})
    assert start(door, "2", "root.b", {"memory": 50, "vcore": 2})
    assert has_room(door, "1", 30)  # min(90 - 60, 40 - 10)
    assert has_room(door, "2", 30)  # 90 - 60
    assert fits(door, "1", {"vcore": 3})
    assert not fits(door, "1", {"vcore": 4})


@pytest.mark.remuda_rule("LIM-50")
def test_a_type_missing_at_a_level_is_unlimited_there() -> None:
    inner = leaf("a", limits=(users("ann", {"vcore": 2}),))
    door = caller(inner, limits=(users("ann", memory(10)),))
    assert start(door, "1", "root.a", {"vcore": 1})
    assert has_room(door, "1", 10)
    assert fits(door, "1", {"vcore": 1})
    assert not fits(door, "1", {"vcore": 2})


@pytest.mark.remuda_rule("LIM-50")
def test_without_a_maximum_room_is_unlimited() -> None:
    limits = (users("ann", None, 5), groups("staff", None, 5))
    door = caller(leaf("a", limits=limits))
    assert start(door, "1", "root.a", {"memory": 10_000, "vcore": 10_000})


@pytest.mark.remuda_rule("LIM-51", "LIM-53")
def test_room_may_be_negative() -> None:
    door = caller(leaf("a", limits=(users("ann", memory(50)),)))
    assert start(door, "1", "root.a", memory(40))
    door.existing("1", "x", "n1", memory(70))
    assert not fits(door, "1", memory(1))
    assert fits(door, "1", {"vcore": 5})
    door.release("1", "x")
    assert has_room(door, "1", 10)


@pytest.mark.remuda_rule("LIM-52")
@pytest.mark.parametrize(
    "own, shared, room", [(30, 80, 30), (80, 30, 30), (None, 30, 30), (30, None, 30)]
)
def test_the_group_and_the_user_count_together(
    own: int | None, shared: int | None, room: int
) -> None:
    limits = tuple(
        make(name, memory(amount))
        for make, name, amount in ((users, "ann", own), (groups, "dev", shared))
        if amount is not None
    )
    door = caller(leaf("a", limits=limits))
    assert start(door, "1", "root.a", {"vcore": 1}, groups=("dev",))
    assert has_room(door, "1", room)


@pytest.mark.remuda_rule("LIM-52")
def test_each_type_is_bound_by_the_smaller_of_user_and_group() -> None:
    limits = (users("ann", {"memory": 10, "vcore": 9}), groups("dev", {"memory": 20, "vcore": 5}))
    door = caller(leaf("a", limits=limits))
    assert start(door, "1", "root.a", {"vcore": 1}, groups=("dev",))
    assert has_room(door, "1", 10)
    assert fits(door, "1", {"vcore": 4})
    assert not fits(door, "1", {"vcore": 5})


@pytest.mark.remuda_rule("LIM-53")
@pytest.mark.parametrize(
    "resource, good",
    [
        ({"memory": 10}, True),
        ({"memory": 11}, False),
        ({"memory": 10, "vcore": 7000}, True),
        ({"memory": 0, "vcore": 1}, True),
        ({"memory": 5, "gpu": 0}, True),
        ({"memory": 5, "gpu": 1}, False),
    ],
)
def test_an_ask_is_skipped_when_one_of_its_types_does_not_fit(
    resource: dict[str, int], good: bool
) -> None:
    limits = (users("ann", {"memory": 10, "gpu": 0}),)
    door = Caller(leaf("a", limits=limits))
    door.node("n1", {"memory": 100, "vcore": 9000, "gpu": 8})
    assert start(door, "1", "root.a", resource) is good


@pytest.mark.remuda_rule("LIM-53")
def test_an_ask_that_is_skipped_does_not_hold_up_others() -> None:
    door = caller(leaf("a", limits=(users("ann", memory(10)),)))
    door.app("1")
    door.ask("1", "large", memory(11), priority=9)
    door.ask("1", "small", memory(4), 3, priority=1)
    door.app("2", user="bob")
    door.ask("2", "bob", memory(500))
    assert door.order() == ["small", "small", "bob"]


@pytest.mark.remuda_rule("LIM-53")
@pytest.mark.parametrize("same_application", [True, False])
def test_skipped_asks_are_placed_when_room_comes_back(same_application: bool) -> None:
    door = caller(leaf("a", limits=(groups("staff", memory(10)),)), leaf("b"))
    assert start(door, "1", "root.a", memory(10))
    waiting = "1" if same_application else "2"
    if not same_application:
        door.app("2", user="bob")
    door.ask(waiting, "k", memory(4))
    assert door.place() == []
    door.release("1", "1.k-0")
    assert door.order() == ["k"]


@pytest.mark.remuda_rule("LIM-53", "LIM-50")
def test_room_that_comes_back_elsewhere_in_the_tree_wakes_the_ask() -> None:
    door = caller(parent("p", leaf("a")), leaf("b"), limits=(users("*", memory(10)),))
    assert start(door, "1", "root.b", memory(8))
    assert not start(door, "2", "root.p.a", memory(5))
    assert start(door, "3", "root.p.a", memory(5), user="bob")
    door.release("1", "1.k-0")
    assert door.order() == ["2.k"]


@pytest.mark.remuda_rule("LIM-54", "LIM-71")
@pytest.mark.parametrize("large, past", [(memory(11), False), (memory(10), True)])
def test_the_user_is_looked_at_before_the_queue(large: dict[str, int], past: bool) -> None:
    # Both asks exceed the queue; only the first exceeds the user's room, too.
    door = caller(leaf("a", maximum=memory(5), limits=()), limits=(users("ann", memory(10)),))
    assert not start(door, "1", "root.a", large)
    assert attempted(door, "1", "1.k") is past


@pytest.mark.remuda_rule("LIM-71")
def test_what_may_not_start_is_not_tried_at_all() -> None:
    door = caller(leaf("a", limits=(users("ann", memory(10), 1),)))
    assert start(door, "1", "root.a", memory(1))
    assert not start(door, "2", "root.a", memory(1))
    assert not attempted(door, "2", "2.k")


@pytest.mark.remuda_rule("LIM-54", "CYC-14")
def test_an_ask_for_one_node_is_bound_as_well() -> None:
    door = caller(leaf("a", limits=(users("ann", memory(10)),)))
    door.app("1")
    tags = {"yunikorn.apache.org/requiredNode": "n1"}
    door.send(
        c.UpdateAllocations(
            door.rm, asks=(c.Ask("1", "k", memory(4), max_allocations=3, tags=tags),)
        )
    )
    assert len(door.place()) == 2


@pytest.mark.remuda_rule("LIM-50", "LIM-52", "LIM-53", "LIM-4", "LIM-21")
def test_example_x1() -> None:
    inner = parent(
        "p",
        leaf("leaf"),
        limits=(users("*", memory(50)), groups("dev", memory(30)), groups("ops", memory(30))),
    )
    door = caller(inner, limits=(users("bob", memory(100)),))
    queue = "root.p.leaf"
    assert start(door, "app1", queue, memory(10), user="bob", groups=("ops", "dev"))
    assert has_room(door, "app1", 20)
    assert start(door, "app2", queue, memory(15), user="eve", groups=("dev",))
    assert has_room(door, "app1", 5)
    assert has_room(door, "app2", 5)
    assert start(door, "app3", queue, {"vcore": 1}, user="sid", groups=())
    assert has_room(door, "app3", 50)
    door.existing("app2", "grown", "n1", memory(60))
    assert used(door, "dev", "root.p", of_groups=True) == memory(85)
    for app in ("app1", "app2"):
        assert not fits(door, app, memory(1))
        assert fits(door, app, {"vcore": 1})


@pytest.mark.remuda_rule("LIM-3", "LIM-4", "LIM-50")
@pytest.mark.parametrize(
    "user, queue, room",
    [("bob", "root.p.l", 40), ("eve", "root.p.l", 20), ("eve", "root.q", 100)],
)
def test_example_x4(user: str, queue: str, room: int) -> None:
    inner = leaf("l", limits=(users("*", memory(40)),))
    limits = (users("bob", memory(60)), users("*", memory(20)))
    door = caller(parent("p", inner, limits=limits), leaf("q"), limits=(users("*", memory(100)),))
    assert start(door, "app", queue, {"vcore": 1}, user=user)
    assert has_room(door, "app", room)
