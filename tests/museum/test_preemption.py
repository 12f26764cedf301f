"""The museum of the reference's defects: preemption that takes too much, too little, or twice."""

from __future__ import annotations

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from tests.unit.core.door import CREATING, MINUTE, REQUIRED_NODE, Properties, leaf, parent
from tests.unit.core.preemption.arena import (
    DISABLED,
    ONE,
    PAUSE,
    Arena,
    cores,
    offset,
    pair,
    row,
)


def siblings(properties: Properties) -> QueueConfig:
    """A parent whose leaf ``a`` is owed five cores, and whose leaf ``b`` is owed nothing."""
    return parent("p", leaf("a", guaranteed=cores(5)), leaf("b"), properties=properties)


@pytest.mark.remuda_rule("PRE-4", "PRE-5")
def test_asks_that_may_not_preempt_use_up_no_attempts() -> None:
    """Up to 1.7 each of them counts as an attempt, so ten such asks starve all that come later.

    remuda counts an attempt only for an ask that may preempt.
    """
    arena = row(1)
    for number in range(10):
        arena.ask("a", f"meek{number}", cores(1, memory=number), priority=9)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v1"]


@pytest.mark.remuda_rule("PRE-10")
def test_the_offset_of_a_common_parent_gives_nobody_an_advantage() -> None:
    """Up to 1.9 the offset raises the asker above its siblings, and victims of higher priority go.

    remuda compares siblings below their parent, so the offset of the parent does not count.
    """
    arena = Arena(siblings(offset(100)), nodes={"n1": ONE})
    arena.apps_in(a="p.a", b="p.b")
    arena.runs("b", "n1", ONE, "v", priority=50)
    arena.wants("a", "k", ONE)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-13")
def test_nobody_is_evicted_for_two_asks() -> None:
    """1.5.1 chooses a victim again that is already ordered out, and books it twice.

    remuda passes over it, so the second ask gets a victim of its own.
    """
    queues = leaf("a", guaranteed=cores(2)), leaf("b", guaranteed=ONE)
    nodes = dict.fromkeys(("n1", "n2", "n3", "free1", "free2"), ONE)
    arena = Arena(parent("p", *queues, maximum=cores(3)), nodes=nodes)
    arena.apps_in(a="p.a", b="p.b")
    for number in (1, 2, 3):
        arena.runs("b", f"n{number}", ONE, f"v{number}", age=100 - number)
    arena.wants("a", "k1", ONE)
    arena.wants("a", "k2", ONE)
    assert sorted(arena.after()) == ["v2", "v3"]
    assert arena.preempting("root.p.b") == cores(2)


@pytest.mark.remuda_rule("PRE-14")
def test_a_queue_without_any_guarantee_can_lose_what_it_has() -> None:
    """1.5.1 takes the cluster size for its guarantee, so it keeps the whole cluster for ever.

    In remuda, no guarantee protects nothing.
    """
    queues = leaf("a", guaranteed=cores(5)), leaf("b", guaranteed=None)
    arena = Arena(*queues, nodes={"n1": ONE})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", ONE, "v")
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v"]


@pytest.mark.remuda_rule("PRE-17")
def test_too_much_of_one_type_does_not_cost_another_type() -> None:
    """1.5.1 lets a queue above its guarantee in vcore lose memory that is guaranteed to it.

    remuda protects each type by its own guarantee.
    """
    queues = leaf("a", guaranteed={"memory": 5}), leaf("b", guaranteed=cores(10, memory=10))
    arena = Arena(*queues, nodes={"n1": cores(12, memory=5)})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", {"memory": 5}, "m")
    arena.runs("b", "n1", cores(12), "v")
    arena.wants("a", "k", {"memory": 1})
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-22")
def test_nobody_is_evicted_on_a_node_that_cannot_serve_the_ask() -> None:
    """1.5.1 evicts on a node without any gpu for an ask that wants one, and gains nothing.

    remuda knows that a missing type does not fit.
    """
    queues = leaf("a", guaranteed=cores(5, gpu=1)), leaf("b", guaranteed=ONE)
    arena = Arena(*queues, nodes={"plain": cores(5), "other": {"gpu": 1}})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "plain", ONE, "old", age=100)
    arena.runs("b", "plain", cores(4), "new")
    arena.wants("a", "k", cores(4, gpu=1))
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-43")
def test_free_room_counts_when_a_daemon_needs_its_node() -> None:
    """Up to 1.8 it does not: for 10 cores on a node with 8 free, five victims of 2 cores go.

    remuda evicts one.
    """
    arena = pair(20)
    arena.node("spare", cores(100), c.CREATE_DRAIN)
    arena.runs("b", "n1", cores(2), *(f"v{number}" for number in range(6)))
    arena.requires("a", "daemon", "n1", cores(10))
    assert len(arena.ordered()) == 1


