"""How many applications of a queue may run (chapter 50, A.5)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    APP,
    APP_CANNOTRUN_QUEUE,
    APP_RUNNABLE_QUEUE,
    NONE,
)
from tests.unit.core.door import (
    CREATING,
    MINUTE,
    SECOND,
    Caller,
    events,
    leaf,
    of,
    parent,
)

ONE = {"vcore": 1}
FLAGS = (APP_CANNOTRUN_QUEUE, APP_RUNNABLE_QUEUE)


def flags(effects: list[e.Effect]) -> list[tuple[str, int]]:
    """Which application was told that the queue holds it back, or no longer does."""
    found = [event for event in events(effects) if event[3] in FLAGS]
    assert {(kind, change) for kind, _, change, _ in found} <= {(APP, NONE)}
    return [(name, detail) for _, name, _, detail in found]


def limited(maximum: int, middle: int = 0) -> Caller:
    """root.p with two leaves; root.p.a may run so many applications, root.p so many."""
    door = Caller(
        parent("p", leaf("a", max_applications=maximum), leaf("b"), max_applications=middle),
        leaf("c"),
    )
    door.node("n1", {"vcore": 100})
    return door


def start(door: Caller, app: str, queue: str = "root.p.a") -> bool:
    """Submit an application with one ask; whether it was placed at once."""
    door.app(app, queue)
    door.ask(app, f"{app}.k", ONE)
    return bool(door.place())


def running(door: Caller) -> list[int]:
    """The running applications of root, root.p and root.p.a."""
    return [door.queue(path).running_applications for path in ("root", "root.p", "root.p.a")]


@pytest.mark.remuda_rule("QUE-22", "LIM-70")
@pytest.mark.parametrize(
    "own, middle, most", [(0, 0, 6), (2, 0, 2), (3, 4, 3), (5, 2, 2), (0, 1, 1)]
)
def test_every_queue_of_the_path_must_agree(own: int, middle: int, most: int) -> None:
    door = limited(own, middle)
    assert sum(start(door, f"{n}") for n in range(6)) == most
    assert running(door) == [most] * 3
    assert start(door, "elsewhere", "root.c")


@pytest.mark.remuda_rule("QUE-22", "LIM-70")
def test_applications_of_all_leaves_below_count() -> None:
    door = limited(2, 3)
    assert [start(door, "1"), start(door, "2"), start(door, "3")] == [True, True, False]
    assert start(door, "4", "root.p.b")
    assert not start(door, "5", "root.p.b")
    assert running(door) == [3, 3, 2]


@pytest.mark.remuda_rule("QUE-22", "RLD-22")
def test_root_may_be_limited_too() -> None:
    door = Caller(leaf("a"), leaf("b"), root={"max_applications": 1})
    door.node("n1", {"vcore": 100})
    assert start(door, "1", "root.a")
    assert not start(door, "2", "root.b")


@pytest.mark.remuda_rule("QUE-23", "CFG-92")
def test_the_count_follows_the_states() -> None:
    door = limited(5)
    door.app("1", "root.p.a")
    door.ask("1", "k", ONE, 2)
    assert running(door) == [0, 0, 0]
    door.step(1)
    assert (door.state("1"), running(door)) == ("Starting", [1, 1, 1])
    door.step(1)
    assert (door.state("1"), running(door)) == ("Running", [1, 1, 1])
    door.release("1")
    assert (door.state("1"), running(door)) == ("Completing", [0, 0, 0])
    door.ask("1", "more", ONE)
    assert (door.state("1"), running(door)) == ("Running", [1, 1, 1])
    door.remove("1")
    assert running(door) == [0, 0, 0]


@pytest.mark.remuda_rule("QUE-23")
def test_leaving_starting_for_completing_gives_the_place_back() -> None:
    door = limited(1)
    assert start(door, "1")
    assert not start(door, "2")
    door.release("1")
    assert running(door) == [0, 0, 0]
    assert door.order() == ["2.k"]


@pytest.mark.remuda_rule("QUE-23", "CFG-92", "QUE-25")
def test_the_count_is_exact_above_the_maximum() -> None:
    door = limited(1)
    assert start(door, "1")
    door.release("1")
    assert start(door, "2")
    door.ask("1", "again", ONE)  # Completing goes on without being asked
    assert door.order() == ["again"]
    assert running(door) == [2, 2, 2]
    assert not start(door, "3")
    door.remove("1")
    assert running(door) == [1, 1, 1]
    assert door.place() == []
    door.remove("2")
    assert running(door) == [0, 0, 0]
    assert door.order() == ["3.k"]


@pytest.mark.remuda_rule("QUE-23", "LIM-7")
def test_reported_applications_run_whatever_the_maximum() -> None:
    door = limited(1)
    for app in ("1", "2", "3"):
        door.app(app, "root.p.a")
        door.existing(app, f"{app}.x", "n1", ONE)
    assert running(door) == [3, 3, 3]
    assert not start(door, "4")
    for app in ("1", "2"):
        door.remove(app)
        assert door.place() == []
    door.remove("3")
    assert door.order() == ["4.k"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-25")
def test_running_applications_go_on_in_a_full_queue() -> None:
    door = limited(1)
    assert start(door, "1")
    door.ask("1", "more", ONE, 4)
    assert door.order() == ["more"] * 4
    assert not start(door, "2")
    assert door.state("2") == "Accepted"
    door.ask("1", "last", ONE)
    assert door.order() == ["last"]


@pytest.mark.remuda_rule("QUE-25", "CYC-11")
def test_the_held_back_do_not_hold_up_other_queues() -> None:
    door = limited(1)
    assert start(door, "1")
    door.app("2", "root.p.a")
    door.ask("2", "k", ONE, 9)
    assert start(door, "3", "root.p.b")
    assert start(door, "4", "root.c")


@pytest.mark.remuda_rule("QUE-26", "EVT-23", "EVT-32")
def test_changes_of_the_flag_are_told_once() -> None:
    door = limited(1)
    assert start(door, "1")
    door.app("2", "root.p.a")
    assert flags(door.ask("2", "k", ONE)) == []
    assert flags(door.step()) == [("2", APP_CANNOTRUN_QUEUE)]
    assert flags(door.step() + door.ask("2", "more", ONE) + door.step()) == []
    assert flags(door.release("1")) == []
    told = door.step()
    assert flags(told) == [("2", APP_RUNNABLE_QUEUE)]
    assert events(told)[0] == (APP, "2", NONE, APP_RUNNABLE_QUEUE)
    record = of(told, e.EventRecord)[0]
    assert (record.reference_id, record.message, record.resource or {}) == ("", "", {})


@pytest.mark.remuda_rule("QUE-26", "EVT-23")
def test_the_flag_may_change_again_and_again() -> None:
    door = limited(1)
    assert start(door, "1")
    door.app("3", "root.p.a")
    door.ask("3", "3.k", ONE)
    door.step()
    door.remove("3")
    for turn in range(3):
        app = f"again-{turn}"
        door.app(app, "root.p.a")
        door.ask(app, "k", ONE)
        assert flags(door.step()) == [(app, APP_CANNOTRUN_QUEUE)]
        door.remove(app)


@pytest.mark.remuda_rule("QUE-26", "QUE-25", "EVT-33", "UPD-1")
def test_running_applications_of_a_full_queue_are_not_told() -> None:
    door = limited(1)
    assert start(door, "1")
    assert flags(door.ask("1", "more", ONE, 3) + door.step()) == []
    assert flags(door.ask("1", "large", {"vcore": 1000}) + door.step()) == []


@pytest.mark.remuda_rule("RLD-22", "D-C20", "QUE-21", "QUE-26")
def test_a_raised_maximum_lets_the_next_start() -> None:
    door = Caller(leaf("a", max_applications=1))
    door.node("n1", {"vcore": 100})
    for app in ("1", "2", "3"):
        door.app(app)
        door.ask(app, f"{app}.k", ONE)
    assert door.order() == ["1.k"]
    door.reload(leaf("a", max_applications=2))
    assert door.queue("root.a").max_applications == 2
    assert flags(told := door.step()) == [("2", APP_RUNNABLE_QUEUE)]
    assert [new.allocation_id for new in of(told, e.AllocationNew)] == ["2.k-0"]
    door.reload(leaf("a"))
    assert door.order() == ["3.k"]


@pytest.mark.remuda_rule("RLD-22", "D-C20", "QUE-25")
def test_a_lowered_maximum_stops_nothing() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 100})
    assert [start(door, app, "root.a") for app in ("1", "2", "3")] == [True] * 3
    door.reload(leaf("a", max_applications=1))
    assert door.queue("root.a").running_applications == 3
    door.ask("2", "more", ONE)
    assert door.order() == ["more"]
    assert not start(door, "4", "root.a")
    door.remove("1")
    door.remove("2")
    assert door.place() == []
    door.remove("3")
    assert door.order() == ["4.k"]


@pytest.mark.remuda_rule("QUE-22", "QUE-3")
def test_a_dynamic_leaf_is_bound_by_its_configured_parent() -> None:
    door = Caller(parent("p", max_applications=2), placement_rules=(CREATING,))
    door.node("n1", {"vcore": 100})
    started = [start(door, app, f"root.p.{app}") for app in ("x", "y", "z")]
    assert started == [True, True, False]


def remove(door: Caller) -> None:
    """The RM removes the running application."""
    door.remove("1")


def complete(door: Caller) -> None:
    """The running application releases everything and ends."""
    door.release("1")
    door.wait(31 * SECOND)


def lose_the_node(door: Caller) -> None:
    """The node with the running application's allocation leaves."""
    door.node("n2", {"vcore": 100})
    door.node("n1", action=c.DECOMISSION)


@pytest.mark.remuda_rule("QUE-23", "APP-19")
@pytest.mark.parametrize("end", [remove, complete, lose_the_node])
@pytest.mark.parametrize("wait", [0, 6 * MINUTE])
def test_every_way_out_gives_the_place_back(end: Callable[[Caller], None], wait: int) -> None:
    door = limited(1)
    assert start(door, "1")
    door.wait(wait)
    assert door.state("1") == ("Running" if wait else "Starting")
    assert not start(door, "2")
    end(door)
    assert door.order() == ["2.k"]
    assert door.state("2") == "Starting"
    assert running(door) == [1, 1, 1]
    door.scheduler.check()
