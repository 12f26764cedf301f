"""Which allocations make room under maxima of queues (PRE-31, PRE-32, PRE-33, PRE-37, PRE-88)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from tests.unit.core.door import MINUTE, leaf, parent
from tests.unit.core.preemption.arena import DISABLED, ONE, Arena, cores

BOTH = pytest.mark.parametrize("parity", [False, True])
SELF = {"allow_preempt_self": False}
NODES = {"n1": cores(10), "n2": cores(10)}


def capped(
    maximum: int = 10,
    *,
    nodes: Mapping[str, Mapping[str, int]] = NODES,
    others: tuple[QueueConfig, ...] = (),
    **other: Any,
) -> Arena:
    """Parent ``p`` with a maximum, and leaves ``a``, which is owed 5, ``b`` and ``others``."""
    top = parent("p", leaf("a", guaranteed=cores(5)), leaf("b"), maximum=cores(maximum))
    arena = Arena(top, *others, nodes=nodes, **other)
    arena.apps_in(a="p.a", b="p.b")
    return arena


def reasons(arena: Arena) -> dict[str, bool]:
    """Victims of the last preemption: whether each went for a queue's maximum."""
    victims = arena.records()[-1].victims.values()
    return {victim.allocation_id: victim.for_queue for victim in victims}


@pytest.mark.remuda_rule("PRE-31", "PRE-33", "PRE-37", "PRE-88")
@BOTH
def test_room_under_a_maximum_is_made_wherever_it_is_used(parity: bool) -> None:
    # Edge case 32.
    arena = capped(10, nodes={"n1": cores(4), "n2": cores(6), "n3": cores(9)}, parity=parity)
    for number in range(4):
        arena.runs("b", "n1", ONE, f"v{number}", age=2 * number + 1)
    for number in range(6):
        arena.runs("b", "n2", ONE, f"w{number}", age=2 * number + 2)
    arena.wants("a", "k", cores(3))
    assert arena.after() == ["v0", "w0", "v1"]
    assert arena.reserved() == [("n3", "k")]
    assert set(reasons(arena).values()) == {True}
    assert arena.confirm("w0", "v1") == []
    assert arena.confirm("v0") == [("k-0", "n3")]


@pytest.mark.remuda_rule("PRE-37", "PRE-88", "PRE-34")
def test_victims_on_the_node_come_first_and_then_those_under_the_maximum() -> None:
    owed = leaf("a", guaranteed=cores(5, gpu=1))
    fixed = leaf("z", properties=DISABLED)
    top = parent("p", owed, leaf("b"), leaf("out"), fixed, maximum=cores(10))
    arena = Arena(top, nodes={"n1": cores(2, gpu=1), "n2": cores(10, gpu=1)})
    arena.apps_in(a="p.a", b="p.b", out="p.out", z="p.z")
    arena.runs("z", "n2", {"gpu": 1}, "z")
    arena.runs("out", "n1", {"gpu": 1}, "g", age=50)
    for number in range(10):
        arena.runs("b", "n2", ONE, f"v{number}", age=number + 1)
    arena.wants("a", "k", cores(2, gpu=1))
    assert arena.after() == ["g", "v0", "v1"]
    assert reasons(arena) == {"g": False, "v0": True, "v1": True}
    assert arena.reserved() == [("n1", "k")]


@pytest.mark.remuda_rule("PRE-88", "PRE-31")
@BOTH
def test_those_who_consent_come_first_then_those_that_are_newest(parity: bool) -> None:
    arena = capped(6, parity=parity)
    arena.runs("b", "n1", ONE, "both", age=1, originator=True, **SELF)
    arena.runs("b", "n1", ONE, "opted", age=2, **SELF)
    arena.runs("b", "n1", ONE, "first", age=3, originator=True)
    arena.runs("b", "n1", ONE, "new", age=4)
    arena.runs("b", "n1", ONE, "old", age=6)
    arena.runs("b", "n1", ONE, "middle", age=5)
    arena.wants("a", "k", cores(5))
    assert arena.after() == ["new", "middle", "old", "first", "opted"]


