"""The room that is kept for whom victims went for (PRE-89), and what is remembered (PRE-91)."""

from __future__ import annotations

import pytest

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from tests.unit.core.door import MINUTE, REQUIRED_NODE, SECOND, Caller, leaf, parent, users
from tests.unit.core.preemption.arena import (
    DELAY,
    ONE,
    PAUSE,
    Arena,
    cores,
    full,
    pair,
    row,
)

CALM = {"rm.confirmTimeout": "0"}


@pytest.mark.remuda_rule("PRE-89", "RSV-7")
def test_nobody_else_gets_the_node() -> None:
    arena = full()
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v3", "v2"]
    arena.ask("b", "back", ONE, priority=99)
    arena.ask("a", "sibling", ONE, priority=99)
    assert arena.confirm("v3") == []
    assert arena.confirm("v2") == [("k-0", "n1")]


@pytest.mark.remuda_rule("PRE-89", "RSV-7", "RSV-10")
def test_the_node_is_kept_though_the_ask_does_not_fit_the_headroom() -> None:
    # p is full until v0 is gone; n2 has room all the time.
    top = parent("p", leaf("a", guaranteed=cores(5)), leaf("b"), maximum=cores(2))
    arena = Arena(top, leaf("c"), nodes={"n1": cores(2), "n2": cores(2)})
    arena.apps_in(a="p.a", b="p.b", c="c")
    arena.runs("b", "n1", ONE, "v0", "v1")
    arena.wants("a", "k", cores(2))
    assert sorted(arena.after()) == ["v0", "v1"]
    (kept,) = arena.reserved()
    assert kept == ("n2", "k")
    arena.ask("c", "thief", ONE)
    assert arena.placed() == []
    assert [key for key, _ in arena.confirm("v0", "v1")] == ["k-0", "thief-0"]


@pytest.mark.remuda_rule("PRE-89")
def test_others_do_not_get_room_under_a_maximum_that_is_promised() -> None:
    top = parent("p", leaf("a", guaranteed=cores(5)), leaf("b"), maximum=cores(4))
    arena = Arena(top, nodes={"n1": cores(9), "n2": cores(2)})
    arena.apps_in(a="p.a", b="p.b")
    for number in range(4):
        arena.runs("b", "n1", ONE, f"v{number}", age=number + 1)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v0", "v1"]
    arena.ask("b", "back", ONE, priority=99)
    # Three of four are used, and two are promised.
    assert arena.confirm("v0") == []
    assert [key for key, _ in arena.confirm("v1")] == ["k-0"]
    assert arena.placed() == []
    arena.release("b", "v2")
    assert [key for key, _ in arena.placed()] == ["back-0"]


