"""One scheduling pass (chapter 50, part B)."""

from __future__ import annotations

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.port import one_by_one
from tests.unit.core.door import (
    REQUIRED_NODE,
    Caller,
    answers,
    leaf,
    of,
    parent,
    partition,
    states,
)


@pytest.mark.remuda_rule("CYC-12", "CYC-15")
def test_an_ask_that_fits_nowhere_does_not_hold_up_the_next() -> None:
    door = Caller(leaf("a", maximum={"vcore": 5}))
    door.node("n1", {"vcore": 4, "memory": 4})
    door.app("app")
    door.ask("app", "beyond-queue", {"vcore": 6}, priority=9)
    door.ask("app", "beyond-node", {"vcore": 5}, priority=8)
    door.ask("app", "beyond-memory", {"memory": 5}, priority=7)
    door.ask("app", "good", {"vcore": 1}, 2, priority=6)
    door.ask("app", "later", {"vcore": 1}, priority=5)
    assert door.order() == ["good", "good", "later"]


@pytest.mark.remuda_rule("CYC-12", "CYC-25")
def test_order_is_kept_when_room_comes_back() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 4})
    door.app("app")
    door.ask("app", "big", {"vcore": 4}, 2)
    door.ask("app", "small", {"vcore": 1}, 4)
    assert door.order() == ["big"]
    door.release("app", "big-0")
    assert door.order() == ["big"]


@pytest.mark.remuda_rule("CYC-10")
def test_the_first_queue_is_served_until_the_order_changes() -> None:
    door = Caller(parent("p", leaf("a"), leaf("b")), leaf("q"))
    door.node("n1", {"vcore": 100})
    for name, path in (("a", "root.p.a"), ("b", "root.p.b"), ("q", "root.q")):
        door.app(name, path)
        door.ask(name, name, {"vcore": 10}, 2)
    # p comes before q by demand (40 against 20); from then on usage decides at each level.
    assert door.order() == ["a", "q", "b", "q", "a", "b"]


@pytest.mark.remuda_rule("CYC-17", "NOD-13", "SI-80")
def test_a_node_the_manager_refuses_is_passed_over() -> None:
    asked: list[tuple[str, str, str, bool]] = []

    def predicates(rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
        asked.append((rm_id, allocation_key, node_id, allocate))
        return "" if node_id == "n2" else "no"

    door = Caller(leaf("a"), predicates=one_by_one(predicates))
    for name in ("n1", "n2", "n3"):
        door.node(name, {"vcore": 2})
    door.app("app")
    door.ask("app", "k", {"vcore": 1}, 5)
    assert door.place() == [("k-0", "n2"), ("k-1", "n2")]
    assert asked[0] == ("rm", "k", "n1", True)
    assert door.queue("root").allocated == {"vcore": 2}


@pytest.mark.remuda_rule("NOD-13", "SI-106")
def test_predicates_are_asked_only_for_managers_that_have_them() -> None:
    def predicates(rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
        raise AssertionError(f"asked for {rm_id} {allocation_key} {node_id} {allocate}")

    door = Caller(predicates=one_by_one(predicates))
    command = c.RegisterResourceManager("rm", Configuration((partition(leaf("a")),)))
    door.send(command)
    door.node("n1", {"vcore": 1})
    door.app("app")
    door.ask("app", "k", {"vcore": 1})
    assert door.place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("CYC-17", "NOD-9")
def test_predicates_are_asked_after_the_resources_fit() -> None:
    asked: list[str] = []

    def predicates(rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
        assert (rm_id, allocation_key, allocate) == ("rm", "k", True)
        asked.append(node_id)
        return ""

    door = Caller(leaf("a"), predicates=one_by_one(predicates))
    door.node("small", {"vcore": 1})
    door.node("good", {"vcore": 4})
    door.app("app")
    door.ask("app", "k", {"vcore": 2})
    assert door.place() == [("k-0", "good")]
    assert asked == ["good"]


@pytest.mark.remuda_rule("CYC-14", "SI-39", "NOD-8")
def test_a_required_node_is_the_only_one_tried() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 4})
    door.node("n2", {"vcore": 1})
    door.node("n3", {"vcore": 4}, c.CREATE_DRAIN)
    door.app("app")
    for key, node_id, wanted in (
        ("unknown", "nowhere", 1),
        ("large", "n2", 2),
        ("full", "n2", 1),
        ("again", "n2", 1),
        ("draining", "n3", 1),
    ):
        door.ask("app", key, {"vcore": wanted}, tags={REQUIRED_NODE: node_id})
    door.ask("app", "free", {"vcore": 1})
    assert door.place() == [("full-0", "n2"), ("draining-0", "n3"), ("free-0", "n1")]
    door.node("nowhere", {"vcore": 1})
    assert door.place() == [("unknown-0", "nowhere")]


@pytest.mark.remuda_rule("CYC-18", "SI-35", "SI-76")
def test_allocations_are_numbered_per_ask() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "k", {"vcore": 1}, 3, tags={"a": "b"}, priority=4)
    placed = of(door.step(), e.AllocationNew)
    assert [new.allocation_id for new in placed] == ["k-0", "k-1", "k-2"]
    assert {(new.rm_id, new.partition, new.node_id) for new in placed} == {("rm", "default", "n1")}
    assert {(new.ask.application_id, new.ask.allocation_key) for new in placed} == {("app", "k")}
    assert placed[0].ask.tags == {"a": "b"}
    assert placed[0].ask.priority == 4


@pytest.mark.remuda_rule("CYC-4", "SI-11")
def test_without_nodes_nothing_happens() -> None:
    door = Caller(leaf("a"))
    door.app("app")
    door.ask("app", "k", {"vcore": 1})
    assert answers(door.step()) == []
    assert not door.scheduler.has_work()
    door.node("n1", {"vcore": 1})
    assert door.scheduler.has_work()
    assert door.place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("CYC-3")
def test_partitions_take_turns() -> None:
    door = Caller(partitions=[partition(leaf("a"), name=name) for name in ("x", "default", "y")])
    for home in ("x", "default", "y"):
        door.node(f"n-{home}", {"vcore": 100}, home=home)
        door.app(f"app-{home}", partition=home)
        count = 1 if home == "y" else 3
        door.ask(f"app-{home}", home, {"vcore": 1}, count, partition=home)
    assert door.order() == ["default", "x", "y", "default", "x", "default", "x"]


@pytest.mark.remuda_rule("CYC-3", "CYC-4")
def test_a_partition_without_work_holds_up_nobody() -> None:
    door = Caller(partitions=[partition(leaf("a"), name=name) for name in ("a", "b", "c")])
    door.app("stuck", partition="a")
    door.ask("stuck", "stuck", {"vcore": 1}, partition="a")
    door.node("n", {"vcore": 100}, home="c")
    door.app("app", partition="c")
    door.ask("app", "k", {"vcore": 1}, 3, partition="c")
    assert door.order() == ["k", "k", "k"]


@pytest.mark.remuda_rule("SI-79", "APP-4")
def test_the_state_is_told_before_the_allocation_that_caused_it() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    accepted = answers(door.ask("app", "k", {"vcore": 1}, 3))
    assert [type(x).__name__ for x in accepted] == ["ApplicationUpdated"]
    found = answers(door.step())
    names = ["ApplicationUpdated", "AllocationNew"] * 2 + ["AllocationNew"]
    assert [type(x).__name__ for x in found] == names
    assert states(found) == [("app", "Starting"), ("app", "Running")]
