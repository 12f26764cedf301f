"""Asks inside an application: their order and what replaces them (QUE-44, QUE-45, QUE-46)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.effects import AsksRejected
from tests.unit.core.door import Caller, leaf, of

ONE = {"vcore": 1}


def caller() -> Caller:
    """A leaf, a large node and an application."""
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 100, "memory": 100})
    door.app("app")
    return door


def together(door: Caller, *asks: c.Ask) -> None:
    """Asks of one request, and so of one instant."""
    door.send(c.UpdateAllocations(door.rm, asks=asks))


def wanted(door: Caller, path: str = "root") -> dict[str, int]:
    """What is pending there, without zeros."""
    return {kind: amount for kind, amount in door.queue(path).pending.items() if amount}


# ---------------------------------------------------------------------------------- order


@pytest.mark.remuda_rule("QUE-44")
def test_priority_comes_before_age_and_age_before_arrival_within_an_instant() -> None:
    door = caller()
    together(door, c.Ask("app", "b", ONE, priority=1), c.Ask("app", "a", ONE))
    door.now += 1
    together(
        door,
        c.Ask("app", "d", ONE, priority=1),
        c.Ask("app", "c", ONE),
        c.Ask("app", "e", ONE, priority=2),
        c.Ask("app", "f", ONE, priority=-1),
    )
    assert door.order() == ["e", "b", "d", "a", "c", "f"]


@pytest.mark.remuda_rule("QUE-44")
def test_all_of_an_ask_come_before_the_next_whatever_their_sizes() -> None:
    door = caller()
    door.ask("app", "first", {"vcore": 5}, 3)
    door.now += 1
    door.ask("app", "second", ONE, 2)
    assert door.order() == ["first"] * 3 + ["second"] * 2


@pytest.mark.remuda_rule("QUE-44")
def test_an_ask_that_got_everything_is_passed_over_and_comes_back_in_its_place() -> None:
    door = caller()
    for key in ("old", "young"):
        door.ask("app", key, ONE)
        door.now += 1
    assert door.order() == ["old", "young"]
    door.ask("app", "young", ONE, 2)
    door.now += 1
    door.ask("app", "old", ONE, 2)
    assert [identity for identity, _ in door.place()] == ["old-1", "young-1"]


@pytest.mark.remuda_rule("QUE-44", "QUE-46")
@pytest.mark.parametrize("gone", list("abcde"))
def test_one_of_many_equals_can_be_removed(gone: str) -> None:
    # Upstream the removal among asks of one instant missed its target.
    door = caller()
    together(door, *(c.Ask("app", key, ONE) for key in "caebd"))
    door.release_ask("app", gone)
    assert door.order() == [key for key in "caebd" if key != gone]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-44", "QUE-46")
@pytest.mark.parametrize(
    "key, priority, order",
    [
        ("c", 1, "cabd"),
        ("c", -1, "abdc"),
        ("c", 0, "abcd"),
        ("a", -1, "bcda"),
        ("d", 5, "dabc"),
    ],
)
def test_a_new_priority_moves_an_ask_among_its_equals(key: str, priority: int, order: str) -> None:
    door = caller()
    together(door, *(c.Ask("app", each, ONE) for each in "abcd"))
    door.now += 1
    door.ask("app", key, ONE, priority=priority)
    assert "".join(door.order()) == order


@pytest.mark.remuda_rule("QUE-44", "QUE-46")
def test_an_ask_that_left_and_came_back_is_the_youngest() -> None:
    door = caller()
    together(door, *(c.Ask("app", each, ONE) for each in "abc"))
    door.release_ask("app", "a")
    door.ask("app", "a", ONE)
    assert door.order() == ["b", "c", "a"]


# -------------------------------------------------------------------------------- refusals


@pytest.mark.remuda_rule("QUE-45")
@pytest.mark.parametrize(
    "size, count",
    [
        ({"vcore": 1}, 0),
        ({"vcore": 1}, -1),
        ({"vcore": 0}, 1),
        ({"vcore": 0, "memory": 0}, 2),
        ({}, 1),
        ({"vcore": -1}, 1),
        ({"vcore": 1, "memory": -1}, 1),
    ],
)
def test_an_ask_for_nothing_or_less_is_refused(size: dict[str, int], count: int) -> None:
    door = caller()
    (answer,) = of(door.ask("app", "k", size, count), AsksRejected)
    (bad,) = answer.rejected
    assert (bad.subject, bad.application_id) == ("k", "app")
    assert wanted(door) == {}
    assert door.state("app") == "New"
    assert not door.scheduler.has_work()


@pytest.mark.remuda_rule("QUE-45", "QUE-46")
@pytest.mark.parametrize("size, count", [({"vcore": 2}, 0), ({"vcore": 0}, 1), ({"vcore": -2}, 1)])
def test_a_refused_change_leaves_the_ask_as_it_is(size: dict[str, int], count: int) -> None:
    door = caller()
    door.ask("app", "k", {"vcore": 2}, 3)
    assert of(door.ask("app", "k", size, count), AsksRejected)
    assert wanted(door) == {"vcore": 6}
    assert len(door.place()) == 3


@pytest.mark.remuda_rule("QUE-45")
def test_an_explicit_zero_beside_something_is_fine() -> None:
    door = caller()
    assert not of(door.ask("app", "k", {"vcore": 1, "gpu": 0}), AsksRejected)
    assert door.order() == ["k"]


# ----------------------------------------------------------------------------- replacement


@pytest.mark.remuda_rule("QUE-46", "QUE-11")
@pytest.mark.parametrize(
    "size, count, pending",
    [
        ({"vcore": 2}, 3, {"vcore": 6}),  # the same again
        ({"vcore": 2}, 5, {"vcore": 10}),
        ({"vcore": 2}, 1, {"vcore": 2}),
        ({"vcore": 1}, 3, {"vcore": 3}),
        ({"memory": 4}, 3, {"memory": 12}),
        ({"vcore": 3, "memory": 1}, 2, {"vcore": 6, "memory": 2}),
    ],
)
def test_pending_changes_by_the_difference_on_every_level(
    size: dict[str, int], count: int, pending: dict[str, int]
) -> None:
    door = caller()
    door.ask("app", "other", {"disk": 1})
    door.ask("app", "k", {"vcore": 2}, 3)
    door.ask("app", "k", size, count)
    for path in ("root", "root.a"):
        assert wanted(door, path) == {**pending, "disk": 1}
    assert {k: v for k, v in door.apps()["app"].pending.items() if v} == {**pending, "disk": 1}
    assert [identity for identity, _ in door.place()] == [f"k-{n}" for n in range(count)]
    assert wanted(door) == {"disk": 1}
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-46")
def test_what_was_made_before_the_change_stays_and_counts() -> None:
    door = caller()
    door.ask("app", "k", {"vcore": 2}, 3)
    door.place(2)
    door.ask("app", "k", {"vcore": 5}, 4)
    assert wanted(door) == {"vcore": 10}
    assert [identity for identity, _ in door.place()] == ["k-2", "k-3"]
    assert door.queue("root.a").allocated == {"vcore": 14}


@pytest.mark.remuda_rule("QUE-46")
def test_of_the_replaced_ask_nothing_is_ever_placed() -> None:
    # The new one fits nowhere; the old one would.
    door = caller()
    door.ask("app", "k", ONE, 2)
    door.ask("app", "k", {"vcore": 101}, 2)
    assert door.place() == []
    door.release_ask("app", "k")
    door.node("n2", {"vcore": 500})
    assert door.place() == []
    assert (wanted(door), door.queue("root").allocated) == ({}, {})
    door.scheduler.check()
