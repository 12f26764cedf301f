"""Applications that wait for a place: none is forgotten, each is looked at (chapter 50, A.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from remuda.core.messages.events import (
    ADD,
    APP_CANNOTRUN_QUEUE,
    APP_CANNOTRUN_QUOTA,
    SET,
    UG_APP_LINK,
    UG_GROUP_RESOURCE,
    UG_USER_RESOURCE,
)
from tests.unit.core.door import Caller, events, groups, leaf, parent, tracked, users

ONE = {"vcore": 1}
STAFF = leaf("a", limits=(groups("staff", {"vcore": 50}),))

# One application at a time, said by a queue, the queue above, a user, users as they come, a group.
ONE_AT_A_TIME: Mapping[str, dict[str, Any]] = {
    "queue": {"max_applications": 1},
    "user": {"limits": (users("ann", None, 1),)},
    "users": {"limits": (users("*", None, 1),)},
    "group": {"limits": (groups("staff", None, 1),)},
}


# Why equal asks of one user are set aside: no node, the queue's maximum or number, his own.
TRACKED = groups("staff", {"vcore": 5000})
ASIDE: tuple[dict[str, Any], ...] = (
    {"limits": (TRACKED,)},
    {"limits": (TRACKED,), "maximum": {"vcore": 20}},
    {"limits": (TRACKED,), "max_applications": 1},
    {"limits": (TRACKED, users("ann", {"vcore": 20}))},
    {"limits": (TRACKED, users("ann", None, 1))},
    {"limits": (groups("staff", {"vcore": 20}),)},
)


def caller(**settings: Any) -> Caller:
    """root.a with these settings, and a large node."""
    door = Caller(leaf("a", **settings))
    door.node("n1", {"vcore": 100, "memory": 100})
    return door


def submit(door: Caller, application_id: str, size: Mapping[str, int], **who: Any) -> None:
    """An application with one ask named like it, and a moment for whoever can start."""
    door.app(application_id, **who)
    door.ask(application_id, application_id, dict(size))
    door.step()


def flags(door: Caller) -> list[tuple[str, int]]:
    """Decide; which application was told that it has to wait."""
    told = events(door.step())
    waits = (APP_CANNOTRUN_QUEUE, APP_CANNOTRUN_QUOTA)
    return [(name, detail) for _, name, _, detail in told if detail in waits]


def leave(door: Caller) -> None:
    """The one whose turn it is goes."""
    door.remove("first")


def withdraw(door: Caller) -> None:
    """The one whose turn it is wants nothing any more."""
    door.release_ask("first", "first")


def grow(door: Caller) -> None:
    """The one whose turn it is wants what nobody can give."""
    door.ask("first", "first", {"vcore": 1000})


@pytest.mark.remuda_rule("QUE-22", "LIM-61", "QUE-25")
@pytest.mark.parametrize("kind", ONE_AT_A_TIME)
@pytest.mark.parametrize("change", [leave, withdraw, grow])
def test_a_place_that_its_taker_lets_go_is_for_the_next(
    kind: str, change: Callable[[Caller], None]
) -> None:
    door = caller(**ONE_AT_A_TIME[kind])
    submit(door, "running", ONE)
    submit(door, "first", {"vcore": 2})
    submit(door, "second", {"vcore": 3})
    assert (door.state("first"), door.state("second")) == ("Accepted", "Accepted")
    door.remove("running")
    change(door)
    assert door.order() == ["second"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-22", "LIM-61")
@pytest.mark.parametrize("kind", ONE_AT_A_TIME)
def test_a_place_goes_on_although_two_in_turn_let_it_go(kind: str) -> None:
    door = caller(**ONE_AT_A_TIME[kind])
    for number, name in enumerate(("running", "first", "second", "third"), 1):
        submit(door, name, {"vcore": number})
    door.remove("running")
    door.remove("first")
    door.remove("second")
    assert door.order() == ["third"]


@pytest.mark.remuda_rule("QUE-22", "LIM-61", "CYC-12")
@pytest.mark.parametrize(
    "kind, number",
    [
        ("queue", {"max_applications": 2}),
        ("user", {"limits": (users("ann", None, 2),)}),
        ("group", {"limits": (groups("staff", None, 2),)}),
    ],
)
def test_one_that_may_start_but_has_no_room_leaves_the_turn_to_the_next(
    kind: str, number: dict[str, Any]
) -> None:
    # One core is all the queue may use, and it is used.
    door = caller(maximum={"vcore": 1}, **number)
    submit(door, "holder", ONE)
    submit(door, "running", {"memory": 1})
    submit(door, "first", ONE)
    submit(door, "second", {"memory": 1})
    assert (door.state("first"), door.state("second")) == ("Accepted", "Accepted")
    door.remove("running")
    assert door.order() == ["second"], kind
    door.remove("second")
    door.remove("holder")
    assert door.order() == ["first"]
    door.scheduler.check()


# Who waits with equal asks under different limits: of the same place, or the same room.
AMPLE = {"vcore": 90}
TOGETHER: Mapping[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "queue": (
        {"max_applications": 1, "limits": (users("*", AMPLE),)},
        {"user": "bob", "groups": ()},
        {"user": "eve", "groups": ()},
    ),
    "user": (
        {"limits": (users("ann", None, 1), groups("dev ops", AMPLE))},
        {"groups": ("dev",)},
        {"groups": ("ops",)},
    ),
    "group": (
        {"limits": (users("*", AMPLE), groups("staff", None, 1))},
        {"user": "bob"},
        {"user": "eve"},
    ),
    "room of a user": (
        {"limits": (users("ann", {"vcore": 1}), groups("dev ops", AMPLE))},
        {"groups": ("dev",)},
        {"groups": ("ops",)},
    ),
    "room of a group": (
        {"limits": (users("*", AMPLE), groups("staff", {"vcore": 1}))},
        {"user": "bob"},
        {"user": "eve"},
    ),
}


@pytest.mark.remuda_rule("QUE-22", "LIM-53", "LIM-61", "CYC-25")
@pytest.mark.parametrize("kind", TOGETHER)
@pytest.mark.parametrize("change", [leave, withdraw, grow])
def test_what_one_lets_go_is_for_the_next_with_an_equal_ask(
    kind: str, change: Callable[[Caller], None]
) -> None:
    settings, first, second = TOGETHER[kind]
    door = caller(**settings)
    submit(door, "running", ONE)
    submit(door, "first", ONE, **first)
    submit(door, "second", ONE, **second)
    assert (door.state("first"), door.state("second")) == ("Accepted", "Accepted")
    door.remove("running")
    change(door)
    assert door.order() == ["second"]
    door.scheduler.check()


@pytest.mark.remuda_rule("LIM-53", "LIM-71", "CYC-25")
def test_room_of_a_group_goes_round_among_its_users() -> None:
    door = caller(limits=(users("*", AMPLE), groups("staff", {"vcore": 3})))
    door.app("running")
    door.ask("running", "k", ONE, 3)
    assert len(door.place()) == 3
    for name in ("bob", "eve", "joe"):
        submit(door, name, ONE, user=name)
    door.release("running")
    assert door.order() == ["bob", "eve", "joe"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-22", "LIM-53", "LIM-61", "LIM-62")
@pytest.mark.parametrize(
    "limit", [users("ann", {"vcore": 1}), groups("staff", {"vcore": 1}), groups("staff", ONE, 9)]
)
def test_one_whose_user_or_group_has_no_room_leaves_the_place_to_the_next(limit: Any) -> None:
    door = caller(max_applications=2, limits=(limit, users("bob", AMPLE)))
    submit(door, "holder", ONE)
    for name, user in (("running", "bob"), ("first", "ann"), ("second", "bob")):
        submit(door, name, ONE, user=user, groups=("staff",) if user == "ann" else ())
    assert (door.state("first"), door.state("second")) == ("Accepted", "Accepted")
    door.remove("running")
    assert door.order() == ["second"]
    door.remove("holder")
    assert door.order() == ["first"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-22", "LIM-61")
@pytest.mark.parametrize("limit", [users("ann", None, 1), groups("staff", None, 1)])
def test_one_whose_own_number_is_reached_leaves_the_place_in_the_queue(limit: Any) -> None:
    door = caller(max_applications=2, limits=(limit,))
    for name, user in (("1", "ann"), ("2", "bob"), ("3", "ann"), ("4", "bob")):
        submit(door, name, ONE, user=user, groups=("staff",) if user == "ann" else ())
    assert [door.state(name) for name in "34"] == ["Accepted", "Accepted"]
    door.remove("2")
    assert door.order() == ["4"]
    door.remove("1")
    assert door.order() == ["3"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-22", "LIM-61")
def test_a_place_of_the_queue_above_reaches_the_other_leaf() -> None:
    # One place in root.p came free; in root.p.a only ann waits, who is at her number there.
    door = Caller(
        parent("p", leaf("a", limits=(users("ann", None, 1),)), leaf("b"), max_applications=2)
    )
    door.node("n1", {"vcore": 100})
    for name, queue in (("1", "a"), ("2", "b"), ("3", "a"), ("4", "b")):
        submit(door, name, ONE, queue=f"root.p.{queue}")
    door.remove("2")
    assert door.order() == ["4"]
    door.remove("1")
    assert door.order() == ["3"]


@pytest.mark.remuda_rule("QUE-26", "EVT-23", "EVT-24", "EVT-32")
@pytest.mark.parametrize(
    "kind, detail",
    [("queue", APP_CANNOTRUN_QUEUE), ("user", APP_CANNOTRUN_QUOTA), ("group", APP_CANNOTRUN_QUOTA)],
)
def test_one_that_joins_those_who_wait_is_told_so(kind: str, detail: int) -> None:
    door = caller(**ONE_AT_A_TIME[kind])
    submit(door, "running", ONE)
    for name in ("1", "2", "3"):
        door.app(name)
        door.ask(name, name, ONE)
        assert flags(door) == [(name, detail)]
    assert flags(door) == []


@pytest.mark.remuda_rule("QUE-26", "EVT-32")
def test_all_that_wait_are_told_in_the_order_they_came() -> None:
    door = caller(max_applications=1)
    submit(door, "running", ONE)
    for name in ("2", "3", "1"):
        door.app(name)
        door.ask(name, name, ONE)
    assert flags(door) == [(name, APP_CANNOTRUN_QUEUE) for name in ("2", "3", "1")]


@pytest.mark.remuda_rule("EVT-80", "EVT-83", "LIM-20")
def test_the_link_is_told_again_to_one_that_comes_back() -> None:
    door = Caller(STAFF)
    door.node("n1", {"vcore": 10})
    door.app("app")
    told = [
        ("staff", SET, UG_APP_LINK, "app"),
        ("ann", ADD, UG_USER_RESOURCE, "root.a"),
        ("staff", ADD, UG_GROUP_RESOURCE, "root.a"),
    ]
    for turn in range(3):
        door.ask("app", f"k{turn}", ONE)
        assert tracked(door.step()) == told
        door.release("app")


@pytest.mark.remuda_rule("EVT-80", "EVT-83", "LIM-20")
@pytest.mark.parametrize("settings", ASIDE)
def test_all_that_are_set_aside_together_are_looked_at(settings: dict[str, Any]) -> None:
    door = caller(**settings)
    submit(door, "running", ONE, groups=())
    for name in ("1", "2", "3"):
        door.app(name)
        door.ask(name, name, {"vcore": 1000})
    assert tracked(door.step()) == [("staff", SET, UG_APP_LINK, name) for name in ("1", "2", "3")]


@pytest.mark.remuda_rule("EVT-80", "EVT-83", "LIM-20")
@pytest.mark.parametrize("settings", ASIDE)
def test_one_that_joins_those_set_aside_is_looked_at_once(settings: dict[str, Any]) -> None:
    door = caller(**settings)
    submit(door, "running", ONE, groups=())
    for name in ("1", "2", "3"):
        door.app(name)
        told = door.ask(name, name, {"vcore": 1000}) + door.step()
        assert tracked(told) == [("staff", SET, UG_APP_LINK, name)]
        told = door.ask(name, f"{name} too", {"vcore": 1000}) + door.step()
        assert tracked(told) == []


@pytest.mark.remuda_rule("LIM-24", "LIM-20")
@pytest.mark.parametrize("together", [True, False])
def test_no_group_is_the_result_for_all_that_are_set_aside(*, together: bool) -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    for name in ("1", "2"):
        door.app(name)
        door.ask(name, name, {"vcore": 20})
        if not together:
            door.step()
    door.step()
    door.reload(leaf("a", limits=(groups("staff", {"vcore": 30}, 1),)))
    told = door.step() + door.node("n2", {"vcore": 100})
    assert door.order() == ["1", "2"]
    assert door.usage()["ann"].applications == {}
    assert [record for record in tracked(told) if record[0] == "staff"] == []


def decisions(door: Caller) -> int:
    """Decide until there is nothing to try; how many decisions that took."""
    count = 0
    while door.scheduler.has_work():
        door.step(1)
        count += 1
        assert count < 10_000
    return count


@pytest.mark.remuda_rule("CYC-25", "LIM-71")
@pytest.mark.parametrize("limits", [(), (users("*", {"vcore": 100_000}),)])
def test_one_release_in_a_full_cluster_takes_few_decisions_however_many_users_wait(
    limits: tuple[Any, ...],
) -> None:
    door = Caller(leaf("a"), root={"limits": limits})
    door.node("n1", {"vcore": 200})
    for number in range(200):
        door.app(f"app-{number}", user=f"user-{number}", groups=())
        door.ask(f"app-{number}", "k", ONE, 5)
    decisions(door)
    holders = [name for name, app in door.apps().items() if app.allocations][:5]
    assert door.queue("root").allocated == {"vcore": 200}
    for name in holders:
        door.release(name, door.apps()[name].allocations[0].allocation_id)
        assert door.queue("root").allocated == {"vcore": 199}
        assert decisions(door) <= 5
        assert door.queue("root").allocated == {"vcore": 200}


@pytest.mark.remuda_rule("QUE-26", "EVT-23", "EVT-24", "EVT-32")
@pytest.mark.parametrize(
    "kind, detail",
    [("queue", APP_CANNOTRUN_QUEUE), ("user", APP_CANNOTRUN_QUOTA), ("group", APP_CANNOTRUN_QUOTA)],
)
def test_one_that_comes_while_a_place_is_taken_by_another_is_told_that_it_cannot_run(
    kind: str, detail: int
) -> None:
    door = caller(**ONE_AT_A_TIME[kind])
    submit(door, "running", ONE)
    submit(door, "small", ONE)
    submit(door, "large", {"vcore": 2})
    # The place is for the first of each size; one more of the large size comes before that.
    door.remove("running")
    door.app("late")
    door.ask("late", "late", {"vcore": 2})
    told = events(door.step())
    assert door.state("small") in ("Starting", "Running")
    assert ("late", detail) in [(name, what) for _, name, _, what in told]
    assert ("large", detail) not in [(name, what) for _, name, _, what in told]
