"""The room that is kept for an ask: when others get it, and what happens when they do."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.ports import NodesAnswer, NodesQuestion
from tests.unit.core.door import SECOND, leaf, parent
from tests.unit.core.preemption.arena import DELAY, ONE, PAUSE, Arena, cores, full
from tests.unit.core.preemption.test_required_node import host

HOUR = 3600 * SECOND


def two_promises(maximum: int, *, used: int, older: int, newer: int) -> Arena:
    """Leaf ``a`` with this maximum uses so much on n3; two daemons evict v1 on n1 and v2 on n2."""
    nodes = {"n1": cores(older), "n2": cores(newer), "n3": cores(9)}
    arena = Arena(leaf("a", maximum=cores(maximum)), leaf("b"), nodes=nodes)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(older), "v1")
    arena.runs("b", "n2", cores(newer), "v2")
    arena.runs("a", "n3", cores(used), "grows")
    arena.requires("a", "older", "n1", cores(older))
    arena.requires("a", "newer", "n2", cores(newer))
    assert sorted(arena.ordered()) == ["v1", "v2"]
    return arena


@pytest.mark.remuda_rule("PRE-49")
def test_a_daemon_whose_room_was_taken_takes_room_again() -> None:
    arena = host(cores(2))
    arena.runs("b", "n1", cores(2), "v")
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.ordered() == ["v"]
    arena.release("b", "v", kind=c.PREEMPTED_BY_SCHEDULER)
    arena.runs("b", "n1", cores(2), "again")  # it runs there, whatever the core thinks of it
    assert [*arena.ordered(), *arena.after(PAUSE)] == ["again"]


@pytest.mark.remuda_rule("PRE-6", "PRE-89")
def test_an_ask_whose_room_was_taken_takes_room_again() -> None:
    arena = full(2)
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v1", "v0"]
    for key in ("v1", "v0"):
        arena.release("b", key, kind=c.PREEMPTED_BY_SCHEDULER)
    arena.runs("b", "n1", cores(2), "again")
    assert [*arena.ordered(), *arena.after(PAUSE)] == ["again"]
    assert [(each.outcome, each.left) for each in arena.records()] == [("lost", 0), ("waiting", 1)]


@pytest.mark.remuda_rule("PRE-89", "RSV-7")
def test_what_was_promised_is_for_other_reservations_at_once_when_the_room_is_lost() -> None:
    arena = Arena(
        leaf("a", {"vcore": 5}, cores(4)),
        leaf("b"),
        nodes={"n1": cores(3), "n2": cores(4)},
    )
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n2", cores(4), "other", allow_preempt_self=False)
    arena.runs("b", "n1", cores(3), "v")
    arena.ask("a", "waits", cores(4))
    arena.step()
    arena.now += 3 * SECOND
    arena.step()
    assert arena.reserved() == [("n2", "waits")]
    arena.wants("a", "k", cores(3))
    assert arena.after() == ["v"]
    assert not arena.partition.nodes["n2"].held
    foreign = c.Ask("", "others", cores(1), tags={"foreign": "static"})
    reported = c.ExistingAllocation(foreign, "others", "n1")
    arena.send(c.UpdateAllocations(arena.rm, allocations=(reported,)))
    arena.release("b", "v", kind=c.PREEMPTED_BY_SCHEDULER)
    assert [each.outcome for each in arena.records()] == ["lost"]
    assert arena.partition.nodes["n2"].held


@pytest.mark.remuda_rule("PRE-89", "PRE-6", "PRE-49")
def test_room_is_not_kept_for_an_ask_that_its_own_queue_refuses() -> None:
    arena = Arena(leaf("a", maximum=cores(3)), leaf("b"), nodes={"n1": cores(2), "n2": cores(6)})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(2), "v")
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.ordered() == ["v"]
    arena.runs("a", "n2", cores(4), "recovered")  # it runs there, whatever the queue may use
    assert [each.outcome for each in arena.records()] == ["waiting"]
    arena.release("b", "v", kind=c.PREEMPTED_BY_SCHEDULER)
    assert [(each.outcome, each.cause) for each in arena.records()] == [
        ("lost", "its queue, its user or its group has no room for it any more")
    ]
    assert arena.reserved() == [("n1", "daemon")]
    arena.ask("b", "others", cores(2), 2)
    assert sorted(node_id for _, node_id in arena.placed()) == ["n1", "n2"]
    (on_n1,) = (each.allocation_id for each in arena.node_views()["n1"].allocations)
    arena.release("a", "recovered")
    assert [*arena.ordered(), *arena.after(PAUSE)] == [on_n1]


@pytest.mark.remuda_rule("PRE-89", "PRE-6", "CYC-28")
def test_room_is_not_kept_for_an_ask_after_the_room_of_its_queue_was_used() -> None:
    """The queue stays within its maximum of 6; 4 and the promised 3 are above it."""
    arena = Arena(leaf("a", maximum=cores(6)), leaf("b"), nodes={"n1": cores(3), "n2": cores(9)})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(3), "v")
    arena.runs("a", "n2", cores(3), "grows")
    arena.requires("a", "daemon", "n1", cores(3))
    assert arena.ordered() == ["v"]
    arena.runs("a", "n2", cores(4), "grows")
    assert [each.outcome for each in arena.records()] == ["waiting"]
    arena.release("b", "v", kind=c.PREEMPTED_BY_SCHEDULER)
    assert [(each.outcome, each.cause) for each in arena.records()] == [
        ("lost", "its queue, its user or its group has no room for it any more")
    ]
    assert not arena.partition.nodes["n1"].held


@pytest.mark.remuda_rule("PRE-89", "CYC-28")
def test_the_newest_preemption_is_lost_if_there_is_room_for_the_others() -> None:
    """Of the maximum of 6 two are used and twice two promised; then three are used."""
    arena = two_promises(6, used=2, older=2, newer=2)
    arena.runs("a", "n3", cores(3), "grows")
    arena.release("b", "v2", kind=c.PREEMPTED_BY_SCHEDULER)
    assert [each.outcome for each in arena.records()] == ["waiting", "lost"]
    assert arena.confirm("v1") == [("older-0", "n1")]
    assert [each.outcome for each in arena.records()] == ["placed", "lost"]


@pytest.mark.remuda_rule("PRE-6", "PRE-89")
def test_a_node_that_was_filled_is_given_up_when_the_last_victim_leaves_another_node() -> None:
    """The victim makes room under the maximum of ``p``; the node for the ask was free."""
    top = parent("p", leaf("a", guaranteed=cores(2)), leaf("b"), maximum=cores(2))
    arena = Arena(top, leaf("d"), nodes={"n1": cores(2), "n2": cores(4)})
    arena.apps_in(a="p.a", b="p.b", d="d")
    arena.runs("b", "n1", cores(2), "v")
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v"]
    assert arena.reserved() == [("n2", "k")]
    arena.runs("d", "n2", cores(4), "fills")  # it runs there, whatever the core thinks of it
    assert [each.outcome for each in arena.records()] == ["waiting"]
    arena.release("b", "v", kind=c.PREEMPTED_BY_SCHEDULER)
    assert [(each.outcome, each.cause) for each in arena.records()] == [
        ("lost", "the node does not take it any more")
    ]


@pytest.mark.remuda_rule("PRE-89", "CYC-28")
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_older_preemption_keeps_its_room_though_its_victim_ends_first(size: int) -> None:
    """As above; the asks may be of different sizes, so of different reservation classes."""
    arena = two_promises(4 + size, used=2, older=2, newer=size)
    arena.runs("a", "n3", cores(3), "grows")
    assert arena.confirm("v1") == [("older-0", "n1")]
    assert [each.outcome for each in arena.records()] == ["placed", "waiting"]
    assert arena.confirm("v2") == []
    assert [each.outcome for each in arena.records()] == ["placed", "lost"]


@pytest.mark.remuda_rule("PRE-89", "CYC-28")
def test_the_newest_preemption_is_lost_whatever_the_order_of_its_reservation() -> None:
    """The ask that reserved first found its victim last."""
    nodes = {"n1": cores(2), "n2": cores(2), "n3": cores(9)}
    arena = Arena(leaf("a", maximum=cores(6)), leaf("b"), nodes=nodes)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(2), "high", priority=1)
    arena.runs("b", "n2", cores(2), "v2")
    arena.runs("a", "n3", cores(2), "grows")
    arena.requires("a", "newer", "n1", cores(2))
    assert arena.ordered() == []
    arena.requires("a", "older", "n2", cores(2))
    assert arena.ordered() == ["v2"]
    arena.release("b", "high")
    arena.runs("b", "n1", cores(2), "v1")
    assert arena.ordered() == ["v1"]
    arena.runs("a", "n3", cores(3), "grows")
    assert arena.confirm("v2") == [("older-0", "n2")]
    assert arena.confirm("v1") == []
    assert [each.outcome for each in arena.records()] == ["placed", "lost"]


@pytest.mark.remuda_rule("PRE-89")
def test_a_preemption_without_room_takes_none_from_a_newer_one() -> None:
    """Of the maximum of 6 three and two are promised; then four are used and the two still fit."""
    arena = two_promises(6, used=1, older=3, newer=2)
    arena.runs("a", "n3", cores(4), "grows")
    assert arena.confirm("v2") == [("newer-0", "n2")]
    assert arena.confirm("v1") == []
    assert [each.outcome for each in arena.records()] == ["lost", "placed"]


@pytest.mark.remuda_rule("PRE-89", "RSV-10")
def test_a_promise_does_not_make_its_own_reservation_too_old() -> None:
    """The queue has room for the ask, but not for the ask and what is promised to it."""
    arena = Arena(leaf("a", maximum=cores(2)), leaf("b"), nodes={"n1": cores(2), "n2": cores(9)})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(2), "high", priority=1)
    arena.requires("a", "daemon", "n1", cores(2))
    arena.step()
    assert arena.reserved() == [("n1", "daemon")]
    arena.now += 2 * HOUR
    arena.release("b", "high")
    arena.runs("b", "n1", cores(2), "v")
    assert arena.ordered() == ["v"]
    assert arena.confirm("v") == [("daemon-0", "n1")]
    assert [(each.outcome, each.cause) for each in arena.records()] == [("placed", "")]


@pytest.mark.remuda_rule("PRE-89", "CYC-25")
def test_a_victim_larger_than_the_ask_leaves_room_that_others_may_want() -> None:
    """Of four cores one is free and two are promised; then one more is promised and two will go."""
    arena = Arena(
        leaf("a", guaranteed=cores(2)),
        leaf("b", guaranteed=cores(2)),
        leaf("c"),
        nodes={"n1": cores(2), "n2": cores(2)},
    )
    arena.apps_in(a="a", b="b", c="c")
    arena.runs("c", "n1", ONE, "v1", "v2")
    arena.runs("c", "n2", cores(2), "v3", allow_preempt_self=False)
    arena.wants("a", "k", cores(2))
    assert sorted(arena.after(DELAY)) == ["v1", "v2"]
    assert arena.confirm("v1") == []
    arena.ask("c", "other", ONE)
    assert arena.after(DELAY) == []
    assert _gate(arena) == "queue quota"
    arena.wants("b", "k", ONE)
    assert arena.after(DELAY) == ["v3"]
    assert _gate(arena) == "nodes"


def _gate(arena: Arena) -> str:
    """What stops the ask of ``c``."""
    finding = arena.request("c", "other").finding
    assert finding is not None
    return finding.gate


@pytest.mark.remuda_rule("PRE-90", "PRE-6")
def test_an_ask_that_loses_its_room_again_and_again_preempts_less_and_less_often() -> None:
    """Its predicates refuse it everywhere, and the RM is not asked about victims."""

    def refuses(query: NodesQuestion) -> NodesAnswer:
        return NodesAnswer(-1 if query.allocation_key == "k" else 0, ("no",) * len(query.node_ids))

    nodes = {name: cores(2) for name in ("n0", "n1", "n2")}
    a = leaf("a", guaranteed=cores(2))
    arena = Arena(a, leaf("b"), nodes=nodes, predicates=refuses)
    arena.apps_in(a="a", b="b")
    for name in nodes:
        arena.runs("b", name, cores(2), f"on-{name}")
    arena.wants("a", "k", cores(2))
    began, evicted = arena.now + DELAY, []
    for second in range(1_000):
        for identity in arena.after(SECOND):
            evicted.append((arena.now - began) // SECOND)
            arena.confirm(identity)
            arena.ask("b", f"again{second}", cores(2))
            arena.step()
    due = [0, 15, 45, 105, 225, 465, 945]
    assert len(evicted) == len(due)
    assert all(0 <= at - least <= 4 for at, least in zip(evicted, due, strict=True))
