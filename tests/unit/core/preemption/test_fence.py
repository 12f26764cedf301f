"""From where room may be taken, and from whose priority (chapter 60 sections A.2 and A.3)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from remuda.config.schema import QueueConfig, TemplateConfig
from tests.unit.core.door import CREATING, MINUTE, leaf, parent
from tests.unit.core.preemption.arena import DISABLED, FENCED, ONE, Arena, cores, offset

LOWEST, HIGHEST = -(2**31), 2**31 - 1
Properties = Mapping[str, str]
NOTHING: Properties = {}


def scene(*queues: QueueConfig, ask: str, victims: Mapping[str, int], priority: int = 0) -> Arena:
    """A node full of one allocation per queue of ``victims`` (path -> priority), and an ask.

    Allocations are named like the last part of their queue's path.
    """
    arena = Arena(*queues, nodes={"n1": cores(len(victims))})
    for path, of_victim in victims.items():
        name = path.rpartition(".")[2]
        arena.apps_in(**{name: path})
        arena.runs(name, "n1", ONE, name, priority=of_victim)
    arena.app("asker", f"root.{ask}")
    arena.wants("asker", "k", ONE, priority=priority)
    return arena


def owed(name: str, properties: Properties = NOTHING) -> QueueConfig:
    """A leaf with a guarantee."""
    return leaf(name, guaranteed=cores(5), properties=properties)


def family(own: Properties, of_parent: Properties, of_grandparent: Properties) -> QueueConfig:
    """``g`` with leaf ``g3`` and parent ``p`` with leaves ``p2`` and ``a``, which is owed."""
    inner = parent("p", owed("a", own), leaf("p2"), properties=of_parent)
    return parent("g", inner, leaf("g3"), properties=of_grandparent)


# Newer allocations of higher priority are further away: p2 is the last choice without a fence.
EVERYWHERE = {"g.p.p2": 3, "g.g3": 2, "out": 1}


@pytest.mark.remuda_rule("PRE-7")
@pytest.mark.parametrize(
    "own, of_parent, of_grandparent, taken",
    [
        (NOTHING, NOTHING, NOTHING, ["out"]),
        (NOTHING, NOTHING, FENCED, ["g3"]),
        (NOTHING, FENCED, NOTHING, ["p2"]),
        (NOTHING, FENCED, FENCED, ["p2"]),
        (FENCED, NOTHING, NOTHING, []),
        (FENCED, FENCED, FENCED, []),
        (DISABLED, NOTHING, NOTHING, ["out"]),
        (DISABLED, NOTHING, FENCED, ["g3"]),
        (NOTHING, DISABLED, NOTHING, ["out"]),
    ],
)
def test_the_nearest_fence_above_an_ask_bounds_its_reach(
    own: Properties, of_parent: Properties, of_grandparent: Properties, taken: list[str]
) -> None:
    queues = family(own, of_parent, of_grandparent), leaf("out")
    assert scene(*queues, ask="g.p.a", victims=EVERYWHERE, priority=9).after() == taken


@pytest.mark.remuda_rule("PRE-7")
def test_a_fence_on_root_changes_nothing() -> None:
    arena = Arena(owed("a"), leaf("b"), nodes={"n1": ONE}, properties=FENCED)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", ONE, "v")
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v"]


@pytest.mark.remuda_rule("PRE-8")
def test_a_fence_protects_nobody_from_outside() -> None:
    behind = parent("p", leaf("b", properties=FENCED), properties=FENCED)
    assert scene(owed("a"), behind, ask="a", victims={"p.b": 0}).after() == ["b"]


@pytest.mark.remuda_rule("PRE-51", "PRE-7")
def test_a_queue_at_its_maximum_bounds_the_reach_of_an_ask_below() -> None:
    full = parent("p", owed("a"), leaf("p2"), maximum=cores(1))
    victims = {"p.p2": 5, "out": 0}
    assert scene(full, leaf("out"), ask="p.a", victims=victims, priority=9).after() == ["p2"]


@pytest.mark.remuda_rule("PRE-51", "PRE-7")
def test_a_queue_below_its_maximum_bounds_nothing() -> None:
    roomy = parent("p", owed("a"), leaf("p2"), maximum=cores(2))
    victims = {"p.p2": 5, "out": 0}
    assert scene(roomy, leaf("out"), ask="p.a", victims=victims, priority=9).after() == ["out"]


@pytest.mark.remuda_rule("PRE-51", "PRE-7")
def test_an_ask_above_the_maximum_of_its_own_leaf_takes_nothing() -> None:
    own = leaf("a", cores(2), cores(2))
    arena = scene(own, leaf("out"), ask="a", victims={"out": 0, "a": 0})
    arena.runs("a", "n1", ONE, "more")
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-8", "PRE-9")
@pytest.mark.parametrize(
    "of_asker, of_other, priority, of_victim, taken",
    [
        (NOTHING, NOTHING, 5, 5, True),
        (NOTHING, NOTHING, 5, 6, False),
        (NOTHING, NOTHING, 0, -1, True),
        # that of the other leaf against it
        (NOTHING, offset(3), 5, 2, True),
        (NOTHING, offset(3), 5, 3, False),
        (NOTHING, offset(-3), 5, 8, True),
        (NOTHING, offset(-3), 5, 9, False),
        # the offset of its own leaf counts for the ask
        (offset(3), NOTHING, 5, 8, True),
        (offset(3), NOTHING, 5, 9, False),
        # a fence on the path of the ask: its offset is the priority
        (offset(3, priority_policy="fence"), NOTHING, 50, 3, True),
        (offset(3, priority_policy="fence"), NOTHING, 50, 4, False),
        (offset(3, priority_policy="fence"), NOTHING, -50, 3, True),
        # a fence elsewhere: nothing below it, or everything
        (NOTHING, offset(4, priority_policy="fence"), 5, 99, True),
        (NOTHING, offset(5, priority_policy="fence"), 5, 99, True),
        (NOTHING, offset(6, priority_policy="fence"), 5, -99, False),
    ],
)
def test_a_victim_has_no_higher_priority_seen_from_the_common_ancestor(
    of_asker: Properties, of_other: Properties, priority: int, of_victim: int, taken: bool
) -> None:
    queues = owed("a", of_asker), leaf("b", properties=of_other)
    arena = scene(*queues, ask="a", victims={"b": of_victim}, priority=priority)
    assert arena.after() == ["b"] * taken


@pytest.mark.remuda_rule("PRE-8", "PRE-9")
@pytest.mark.parametrize("of_victim, taken", [(12, True), (13, False)])
def test_offsets_add_up_on_both_ways_to_the_common_ancestor(of_victim: int, taken: bool) -> None:
    # The ask is worth 1 + 2 + 10 = 13; the other 4 - 3 = 1 less than its own.
    asker = parent("p", owed("a", offset(2)), properties=offset(10))
    other = parent("q", leaf("b", properties=offset(4)), properties=offset(-3))
    arena = scene(asker, other, ask="p.a", victims={"q.b": of_victim}, priority=1)
    assert arena.after() == ["b"] * taken


@pytest.mark.remuda_rule("PRE-8", "PRE-9")
@pytest.mark.parametrize("of_fence, taken", [(0, True), (1, False)])
def test_below_a_priority_fence_no_offset_counts(of_fence: int, taken: bool) -> None:
    inner = leaf("b", properties=offset(1000))
    fenced = parent("q", inner, properties=offset(of_fence, priority_policy="fence"))
    arena = scene(owed("a"), fenced, ask="a", victims={"q.b": 77})
    assert arena.after() == ["b"] * taken


@pytest.mark.remuda_rule("PRE-8", "PRE-87")
@pytest.mark.parametrize("of_outer, taken", [(0, True), (1, False)])
def test_of_priority_fences_in_each_other_the_outermost_counts(of_outer: int, taken: bool) -> None:
    inner = parent("r", leaf("b"), properties=offset(5, priority_policy="fence"))
    outer = parent("q", inner, properties=offset(of_outer, priority_policy="fence"))
    assert scene(owed("a"), outer, ask="a", victims={"q.r.b": 9}).after() == ["b"] * taken


@pytest.mark.remuda_rule("PRE-10")
@pytest.mark.parametrize("of_common", [offset(0), offset(100), offset(-100)])
def test_the_offset_of_a_common_ancestor_counts_for_nobody(of_common: Properties) -> None:
    for of_victim, taken in ((50, []), (0, ["b"])):
        queues = parent("p", owed("a"), leaf("b"), properties=of_common)
        assert scene(queues, ask="p.a", victims={"p.b": of_victim}).after() == taken


@pytest.mark.remuda_rule("PRE-10")
def test_a_priority_fence_on_the_common_ancestor_hides_nothing_below_it() -> None:
    fence = offset(-5, priority_policy="fence")
    queues = parent("p", owed("a"), leaf("b"), properties=fence)
    assert scene(queues, ask="p.a", victims={"p.b": 0}, priority=10).after() == ["b"]


@pytest.mark.remuda_rule("PRE-7", "PRE-8")
@pytest.mark.parametrize(
    "of_asker, of_other, priority, of_victim, taken",
    [
        (HIGHEST, HIGHEST, HIGHEST, HIGHEST, True),
        (HIGHEST, LOWEST, HIGHEST, HIGHEST, True),
        (LOWEST, HIGHEST, LOWEST, LOWEST, False),
        (LOWEST, 0, LOWEST, LOWEST, False),
        (LOWEST, LOWEST, 0, 0, True),
        (LOWEST, LOWEST, 0, 1, False),
    ],
)
def test_sums_of_priorities_are_exact_at_the_ends_of_32_bits(
    of_asker: int, of_other: int, priority: int, of_victim: int, taken: bool
) -> None:
    queues = owed("a", offset(of_asker)), leaf("b", properties=offset(of_other))
    arena = scene(*queues, ask="a", victims={"b": of_victim}, priority=priority)
    assert arena.after() == ["b"] * taken


@pytest.mark.remuda_rule("PRE-12")
def test_the_own_leaf_gives_nothing_even_of_another_application() -> None:
    arena = Arena(leaf("a", guaranteed=cores(5)), nodes={"n1": cores(2)})
    arena.app("other")
    arena.app("asker")
    arena.runs("other", "n1", cores(2), "v", priority=-9)
    arena.wants("asker", "k", ONE)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-12", "QUE-18")
@pytest.mark.parametrize(
    "of_parent, of_leaf, taken",
    [
        (NOTHING, NOTHING, True),
        (NOTHING, DISABLED, False),
        (DISABLED, NOTHING, False),
        (DISABLED, {"preemption.policy": "default"}, False),
        (DISABLED, FENCED, False),
        ({"preemption.policy": "DISABLED"}, NOTHING, False),
        (FENCED, NOTHING, True),
    ],
)
def test_a_queue_with_preemption_disabled_on_its_way_up_gives_nothing(
    of_parent: Properties, of_leaf: Properties, taken: bool
) -> None:
    other = parent("p", leaf("b", properties=of_leaf), properties=of_parent)
    assert scene(owed("a"), other, ask="a", victims={"p.b": 0}).after() == ["b"] * taken


@pytest.mark.remuda_rule("PRE-12")
def test_a_dynamic_leaf_below_one_with_preemption_disabled_gives_nothing() -> None:
    template = TemplateConfig(properties={"application.sort.policy": "fair"})
    other = parent("p", properties=DISABLED, template=template)
    arena = Arena(owed("a"), other, nodes={"n1": ONE}, placement_rules=(CREATING,))
    arena.apps_in(a="a", b="p.b")
    arena.runs("b", "n1", ONE, "v")
    arena.wants("a", "k", ONE)
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-12")
def test_what_has_preemption_disabled_itself_may_take_room() -> None:
    asker = owed("a", DISABLED)
    assert scene(asker, leaf("b"), ask="a", victims={"b": 0}).after() == ["b"]


@pytest.mark.remuda_rule("PRE-53")
def test_a_queue_whose_path_begins_like_that_of_the_ask_is_not_above_it() -> None:
    # Edge case 44: root.a has what it is guaranteed.
    queues = leaf("a", guaranteed=cores(1)), owed("ab"), leaf("zb")
    assert scene(*queues, ask="ab", victims={"a": 0}).after(MINUTE) == []
    assert scene(*queues, ask="ab", victims={"a": -1, "zb": 0}).after() == ["zb"]


@pytest.mark.remuda_rule("PRE-7", "PRE-51", "PRE-89")
def test_what_is_promised_counts_for_the_bound() -> None:
    # p may have one: it has nothing, and one is promised, so a second ask stays inside.
    top = parent("p", owed("a"), leaf("p2"), maximum=ONE)
    arena = Arena(top, leaf("out"), nodes={"n1": ONE, "n2": ONE})
    arena.apps_in(a="p.a", p2="p.p2", out="out")
    arena.runs("out", "n1", ONE, "o1", age=9)
    arena.runs("out", "n2", ONE, "o2", age=9)
    arena.wants("a", "k1", ONE)
    assert arena.after() == ["o1"]
    arena.wants("a", "k2", ONE)
    assert arena.after(MINUTE) == []