@pytest.mark.remuda_rule("PRE-86", "PRE-53")
def test_a_queue_whose_name_begins_alike_is_no_ancestor() -> None:
    """From 1.6 on, an ask in root.ab takes from root.a what is guaranteed to root.a.

    remuda compares paths name by name.
    """
    queues = leaf("a", guaranteed=cores(20)), leaf("ab", guaranteed=cores(20))
    arena = Arena(*queues, nodes={"n1": cores(20)})
    arena.apps_in(victim="a", asker="ab")
    arena.runs("victim", "n1", cores(5), "v1", "v2", "v3", "v4")
    arena.wants("asker", "k", cores(5))
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-6")
def test_an_ask_that_lost_its_room_may_preempt_again() -> None:
    """In the reference an ask preempts once, even if its node vanishes before it is placed.

    remuda lets it try again.
    """
    arena = row(2)
    arena.wants("a", "k", ONE)
    (first,) = arena.after()
    arena.node(f"n{first[1:]}", action=c.DECOMISSION)
    (second,) = arena.after(PAUSE)
    assert {first, second} == {"v1", "v2"}


@pytest.mark.remuda_rule("PRE-12", "PRP-4", "D-C24")
def test_a_queue_made_on_demand_is_as_safe_as_its_parent() -> None:
    """In the reference a parent that disables preemption does not protect it.

    remuda protects all that is below such a parent.
    """
    queues = leaf("a", guaranteed=cores(5)), parent("p", properties=DISABLED)
    arena = Arena(*queues, nodes={"n1": ONE}, placement_rules=(CREATING,))
    arena.apps_in(a="a", b="p.made")
    arena.runs("b", "n1", ONE, "v")
    arena.wants("a", "k", ONE)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("CYC-14")
def test_a_daemon_that_fits_no_node_does_not_stop_the_partition() -> None:
    """1.5.1 and 1.8 try to reserve for it in every cycle, and place nothing else.

    remuda never reserves a node for an ask that the node cannot hold.
    """
    arena = pair(10)
    arena.node("spare", cores(100), c.CREATE_DRAIN)
    arena.requires("a", "huge", "n1", cores(11))
    arena.ask("b", "k", ONE)
    assert arena.placed() == [("k-0", "n1")]
    assert arena.reserved() == []


@pytest.mark.remuda_rule("CYC-14")
def test_a_daemon_for_an_unknown_node_does_not_stop_its_application() -> None:
    """1.5.1 stops there in every cycle, so later asks of the application are never placed.

    remuda goes on with the next ask.
    """
    arena = pair(10)
    arena.requires("a", "lost", "nowhere", ONE, priority=9)
    arena.ask("a", "k", ONE)
    assert arena.placed() == [("k-0", "n1")]


@pytest.mark.remuda_rule("RSV-12")
def test_two_daemons_may_wait_for_one_node() -> None:
    """In 1.5.1 the first one's reservation blocks the second one (YUNIKORN-2976).

    In remuda, both reserve the node, and both start when it is free.
    """
    arena = pair(2)
    arena.node("spare", cores(100), c.CREATE_DRAIN)
    arena.runs("b", "n1", cores(2), "v", tags={REQUIRED_NODE: "n1"})
    arena.requires("a", "daemon1", "n1", ONE)
    arena.requires("a", "daemon2", "n1", ONE)
    arena.step()
    assert arena.reserved() == [("n1", "daemon1"), ("n1", "daemon2")]
    arena.release("b", "v")
    assert arena.placed() == [("daemon1-0", "n1"), ("daemon2-0", "n1")]