def room_told(victims: int, size: int) -> tuple[str, Resource | None]:
    """Where, and how much, room is left for others while four of four are used or spoken for.

    ``victims``: how many allocations of ``b`` there are, all of the same size.
    """
    top = parent("p", leaf("a", guaranteed=cores(5)), leaf("b"), maximum=cores(4))
    arena = Arena(top, nodes={"n1": cores(9), "n2": cores(2)})
    arena.apps_in(a="p.a", b="p.b")
    for number in range(victims):
        arena.runs("b", "n1", cores(4 // victims), f"v{number}", age=number + 1)
    arena.wants("a", "k", cores(size))
    gone = arena.after()
    arena.ask("b", "back", ONE, priority=99)
    if len(gone) > 1:
        arena.confirm(gone[0])
    else:
        arena.step()
    finding = arena.request("b", "back").finding
    assert finding is not None
    return finding.subject, finding.available


@pytest.mark.remuda_rule("PRE-89", "QUE-13")
def test_the_room_that_is_told_is_without_what_is_promised() -> None:
    # Three of four are used, one of them is about to go, and two are promised: 3 - 1 + 2 = 4.
    assert room_told(victims=4, size=2) == ("root.p", cores(0))
    # A victim of four that goes for an ask of one: four are used until it is gone.
    assert room_told(victims=1, size=1) == ("root.p", cores(0))


@pytest.mark.remuda_rule("PRE-89")
def test_what_victims_hold_is_not_counted_twice() -> None:
    # stays 2 + promised 2, maximum 5: there is room for one more, as long as there is one.
    top = parent("p", leaf("a", guaranteed=cores(5)), leaf("b"), maximum=cores(5))
    arena = Arena(top, nodes={"n1": cores(4), "n2": cores(9)})
    arena.apps_in(a="p.a", b="p.b")
    for number in range(4):
        arena.runs("b", "n1", ONE, f"v{number}", age=number + 1)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v0"]
    arena.ask("b", "one", ONE)
    assert arena.placed() == []
    assert arena.confirm("v0") == [("k-0", "n2")]


@pytest.mark.remuda_rule("PRE-89")
def test_others_of_the_user_do_not_get_what_is_promised() -> None:
    limits = {"limits": (users("ann", cores(3)),)}
    queues = leaf("a", guaranteed=cores(5)), leaf("b"), leaf("c")
    arena = Arena(*queues, nodes={"n1": cores(2), "n2": cores(9)}, root=limits)
    arena.node("n2", action=c.DRAIN_NODE)
    arena.apps_in(a="a", c="c")
    arena.app("b", "root.b", user="bob")
    arena.runs("b", "n1", cores(2), "v")
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v"]
    arena.node("n2", action=c.DRAIN_TO_SCHEDULABLE)
    # It goes there itself, at once; so n2 is closed again before there is another ask.
    assert arena.placed() == [("k-0", "n2")]
    arena.ask("c", "two", cores(2))
    assert arena.placed() == []
    arena.ask("c", "one", ONE)
    assert arena.placed() == [("one-0", "n2")]


@pytest.mark.remuda_rule("PRE-89")
def test_the_limit_of_a_user_counts_with_the_promise_on_top() -> None:
    limits = {"limits": (users("ann", cores(3)),)}
    queues = leaf("a", guaranteed=cores(5, gpu=1)), leaf("b"), leaf("c")
    nodes = {"n1": cores(2, gpu=1), "n2": cores(9)}
    arena = Arena(*queues, nodes=nodes, root=limits)
    arena.apps_in(a="a", c="c")
    arena.app("b", "root.b", user="bob")
    arena.runs("b", "n1", cores(2, gpu=1), "v")
    arena.wants("a", "k", cores(2, gpu=1))
    assert arena.after() == ["v"]
    arena.ask("c", "two", cores(2))
    assert arena.placed() == []
    assert "Not enough user quota" in arena.log("c", "two")
    arena.ask("c", "one", ONE)
    assert arena.placed() == [("one-0", "n2")]
    # The promise ends with the ask, and what it kept out gets its turn.
    arena.release_ask("a", "k")
    assert arena.placed() == [("two-0", "n2")]


@pytest.mark.remuda_rule("PRE-89", "RSV-10")
def test_a_reservation_is_kept_while_a_victim_is_not_gone() -> None:
    arena = pair(1, extra_config=CALM)
    arena.runs("b", "n1", ONE, "v")
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v"]
    assert arena.after(300 * MINUTE) == []
    assert arena.reserved() == [("n1", "k")]
    assert arena.confirm("v") == [("k-0", "n1")]


@pytest.mark.remuda_rule("PRE-89", "PRE-84")
def test_in_parity_only_the_node_is_kept() -> None:
    top = parent("p", leaf("a", guaranteed=cores(5)), leaf("b"), maximum=cores(4))
    arena = Arena(top, nodes={"n1": cores(9), "n2": cores(9)}, parity=True)
    arena.apps_in(a="p.a", b="p.b")
    for number in range(4):
        arena.runs("b", "n1", ONE, f"v{number}", age=number + 1)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v0", "v1"]
    (kept,) = arena.reserved()
    arena.ask("b", "back", ONE)
    other = {"n1": "n2", "n2": "n1"}[kept[0]]
    assert arena.confirm("v0") == [("back-0", other)]


@pytest.mark.remuda_rule("PRE-89", "PRE-85")
def test_a_promise_ends_when_the_ask_is_placed() -> None:
    arena = row(6)
    for number in range(5):
        arena.wants("a", f"k{number}", ONE)
    taken = arena.after()
    assert len(taken) == 5
    assert len(arena.confirm(*taken)) == 5
    arena.wants("a", "more", ONE)
    assert arena.after() == []
    arena.release("a", "k0-0")
    assert [key for key, _ in arena.placed()] == ["more-0"]


# ------------------------------------------------------------------------------ records


@pytest.mark.remuda_rule("PRE-91")
def test_a_preemption_is_remembered_with_all_that_was_part_of_it() -> None:
    arena = pair(3)
    arena.runs("b", "n1", ONE, "v1", age=1, priority=-3)
    arena.runs("b", "n1", ONE, "v2", age=2, allow_preempt_self=False)
    arena.runs("b", "n1", ONE, "v3", age=3, originator=True, priority=-7)
    arena.wants("a", "k", cores(3))
    assert arena.after() == ["v1", "v3", "v2"]
    (record,) = arena.records()
    assert (record.kind, record.created_ns, record.queue_path) == ("queue", arena.now, "root.a")
    assert (record.application_id, record.allocation_key) == ("a", "k")
    assert record.node_id == "n1"
    assert any("root" in text and "vcore:5" in text for text in record.reasons)
    found = [
        (v.application_id, v.queue_path, v.node_id, v.key, v.priority, v.originator, v.opted_out)
        for v in record.victims.values()
    ]
    common = ("b", "root.b", "n1")
    assert found == [
        (*common, "v1", -3, False, False),
        (*common, "v3", -7, True, False),
        (*common, "v2", 0, False, True),
    ]
    assert [victim.confirmed for victim in record.victims.values()] == [False] * 3
    assert arena.partition.types.resource(record.freed()) == cores(3)
    assert (record.outcome, record.left) == ("waiting", 3)
    arena.confirm("v3")
    assert [victim.confirmed for victim in record.victims.values()] == [False, True, False]
    arena.now += MINUTE
    arena.confirm("v1", "v2")
    assert (record.outcome, record.left, record.ended_ns) == ("placed", 0, arena.now)


@pytest.mark.remuda_rule("PRE-91")
def test_what_was_lost_is_remembered_with_its_cause() -> None:
    causes: list[str] = []
    for end in ("ask", "application", "node"):
        arena = full(1)
        arena.wants("a", "k", ONE)
        assert arena.after() == ["v0"]
        if end == "ask":
            arena.release_ask("a", "k")
        elif end == "application":
            arena.remove("a")
        else:
            arena.node("n1", action=c.DECOMISSION)
        (record,) = arena.records()
        assert (record.outcome, record.ended_ns) == ("lost", arena.now)
        causes.append(record.cause)
    assert all(causes)
    assert causes[2] not in causes[:2]


@pytest.mark.remuda_rule("PRE-91")
def test_the_last_thousand_are_remembered() -> None:
    # Without the check after each call, which would take most of a minute.
    door = Caller(leaf("a", guaranteed=cores(5)), leaf("b"))
    door.node("n1", ONE)
    door.app("a", "root.a")
    door.app("b", "root.b")
    old = {"creationTime": "1600000000"}
    for number in range(1003):
        door.existing("b", f"v{number}", "n1", ONE)
        door.ask("a", f"k{number}", ONE, tags=old, allow_preempt_other=True)
        door.step()
        door.release("b", f"v{number}", kind=c.PREEMPTED_BY_SCHEDULER)
        assert door.place() == [(f"k{number}-0", "n1")]
        door.release("a", f"k{number}-0")
    door.scheduler.check()
    (home,) = door.scheduler._cluster.partitions()
    kept = [each.allocation_key for each in home.preempting.made.values()]
    assert kept == [f"k{number}" for number in range(3, 1003)]


@pytest.mark.remuda_rule("PRE-91", "PRE-58")
def test_a_fruitless_attempt_leaves_its_reason_with_the_ask() -> None:
    arena = full()
    arena.wants("a", "early", ONE, priority=1)
    arena.step()
    assert "Preemption preconditions failed" in arena.log("a", "early")
    arena.release_ask("a", "early")
    arena.wants("a", "large", cores(4, memory=1))
    arena.wants("a", "larger", cores(6))
    assert arena.after() == []
    assert "Preemption does not help" in arena.log("a", "large")
    assert "Preemption queue guarantees check failed" in arena.log("a", "larger")
    for key in ("large", "larger"):
        finding = arena.request("a", key).finding
        assert finding is not None
        assert finding.preemption in arena.log("a", key)


@pytest.mark.remuda_rule("PRE-90", "PRE-6")
def test_after_a_loss_the_ask_waits_for_the_rest_of_fifteen_seconds() -> None:
    arena = row(2)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v1"]
    arena.now += DELAY
    arena.node("n1", action=c.DECOMISSION)
    # More than fifteen seconds after the attempt: at once.
    assert arena.ordered() == ["v2"]
    assert PAUSE < DELAY


@pytest.mark.remuda_rule("PRE-89", "CYC-15")
def test_equal_asks_keep_the_room_that_was_made_for_each() -> None:
    arena = row(2)
    arena.wants("a", "k1", ONE)
    arena.wants("a", "k2", ONE)
    assert sorted(arena.after()) == ["v1", "v2"]
    kept = {key: node_id for node_id, key in arena.reserved()}
    # The room of the second one is free first. It is for nobody else, not for the first one either.
    later = f"v{kept['k2'][1:]}"
    first = f"v{kept['k1'][1:]}"
    assert arena.confirm(later) == [("k2-0", kept["k2"])]
    assert arena.confirm(first) == [("k1-0", kept["k1"])]


@pytest.mark.remuda_rule("PRE-89", "CYC-21")
def test_an_ask_that_finds_another_node_gives_up_the_one_where_victims_went() -> None:
    arena = pair(nodes={"n1": ONE, "n2": ONE})
    arena.node("spare", cores(9), c.CREATE_DRAIN)  # so that root has room all the time
    arena.runs("b", "n1", ONE, "stays", tags={REQUIRED_NODE: "n1"})
    arena.runs("b", "n2", ONE, "goes")
    arena.wants("a", "k", ONE, 2)
    arena.after(3 * SECOND)
    assert arena.reserved() == [("n1", "k"), ("n2", "k")]
    assert arena.after(DELAY) == ["goes"]
    arena.node("n3", ONE)
    assert arena.placed() == [("k-0", "n3")]
    # The ask wants one allocation more. The reservation that is left is the one without a victim.
    assert arena.reserved() == [("n1", "k")]
    assert [record.outcome for record in arena.records()][:1] == ["placed"]