@pytest.mark.remuda_rule("PRE-88")
def test_without_a_creation_time_the_last_that_was_placed_goes_first() -> None:
    arena = capped(3)
    arena.ask("b", "old", ONE, tags={"creationTime": str(arena.now // 10**9 - 5)})
    arena.ask("b", "z", ONE)
    assert len(arena.placed()) == 2
    arena.now += MINUTE
    arena.ask("b", "y", ONE)
    assert len(arena.placed()) == 1
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["y-0", "z-0"]


@pytest.mark.remuda_rule("PRE-88")
def test_of_equals_the_last_by_key_goes_first() -> None:
    arena = capped(3)
    arena.runs("b", "n1", ONE, "x", "y", "w", age=9)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["y"]


@pytest.mark.remuda_rule("PRE-88")
def test_what_is_not_needed_after_all_stays() -> None:
    arena = capped(4)
    arena.runs("b", "n1", cores(1), "small", age=1)
    arena.runs("b", "n1", cores(3), "large", age=2)
    arena.wants("a", "k", cores(3))
    assert arena.after() == ["large"]


@pytest.mark.remuda_rule("PRE-88", "PRE-32")
@BOTH
def test_only_what_is_below_the_queue_that_is_full_goes(parity: bool) -> None:
    arena = capped(4, others=(leaf("out"),), parity=parity)
    arena.apps_in(out="out")
    arena.runs("b", "n1", ONE, "v0", "v1", "v2", "v3", age=100)
    arena.runs("out", "n1", ONE, "newer", age=1)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v0" if parity else "v3"]


@pytest.mark.remuda_rule("PRE-88", "PRE-18")
def test_what_is_on_a_node_that_takes_nothing_stays() -> None:
    arena = capped(4)
    arena.runs("b", "n1", cores(2), "stays", age=1)
    arena.runs("b", "n2", cores(2), "goes", age=2)
    arena.node("n1", action=c.DRAIN_NODE)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["goes"]


@pytest.mark.remuda_rule("PRE-33", "PRE-39", "PRE-88")
@BOTH
def test_if_it_is_not_enough_nothing_goes(parity: bool) -> None:
    # Edge case 33: two are missing, and only one may go.
    top = parent(
        "p",
        leaf("a", guaranteed=cores(5)),
        leaf("b", guaranteed=cores(2)),
        leaf("z", properties=DISABLED),
        maximum=cores(6),
    )
    arena = Arena(top, nodes=NODES, parity=parity)
    arena.apps_in(a="p.a", b="p.b", z="p.z")
    arena.runs("b", "n1", ONE, "v0", "v1", "v2")
    arena.runs("z", "n1", cores(3), "z")
    arena.wants("a", "k", cores(2))
    before = arena.queue("root")
    assert arena.after(MINUTE) == []
    assert arena.queue("root") == before
    assert arena.reserved() == []
    assert arena.records() == []


@pytest.mark.remuda_rule("PRE-88", "PRE-89")
def test_room_that_is_promised_is_made_only_once() -> None:
    arena = capped(10)
    for number in range(10):
        arena.runs("b", "n1", ONE, f"v{number}", age=number + 1)
    arena.wants("a", "k1", cores(2))
    arena.wants("a", "k2", cores(3))
    assert sorted(arena.after()) == ["v0", "v1", "v2", "v3", "v4"]
    placed = arena.confirm("v0", "v1", "v2", "v3", "v4")
    assert sorted(key for key, _ in placed) == ["k1-0", "k2-0"]
    assert arena.queue("root.p").allocated == cores(10)


@pytest.mark.remuda_rule("PRE-88")
def test_the_size_of_the_cluster_is_a_maximum_for_every_type() -> None:
    # n1 runs more than it has: n2 has room, the cluster has not.
    queues = leaf("a", guaranteed=cores(5)), leaf("b")
    arena = Arena(*queues, nodes={"n1": cores(2), "n2": cores(4)})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(2), "old", age=9)
    arena.runs("b", "n1", cores(2), "new", age=1)
    arena.runs("b", "n2", cores(2), "beside", age=5)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["new"]
    assert arena.reserved() == [("n2", "k")]
    assert arena.confirm("new") == [("k-0", "n2")]


@pytest.mark.remuda_rule("PRE-88", "PRE-86")
def test_guarantees_protect_here_as_well() -> None:
    top = parent(
        "p",
        leaf("a", guaranteed=cores(5)),
        leaf("b", guaranteed=cores(3)),
        leaf("d"),
        maximum=cores(4),
    )
    arena = Arena(top, nodes=NODES)
    arena.apps_in(a="p.a", b="p.b", d="p.d")
    arena.runs("b", "n1", cores(3), "kept", age=1)
    arena.runs("d", "n1", ONE, "goes", age=9)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["goes"]


@pytest.mark.remuda_rule("PRE-31", "PRE-33")
def test_what_the_node_gave_counts_for_the_queue() -> None:
    arena = capped(4, nodes={"n1": cores(4)})
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.runs("b", "n1", cores(2), "v", age=1)
    arena.runs("b", "n1", cores(2), "w", age=2)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v"]
    assert reasons(arena) == {"v": False}


@pytest.mark.remuda_rule("PRE-32", "PRE-84")
@pytest.mark.parametrize("parity, taken", [(True, ["one", "large"]), (False, ["large"])])
def test_in_parity_no_list_is_shortened(parity: bool, taken: list[str]) -> None:
    arena = capped(4, parity=parity)
    arena.runs("b", "n1", cores(1), "one", age=1)
    arena.runs("b", "n1", cores(3), "large", age=2)
    arena.wants("a", "k", cores(3))
    assert arena.after() == taken
