"""Stopped queues (QUE-4, QUE-32): no command stops one, so the tests set the state themselves."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.effects import AllocationNew, ContainerStateUpdated
from remuda.core.model import states
from remuda.core.model.queues.queue import Queue
from tests.unit.core.door import SECOND, Caller, leaf, of, parent

ONE = {"vcore": 1}


def inside(door: Caller, path: str) -> Queue:
    """The scheduler's own record of a queue: nothing in the interface stops one."""
    (partition,) = door.scheduler._cluster.partitions()
    found = partition.queue(path)
    assert found is not None
    return found


def set_state(door: Caller, path: str, state: str) -> None:
    """Stop or start a queue; nothing in the interface does."""
    queue = inside(door, path)
    queue.state = state
    partition = door.scheduler._cluster.partitions()[0]
    partition.renew_shares(queue)
    door.send(c.UpdateAllocations(door.rm))
    door.scheduler.check()


def two_leaves() -> Caller:
    """root.a and root.b, each with an application that wants two cores."""
    door = Caller(leaf("a"), leaf("b"))
    door.node("n1", {"vcore": 10})
    for name in ("a", "b"):
        door.app(name, f"root.{name}")
        door.ask(name, f"{name}.k", ONE, 2)
    return door


@pytest.mark.remuda_rule("QUE-4", "QUE-32")
def test_a_stopped_leaf_is_passed_over() -> None:
    door = two_leaves()
    set_state(door, "root.a", states.STOPPED)
    assert door.queue("root.a").status == "Stopped"
    placed = [new for new, _ in door.place()]
    assert placed == ["b.k-0", "b.k-1"]
    assert door.queue("root.a").pending == {"vcore": 2}


@pytest.mark.remuda_rule("QUE-4", "QUE-32")
def test_a_started_leaf_is_served_again() -> None:
    door = two_leaves()
    set_state(door, "root.a", states.STOPPED)
    door.place()
    set_state(door, "root.a", states.ACTIVE)
    assert [new for new, _ in door.place()] == ["a.k-0", "a.k-1"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-4", "QUE-32")
def test_asks_that_come_while_a_leaf_is_stopped_wait_for_its_start() -> None:
    door = two_leaves()
    set_state(door, "root.a", states.STOPPED)
    door.ask("a", "late", ONE)
    door.node("n2", {"vcore": 10})
    assert {new for new, _ in door.place()} == {"b.k-0", "b.k-1"}
    set_state(door, "root.a", states.ACTIVE)
    assert [new for new, _ in door.place()] == ["a.k-0", "a.k-1", "late-0"]


@pytest.mark.remuda_rule("QUE-4", "QUE-32")
def test_nothing_below_a_stopped_parent_is_served() -> None:
    door = Caller(parent("p", leaf("a"), leaf("b")), leaf("c"))
    door.node("n1", {"vcore": 10})
    for name, path in (("a", "root.p.a"), ("b", "root.p.b"), ("c", "root.c")):
        door.app(name, path)
        door.ask(name, name, ONE)
    set_state(door, "root.p", states.STOPPED)
    assert door.order() == ["c"]
    set_state(door, "root.p", states.ACTIVE)
    assert door.order() == ["a", "b"]


def reserved() -> Caller:
    """An application in root.p.a has reserved the one node, on which root.c has work."""
    door = Caller(parent("p", leaf("a")), leaf("c"))
    door.node("n1", {"vcore": 10})
    door.node("n2", {"vcore": 4})  # too small for x
    door.app("filler", "root.c")
    door.existing("filler", "fill", "n1", {"vcore": 8})
    door.app("x", "root.p.a")
    door.ask("x", "x", {"vcore": 5})
    door.now += 2 * SECOND + 1
    door.step()
    assert door.apps()["x"].requests[0].reservations == ("n1",)
    return door


@pytest.mark.remuda_rule("QUE-4", "QUE-32", "CYC-19")
@pytest.mark.parametrize("path", ["root.p.a", "root.p"])
def test_a_reservation_in_a_stopped_queue_waits_for_its_start(path: str) -> None:
    door = reserved()
    set_state(door, path, states.STOPPED)
    door.release("filler", "fill")
    assert of(door.step(5), AllocationNew) == []
    assert not door.scheduler.has_work()
    set_state(door, path, states.ACTIVE)
    assert door.order() == ["x"]
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-4", "QUE-32", "CYC-19")
def test_a_stopped_queue_with_a_reservation_does_not_hold_up_the_others() -> None:
    door = reserved()
    set_state(door, "root.p", states.STOPPED)
    door.release("filler", "fill")
    door.ask("filler", "more", {"vcore": 1}, 2)
    placed = [new.node_id for new in of(door.step(50), AllocationNew)]
    assert placed == ["n2", "n2"]  # n1 is still reserved


@pytest.mark.remuda_rule("QUE-4", "QUE-32", "RSV-3")
def test_a_stopped_queue_reserves_nothing() -> None:
    door = Caller(leaf("a"), leaf("c"))
    door.node("n1", {"vcore": 10})
    door.node("n2", {"vcore": 4})  # too small for x
    door.app("filler", "root.c")
    door.existing("filler", "fill", "n1", {"vcore": 8})
    door.app("x")
    door.ask("x", "x", {"vcore": 5})
    set_state(door, "root.a", states.STOPPED)
    door.now += 2 * SECOND + 1
    door.step(50)
    assert door.node_view("n1").reservations == ()
    set_state(door, "root.a", states.ACTIVE)
    door.step(50)
    assert door.node_view("n1").reservations == (("x", "x"),)


@pytest.mark.remuda_rule("CYC-30", "QUE-32")
@pytest.mark.parametrize("path", ["root.p", "root.p.a"])
def test_nothing_is_reported_of_a_stopped_queue_without_neighbours(path: str) -> None:
    door = Caller(parent("p", leaf("a")))
    door.node("n1", {"vcore": 4})
    door.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
    door.app("x", "root.p.a")
    door.ask("x", "x", {"vcore": 5})
    door.step()
    set_state(door, path, states.STOPPED)
    door.now += SECOND
    assert of(door.step(), ContainerStateUpdated) == []
    set_state(door, path, states.ACTIVE)
    door.now += SECOND
    assert [told.allocation_key for told in of(door.step(), ContainerStateUpdated)] == ["x"]
