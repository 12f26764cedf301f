"""What observers are told when limits of users and groups change under running work."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.config.schema import LimitConfig
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    ADD,
    REMOVE,
    SET,
    UG_APP_LINK,
    UG_GROUP_LIMIT,
    UG_GROUP_RESOURCE,
    UG_USER_LIMIT,
    UG_USER_RESOURCE,
)
from tests.unit.core.door import Caller, groups, leaf, of, parent, refusal, tracked, users

ONE = {"vcore": 1}
SOME = {"vcore": 5}
Told = list[tuple[str, int, int, str]]


def caller(*limits: LimitConfig) -> Caller:
    """root.a with these limits, and a large node."""
    door = Caller(leaf("a", limits=limits))
    door.node("n1", {"vcore": 100})
    return door


def start(door: Caller, application_id: str, user: str = "ann", **other: Any) -> None:
    """An application that holds one allocation."""
    door.app(application_id, user=user, **other)
    door.ask(application_id, application_id, ONE)
    assert door.order() == [application_id]


def change(door: Caller, *limits: LimitConfig) -> Told:
    """Reload with other limits of root.a; what is told about users and groups."""
    found = door.reload(leaf("a", limits=limits))
    assert refusal(found) == ""
    door.scheduler.check()
    return tracked(found)


def limits_of(effects: list[e.Effect]) -> Told:
    """The records about limits of users."""
    return [record for record in tracked(effects) if record[2] == UG_USER_LIMIT]


def user_limit(name: str, change: int, path: str = "root.a") -> tuple[str, int, int, str]:
    """The record of a limit of a user."""
    return (name, change, UG_USER_LIMIT, path)


@pytest.mark.remuda_rule("EVT-83", "EVT-81", "EVT-74")
def test_a_name_in_place_of_the_wildcard_is_told_as_one_change() -> None:
    door = caller(users("*", SOME))
    start(door, "1")
    assert change(door, users("ann", SOME)) == [user_limit("ann", SET)]
    assert change(door, users("ann", SOME), users("*", SOME)) == []


@pytest.mark.remuda_rule("EVT-83", "EVT-81", "EVT-74")
def test_the_wildcard_in_place_of_a_name_holds_for_whoever_counts() -> None:
    door = caller(users("ann bob", SOME))
    start(door, "1")
    found = change(door, users("*", SOME))
    assert sorted(found) == sorted(
        [user_limit("ann", REMOVE), user_limit("bob", REMOVE), user_limit("ann", SET)]
    )
    assert found.index(user_limit("ann", REMOVE)) < found.index(user_limit("ann", SET))


@pytest.mark.remuda_rule("EVT-81", "EVT-82", "EVT-74", "EVT-83")
@pytest.mark.parametrize("size", [None, SOME])
def test_another_number_of_applications_is_a_change(size: dict[str, int] | None) -> None:
    def limits(number: int) -> tuple[LimitConfig, ...]:
        of_users = (users("ann", size, number), users("*", size, number))
        return (*of_users, groups("staff *", size, number))

    door = caller(*limits(3))
    start(door, "1")
    start(door, "2", user="bob")
    told = [
        ("*", SET, UG_GROUP_LIMIT, "root.a"),
        user_limit("ann", SET),
        user_limit("bob", SET),
        ("staff", SET, UG_GROUP_LIMIT, "root.a"),
    ]
    assert sorted(change(door, *limits(4))) == told
    assert change(door, *limits(4)) == []


@pytest.mark.remuda_rule("EVT-83", "LIM-46")
def test_a_changed_wildcard_is_not_told_of_who_only_waits() -> None:
    door = caller(users("*", SOME))
    door.app("1")
    door.ask("1", "k", {"vcore": 99})
    assert limits_of(door.step()) == []
    assert change(door, users("*", {"vcore": 6})) == []
    assert change(door) == []
    assert change(door, users("*", {"vcore": 200})) == []
    assert limits_of(door.step()) == [user_limit("ann", SET)]


@pytest.mark.remuda_rule("EVT-83", "LIM-46")
@pytest.mark.parametrize("end", ["release", "remove"])
def test_the_wildcard_is_told_away_with_the_last_application_that_counts(end: str) -> None:
    door = caller(users("*", SOME))
    start(door, "1")
    door.app("2")
    door.ask("2", "large", {"vcore": 1, "gpu": 1})
    door.step()
    gone = door.release("1", "1-0") if end == "release" else door.remove("1")
    assert limits_of(gone) == [user_limit("ann", REMOVE)]
    assert change(door, users("*", SOME)) == []
    assert limits_of(door.remove("2")) == []
    start(door, "3")
    assert limits_of(door.remove("3")) == [user_limit("ann", REMOVE)]


@pytest.mark.remuda_rule("EVT-83", "LIM-46")
def test_the_wildcard_is_told_again_while_somebody_waits() -> None:
    door = caller(users("*", SOME))
    door.app("waits")
    door.ask("waits", "large", {"vcore": 1, "gpu": 1})
    door.step()
    for name in ("1", "2"):
        door.app(name)
        door.ask(name, name, ONE)
        assert limits_of(door.step()) == [user_limit("ann", SET)]
        assert limits_of(door.remove(name)) == [user_limit("ann", REMOVE)]


@pytest.mark.remuda_rule("EVT-83")
def test_whom_a_wildcard_concerns_is_told_by_name_whoever_came_first() -> None:
    def queues(*limits: LimitConfig) -> tuple[object, ...]:
        return (parent("p", leaf("a", limits=limits), limits=limits),)

    door = Caller(*queues())  # type: ignore[arg-type]
    door.node("n1", {"vcore": 100})
    for name in ("eve", "bob", "ann"):
        start(door, name, user=name, queue="root.p.a")
    names = ("ann", "bob", "eve")
    for limits, told in (((users("*", SOME),), SET), ((), REMOVE)):
        found = tracked(door.reload(*queues(*limits)))  # type: ignore[arg-type]
        expected = [(name, path) for name in names for path in ("root.p", "root.p.a")]
        assert found == [user_limit(name, told, path) for name, path in expected]


@pytest.mark.remuda_rule("EVT-83", "LIM-46")
@pytest.mark.parametrize("end", ["release", "remove"])
def test_the_wildcard_stays_while_another_application_counts(end: str) -> None:
    door = caller(users("*", SOME))
    for name in "123":
        start(door, name)
    for name, told in (("2", []), ("1", []), ("3", [user_limit("ann", REMOVE)])):
        gone = door.release(name) if end == "release" else door.remove(name)
        assert limits_of(gone) == told


@pytest.mark.remuda_rule("EVT-80", "EVT-83", "LIM-64")
@pytest.mark.parametrize("between", [False, True])
def test_those_that_wait_are_linked_anew_at_the_next_look(*, between: bool) -> None:
    door = caller(groups("dev", SOME))
    for name in "123":
        door.app(name, groups=("dev", "ops"))
        door.ask(name, "large", {"vcore": 500})
    assert tracked(door.step()) == [("dev", SET, UG_APP_LINK, name) for name in "123"]
    if between:
        assert change(door) == [("dev", REMOVE, UG_GROUP_LIMIT, "root.a")]
        assert tracked(door.step()) == []
    found = change(door, groups("ops", SOME))
    assert [record for record in found if record[2] != UG_GROUP_LIMIT] == []
    assert tracked(door.step()) == [("ops", SET, UG_APP_LINK, name) for name in "123"]


@pytest.mark.remuda_rule("LIM-64", "EVT-79", "EVT-80", "D-U7")
@pytest.mark.parametrize("steps", [True, False])
def test_limits_that_come_back_hold_again_for_what_runs(*, steps: bool) -> None:
    limit = groups("staff", {"vcore": 3})
    door = caller(limit)
    door.app("1")
    door.ask("1", "k", ONE, 10)
    held = len(door.place())
    assert held == 3
    for _ in range(2):
        change(door)
        held += len(door.place(1)) if steps else 0
        assert door.usage()["ann"].applications == {}
        told = [record for record in change(door, limit) if record[2] != UG_GROUP_LIMIT]
        assert told == [
            ("staff", SET, UG_APP_LINK, "1"),
            ("staff", ADD, UG_GROUP_RESOURCE, "root.a"),
        ]
        assert door.place() == []
        staff = door.usage(of_groups=True)["staff"]
        assert (staff.applications, staff.queues.used) == ({"1": "staff"}, {"vcore": held})
    assert held == (5 if steps else 3)


@pytest.mark.remuda_rule("LIM-64", "LIM-24")
def test_a_cut_link_is_made_to_the_group_that_a_later_change_brings() -> None:
    door = caller(groups("dev", SOME))
    start(door, "cut", groups=("dev", "ops"))
    start(door, "never", groups=("ops",))
    change(door)
    door.ask("cut", "more", ONE)
    assert door.order() == ["more"]
    change(door)
    change(door, groups("ops", {"vcore": 2}))
    # One was in a group that went; "no group" was the result of the other's own look.
    assert door.usage()["ann"].applications == {"cut": "ops"}
    door.ask("cut", "last", ONE)
    assert door.place() == []
    door.ask("never", "last too", ONE)
    assert door.order() == ["last too"]


@pytest.mark.remuda_rule("LIM-20", "LIM-24", "LIM-64")
def test_a_cut_link_is_forgotten_with_all_that_the_application_held() -> None:
    door = caller(groups("dev", SOME))
    start(door, "1", groups=("dev", "ops"))
    change(door)
    door.release("1")
    door.ask("1", "again", ONE)
    assert door.order() == ["again"]  # "no group" is the result of this look
    change(door, groups("ops", SOME))
    assert door.usage()["ann"].applications == {}


@pytest.mark.remuda_rule("EVT-78", "EVT-79", "LIM-64")
def test_what_is_told_of_a_group_adds_up_over_changes_of_limits() -> None:
    limit = groups("staff", {"vcore": 50})
    door = caller(limit)
    start(door, "1")
    start(door, "2")
    sums = {"staff": 2, "ann": 2}

    def add(effects: list[e.Effect]) -> None:
        for record in of(effects, e.EventRecord):
            if record.detail in (UG_USER_RESOURCE, UG_GROUP_RESOURCE):
                sign = 1 if record.change == ADD else -1
                sums[record.object_id] += sign * (record.resource or {}).get("vcore", 0)

    for turn, limits in enumerate(((), (limit,), (), (), (limit,))):
        key = f"again-{turn}"
        add(door.reload(leaf("a", limits=limits)))
        assert sums == {"staff": 2 if limits else 0, "ann": 2}
        add(door.ask("1", key, ONE) + door.step())
        assert sums == {"staff": 3 if limits else 0, "ann": 3}
        add(door.release("1", key=key))
        assert sums == {"staff": 2 if limits else 0, "ann": 2}
    add(door.remove("1") + door.remove("2"))
    assert sums == {"staff": 0, "ann": 0}
