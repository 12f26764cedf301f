"""Which allocations make room on a node (chapter 60 section A.5, PRE-50, PRE-57, PRE-87)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import MINUTE, SECOND, leaf
from tests.unit.core.preemption.arena import (
    DELAY,
    ONE,
    Arena,
    Panel,
    cores,
    full,
    offset,
    pair,
    row,
)

BOTH = pytest.mark.parametrize("parity", [False, True])
SELF = {"allow_preempt_self": False}


def shown(arena: Arena, panel: Panel) -> list[str]:
    """The victims the RM is told of at the first attempt, in order."""
    arena.after()
    return [key for item in panel.items[:1] for key in item.victims]


# ------------------------------------------------------------------------------------ nodes


@pytest.mark.remuda_rule("PRE-18")
@BOTH
def test_nothing_goes_from_a_node_that_takes_nothing(parity: bool) -> None:
    # Edge case 22.
    arena = full(2, parity=parity)
    arena.node("n1", action=c.DRAIN_NODE)
    arena.wants("a", "k", ONE)
    assert arena.after(MINUTE) == []
    arena.node("n1", action=c.DRAIN_TO_SCHEDULABLE)
    assert arena.after() == ["v1"]


@pytest.mark.remuda_rule("PRE-18", "PRE-36")
@BOTH
def test_nothing_goes_from_a_node_that_is_reserved_for_another(parity: bool) -> None:
    # Edge cases 21 and 35: n1 is reserved for somebody else.
    arena = row(2, 4, parity=parity)
    arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.app("c", "root.b")
    arena.ask("c", "large", cores(4), priority=7)
    arena.after(3 * SECOND)
    assert arena.reserved() == [("n1", "large")]
    arena.wants("a", "k", cores(4))
    assert arena.after() == ["v2"]


@pytest.mark.remuda_rule("PRE-18", "PRE-89")
@BOTH
def test_an_ask_may_take_room_on_the_node_it_has_reserved(parity: bool) -> None:
    arena = full(2, parity=parity)
    arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.wants("a", "k", cores(2))
    arena.after(3 * SECOND)
    assert arena.reserved() == [("n1", "k")]
    assert arena.after() == ["v1", "v0"]
    assert arena.confirm("v1", "v0") == [("k-0", "n1")]


@pytest.mark.remuda_rule("PRE-50", "PRE-22")
@BOTH
def test_a_node_without_a_type_the_ask_wants_is_of_no_use(parity: bool) -> None:
    # Edge case 20.
    queues = leaf("a", guaranteed=cores(5, gpu=1)), leaf("b")
    arena = Arena(*queues, nodes={"n1": cores(5), "n2": {"gpu": 1}}, parity=parity)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(5), "v")
    arena.wants("a", "k", cores(5, gpu=1))
    assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-50")
@BOTH
def test_a_node_too_small_for_the_ask_is_of_no_use(parity: bool) -> None:
    arena = pair(nodes={"n1": cores(2), "n2": cores(3)}, parity=parity)
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.runs("b", "n1", cores(2), "v")
    # It runs more than it has room for.
    arena.runs("b", "n1", cores(2), "w")
    arena.runs("b", "n2", cores(3), "x")
    arena.wants("a", "k", cores(3))
    assert arena.after() == ["x"]


# ------------------------------------------------------- reservations that give way (RSV-10)


def reserved_by(priority: int = -1, limit: str = "60m", **ask: bool) -> Arena:
    """``large`` of queue ``b`` has just reserved the full node n1."""
    arena = full(2, extra_config={"scheduler.reservationLimit": limit})
    arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.app("c", "root.b")
    arena.ask("c", "large", cores(2), priority=priority, **ask)
    arena.after(3 * SECOND)
    assert arena.reserved() == [("n1", "large")]
    return arena


@pytest.mark.remuda_rule("RSV-10", "PRE-50", "PRE-87")
@pytest.mark.parametrize("limit, minutes", [("60m", 60), ("10m", 10)])
def test_an_old_reservation_of_lower_priority_gives_way(limit: str, minutes: int) -> None:
    # Edge case 46.
    arena = reserved_by(limit=limit)
    arena.now += minutes * MINUTE - DELAY + 1
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v1"]
    assert arena.reserved() == [("n1", "k")]
    assert arena.confirm("v1") == [("k-0", "n1")]


@pytest.mark.remuda_rule("RSV-10", "PRE-87")
@pytest.mark.parametrize(
    "priority, limit, age",
    [
        (-1, "60m", 60 * MINUTE),
        (0, "60m", 70 * MINUTE),
        (1, "60m", 70 * MINUTE),
        (-1, "0", 70 * MINUTE),
    ],
)
def test_a_reservation_that_is_young_or_of_no_lower_priority_stays(
    priority: int, limit: str, age: int
) -> None:
    arena = reserved_by(priority, limit)
    arena.now += age - DELAY
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    assert arena.reserved() == [("n1", "large")]


@pytest.mark.remuda_rule("RSV-10", "PRE-87", "PRE-89")
def test_the_reservation_of_a_live_preemption_never_gives_way() -> None:
    arena = pair(1, extra_config={"rm.confirmTimeout": "0"})
    arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.runs("b", "n1", ONE, "v", priority=-9)
    arena.wants("a", "low", ONE, priority=-5)
    assert arena.after() == ["v"]
    arena.now += 100 * MINUTE
    arena.wants("a", "high", ONE, priority=5)
    assert arena.after() == []
    assert arena.reserved() == [("n1", "low")]
    assert arena.confirm("v") == [("low-0", "n1")]


@pytest.mark.remuda_rule("RSV-10", "PRE-87")
def test_the_reservation_of_a_daemon_never_gives_way() -> None:
    arena = full(2)
    arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.app("c", "root.b")
    arena.requires("c", "daemon", "n1", ONE, priority=-5)
    assert arena.ordered() == []
    arena.now += 100 * MINUTE
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    assert arena.reserved() == [("n1", "daemon")]


# ---------------------------------------------------------------------- order of candidates


@pytest.mark.remuda_rule("PRE-19", "PRE-87", "SI-38")
@BOTH
def test_candidates_come_by_consent_then_by_role_then_the_newest_first(parity: bool) -> None:
    panel = Panel()
    arena = pair(7, victims_port=panel, parity=parity)
    arena.runs("b", "n1", ONE, "both", age=1, originator=True, **SELF)
    arena.runs("b", "n1", ONE, "opted-new", age=2, **SELF)
    arena.runs("b", "n1", ONE, "opted-old", age=3, **SELF)
    arena.runs("b", "n1", ONE, "first", age=4, originator=True)
    arena.runs("b", "n1", ONE, "new", age=5)
    arena.runs("b", "n1", ONE, "twin-a", "twin-b", age=6)
    arena.wants("a", "k", ONE)
    order = ["new", "twin-a", "twin-b", "first", "opted-new", "opted-old", "both"]
    assert shown(arena, panel) == order


@pytest.mark.remuda_rule("PRE-19", "PRE-87", "PRE-84")
@pytest.mark.parametrize("parity, order", [(False, ["old", "new"]), (True, ["new", "old"])])
def test_lower_priority_goes_before_newer(parity: bool, order: list[str]) -> None:
    panel = Panel()
    arena = pair(2, victims_port=panel, parity=parity)
    arena.runs("b", "n1", ONE, "old", age=9, priority=-2)
    arena.runs("b", "n1", ONE, "new", age=1, priority=-1)
    arena.wants("a", "k", ONE)
    assert shown(arena, panel) == order


@pytest.mark.remuda_rule("PRE-87", "PRE-19")
def test_the_priority_of_a_candidate_is_that_seen_from_the_ask() -> None:
    panel = Panel()
    fence = offset(-4, priority_policy="fence")
    others = leaf("b"), leaf("up", properties=offset(5)), leaf("fenced", properties=fence)
    arena = Arena(
        leaf("a", guaranteed=cores(5)), *others, nodes={"n1": cores(3)}, victims_port=panel
    )
    arena.apps_in(a="a", b="b", up="up", fenced="fenced")
    arena.runs("b", "n1", ONE, "v-b", priority=-1)
    arena.runs("up", "n1", ONE, "v-up", priority=-5)
    arena.runs("fenced", "n1", ONE, "v-fenced", priority=99)
    arena.wants("a", "k", ONE)
    assert shown(arena, panel) == ["v-fenced", "v-b", "v-up"]


# ---------------------------------------------------------------------- choice of candidates


def worked(parity: bool, panel: Panel) -> Arena:
    """The example of PRE-23: available {memory 15, vcore 1000}, use of the leaf {vcore 9000}."""
    queues = leaf("a", guaranteed=cores(9000)), leaf("b", guaranteed=cores(1000))
    nodes = {"n1": {"memory": 20, "vcore": 10_000}}
    arena = Arena(*queues, nodes=nodes, parity=parity, victims_port=panel)
    arena.apps_in(a="a", b="b")
    hour = 3600
    arena.runs("b", "n1", cores(2000), "v1", age=hour)
    arena.runs("b", "n1", {"memory": 5}, "v2", age=2 * hour)
    arena.runs("b", "n1", cores(3000), "v3", age=3 * hour)
    arena.runs("b", "n1", cores(2000), "v4", age=hour, originator=True)
    arena.runs("b", "n1", cores(2000), "v5", age=hour, **SELF)
    arena.wants("a", "k", cores(4000))
    return arena


@pytest.mark.remuda_rule("PRE-21", "PRE-22", "PRE-23", "PRE-84")
def test_the_worked_example_of_one_node_in_parity() -> None:
    # Edge case 19.
    panel = Panel()
    arena = worked(True, panel)
    assert arena.after() == ["v1", "v3"]
    assert panel.told == [("n1", ("v1", "v3", "v2", "v4"), 1)]


@pytest.mark.remuda_rule("PRE-87", "PRE-57", "PRE-23")
def test_the_worked_example_of_one_node() -> None:
    # v3 alone makes room for 4000 with the 1000 that are free, so v1 goes behind it.
    panel = Panel()
    arena = worked(False, panel)
    assert arena.after() == ["v3"]
    assert panel.told == [("n1", ("v3", "v1", "v4"), 0)]


@pytest.mark.remuda_rule("PRE-29")
@pytest.mark.parametrize("index, taken", [(1, ["v1", "v3"]), (3, ["v1", "v3", "v2", "v4"])])
def test_the_worked_example_with_more_than_the_first_victims(index: int, taken: list[str]) -> None:
    assert worked(True, Panel(n1=(True, index))).after() == taken


@pytest.mark.remuda_rule("PRE-21", "PRE-87")
@BOTH
def test_what_does_not_help_goes_behind_what_does(parity: bool) -> None:
    # Edge case 23: of memory there is enough.
    queues = leaf("a", guaranteed=cores(5, memory=5)), leaf("b")
    nodes = {"n1": cores(2, memory=9)}
    panel = Panel()
    arena = Arena(*queues, nodes=nodes, victims_port=panel, parity=parity)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", {"memory": 2}, "useless", age=1)
    arena.runs("b", "n1", cores(1, memory=1), "useful", age=2)
    arena.runs("b", "n1", ONE, "later", age=3)
    arena.wants("a", "k", cores(1, memory=1))
    assert arena.after() == ["useful"]
    assert panel.told == [("n1", ("useful", "useless", "later"), 0)]


@pytest.mark.remuda_rule("PRE-57", "PRE-87")
def test_each_missing_type_is_freed() -> None:
    # Edge case 45.
    queues = leaf("a", guaranteed=cores(5000, gpu=1)), leaf("b")
    arena = Arena(*queues, nodes={"n1": cores(5000, gpu=1)})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", {"gpu": 1}, "v2", age=9)
    arena.runs("b", "n1", cores(5000), "v1", age=1)
    arena.wants("a", "k", cores(5000, gpu=1))
    assert sorted(arena.after()) == ["v1", "v2"]
    assert arena.confirm("v1", "v2") == [("k-0", "n1")]


@pytest.mark.remuda_rule("PRE-57", "PRE-87")
def test_no_more_goes_than_is_missing_beside_what_is_free() -> None:
    arena = pair(20)
    for number in range(12):
        arena.runs("b", "n1", ONE, f"v{number}", age=100 - number)
    arena.runs("b", "n1", cores(6), "large", age=500)
    arena.wants("a", "k", cores(3))
    assert arena.after() == ["v11"]


@pytest.mark.remuda_rule("PRE-57", "PRE-87")
def test_victims_that_turn_out_superfluous_stay() -> None:
    arena = pair(4)
    for number, (name, size) in enumerate({"one": 1, "uno": 1, "two": 2}.items()):
        arena.runs("b", "n1", cores(size), name, age=100 + number)
    arena.wants("a", "k", cores(3))
    # Newest first: one, uno, two; from the end, the first that may stay is uno.
    assert arena.after() == ["one", "two"]


@pytest.mark.remuda_rule("PRE-20", "PRE-26", "PRE-85")
def test_an_opted_out_or_original_victim_goes_when_nothing_else_suffices() -> None:
    # Edge case 24.
    for fields in (SELF, {"originator": True}, {"originator": True, **SELF}):
        arena = pair(1)
        arena.runs("b", "n1", ONE, "v", **fields)
        arena.wants("a", "k", ONE)
        assert arena.after() == ["v"]


# ---------------------------------------------------------------------------- choice of nodes


@pytest.mark.remuda_rule("PRE-29", "PRE-87")
@pytest.mark.parametrize(
    "on_first, on_second, taken",
    [
        ({}, {}, "n1"),
        (SELF, {}, "n2"),
        ({"originator": True}, {}, "n2"),
        (SELF, {"originator": True}, "n2"),
        ({"originator": True}, SELF, "n1"),
        ({"originator": True, **SELF}, SELF, "n2"),
    ],
)
def test_the_node_is_taken_where_the_least_is_asked_of_others(
    on_first: dict[str, bool], on_second: dict[str, bool], taken: str
) -> None:
    arena = pair(nodes={"n1": ONE, "n2": ONE})
    arena.runs("b", "n1", ONE, "n1", **on_first)
    arena.runs("b", "n2", ONE, "n2", **on_second)
    arena.wants("a", "k", ONE)
    assert arena.after() == [taken]


@pytest.mark.remuda_rule("PRE-28", "PRE-84")
def test_without_a_judge_the_first_node_is_taken_in_parity() -> None:
    arena = pair(nodes={"n1": ONE, "n2": ONE}, parity=True)
    arena.runs("b", "n1", ONE, "n1", **SELF)
    arena.runs("b", "n2", ONE, "n2")
    arena.wants("a", "k", ONE)
    assert arena.after() == ["n1"]


@pytest.mark.remuda_rule("PRE-29", "PRE-25", "PRE-87")
@BOTH
def test_the_node_is_taken_where_the_fewest_have_to_go(parity: bool) -> None:
    arena = pair(nodes={"n1": cores(2), "n2": cores(2)}, parity=parity)
    arena.runs("b", "n1", ONE, "small", "smaller")
    arena.runs("b", "n2", cores(2), "large")
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["large"]


@pytest.mark.remuda_rule("PRE-29", "PRE-87")
def test_several_ordinary_victims_are_less_than_one_that_opted_out() -> None:
    arena = pair(nodes={"n1": cores(5), "n2": cores(5)})
    arena.runs("b", "n1", cores(5), "opted", **SELF)
    for number in range(5):
        arena.runs("b", "n2", ONE, f"v{number}")
    arena.wants("a", "k", cores(5))
    assert arena.after() == [f"v{number}" for number in range(5)]


@pytest.mark.remuda_rule("PRE-81")
def test_the_same_question_has_the_same_answer_in_whatever_order_things_came() -> None:
    def taken(names: list[str]) -> list[str]:
        arena = pair(nodes={f"n{name}": cores(2) for name in names})
        for name in names:
            arena.runs("b", f"n{name}", ONE, f"v{name}", f"w{name}", age=100)
        arena.wants("a", "k", cores(2))
        return arena.after()

    names = ["1", "2", "3", "4"]
    assert taken(names) == taken(names[::-1]) == ["v1", "w1"]


@pytest.mark.remuda_rule("PRE-62", "PRE-87")
def test_the_best_nodes_are_among_those_that_are_gone_through() -> None:
    arena = pair(nodes={f"n{number:03}": cores(4) for number in range(250)})
    reported = [
        arena.running("b", f"n{number:03}", cores(4), f"v{number}", **({} if last else SELF))
        for number, last in ((number, number == 249) for number in range(250))
    ]
    arena.send(c.UpdateAllocations(arena.rm, allocations=tuple(reported)))
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v249"]
