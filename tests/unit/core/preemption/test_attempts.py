"""How often it is tried to take room, and what that costs (PRE-61, PRE-62, PRE-90)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.model.preemption.attempts import COST_LIMIT
from tests.unit.core.door import SECOND, leaf, of
from tests.unit.core.preemption.arena import ONE, PAUSE, Arena, Panel, cores, full, pair, row

NO = (False, -1)


def cost(arena: Arena) -> int:
    """How many nodes and allocations the attempts of the last tenth of a second looked at."""
    return arena.partition.preempting.attempts._cost


def crowded(nodes: int, each: int, *idle: str, panel: Panel | None = None) -> Arena:
    """A fruitless attempt among so many nodes with so many allocations each; idle leaves beside."""
    names = [f"n{number}" for number in range(nodes)]
    queues = leaf("a", guaranteed=cores(5)), leaf("b"), *(leaf(name) for name in idle)
    panel = panel or Panel()
    panel.says = dict.fromkeys(names, NO)
    arena = Arena(*queues, nodes=dict.fromkeys(names, cores(each)), victims_port=panel)
    arena.apps_in(a="a", b="b")
    reported = [
        arena.running("b", name, ONE, f"{name}-{number}")
        for name in names
        for number in range(each)
    ]
    arena.send(c.UpdateAllocations(arena.rm, allocations=tuple(reported)))
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    assert arena.partition.preempting.attempts.made == 1
    return arena


@pytest.mark.remuda_rule("PRE-62", "PRE-87", "PRE-90")
@pytest.mark.parametrize("nodes, attempts", [(80, 1), (81, 2), (200, 3)])
def test_an_attempt_ends_after_so_many_nodes_and_goes_on_a_tenth_of_a_second_later(
    nodes: int, attempts: int
) -> None:
    # One for a look at what could be freed and four to go through it: 80 nodes are 400.
    panel = Panel()
    arena = crowded(nodes, 2, panel=panel)
    asked = [len(panel.items)]
    for _ in range(5):
        assert arena.after(SECOND // 10) == []
        asked.append(len(panel.items))
    assert asked[:attempts] == [min(80 * (number + 1), nodes) for number in range(attempts)]
    assert {item.node_id for item in panel.items} == {f"n{number}" for number in range(nodes)}
    assert asked[-1] == nodes


@pytest.mark.remuda_rule("PRE-61")
def test_queues_without_candidates_cost_nothing() -> None:
    idle = [f"idle{number}" for number in range(100)]
    assert cost(crowded(5, 3, *idle)) == cost(crowded(5, 3))


@pytest.mark.remuda_rule("PRE-90")
def test_equal_asks_are_tried_once() -> None:
    panel = Panel(n1=NO)
    arena = full(4, victims_port=panel)
    arena.app("other", "root.a")
    for number in range(20):
        arena.wants("other" if number % 2 else "a", f"k{number}", ONE)
    assert arena.after() == []
    assert [item.allocation_key for item in panel.items] == ["k0"]
    arena.wants("a", "unequal", ONE, priority=1)
    assert arena.after() == []
    assert [item.allocation_key for item in panel.items] == ["k0", "unequal"]


@pytest.mark.remuda_rule("PRE-90")
def test_a_partition_looks_at_so_much_in_a_tenth_of_a_second_and_no_more() -> None:
    arena = full(4)
    arena.wants("a", "k", ONE)
    arena.step()
    arena.now += 30 * SECOND - 1
    arena.partition.preempting.attempts.count(
        "root.elsewhere", COST_LIMIT, arena.now, fruitful=False
    )
    assert COST_LIMIT == 50_000
    assert arena.after(1) == []
    assert "Preemption max attempts exhausted" in arena.log("a", "k")
    assert arena.after(SECOND // 10 - 2) == []
    assert arena.after(1) == ["v3"]


CAUSES: dict[str, Callable[[Arena], object]] = {
    "an allocation came": lambda w: w.runs("c", "n2", ONE, "came"),
    "an allocation grew": lambda w: w.existing("c", "there", "n2", cores(2)),
    "an allocation shrank": lambda w: w.existing("c", "there", "n2", {"vcore": 1, "memory": 1}),
    "an allocation went": lambda w: w.release("c", "there"),
    "a node changed": lambda w: w.node("n2", cores(9, memory=1), c.UPDATE),
    "a node came": lambda w: w.node("n3", {"gpu": 1}),
    "the configuration changed": lambda w: w.reload(
        leaf("a", guaranteed=cores(6)), leaf("b"), leaf("c", maximum=cores(99))
    ),
}


def refused(panel: Panel) -> Arena:
    """After a fruitless attempt; ``there`` runs beside it, on a node that takes nothing."""
    queues = leaf("a", guaranteed=cores(5)), leaf("b"), leaf("c")
    arena = Arena(*queues, nodes={"n1": ONE, "n2": cores(9)}, victims_port=panel)
    arena.node("n2", action=c.DRAIN_NODE)
    arena.apps_in(a="a", b="b", c="c")
    arena.runs("b", "n1", ONE, "v")
    arena.runs("c", "n2", ONE, "there")
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    assert len(panel.questions) == 1
    return arena


@pytest.mark.remuda_rule("PRE-90")
@pytest.mark.parametrize("cause", CAUSES)
def test_a_fruitless_attempt_is_made_again_for_a_cause(cause: str) -> None:
    panel = Panel(n1=NO, n2=NO, n3=NO)
    arena = refused(panel)
    CAUSES[cause](arena)
    arena.after(PAUSE - 1)
    assert len(panel.questions) == 1
    arena.after(1)
    assert len(panel.questions) == 2


@pytest.mark.remuda_rule("PRE-90")
@pytest.mark.parametrize("before", [False, True])
def test_a_cause_counts_whenever_it_comes(before: bool) -> None:
    panel = Panel(n1=NO)
    arena = refused(panel)
    if before:
        arena.release("c", "there")
    arena.after(10 * PAUSE)
    assert len(panel.questions) == 1 + before
    if not before:
        arena.release("c", "there")
        arena.step()
        assert len(panel.questions) == 2


@pytest.mark.remuda_rule("PRE-90")
def test_what_changes_nothing_is_no_cause() -> None:
    panel = Panel(n1=NO)
    arena = refused(panel)
    arena.send(c.UpdateNodes(arena.rm))
    arena.ask("c", "large", {"gpu": 7})
    arena.after(10 * PAUSE)
    assert len(panel.questions) == 1


@pytest.mark.remuda_rule("PRE-90")
def test_a_scheduler_in_which_nothing_happens_rests() -> None:
    # What the RM refuses is asked about again (EXT-15), so here it is a guarantee that refuses.
    arena = Arena(
        leaf("a", guaranteed=cores(5)), leaf("b", guaranteed=cores(5)), nodes={"n1": cores(2)}
    )
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", ONE, "v0", "v1")
    arena.wants("a", "k", ONE)
    arena.after()
    assert arena.after(PAUSE) == []
    assert not arena.scheduler.has_work()
    made = arena.partition.preempting.attempts.made
    assert made > 0
    for _ in range(100):
        deadline = arena.scheduler.next_deadline()
        if deadline is None:
            break
        arena.now = max(deadline, arena.now + SECOND)
        arena.step()
    assert arena.partition.preempting.attempts.made == made


@pytest.mark.remuda_rule("EVT-43", "PRE-3")
@pytest.mark.parametrize("helps", [True, False])
def test_that_an_ask_does_not_fit_is_told_after_an_attempt_failed(helps: bool) -> None:
    arena = full(2, victims_port=Panel(n1=(helps, 0)))
    arena.wants("a", "k", ONE, tags={"creationTime": str(arena.now // SECOND - 60)})
    told = [r.message for r in of(arena.step(), e.EventRecord) if r.object_id == "k"]
    assert sum("does not fit in queue" in text for text in told) == (not helps)


@pytest.mark.remuda_rule("PRE-90", "PRE-4")
def test_attempts_that_wait_for_their_turn_come_in_portions_of_ten() -> None:
    names = [f"k{number:02}" for number in range(25)]
    panel = Panel(n1=NO)
    arena = pair(50, victims_port=panel)
    arena.runs("b", "n1", cores(5), *(f"v{number}" for number in range(10)))
    for number, name in enumerate(names):
        arena.wants("a", name, cores(1, memory=number))
    arena.node("n1", cores(50, memory=99), c.UPDATE)
    counts = []
    arena.after()
    for _ in range(3):
        counts.append(arena.partition.preempting.attempts.made)
        arena.after(SECOND // 10)
    assert counts == [10, 20, 25]


@pytest.mark.remuda_rule("PRE-58", "PRE-4")
def test_an_ask_too_young_uses_up_no_attempt() -> None:
    arena = row(1)
    for number in range(30):
        arena.wants("a", f"young{number}", cores(1, memory=number + 1), priority=9)
    arena.wants("a", "old", ONE, tags={"creationTime": str(arena.now // SECOND - 60)})
    assert arena.ordered() == ["v1"]


def crossed() -> Arena:
    """Two asks have preempted on a node each; a third, ``late``, finds no node but theirs."""
    queues = leaf("a", guaranteed=cores(4, gpu=1)), leaf("b")
    nodes = {"n1": ONE, "n2": cores(2), "n3": {"gpu": 1}}
    arena = Arena(*queues, nodes=nodes)
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", ONE, "v1")
    arena.runs("b", "n2", ONE, "v2", "w2")
    arena.runs("b", "n3", {"gpu": 1}, "safe", priority=9)
    for priority, key in ((3, "first"), (2, "second"), (1, "late")):
        arena.wants("a", key, ONE, priority=priority)
    assert sorted(arena.after()) == ["v1", "v2"]
    assert arena.partition.preempting.attempts.made == 3
    return arena


@pytest.mark.remuda_rule("PRE-5", "PRE-18", "PRE-90")
def test_an_attempt_stopped_by_reservations_is_repeated_as_soon_as_one_ends() -> None:
    arena = crossed()
    arena.now += SECOND
    assert arena.ordered() == []
    assert arena.partition.preempting.attempts.made == 3
    arena.release("b", "v2", kind=c.PREEMPTED_BY_SCHEDULER)
    assert arena.ordered() == ["w2"]


@pytest.mark.remuda_rule("PRE-5", "PRE-90")
def test_who_tried_again_early_does_not_hold_up_those_behind() -> None:
    arena = crossed()
    arena.wants("a", "other", {"gpu": 1})
    arena.now += SECOND
    arena.send(c.UpdateNodes(arena.rm, (c.NodeUpdate("n4", c.CREATE, {"fpga": 1}),)))
    assert arena.after() == []
    made = arena.partition.preempting.attempts.made
    # The third tries again when a reservation ends, so its turn is now after that of the fourth.
    arena.now += PAUSE // 3
    assert len(arena.confirm("v1")) == 1
    assert arena.partition.preempting.attempts.made == made + 1
    arena.now += PAUSE - PAUSE // 3
    assert arena.ordered() == []
    assert arena.partition.preempting.attempts.made == made + 2
    assert arena.ordered() == []
    assert arena.partition.preempting.attempts.made == made + 2


@pytest.mark.remuda_rule("MET-13")
def test_who_watches_hears_of_each_attempt_that_passed_its_preconditions() -> None:
    panel = Panel(n1=NO)
    arena = full(4, victims_port=panel)
    heard: list[tuple[bool, int]] = []

    def watch(*, begins: bool) -> None:
        heard.append((begins, len(panel.items)))

    arena.scheduler.watch_attempts(watch)
    arena.wants("a", "k", ONE)
    arena.step()
    # The ask is not old enough yet (PRE-3).
    assert heard == []
    assert arena.after() == []
    # The RM was asked about one node meanwhile.
    assert heard == [(True, 0), (False, 1)]
    assert arena.after() == []
    assert len(heard) == 2 * arena.partition.preempting.attempts.made
