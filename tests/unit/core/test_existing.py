"""Allocations the RM runs already (chapter 70, section 6)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import SECOND, START, Caller, answers, leaf, of, partition, states

ONE = {"vcore": 1}


@pytest.fixture
def door() -> Caller:
    """Two nodes and a new application."""
    found = Caller(leaf("a"))
    found.node("n1", {"vcore": 10})
    found.node("n2", {"vcore": 10}, c.CREATE_DRAIN)
    found.app("app")
    return found


def placed(effects: list[e.Effect]) -> list[tuple[str, str]]:
    """What the scheduler says runs, and where."""
    return [(new.allocation_id, new.node_id) for new in of(effects, e.AllocationNew)]


@pytest.mark.remuda_rule("SI-40", "SI-4", "SI-42")
def test_refused_allocations_are_answered_together_after_the_accepted(door: Caller) -> None:
    def one(app: str, identity: str, node_id: str, **other: object) -> c.ExistingAllocation:
        ask = c.Ask(app, f"key-{identity}", {"vcore": 1}, **other)  # type: ignore[arg-type]
        return c.ExistingAllocation(ask, identity, node_id)

    request = (
        one("nobody", "x1", "n1"),
        one("app", "good", "n2"),
        c.ExistingAllocation(c.Ask("app", "key-", {"vcore": 1}), "", "n1", "it has two IDs"),
        one("app", "x2", "nowhere"),
        one("app", "x3", "n1", placeholder=True),
        one("app", "x4", "n1", partition="nowhere"),
        c.ExistingAllocation(c.Ask("app", "key-x5", {"vcore": -1}), "x5", "n1"),
    )
    found = answers(door.send(c.UpdateAllocations(door.rm, allocations=request)))
    assert placed(found) == [("good", "n2")]
    assert isinstance(found[-1], e.AllocationsRejected)
    assert len(of(found, e.AllocationsRejected)) == 1
    keys = ["key-x1", "key-", "key-x2", "key-x3", "key-x4", "key-x5"]
    assert [bad.subject for bad in found[-1].rejected] == keys
    assert door.queue("root.a").allocated == ONE


@pytest.mark.remuda_rule("SI-41", "APP-6")
def test_reported_work_moves_a_new_application_on(door: Caller) -> None:
    assert states(door.existing("app", "x", "n1", ONE)) == [
        ("app", "Accepted"),
        ("app", "Starting"),
    ]
    assert states(door.existing("app", "y", "n1", ONE)) == [("app", "Running")]
    assert states(door.existing("app", "z", "n1", ONE)) == []


@pytest.mark.remuda_rule("SI-41", "SI-34", "SI-35")
def test_an_ask_without_pending_stands_behind_reported_work(door: Caller) -> None:
    door.existing("app", "k", "n1", ONE)
    assert not any(door.queue("root").pending.values())
    door.ask("app", "k", ONE)
    assert door.place() == []
    door.ask("app", "k", ONE, 2)
    assert [identity for identity, _ in door.place()] == ["k-1"]


@pytest.mark.remuda_rule("SI-43")
def test_the_same_allocation_twice_changes_nothing_and_is_answered(door: Caller) -> None:
    for _ in range(2):
        assert placed(door.existing("app", "k", "n1", ONE)) == [("k", "n1")]
    assert door.queue("root").allocated == ONE
    assert door.node_view("n1").allocated == ONE
    assert door.state("app") == "Starting"


@pytest.mark.remuda_rule("SI-43")
def test_an_allocation_known_on_another_node_is_refused(door: Caller) -> None:
    door.existing("app", "k", "n1", ONE)
    found = answers(door.existing("app", "k", "n2", ONE))
    assert [type(x).__name__ for x in found] == ["AllocationsRejected"]
    assert door.node_view("n2").allocations == ()
    assert door.queue("root").allocated == ONE


@pytest.mark.remuda_rule("SI-43", "REC-3")
def test_an_allocation_of_the_scheduler_may_be_reported_back(door: Caller) -> None:
    door.ask("app", "k", ONE, 2)
    door.step(1)
    assert placed(door.existing("app", "k-0", "n1", ONE, key="k")) == [("k-0", "n1")]
    assert door.queue("root").allocated == ONE
    assert door.queue("root").pending == ONE


@pytest.mark.remuda_rule("SI-44")
def test_a_pending_ask_turns_into_the_reported_allocation(door: Caller) -> None:
    door.ask("app", "k", {"vcore": 2}, 2)
    door.existing("app", "mine", "n1", {"vcore": 3}, key="k")
    assert door.queue("root").pending == {"vcore": 2}
    assert door.queue("root").allocated == {"vcore": 3}
    assert len(door.place()) == 1
    assert not any(door.queue("root").pending.values())


@pytest.mark.remuda_rule("SI-41", "QUE-9", "NODE-11")
def test_neither_limits_nor_draining_nor_room_are_enforced() -> None:
    door = Caller(leaf("a", maximum={"vcore": 1}))
    door.node("n1", {"vcore": 2}, c.CREATE_DRAIN)
    door.app("app")
    assert placed(door.existing("app", "k", "n1", {"vcore": 5})) == [("k", "n1")]
    assert door.queue("root.a").allocated == {"vcore": 5}
    assert door.queue("root").headroom == {"vcore": -3}


@pytest.mark.remuda_rule("APP-4", "SI-41")
def test_reported_work_brings_a_completing_application_back(door: Caller) -> None:
    door.ask("app", "k", ONE)
    door.release_ask("app")
    assert door.state("app") == "Completing"
    assert states(door.existing("app", "x", "n1", ONE)) == [("app", "Running")]
    door.wait(60_000_000_000)
    assert door.state("app") == "Running"


@pytest.mark.remuda_rule("SI-10", "SI-42")
def test_reported_work_uses_room_at_once(door: Caller) -> None:
    door.ask("app", "k", {"vcore": 6}, 2)
    door.existing("app", "x", "n1", {"vcore": 5})
    assert door.place() == []
    door.release("app", "x")
    assert door.place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("RM-21", "RM-23", "SI-76")
def test_the_answer_names_the_plain_partition() -> None:
    door = Caller(partitions=[partition(leaf("a"), name="gpu")])
    door.node("n1", {"vcore": 1}, home="[rm]gpu")
    door.app("app", partition="[rm]gpu")
    ask = c.Ask("app", "k", ONE, partition="[rm]gpu")
    existing = c.ExistingAllocation(ask, "k", "n1")
    found = door.send(c.UpdateAllocations(door.rm, allocations=(existing,)))
    (new,) = of(found, e.AllocationNew)
    assert (new.partition, new.allocation_id, new.node_id) == ("gpu", "k", "n1")


def reported(door: Caller, key: str, created: str | None) -> int:
    """Report an allocation with or without a creation time; the request time it then has."""
    tags = {} if created is None else {"creationTime": created}
    existing = c.ExistingAllocation(c.Ask("app", key, ONE, tags=tags), f"run-{key}", "n1")
    door.send(c.UpdateAllocations(door.rm, allocations=(existing,)))
    (found,) = [a for a in door.apps()["app"].allocations if a.allocation_key == key]
    assert found.allocation_time_ns == door.now
    return found.request_time_ns


@pytest.mark.remuda_rule("SI-45", "REST-80")
@pytest.mark.parametrize("text", ["0", "1", "1600000000"])
def test_a_reported_allocation_keeps_its_creation_time(door: Caller, text: str) -> None:
    assert reported(door, "k", text) == int(text) * SECOND


@pytest.mark.remuda_rule("SI-45", "REST-80")
@pytest.mark.parametrize("text", [None, "", "soon", "-5", "1.5", "1e9", " 7", "9" * 30, "\u0663"])
def test_without_a_readable_creation_time_arrival_counts(door: Caller, text: str | None) -> None:
    assert reported(door, "k", text) == START


@pytest.mark.remuda_rule("SI-45", "QUE-44", "REST-79")
def test_the_creation_time_is_the_age_of_the_ask(door: Caller) -> None:
    door.ask("app", "middle", ONE)
    door.now += 5 * SECOND
    reported(door, "old", str(door.now // SECOND - 60))
    reported(door, "young", None)
    door.ask("app", "young", ONE, 2)
    door.ask("app", "old", ONE, 2)
    times = {r.allocation_key: r.request_time_ns for r in door.apps()["app"].requests}
    assert times == {
        "old": START - 55 * SECOND,
        "middle": START,
        "young": START + 5 * SECOND,
    }
    assert door.order() == ["old", "middle", "young"]


@pytest.mark.remuda_rule("SI-35", "CYC-18")
def test_a_reported_identity_is_not_given_out_again_while_its_key_is_known(door: Caller) -> None:
    for identity in ("k-1", "k-2", "k-007"):
        door.existing("app", identity, "n1", {"vcore": 1}, key="k")
    door.release("app", "k-2")
    door.ask("app", "k", {"vcore": 1}, count=6)
    assert [identity for identity, _ in placed(door.step())] == ["k-3", "k-4", "k-5"]
