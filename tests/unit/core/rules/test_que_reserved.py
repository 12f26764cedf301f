"""Applications that hold a reservation count for their queues (chapter 50 section A.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    APP_CANNOTRUN_QUEUE,
    APP_CANNOTRUN_QUOTA,
    APP_RUNNABLE_QUEUE,
    APP_RUNNABLE_QUOTA,
)
from tests.unit.core.door import SECOND, Caller, events, groups, leaf, parent, users

ONE = {"vcore": 1}
LARGE = {"vcore": 5}
FLAGS = (APP_CANNOTRUN_QUEUE, APP_RUNNABLE_QUEUE, APP_CANNOTRUN_QUOTA, APP_RUNNABLE_QUOTA)


def crowded(*queues: QueueConfig, full: int = 1, **other: Any) -> Caller:
    """Nodes full-1, full-2, ... of ten cores with two left, and two small ones with four.

    A large ask fits a full node by its size only, and a small one not at all.
    """
    door = Caller(*queues, leaf("filler"), **other)
    door.app("filler", "root.filler", user="joe", groups=())
    for number in range(1, full + 1):
        door.node(f"full-{number}", {"vcore": 10})
        door.existing("filler", f"fill-{number}", f"full-{number}", {"vcore": 8})
    for number in (1, 2):
        door.node(f"small-{number}", {"vcore": 4})
    return door


def submit(
    door: Caller, app: str, queue: str, size: dict[str, int], count: int = 1, **who: Any
) -> None:
    """An application with one ask, named like it."""
    door.app(app, queue, **who)
    door.ask(app, app, size, count)


def grow_old(door: Caller) -> list[e.Effect]:
    """Everything that waits gets old enough to reserve."""
    door.now += 2 * SECOND + 1
    return door.step()


def held(door: Caller, app: str) -> list[str]:
    """The nodes an application has reserved."""
    return [node for request in door.apps()[app].requests for node in request.reservations]


def flags(effects: list[e.Effect]) -> list[tuple[str, int]]:
    """Which application was told that it may start, or may not."""
    return [(name, detail) for _, name, _, detail in events(effects) if detail in FLAGS]


def placed(door: Caller) -> list[str]:
    """The keys of everything that can be placed now."""
    return door.order()


def reserved(most: int = 1, **other: Any) -> Caller:
    """x in root.p.a, where root.p may run so many, holds a reservation; it is Accepted."""
    tree = parent("p", leaf("a"), leaf("b"), max_applications=most)
    door = crowded(tree, leaf("c"), **other)
    submit(door, "x", "root.p.a", LARGE)
    assert door.place() == []
    grow_old(door)
    assert (held(door, "x"), door.state("x")) == (["full-1"], "Accepted")
    return door


# --------------------------------------------------------------------------------- counting


@pytest.mark.remuda_rule("QUE-24", "QUE-22", "LIM-70")
@pytest.mark.parametrize("limited", ["root", "root.p", "root.p.a"])
def test_a_reservation_takes_a_place_on_every_level(limited: str) -> None:
    def most(path: str) -> int:
        return 2 if path == limited == "root" else int(path == limited)

    door = crowded(
        parent("p", leaf("a", max_applications=most("root.p.a")), max_applications=most("root.p")),
        root={"max_applications": most("root")},
    )
    submit(door, "x", "root.p.a", LARGE)
    grow_old(door)
    assert held(door, "x") == ["full-1"]
    submit(door, "y", "root.p.a", ONE)
    assert placed(door) == []
    assert door.state("y") == "Accepted"
    door.remove("x")
    assert placed(door) == ["y"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-24", "QUE-23")
def test_it_counts_as_accepted_and_not_as_running() -> None:
    door = reserved()
    for path in ("root.p", "root.p.a"):
        assert door.queue(path).running_applications == 0
    door.release("filler", "fill-1")
    assert door.place() == [("x-0", "full-1")]
    for path in ("root.p", "root.p.a"):
        assert door.queue(path).running_applications == 1


@pytest.mark.remuda_rule("QUE-24", "QUE-22")
def test_the_place_is_taken_from_other_leaves_below_and_not_from_those_beside() -> None:
    door = reserved()
    submit(door, "y", "root.p.b", ONE)
    submit(door, "z", "root.c", ONE)
    assert placed(door) == ["z"]


@pytest.mark.remuda_rule("QUE-24", "QUE-22")
def test_before_the_reservation_it_has_no_place() -> None:
    door = crowded(leaf("a", max_applications=1))
    submit(door, "x", "root.a", LARGE)
    door.now += 2 * SECOND  # not yet old enough
    assert door.step() == []
    submit(door, "y", "root.a", ONE)
    assert placed(door) == ["y"]
    grow_old(door)
    assert held(door, "x") == []  # it may not start, so it may not reserve
    door.remove("y")
    door.step()
    assert held(door, "x") == ["full-1"]


def withdraw(door: Caller) -> None:
    """The RM wants it no more."""
    door.release_ask("x")


def leave(door: Caller) -> None:
    """The application is removed."""
    door.remove("x")


def lose_the_node(door: Caller) -> None:
    """The node leaves, and no other is large enough."""
    door.node("full-1", action=c.DECOMISSION)


def shrink_the_node(door: Caller) -> None:
    """The node is not large enough any more."""
    door.node("full-1", {"vcore": 4}, c.UPDATE)


def grow_the_ask(door: Caller) -> None:
    """The ask is too large for the node now."""
    door.ask("x", "x", {"vcore": 11})


@pytest.mark.remuda_rule("QUE-24", "RSV-9", "APP-19")
@pytest.mark.parametrize("end", [withdraw, leave, lose_the_node, shrink_the_node, grow_the_ask])
@pytest.mark.parametrize("waits_already", [True, False])
def test_the_place_goes_with_the_reservation(
    end: Callable[[Caller], None], *, waits_already: bool
) -> None:
    # Upstream the place stayed taken after a reservation was cancelled.
    door = reserved()
    if waits_already:
        submit(door, "y", "root.p.b", ONE)
        assert placed(door) == []
    end(door)
    if not waits_already:
        submit(door, "y", "root.p.b", ONE)
    assert placed(door) == ["y"]
    assert door.queue("root.p").running_applications == 1
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-24", "CYC-22")
def test_a_drained_node_keeps_the_reservation_and_the_place() -> None:
    door = reserved()
    door.node("full-1", action=c.DRAIN_NODE)
    submit(door, "y", "root.p.b", ONE)
    assert placed(door) == []
    assert held(door, "x") == ["full-1"]


@pytest.mark.remuda_rule("QUE-24", "QUE-22")
def test_who_lost_its_reservation_has_to_ask_for_a_place_like_all_others() -> None:
    door = reserved()
    lose_the_node(door)
    submit(door, "y", "root.p.b", ONE)
    told = flags(door.step())
    assert door.state("y") == "Starting"
    door.node("full-2", {"vcore": 10})
    door.existing("filler", "fill-2", "full-2", {"vcore": 8})
    told += flags(grow_old(door))
    assert (held(door, "x"), told) == ([], [("x", APP_CANNOTRUN_QUEUE)])
    door.remove("y")
    told = flags(door.step())
    assert (held(door, "x"), told) == (["full-2"], [("x", APP_RUNNABLE_QUEUE)])


@pytest.mark.remuda_rule("QUE-24", "QUE-23", "RSV-6")
def test_two_reservations_are_one_place_from_the_first_to_the_last() -> None:
    door = crowded(parent("p", leaf("a"), leaf("b"), max_applications=2), full=2)
    submit(door, "x", "root.p.a", LARGE, 2)
    grow_old(door)
    assert sorted(held(door, "x")) == ["full-1", "full-2"]
    for name in ("y", "z"):
        submit(door, name, "root.p.b", ONE)
    assert placed(door) == ["y"]
    door.node("full-1", action=c.DECOMISSION)
    assert placed(door) == []  # one is left, and with it the place
    door.node("full-2", action=c.DECOMISSION)
    assert placed(door) == ["z"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-24", "QUE-23")
def test_a_running_application_with_a_reservation_counts_once() -> None:
    door = crowded(parent("p", leaf("a"), leaf("b"), max_applications=2), full=2)
    submit(door, "x", "root.p.a", {"vcore": 6}, 2)
    grow_old(door)
    door.release("filler", "fill-1")
    assert placed(door) == ["x"]
    assert (door.state("x"), held(door, "x")) == ("Starting", ["full-2"])
    for name in ("y", "z"):
        submit(door, name, "root.p.b", ONE)
    assert placed(door) == ["y"]
    assert door.queue("root.p").running_applications == 2
    door.release("filler", "fill-2")
    assert placed(door) == ["x"]
    door.remove("x")
    assert placed(door) == ["z"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-24", "QUE-23")
def test_a_reservation_of_a_running_application_takes_no_second_place() -> None:
    door = crowded(leaf("a", max_applications=2))
    submit(door, "x", "root.a", ONE)
    assert placed(door) == ["x"]
    door.ask("x", "more", LARGE)
    grow_old(door)
    assert held(door, "x") == ["full-1"]
    submit(door, "y", "root.a", ONE)
    assert placed(door) == ["y"]
    # Nor does it give one back.
    door.release_ask("x", "more")
    submit(door, "z", "root.a", ONE)
    assert placed(door) == []
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-24", "QUE-23", "APP-6")
def test_reported_work_turns_the_place_of_a_reservation_into_a_running_one() -> None:
    door = reserved(2)
    door.existing("x", "run", "small-1", ONE)
    assert (door.state("x"), held(door, "x")) == ("Starting", ["full-1"])
    for name in ("y", "z"):
        submit(door, name, "root.p.b", ONE)
    assert placed(door) == ["y"]
    door.remove("x")
    assert placed(door) == ["z"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-24", "QUE-22")
def test_as_many_reserve_as_may_run() -> None:
    door = crowded(leaf("a", max_applications=2), full=3)
    for name in ("x", "y", "z"):
        door.now += 1
        submit(door, name, "root.a", LARGE)
    told = flags(grow_old(door))
    assert [held(door, name) for name in "xyz"].count([]) == 1
    assert (held(door, "z"), told) == ([], [("z", APP_CANNOTRUN_QUEUE)])
    door.remove("x")
    door.step()
    assert len(held(door, "z")) == 1


# ------------------------------------------------------------------------------- may start


@pytest.mark.remuda_rule("QUE-22", "QUE-24", "RLD-22")
def test_who_holds_a_reservation_starts_although_the_number_was_lowered() -> None:
    door = crowded(leaf("a", max_applications=2))
    submit(door, "runs", "root.a", ONE)
    assert placed(door) == ["runs"]
    submit(door, "x", "root.a", LARGE)
    grow_old(door)
    assert held(door, "x") == ["full-1"]
    door.reload(leaf("a", max_applications=1), leaf("filler"))
    door.release("filler", "fill-1")
    assert placed(door) == ["x"]
    assert door.queue("root.a").running_applications == 2
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-22", "QUE-24")
def test_who_was_there_first_waits_while_a_reservation_has_the_place() -> None:
    door = crowded(leaf("a", max_applications=1))
    submit(door, "old", "root.a", {"vcore": 100})  # fits nowhere
    door.now += 1
    submit(door, "x", "root.a", LARGE)
    grow_old(door)
    assert (held(door, "x"), held(door, "old")) == (["full-1"], [])
    door.node("huge", {"vcore": 200})
    # Now there is room for both, but one of them holds the only place.
    assert placed(door) == ["x"]
    assert door.state("old") == "Accepted"


@pytest.mark.remuda_rule("QUE-25", "QUE-24", "LIM-61")
@pytest.mark.parametrize("limit", [users("ann", None, 1), groups("staff", None, 1)])
def test_limits_of_users_and_groups_are_asked_all_the_same(limit: Any) -> None:
    door = crowded(leaf("a"), leaf("b"), root={"limits": (limit,)})
    submit(door, "x", "root.a", LARGE)
    grow_old(door)
    assert held(door, "x") == ["full-1"]
    submit(door, "other", "root.b", ONE)
    told = flags(door.step())
    assert door.state("other") == "Starting"  # a reservation is no usage of its user
    door.release("filler", "fill-1")
    told += flags(door.step())
    assert told == [("x", APP_CANNOTRUN_QUOTA)]
    assert (door.state("x"), placed(door)) == ("Accepted", [])
    door.remove("other")
    told = flags(door.step())
    assert told == [("x", APP_RUNNABLE_QUOTA)]
    assert door.state("x") == "Starting"
    assert [node.node_id for node in door.apps()["x"].allocations] == ["full-1"]


# ---------------------------------------------------------------------------------- events


@pytest.mark.remuda_rule("QUE-26", "QUE-25", "EVT-33")
def test_who_holds_the_place_is_told_nothing() -> None:
    door = crowded(leaf("a", max_applications=1))
    submit(door, "x", "root.a", LARGE)
    told = flags(door.step()) + flags(grow_old(door))
    for _ in range(3):
        told += flags(grow_old(door))
        door.ask("x", "more", LARGE)
    door.release("filler", "fill-1")
    told += flags(door.step())
    assert (door.state("x"), told) == ("Running", [])


@pytest.mark.remuda_rule("QUE-26", "QUE-24", "EVT-23")
def test_the_next_is_told_once_that_it_may_not_and_once_that_it_may() -> None:
    door = reserved()
    submit(door, "y", "root.p.b", ONE)
    assert flags(door.step()) == [("y", APP_CANNOTRUN_QUEUE)]
    told = flags(door.ask("y", "more", ONE)) + flags(grow_old(door)) + flags(grow_old(door))
    assert told == []
    effects = door.release_ask("x")
    assert flags(effects + door.step()) == [("y", APP_RUNNABLE_QUEUE)]
    assert door.state("y") in ("Starting", "Running")


@pytest.mark.remuda_rule("QUE-26", "QUE-25", "EVT-23", "EVT-24")
def test_each_flag_is_told_for_itself() -> None:
    # Both the queue and the user have their one application; first the queue lets a second start.
    limits = (users("ann", None, 1),)
    door = Caller(leaf("a", max_applications=1, limits=limits))
    door.node("n1", {"vcore": 10})
    submit(door, "x", "root.a", ONE)
    assert placed(door) == ["x"]
    submit(door, "y", "root.a", ONE)
    told = flags(door.step())
    assert sorted(told) == [("y", APP_CANNOTRUN_QUEUE), ("y", APP_CANNOTRUN_QUOTA)]
    door.reload(leaf("a", max_applications=2, limits=limits))
    assert flags(door.step()) == [("y", APP_RUNNABLE_QUEUE)]
    assert door.state("y") == "Accepted"
    door.reload(leaf("a", max_applications=2))
    assert flags(door.step()) == [("y", APP_RUNNABLE_QUOTA)]
    assert door.state("y") == "Starting"
