"""A large partition that leaves does so piece by piece, and wholly (OBJ-9, RLD-9)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.messages.events import NODE_DECOMISSION
from tests.unit.core.door import (
    CREATING,
    DAY,
    SECOND,
    Caller,
    answers,
    leaf,
    of,
    parent,
    partition,
    refusal,
    states,
)
from tests.unit.core.reloading import NODE as SIZE
from tests.unit.core.reloading import ONE, home_view, verdict

# Applications or nodes at a time: the work between two looks at other partitions (OBJ-9).
PORTION = 128
DEFAULT = partition(leaf("a"))
BATCH = partition(leaf("a"), name="batch")
MANY = 300


def caller(applications: int = MANY, nodes: int = 1, asks: int = 0) -> Caller:
    """Two partitions; batch has so much, with ``asks`` in each application."""
    door = Caller(partitions=[DEFAULT, BATCH])
    for number in range(nodes):
        door.node(f"n{number}", SIZE, home="batch")
    for number in range(applications):
        door.app(f"app-{number}", partition="batch")
        if asks:
            door.ask(f"app-{number}", "k", ONE, asks, partition="batch")
    return door


def ended(effects: list[Effect]) -> int:
    """How many applications failed."""
    return [state for _, state in states(effects)].count("Failed")


def removed_nodes(effects: list[Effect]) -> int:
    """How many nodes went."""
    records = of(effects, e.EventRecord)
    return len([record for record in records if record.detail == NODE_DECOMISSION])


def of_batch(effects: list[Effect]) -> list[Effect]:
    """What names the partition that left, or one of its applications."""
    return [effect for effect in effects if "batch" in repr(effect) or "app-" in repr(effect)]


def due(door: Caller) -> list[Effect]:
    """What the next timer brings."""
    deadline = door.scheduler.next_deadline()
    assert deadline is not None
    door.now = max(door.now, deadline)
    return door.step(0)


@pytest.mark.remuda_rule("OBJ-9", "RLD-9", "D-C18")
def test_applications_go_in_portions_and_then_the_nodes() -> None:
    door = caller(nodes=MANY)
    assert refusal(door.reload(partitions=[DEFAULT])) == ""
    rounds: list[tuple[int, int]] = []
    while home_view(door, "batch") is not None:
        found = due(door)
        assert door.step(0) == []  # the rest is not due yet
        rounds.append((ended(found), removed_nodes(found)))
        assert sum(rounds[-1]) <= PORTION
        assert rounds[-1] != (0, 0)
        door.scheduler.check()
    assert [sum(column) for column in zip(*rounds, strict=True)] == [MANY, MANY]
    assert len(rounds) >= 2 * MANY // PORTION
    left = MANY
    for applications, nodes in rounds:
        left -= applications
        assert nodes == 0 or left == 0


@pytest.mark.remuda_rule("OBJ-9", "RLD-9")
def test_other_partitions_place_between_two_portions() -> None:
    door = caller()
    door.node("here", SIZE)
    door.app("mine")
    assert refusal(door.reload(partitions=[DEFAULT])) == ""
    for number in range(MANY // PORTION):
        assert ended(due(door)) == PORTION
        door.ask("mine", f"k{number}", ONE)
        assert door.place() == [(f"k{number}-0", "here")]


@pytest.mark.remuda_rule("OBJ-9")
@pytest.mark.parametrize("before", [0, 50])
def test_a_partition_that_leaves_places_nothing_more(before: int) -> None:
    door = caller(asks=2)
    assert len(door.place(before)) == before
    found = door.reload(partitions=[DEFAULT])
    assert refusal(found) == ""
    assert not door.scheduler.has_work()
    for _ in range(10):
        found += [*door.step(10_000), *door.wait(SECOND // 100)]
    assert of(found, e.AllocationNew) == []
    assert ended(found) == MANY
    gone = [one for answer in of(found, e.AllocationsReleased) for one in answer.released]
    assert len(gone) == before


@pytest.mark.remuda_rule("OBJ-9", "RLD-3", "SI-87")
@pytest.mark.parametrize("portions", [0, 1, 2, 3])
def test_the_old_partition_is_ended_before_one_of_its_name_begins(portions: int) -> None:
    door = caller(nodes=3, asks=1)
    door.place(50)
    door.reload(partitions=[DEFAULT])
    found: list[Effect] = []
    for _ in range(portions):
        found += due(door)
    found += door.reload(partitions=[DEFAULT, BATCH])
    assert refusal(found) == ""
    assert (ended(found), removed_nodes(found)) == (MANY, 3)
    assert isinstance(found[-1], e.ConfigurationAnswered)
    view = home_view(door, "batch")
    assert view is not None
    assert (view.state, view.total_nodes, view.total_containers) == ("Active", 0, 0)
    assert answers(of_batch([*door.step(), *door.wait(SECOND), *door.wait(4 * DAY)])) == []
    door.scheduler.check()


@pytest.mark.remuda_rule("OBJ-9", "RLD-3", "APP-17")
def test_the_new_partition_of_that_name_is_left_alone() -> None:
    door = caller(asks=1)
    door.place()
    door.reload(partitions=[DEFAULT])
    due(door)
    door.reload(partitions=[DEFAULT, BATCH])
    (nodes,) = of(door.node("n0", SIZE, home="batch"), e.NodesAnswered)
    assert nodes.accepted == ("n0",)
    assert verdict(door.app("app-299", partition="batch")) == ""
    door.ask("app-299", "k", ONE, 2, partition="batch")
    assert door.place() == [("k-0", "n0"), ("k-1", "n0")]
    found = [*door.wait(SECOND), *door.wait(4 * DAY)]
    assert states(found) == []
    assert of(found, e.AllocationsReleased) == []
    view = home_view(door, "batch")
    assert view is not None
    assert (view.applications, view.total_containers) == ({"Running": 1}, 2)
    door.scheduler.check()


@pytest.mark.remuda_rule("OBJ-9", "RM-9", "APP-16")
@pytest.mark.parametrize("unregister", [False, True])
def test_the_timers_of_a_partition_go_with_it(*, unregister: bool) -> None:
    # Timers of queues that are empty, of applications that start, complete, ended, were refused.
    made = partition(parent("p"), name="batch", placement_rules=(CREATING,))
    door = Caller(partitions=[DEFAULT, made])
    door.node("n0", SIZE, home="batch")
    for name in ("starts", "completes", "goes", "waits"):
        door.app(name, f"root.p.{name}", partition="batch")
    for name in ("starts", "completes"):
        door.ask(name, name, ONE, partition="batch")
    assert len(door.place()) == 2
    release = c.AllocationRelease("completes", partition="batch")
    door.send(c.UpdateAllocations(door.rm, releases=(release,)))
    door.remove("goes", "batch")
    assert verdict(door.app("refused", "root.p", partition="batch"))
    assert door.scheduler.next_deadline() is not None
    if unregister:
        door.send(c.UnregisterResourceManager(door.rm))
    else:
        door.reload(partitions=[DEFAULT])
        while home_view(door, "batch") is not None:
            due(door)
    assert door.scheduler.next_deadline() is None
