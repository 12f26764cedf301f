"""What a node request does: the table of chapter 70, section 9."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import (
    Caller,
    answers,
    existing_allocation,
    leaf,
    of,
    parent,
    partition,
    released,
    states,
)

SIZE = {"vcore": 10}
ABSENT, SCHEDULABLE, DRAINING = "absent", "schedulable", "draining"
ACCEPTED, REJECTED, SILENT = "accepted", "rejected", "silent"
ACTIONS = (c.CREATE, c.CREATE_DRAIN, c.UPDATE, c.DRAIN_NODE, c.DRAIN_TO_SCHEDULABLE,
           c.DECOMISSION, c.UNKNOWN_ACTION)  # fmt: skip
TABLE = {
    ABSENT: (
        (SCHEDULABLE, ACCEPTED),
        (DRAINING, ACCEPTED),
        (ABSENT, REJECTED),
        (ABSENT, REJECTED),
        (ABSENT, REJECTED),
        (ABSENT, REJECTED),
        (ABSENT, SILENT),
    ),
    SCHEDULABLE: (
        (SCHEDULABLE, REJECTED),
        (SCHEDULABLE, REJECTED),
        (SCHEDULABLE, SILENT),
        (DRAINING, SILENT),
        (SCHEDULABLE, REJECTED),
        (ABSENT, SILENT),
        (SCHEDULABLE, SILENT),
    ),
    DRAINING: (
        (DRAINING, REJECTED),
        (DRAINING, REJECTED),
        (DRAINING, SILENT),
        (DRAINING, SILENT),
        (SCHEDULABLE, SILENT),
        (ABSENT, SILENT),
        (DRAINING, SILENT),
    ),
}
CASES = [
    (before, action, after, answer)
    for before, row in TABLE.items()
    for action, (after, answer) in zip(ACTIONS, row, strict=True)
]


def state_of(door: Caller, node_id: str) -> str:
    """The column of the table a node is in."""
    views = door.node_views()
    if node_id not in views:
        return ABSENT
    return SCHEDULABLE if views[node_id].schedulable else DRAINING


@pytest.mark.remuda_rule("SEED-31", "SEED-52", "SEED-54", "NODE-1", "NODE-9", "NODE-10", "NOD-4")
@pytest.mark.parametrize("before, action, after, answer", CASES)
def test_the_table(before: str, action: int, after: str, answer: str) -> None:
    door = Caller(leaf("a"))
    if before != ABSENT:
        door.node("n", SIZE, c.CREATE if before == SCHEDULABLE else c.CREATE_DRAIN)
    assert state_of(door, "n") == before
    found = of(door.node("n", SIZE, action), e.NodesAnswered)
    assert state_of(door, "n") == after
    if answer == SILENT:
        assert found == []
        return
    (verdict,) = found
    assert verdict.accepted == (("n",) if answer == ACCEPTED else ())
    assert [bad.subject for bad in verdict.rejected] == (["n"] if answer == REJECTED else [])
    assert all(bad.reason for bad in verdict.rejected)


@pytest.mark.remuda_rule("NODE-1", "NODE-10", "SI-4")
def test_one_answer_for_all_nodes_of_a_request() -> None:
    door = Caller(leaf("a"))
    door.node("old", SIZE)
    nodes = (
        c.NodeUpdate("new", c.CREATE, SIZE),
        c.NodeUpdate("old", c.CREATE, SIZE),
        c.NodeUpdate("", c.CREATE, SIZE),
        c.NodeUpdate("lost", c.CREATE, SIZE, attributes={"si/node-partition": "nowhere"}),
        c.NodeUpdate("gone", c.UPDATE, SIZE),
        c.NodeUpdate("other", c.CREATE_DRAIN, SIZE),
    )
    (verdict,) = answers(door.send(c.UpdateNodes(door.rm, nodes)))
    assert isinstance(verdict, e.NodesAnswered)
    assert verdict.accepted == ("new", "other")
    assert [bad.subject for bad in verdict.rejected] == ["old", "", "lost", "gone"]


@pytest.mark.remuda_rule("SI-3", "NODE-14")
def test_a_request_sees_its_own_earlier_actions() -> None:
    door = Caller(leaf("a"))
    nodes = (
        c.NodeUpdate("n", c.CREATE, SIZE),
        c.NodeUpdate("n", c.DECOMISSION),
        c.NodeUpdate("n", c.CREATE_DRAIN, {"vcore": 3}),
    )
    (verdict,) = answers(door.send(c.UpdateNodes(door.rm, nodes)))
    assert isinstance(verdict, e.NodesAnswered)
    assert verdict.accepted == ("n", "n")
    assert door.queue("root").maximum == {"vcore": 3}
    assert state_of(door, "n") == DRAINING


@pytest.mark.remuda_rule("NODE-4", "NODE-7", "NOD-5", "QUE-6")
def test_update_moves_the_total_by_the_difference_and_evicts_nothing() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10, "memory": 4})
    door.node("n2", {"vcore": 5}, c.CREATE_DRAIN)
    door.app("app")
    door.ask("app", "k", {"vcore": 6})
    door.place()
    assert answers(door.node("n1", {"vcore": 4}, c.UPDATE)) == []
    maximum = {t: v for t, v in (door.queue("root").maximum or {}).items() if v}
    assert maximum == {"vcore": 9}
    assert door.node_view("n1").available["vcore"] == -2
    assert [a.allocation_id for a in door.node_view("n1").allocations] == ["k-0"]
    door.ask("app", "next", {"vcore": 1})
    assert door.place() == []
    door.release("app", "k-0")
    assert door.place() == [("next-0", "n1")]


@pytest.mark.remuda_rule("SEED-3", "NODE-7", "NOD-2", "NODE-3")
def test_occupied_replaces_the_old_value_and_leaves_totals_alone() -> None:
    door = Caller(leaf("a"))
    door.node("n1", SIZE, occupied={"vcore": 15, "gpu": 1})
    assert door.node_view("n1").available == {"vcore": -5, "gpu": -1}
    door.node("n1", action=c.UPDATE, occupied={"vcore": 4})
    view = door.node_view("n1")
    assert {t: v for t, v in view.available.items() if v} == {"vcore": 6}
    assert door.queue("root").maximum == SIZE


@pytest.mark.remuda_rule("NODE-11", "NOD-8")
def test_a_draining_node_keeps_its_work_and_gets_no_more() -> None:
    door = Caller(leaf("a"))
    door.node("n1", SIZE)
    door.app("app")
    door.ask("app", "k", {"vcore": 1}, 5)
    door.step(2)
    assert answers(door.node("n1", action=c.DRAIN_NODE)) == []
    assert answers(door.step()) == []
    assert len(door.node_view("n1").allocations) == 2
    assert door.queue("root").maximum == SIZE
    door.node("n1", action=c.DRAIN_TO_SCHEDULABLE)
    assert len(door.place()) == 3


@pytest.mark.remuda_rule("NODE-13", "NOD-6", "SI-79", "APP-8")
def test_decommission_releases_everything_after_the_states() -> None:
    door = Caller(leaf("a"), leaf("b"))
    door.node("n1", SIZE)
    door.node("n2", SIZE, c.CREATE_DRAIN)
    door.app("done", "root.a")
    door.app("goes-on", "root.b")
    door.ask("done", "d", {"vcore": 1}, 2)
    door.ask("goes-on", "g", {"vcore": 4}, 3)
    door.place()
    found = answers(door.node("n1", action=c.DECOMISSION))
    names = [type(x).__name__ for x in found]
    assert names == ["ApplicationUpdated", "AllocationsReleased"]
    assert states(found) == [("done", "Completing")]
    (answer,) = of(found, e.AllocationsReleased)
    assert sorted(gone.allocation_id for gone in answer.released) == ["d-0", "d-1", "g-0", "g-1"]
    assert {gone.termination_type for gone in answer.released} == {c.STOPPED_BY_RM}
    assert {(gone.partition, gone.application_id) for gone in answer.released} == {
        ("default", "done"),
        ("default", "goes-on"),
    }
    assert door.queue("root").maximum == SIZE
    assert not any(door.queue("root").allocated.values())
    assert door.queue("root").pending["vcore"] == 4
    assert door.state("goes-on") == "Running"


@pytest.mark.remuda_rule("NODE-6", "SI-41")
def test_a_node_may_bring_its_allocations() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    brought = (
        existing_allocation("app", "x", "", {"vcore": 2}),
        existing_allocation("app", "y", "", {"vcore": 3}),
    )
    found = answers(door.node("n1", SIZE, existing=brought))
    assert of(found, e.AllocationNew) == []
    (verdict,) = of(found, e.NodesAnswered)
    assert verdict.accepted == ("n1",)
    assert states(found) == [("app", "Accepted"), ("app", "Starting"), ("app", "Running")]
    assert door.node_view("n1").allocated == {"vcore": 5}
    assert door.queue("root.a").allocated == {"vcore": 5}


@pytest.mark.remuda_rule("NODE-6", "NOD-7")
def test_one_bad_allocation_refuses_the_node_and_takes_everything_back() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    brought = (
        existing_allocation("app", "x", "", {"vcore": 2}),
        existing_allocation("app", "y", "", {"vcore": 2}),
        existing_allocation("nobody", "z", "", {"vcore": 2}),
    )
    found = answers(door.node("n1", SIZE, existing=brought))
    (verdict,) = of(found, e.NodesAnswered)
    assert verdict.accepted == ()
    assert [bad.subject for bad in verdict.rejected] == ["n1"]
    assert released(found) == []
    assert of(found, e.AllocationNew) == []
    assert door.node_views() == {}
    assert door.queue("root").maximum is None
    assert not any(door.queue("root.a").allocated.values())
    door.scheduler.check()


@pytest.mark.remuda_rule("NODE-6")
def test_an_application_that_loses_its_only_allocation_so_completes() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    brought = (
        existing_allocation("app", "x", "", {"vcore": 2}),
        existing_allocation("nobody", "z", "", {"vcore": 2}),
    )
    door.node("n1", SIZE, existing=brought)
    assert door.state("app") == "Completing"
    door.node("n1", SIZE)
    door.ask("app", "k", {"vcore": 2})
    assert [node for _, node in door.place()] == ["n1"]
    assert door.state("app") == "Running"


@pytest.mark.remuda_rule("RM-25", "NODE-6")
@pytest.mark.parametrize("home, accepted", [("", True), ("default", True), ("other", False)])
def test_an_allocation_brought_must_not_name_another_partition(home: str, accepted: bool) -> None:
    door = Caller(partitions=[partition(leaf("a")), partition(leaf("a"), name="other")])
    door.app("app")
    ask = c.Ask("app", "k", {"vcore": 1}, partition=home)
    found = door.node("n1", SIZE, existing=(c.ExistingAllocation(ask, "k", "n1"),))
    (verdict,) = of(found, e.NodesAnswered)
    assert verdict.accepted == (("n1",) if accepted else ())


@pytest.mark.remuda_rule("NODE-2", "NODE-8", "NODE-12", "NOD-1")
def test_attributes_are_kept_and_overwritten_key_by_key() -> None:
    door = Caller(leaf("a"))
    door.node("n1", SIZE, attributes={"si/hostname": "h", "label": "old", "ready": "false"})
    assert door.node_view("n1").ready is False
    door.node("n1", action=c.UPDATE, attributes={"label": "new"})
    view = door.node_view("n1")
    assert (view.attributes["si/hostname"], view.attributes["label"]) == ("h", "new")
    assert view.ready is False
    door.node("n1", action=c.UPDATE, attributes={"ready": "perhaps"})
    assert door.node_view("n1").ready is True
    door.node("n1", action=c.UPDATE, attributes={"ready": "false"})
    door.app("app")
    door.ask("app", "k", {"vcore": 1})
    assert door.place() == [("k-0", "n1")]  # only the RM's predicates care


@pytest.mark.remuda_rule("NODE-1", "SI-12")
def test_the_same_name_in_two_partitions_is_two_nodes() -> None:
    door = Caller(partitions=[partition(leaf("a")), partition(parent("p"), name="other")])
    door.node("n1", {"vcore": 1})
    (verdict,) = of(door.node("n1", {"vcore": 2}, home="other"), e.NodesAnswered)
    assert verdict.accepted == ("n1",)
    assert door.queue("root").maximum == {"vcore": 1}
    assert door.queue("root", "other").maximum == {"vcore": 2}
