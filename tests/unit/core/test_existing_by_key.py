"""Allocations the RM reports without an ID: their key identifies them (chapter 70, SI-40)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import Caller, answers, existing_allocation, leaf, of, released
from tests.unit.core.rules.gang import Gang

ONE = {"vcore": 1}
TWO = {"vcore": 2}


@pytest.fixture
def door() -> Caller:
    """Two nodes and a new application."""
    found = Caller(leaf("a"))
    found.node("n1", {"vcore": 10})
    found.node("n2", {"vcore": 10})
    found.app("app")
    return found


def report(door: Caller, key: str, node_id: str = "n1", size: dict[str, int] = ONE) -> list[str]:
    """Report one by its key; what it is called then, or what was refused and why."""
    found = door.existing("app", "", node_id, size, key=key)
    door.scheduler.check()
    lines = [f"{new.allocation_id} {new.node_id}" for new in of(found, e.AllocationNew)]
    for refused in of(found, e.AllocationsRejected):
        lines += [f"{bad.rule} {bad.reason}" for bad in refused.rejected]
    return lines


@pytest.mark.remuda_rule("SI-40", "SI-41", "SI-61", "SI-111")
def test_it_counts_everywhere_and_ends_by_its_key(door: Caller) -> None:
    assert report(door, "pod") == ["pod n1"]
    assert door.queue("root.a").allocated == ONE
    assert door.node_view("n1").allocated == ONE
    assert door.apps()["app"].used == ONE
    assert released(door.release("app", key="pod")) == [["pod"]]
    assert not any(door.queue("root.a").allocated.values())
    assert not any(door.node_view("n1").allocated.values())


@pytest.mark.remuda_rule("SI-43", "CYC-28", "REC-8")
def test_sent_again_it_is_the_same_one(door: Caller) -> None:
    assert report(door, "pod") == report(door, "pod") == ["pod n1"]
    assert door.queue("root.a").allocated == ONE
    assert report(door, "pod", size=TWO) == ["pod n1"]
    assert door.queue("root.a").allocated == TWO
    assert report(door, "pod", "n2") == ["SI-43 allocation 'pod' is on node 'n1' already"]
    assert not any(door.node_view("n2").allocated.values())


@pytest.mark.remuda_rule("SI-43", "SI-35")
def test_what_is_known_under_another_name_is_meant(door: Caller) -> None:
    door.ask("app", "k", ONE)
    ((identity, node_id),) = door.place()
    assert identity == "k-0"
    assert report(door, "k", node_id) == [f"k-0 {node_id}"]
    door.existing("app", "uuid", "n2", ONE, key="other")
    assert report(door, "other", "n2", TWO) == ["uuid n2"]
    assert door.queue("root.a").allocated == {"vcore": 3}


@pytest.mark.remuda_rule("SI-40", "SI-43")
def test_a_key_that_means_several_is_refused(door: Caller) -> None:
    door.ask("app", "k", ONE, 2)
    assert len(door.place()) == 2
    reason = "allocation of key 'k': the key has 2 allocations; name the allocation ID"
    assert report(door, "k") == [f"SI-40 {reason}"]
    assert door.queue("root.a").allocated == TWO


@pytest.mark.remuda_rule("SI-40", "SI-43")
def test_a_key_that_is_the_name_of_another_ones_allocation_is_refused(door: Caller) -> None:
    door.existing("app", "k", "n1", ONE, key="first")
    (line,) = report(door, "k")
    assert line.startswith("SI-40 allocation of key 'k': the allocation of key 'first' has that ID")
    assert door.queue("root.a").allocated == ONE


@pytest.mark.remuda_rule("SI-44")
def test_an_ask_that_waits_becomes_it(door: Caller) -> None:
    door.ask("app", "k", {"vcore": 99})
    assert report(door, "k") == ["k n1"]
    assert not any(door.queue("root.a").pending.values())


@pytest.mark.remuda_rule("SI-40")
def test_without_key_and_id_and_with_two_ids_it_is_refused(door: Caller) -> None:
    assert report(door, "") == [
        "SI-40 allocation has neither an allocation key nor an allocation ID"
    ]
    two = c.ExistingAllocation(c.Ask("app", "k", ONE), "", "n1", "its UUID and allocationID differ")
    (answer,) = answers(door.send(c.UpdateAllocations(door.rm, allocations=(two,))))
    assert isinstance(answer, e.AllocationsRejected)
    (bad,) = answer.rejected
    assert (bad.subject, bad.rule) == ("k", "SI-40")
    assert bad.reason == "allocation of key 'k': its UUID and allocationID differ"
    assert door.state("app") == "New"


@pytest.mark.remuda_rule("NODE-6", "SI-40", "REC-3")
def test_a_node_brings_them(door: Caller) -> None:
    brought = [existing_allocation("app", "", "", ONE, key=key) for key in ("a", "b")]
    door.node("n3", {"vcore": 9}, existing=tuple(brought))
    door.scheduler.check()
    assert door.node_view("n3").allocated == TWO
    assert released(door.release("app", key="b")) == [["b"]]
    assert door.node_view("n3").allocated == ONE


@pytest.mark.remuda_rule("NODE-6", "SI-40")
def test_a_node_that_is_refused_leaves_none_of_them(door: Caller) -> None:
    brought = (
        existing_allocation("app", "", "", ONE, key="a"),
        existing_allocation("app", "", "", ONE, key="b"),
        existing_allocation("app", "", "", ONE, key=""),
    )
    (verdict,) = of(door.node("n3", {"vcore": 9}, existing=brought), e.NodesAnswered)
    assert [bad.subject for bad in verdict.rejected] == ["n3"]
    door.scheduler.check()
    assert not any(door.queue("root.a").allocated.values())
    assert report(door, "a") == ["a n1"]


@pytest.mark.remuda_rule("SI-3", "SI-43", "NODE-6")
def test_what_a_node_brings_sees_what_comes_before_it(door: Caller) -> None:
    named = existing_allocation("app", "uuid", "", ONE, key="k")
    again = existing_allocation("app", "", "", TWO, key="k")
    door.node("n3", {"vcore": 9}, existing=(named, again))
    door.scheduler.check()
    assert [each.allocation_id for each in door.apps()["app"].allocations] == ["uuid"]
    assert door.node_view("n3").allocated == TWO


@pytest.mark.remuda_rule("CYC-29", "NODE-17")
def test_a_foreign_one_is_known_by_its_key_too(door: Caller) -> None:
    tags = {"foreign": "default"}
    ask = c.Ask("", "theirs", {"vcore": 8}, tags=tags)
    reported = c.ExistingAllocation(ask, "", "n1")
    (new,) = answers(door.send(c.UpdateAllocations(door.rm, allocations=(reported,))))
    assert isinstance(new, e.AllocationNew)
    assert new.allocation_id == "theirs"
    assert door.node_view("n1").occupied == {"vcore": 8}
    door.release("", key="theirs")
    assert not any(door.node_view("n1").occupied.values())


def holder(key: str, node_id: str = "n1") -> c.ExistingAllocation:
    """A placeholder that is reported by its key."""
    ask = c.Ask("app", key, ONE, task_group="g", placeholder=True)
    return c.ExistingAllocation(ask, "", node_id)


def confirm(gang: Gang, key: str) -> list[e.Effect]:
    """Confirm by key that a placeholder was replaced."""
    return gang.release("app", key=key, kind=c.PLACEHOLDER_REPLACED)


@pytest.mark.remuda_rule("GANG-40", "GANG-41", "SI-64", "SI-60")
def test_placeholders_are_reported_and_replaced_by_key() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", TWO)
    assert gang.recover(holder("p1"), holder("p2")) == [
        "updated[app Accepted]",
        "new[p1 n1]",
        "updated[app Starting]",
        "new[p2 n1]",
    ]
    gang.want("r1", "r2")
    assert gang.run() == ["released[p1 REPLACED]", "released[p2 REPLACED]"]
    in_flight = c.ExistingAllocation(c.Ask("app", "r1", ONE, task_group="g"), "", "n1")
    assert gang.recover(in_flight) == ["refused[r1]"]
    (new,) = of(confirm(gang, "p1"), e.AllocationNew)
    assert new.ask.allocation_key == "r1"
    assert gang.holds() == ["p2"]
    assert of(confirm(gang, "p1"), e.AllocationNew) == []


@pytest.mark.remuda_rule("SI-64", "SI-61")
def test_a_key_confirms_the_end_of_one_placeholder_only() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", {"vcore": 3})
    gang.hold("p", max_allocations=2)
    gang.run()
    (refused,) = of(confirm(gang, "p"), e.ReleaseRefused)
    assert refused.rule == "SI-64"
    assert "name the allocation ID" in refused.reason
    assert len(gang.holds()) == 2
