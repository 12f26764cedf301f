"""Operators start and stop queues and partitions (chapter 80 section 2, EXT-25)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from remuda.core.model import states
from tests.unit.core.door import (
    CREATING,
    MINUTE,
    SECOND,
    Caller,
    existing_allocation,
    leaf,
    of,
    parent,
    partition,
)

ONE = {"vcore": 1}


def change(door: Caller, action: int, queue: str = "", home: str = "") -> tuple[str, str, str]:
    """Send one action; previous state, current state and rule of the refusal."""
    found = door.send(c.ChangeObjectState(door.rm, home, queue, action))
    door.scheduler.check()
    (answer,) = of(found, e.ObjectStateAnswered)
    assert len(found) == 1
    assert bool(answer.reason) is bool(answer.rule)
    return answer.previous, answer.current, answer.rule


def view(door: Caller, name: str = "default") -> q.PartitionView:
    """One partition."""
    views = door.scheduler.view(q.PartitionsQuery())
    assert isinstance(views, tuple)
    (found,) = [x for x in views if isinstance(x, q.PartitionView) and x.name == name]
    return found


@pytest.mark.remuda_rule("OBJ-1", "OBJ-2", "OBJ-4", "QLC-1")
def test_the_table_of_states_is_that_of_the_specification() -> None:
    table = {
        ("Active", "Remove"): "Draining",
        ("Active", "Start"): "Active",
        ("Active", "Stop"): "Stopped",
        ("Draining", "Remove"): "Draining",
        ("Draining", "Start"): "Active",
        ("Stopped", "Remove"): "Draining",
        ("Stopped", "Start"): "Active",
        ("Stopped", "Stop"): "Stopped",
    }
    assert table == states.OBJECT


@pytest.mark.remuda_rule("OBJ-4", "EXT-25")
def test_a_queue_is_stopped_and_started() -> None:
    door = Caller(leaf("a"))
    assert change(door, c.STOP, "root.a") == ("Active", "Stopped", "")
    assert door.queue("root.a").status == "Stopped"
    assert change(door, c.STOP, "root.a") == ("Stopped", "Stopped", "")
    assert change(door, c.START, "root.a") == ("Stopped", "Active", "")
    assert change(door, c.START, "ROOT.A") == ("Active", "Active", "")


@pytest.mark.remuda_rule("OBJ-4", "QUE-4")
@pytest.mark.parametrize("path", ["root", "root.p", "root.p.a"])
def test_a_stopped_queue_is_skipped_with_all_below_it(path: str) -> None:
    door = Caller(parent("p", leaf("a")))
    door.node("n1", {"vcore": 10})
    door.app("app", "root.p.a")
    door.ask("app", "k", ONE)
    change(door, c.STOP, path)
    assert not door.scheduler.has_work()
    assert door.place() == []
    # Everything else works.
    door.app("other", "root.p.a")
    door.ask("other", "l", ONE)
    assert of(door.existing("app", "old", "n1", ONE), e.AllocationNew) != []
    assert of(door.release("app", "old"), e.AllocationsReleased) != []
    change(door, c.START, path)
    assert door.place() == [("k-0", "n1"), ("l-0", "n1")]


@pytest.mark.remuda_rule("OBJ-4", "RLD-29")
def test_a_stopped_queue_stays_so_when_the_configuration_changes() -> None:
    door = Caller(leaf("a"))
    change(door, c.STOP, "root.a")
    door.reload(leaf("a", maximum=ONE), leaf("b"))
    assert door.queue("root.a").status == "Stopped"


@pytest.mark.remuda_rule("OBJ-2", "OBJ-4", "QLC-1")
def test_a_stopped_queue_that_is_configured_no_more_drains() -> None:
    door = Caller(leaf("a"), leaf("b"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "k", ONE)
    change(door, c.STOP, "root.a")
    door.reload(leaf("b"))
    assert door.queue("root.a").status == "Draining"
    assert change(door, c.STOP, "root.a") == ("Draining", "Draining", "OBJ-4")
    assert door.place() == [("k-0", "n1")]
    assert change(door, c.START, "root.a") == ("Draining", "Active", "")


@pytest.mark.remuda_rule("OBJ-8", "EXT-25")
def test_a_stopped_partition_places_and_takes_nothing() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "k", ONE)
    assert change(door, c.STOP) == ("Active", "Stopped", "")
    assert view(door).state == "Stopped"
    assert door.place() == []
    (apps,) = of(door.app("late"), e.ApplicationsAnswered)
    assert [(x.subject, x.rule) for x in apps.rejected] == [("late", "OBJ-8")]
    assert "partition is stopped" in apps.rejected[0].reason
    (nodes,) = of(door.node("n2", ONE), e.NodesAnswered)
    assert [(x.subject, x.rule) for x in nodes.rejected] == [("n2", "OBJ-8")]
    (gone,) = of(door.existing("app", "old", "n1", ONE), e.AllocationsRejected)
    assert [(x.subject, x.rule) for x in gone.rejected] == [("old", "OBJ-8")]
    door.scheduler.check()
    assert change(door, c.START, home="[rm]default") == ("Stopped", "Active", "")
    assert door.place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("SI-40", "OBJ-8", "NODE-6")
def test_a_node_with_allocations_is_taken_once_the_partition_is_started() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    change(door, c.STOP)
    runs = (existing_allocation("app", "old", "n1", ONE),)
    (refused,) = of(door.node("n1", ONE, existing=runs), e.NodesAnswered)
    assert [x.subject for x in refused.rejected] == ["n1"]
    change(door, c.START)
    (taken,) = of(door.node("n1", ONE, existing=runs), e.NodesAnswered)
    assert taken.accepted == ("n1",)


@pytest.mark.remuda_rule("OBJ-10")
def test_the_time_of_a_state_is_that_of_its_last_real_change() -> None:
    door = Caller(leaf("a"))
    began = view(door).state_time_ns
    door.now += MINUTE
    change(door, c.START)
    assert view(door).state_time_ns == began
    change(door, c.STOP)
    stopped = view(door).state_time_ns
    assert stopped == began + MINUTE
    door.now += SECOND
    change(door, c.STOP)
    assert view(door).state_time_ns == stopped


@pytest.mark.remuda_rule("OBJ-9", "EXT-25")
def test_only_the_named_partition_stops() -> None:
    door = Caller(partitions=[partition(leaf("a")), partition(leaf("a"), name="gpu")])
    for name in ("default", "gpu"):
        door.node(f"n-{name}", {"vcore": 10}, home=name)
        door.app(name, partition=name)
        door.ask(name, name, ONE, partition=name)
    change(door, c.STOP, home="gpu")
    assert door.order() == ["default"]
    assert change(door, c.STOP, "root.a", "gpu") == ("Active", "Stopped", "")
    change(door, c.START, home="gpu")
    assert door.order() == []
    change(door, c.START, "root.a", "gpu")
    assert door.order() == ["gpu"]


@pytest.mark.remuda_rule("EXT-25", "RM-22")
@pytest.mark.parametrize(
    "home, queue, action, words",
    [
        ("none", "", c.STOP, "partition 'none' doesn't exist"),
        ("[b]default", "", c.STOP, "partition '[b]default' doesn't exist"),
        ("", "root.none", c.STOP, "queue 'root.none' doesn't exist in partition default"),
        ("", "a", c.STOP, "queue 'a' doesn't exist in partition default"),
        ("", "root.a", 0, "action 0 is none: 1 starts, 2 stops"),
        ("", "root.a", 7, "action 7 is none: 1 starts, 2 stops"),
    ],
)
def test_what_is_not_there_cannot_be_stopped(
    home: str, queue: str, action: int, words: str
) -> None:
    door = Caller(leaf("a"))
    (answer,) = of(door.send(c.ChangeObjectState("rm", home, queue, action)), e.ObjectStateAnswered)
    assert (answer.reason, answer.rule, answer.previous) == (words, "EXT-25", "")
    assert view(door).state == "Active"
    assert door.queue("root.a").status == "Active"


@pytest.mark.remuda_rule("OBJ-5", "OBJ-6")
def test_a_stopped_queue_that_is_empty_is_not_removed_unless_it_is_dynamic() -> None:
    door = Caller(leaf("a"), parent("p"), placement_rules=(CREATING,))
    door.app("app", "root.p.new")
    change(door, c.STOP, "root.a")
    assert change(door, c.STOP, "root.p.new") == ("Active", "Stopped", "")
    door.remove("app")
    door.wait(MINUTE)
    assert door.queue("root.a").status == "Stopped"
    assert door.queue("root.p").children == ()


def gate_of(door: Caller) -> tuple[str, str] | None:
    """Why the one ask of the one application waits."""
    (ask,) = door.apps()["app"].requests
    return None if ask.finding is None else (ask.finding.gate, ask.finding.subject)


@pytest.mark.remuda_rule("CYC-24", "OBJ-4", "OBJ-8", "RM-15", "EXT-6")
def test_an_ask_says_who_keeps_it_from_being_tried() -> None:
    door = Caller(parent("p", leaf("a")))
    door.node("n1", {"vcore": 4})
    door.app("app", "root.p.a")
    door.ask("app", "k", {"vcore": 5})
    door.step()
    assert gate_of(door) == ("queue quota", "root")
    change(door, c.STOP, "root.p")
    assert gate_of(door) == ("stopped by an operator", "root.p")
    change(door, c.STOP)
    assert gate_of(door) == ("stopped by an operator", "default")
    for timers in (True, False):
        door.send(c.PauseResourceManager("rm", timers))
        assert gate_of(door) == ("resource manager is paused", "rm")
        door.send(c.ResumeResourceManager("rm", timers))
    change(door, c.START)
    assert gate_of(door) == ("stopped by an operator", "root.p")
    change(door, c.START, "root.p")
    door.step()
    assert gate_of(door) == ("queue quota", "root")
