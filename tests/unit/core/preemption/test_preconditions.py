"""Who may take room from others, and when (chapter 60 section A.1)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import MINUTE, SECOND, leaf, of, users
from tests.unit.core.preemption.arena import (
    DELAY,
    ONE,
    PAUSE,
    Arena,
    Panel,
    cores,
    full,
    pair,
    row,
)

FAR = 10 * MINUTE


@pytest.mark.remuda_rule("PRE-1", "PRE-3", "PRE-5", "PRE-34")
def test_an_ask_that_waited_for_the_delay_takes_room_from_others() -> None:
    arena = full()
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v3", "v2"]


@pytest.mark.remuda_rule("PRE-1", "SI-36")
def test_an_ask_without_a_policy_takes_nothing() -> None:
    arena = full()
    arena.ask("a", "k", cores(2))
    assert arena.after(FAR) == []


@pytest.mark.remuda_rule("PRE-1", "SI-36")
def test_an_allocation_without_a_policy_may_be_a_victim_whoever_reported_it() -> None:
    arena = pair(2)
    arena.runs("b", "n1", ONE, "reported")
    arena.ask("b", "asked", ONE)
    assert arena.placed() == [("asked-0", "n1")]
    arena.wants("a", "k", cores(2))
    assert sorted(arena.after()) == ["asked-0", "reported"]


@pytest.mark.remuda_rule("PRE-1", "SI-36")
def test_who_may_preempt_and_be_preempted_does_both() -> None:
    arena = pair(1)
    arena.runs("b", "n1", ONE, "v", allow_preempt_self=True, allow_preempt_other=True)
    arena.wants("a", "k", ONE, allow_preempt_self=False)
    assert arena.after() == ["v"]


@pytest.mark.remuda_rule("PRE-5", "PRE-2")
def test_the_delay_is_over_when_it_is_reached_and_not_before() -> None:
    arena = full()
    arena.wants("a", "k", ONE)
    assert arena.after(DELAY - 1) == []
    assert arena.after(1) == ["v3"]


@pytest.mark.remuda_rule("PRE-5", "PRE-2")
def test_the_scheduler_says_when_the_delay_is_over() -> None:
    arena = full()
    arena.wants("a", "k", ONE)
    assert arena.ordered() == []
    due = arena.now + DELAY
    while True:
        deadline = arena.scheduler.next_deadline()
        assert deadline is not None
        assert deadline <= due
        arena.now = deadline
        if deadline == due:
            break
        assert arena.ordered() == []
    assert arena.ordered() == ["v3"]


@pytest.mark.remuda_rule("PRE-2", "QUE-18")
@pytest.mark.parametrize("delay, due", [("1m", MINUTE), ("500ms", SECOND // 2), ("x", DELAY)])
def test_the_delay_is_that_of_the_leaf(delay: str, due: int) -> None:
    arena = full(properties={"preemption.delay": delay})
    arena.wants("a", "k", ONE)
    assert arena.after(due - 1) == []
    assert arena.after(1) == ["v3"]


@pytest.mark.remuda_rule("PRE-5")
def test_the_delay_begins_with_the_creation_of_the_ask() -> None:
    arena = full()
    created = str(arena.now // SECOND - 30)
    arena.wants("a", "k", ONE, tags={"creationTime": created})
    assert arena.ordered() == ["v3"]


@pytest.mark.remuda_rule("PRE-5")
@pytest.mark.parametrize("size", [1, 2])
def test_each_ask_has_a_delay_of_its_own(size: int) -> None:
    arena = row(2, 2)
    arena.wants("a", "first", ONE)
    assert arena.after(10 * SECOND) == []
    arena.wants("a", "second", cores(size))
    first = arena.after(20 * SECOND)
    assert first in (["v1"], ["v2"])
    assert arena.after(10 * SECOND - 1) == []
    assert sorted(first + arena.after(1)) == ["v1", "v2"]


@pytest.mark.remuda_rule("PRE-5", "RM-15")
def test_a_delay_that_ended_while_the_rm_was_away_is_over() -> None:
    arena = full()
    arena.wants("a", "k", ONE)
    arena.step()
    arena.send(c.PauseResourceManager("rm"))
    assert arena.after(MINUTE) == []
    arena.send(c.ResumeResourceManager("rm"))
    assert arena.ordered() == ["v3"]


def reluctant(panel: Panel) -> Arena:
    """As ``full`` with an ask, and the RM judges."""
    arena = full(victims_port=panel)
    arena.wants("a", "k", ONE)
    return arena


@pytest.mark.remuda_rule("PRE-5", "PRE-90")
def test_a_fruitless_attempt_is_repeated_after_15_seconds_if_something_changed() -> None:
    panel = Panel(n1=(False, -1))
    arena = reluctant(panel)
    assert arena.after() == []
    assert len(panel.questions) == 1
    arena.node("n2", {"gpu": 1})
    assert arena.after(PAUSE - 1) == []
    assert len(panel.questions) == 1
    panel.says["n1"] = (True, 0)
    assert arena.after(1) == ["v3"]


@pytest.mark.remuda_rule("PRE-90", "EXT-15")
def test_an_attempt_that_the_rm_refused_is_repeated_every_15_seconds_at_most() -> None:
    panel = Panel(n1=(False, -1))
    arena = reluctant(panel)
    arena.after()
    for number in range(2, 12):
        assert arena.after(PAUSE) == []
        assert len(panel.questions) <= number
    assert len(panel.questions) > 1
    panel.says["n1"] = (True, 0)  # it agrees now, and nothing else changed
    assert arena.after(PAUSE) + arena.after(PAUSE) == ["v3"]


@pytest.mark.remuda_rule("PRE-5", "PRE-90")
def test_the_pause_is_that_of_the_ask_and_not_of_its_leaf() -> None:
    panel = Panel(n1=(False, -1))
    arena = reluctant(panel)
    arena.now += SECOND
    arena.wants("a", "other", cores(2))
    arena.now += DELAY - SECOND
    arena.step()
    assert {item.allocation_key for item in panel.items} == {"k"}
    arena.after(SECOND)
    assert [item.allocation_key for item in panel.items] == ["k", "other"]


@pytest.mark.remuda_rule("PRE-5", "PRE-18", "PRE-90")
def test_an_attempt_that_failed_for_reservations_is_repeated_when_one_of_them_ends() -> None:
    arena = full()
    arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.app("c", "root.b")
    arena.ask("c", "large", cores(3), priority=5)
    arena.wants("a", "k", ONE)
    arena.after(3 * SECOND)
    assert arena.reserved() == [("n1", "large")]
    assert arena.after() == []
    arena.now += SECOND
    assert arena.ordered(arena.release_ask("c", "large") + arena.step()) == ["v3"]


@pytest.mark.remuda_rule("PRE-4", "PRE-90", "PRE-58")
def test_the_eleventh_fruitless_attempt_of_a_leaf_comes_a_tenth_of_a_second_later() -> None:
    arena = full(20)
    arena.app("late", "root.a")
    for size in range(6, 16):
        arena.wants("a", f"k{size}", cores(size), priority=1)
    arena.wants("late", "k", ONE)
    assert arena.after() == []
    assert "Preemption max attempts exhausted" in arena.log("late", "k")
    assert arena.after(SECOND // 10 - 1) == []
    assert arena.after(1) == ["v19"]


@pytest.mark.remuda_rule("PRE-4", "PRE-90")
def test_the_tenth_attempt_of_a_leaf_is_made_at_once() -> None:
    arena = full(20)
    for size in range(6, 15):
        arena.wants("a", f"k{size}", cores(size), priority=1)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v19"]


@pytest.mark.remuda_rule("PRE-4")
def test_asks_that_may_not_preempt_take_no_attempts_from_those_that_may() -> None:
    arena = full(20)
    for size in range(2, 20):
        arena.ask("a", f"k{size}", cores(size), priority=1)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v19"]


@pytest.mark.remuda_rule("PRE-4", "PRE-90")
def test_a_fruitful_attempt_starts_the_count_of_its_leaf_anew() -> None:
    arena = row(20)
    for size in range(6, 15):
        arena.wants("a", f"k{size}", cores(size), priority=3)
    arena.wants("a", "good", ONE, priority=2)
    for size in range(6, 15):
        arena.wants("a", f"l{size}", cores(size, memory=1), priority=1)
    arena.wants("a", "last", ONE)
    assert len(arena.after()) == 2


@pytest.mark.remuda_rule("PRE-4")
def test_each_leaf_has_attempts_of_its_own() -> None:
    owed = leaf("a", guaranteed=cores(5)), leaf("c", guaranteed=cores(5))
    arena = Arena(*owed, leaf("b"), nodes={"n1": cores(20)})
    arena.apps_in(a="a", b="b", c="c")
    arena.runs("b", "n1", cores(20), "v")
    arena.runs("b", "n1", ONE, "w")
    for size in range(6, 20):
        arena.wants("a", f"k{size}", cores(size), priority=1)
    arena.wants("c", "k", cores(4))
    assert arena.after() == []
    assert "Preemption max attempts exhausted" in arena.log("a", "k19")
    assert "Preemption max attempts exhausted" not in arena.log("c", "k")


@pytest.mark.remuda_rule("PRE-2", "PAR-3")
def test_a_partition_without_preemption_takes_nothing_until_it_is_switched_on() -> None:
    arena = _switched_off()
    arena.wants("a", "k", ONE)
    assert arena.after(FAR) == []
    arena.reload(leaf("a", guaranteed=cores(5)), leaf("b"))
    assert arena.ordered() == ["v3"]


def _switched_off() -> Arena:
    """As ``full``, in a partition that has preemption off."""
    arena = full()
    arena.reload(leaf("a", guaranteed=cores(5)), leaf("b"), preemption=False)
    return arena


@pytest.mark.remuda_rule("PRE-2", "PRE-40")
def test_a_partition_without_preemption_still_serves_daemons() -> None:
    arena = _switched_off()
    arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.requires("a", "daemon", "n1", ONE)
    assert arena.ordered() == ["v3"]


@pytest.mark.remuda_rule("PRE-3")
def test_an_ask_that_its_users_limit_stops_takes_nothing() -> None:
    queues = leaf("a", guaranteed=cores(5), limits=(users("ann", ONE),)), leaf("b")
    arena = Arena(*queues, nodes={"n1": cores(4)})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", cores(4), "v")
    arena.wants("a", "k", cores(2))
    assert arena.after(FAR) == []
    assert "Not enough user quota" in arena.log("a", "k")


@pytest.mark.remuda_rule("PRE-3", "PRE-24")
@pytest.mark.parametrize("fits_headroom", [False, True])
def test_room_is_taken_whether_the_headroom_or_a_node_is_missing(fits_headroom: bool) -> None:
    arena = full()
    if fits_headroom:
        arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.wants("a", "k", ONE)
    arena.step()
    finding = arena.request("a", "k").finding
    assert finding is not None
    assert finding.gate == ("nodes" if fits_headroom else "queue quota")
    assert arena.after() == ["v3"]


@pytest.mark.remuda_rule("PRE-3")
def test_no_room_is_taken_for_an_ask_that_waits_for_a_placeholder() -> None:
    arena = full()
    arena.release("b", "v0")
    arena.ask("a", "held", ONE, placeholder=True, task_group="t")
    assert arena.placed() == [("held-0", "n1")]
    # It could take the place of the placeholder, if that were not too small for it.
    arena.wants("a", "real", cores(2), task_group="t")
    effects = arena.step()
    ends = [g.termination_type for a in of(effects, e.AllocationsReleased) for g in a.released]
    assert ends == [c.TIMEOUT]
    assert arena.after(FAR) == []


@pytest.mark.remuda_rule("PRE-6", "PRE-90", "PRE-89")
def test_an_ask_whose_room_is_lost_may_take_room_again() -> None:
    arena = full(2)
    arena.node("n2", cores(2))
    arena.runs("b", "n2", ONE, "w0", "w1")
    arena.wants("a", "k", cores(2))
    first = arena.after()
    assert first in (["v1", "v0"], ["w0", "w1"])
    lost, other = ("n1", ["w0", "w1"]) if first[0] == "v1" else ("n2", ["v1", "v0"])
    arena.node(lost, action=c.DECOMISSION)
    assert arena.after(PAUSE - 1) == []
    assert arena.after(1) == other
    assert [record.outcome for record in arena.records()] == ["lost", "waiting"]


@pytest.mark.remuda_rule("PRE-5", "PRE-89")
def test_an_ask_whose_preemption_stands_takes_no_more() -> None:
    arena = full()
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v3"]
    for _ in range(5):
        assert arena.after(MINUTE) == []


@pytest.mark.remuda_rule("PRE-89", "PRE-6")
def test_an_ask_for_several_allocations_takes_room_for_each() -> None:
    arena = full()
    arena.wants("a", "k", ONE, 2)
    assert arena.after() == ["v3"]
    effects = arena.release("b", "v3", kind=c.PREEMPTED_BY_SCHEDULER) + arena.step()
    assert [new.allocation_id for new in of(effects, e.AllocationNew)] == ["k-0"]
    assert [*arena.ordered(effects), *arena.after(PAUSE)] == ["v2"]
    assert arena.confirm("v2") == [("k-1", "n1")]


@pytest.mark.remuda_rule("PRE-5", "PRE-40")
def test_an_ask_for_one_node_takes_nothing_elsewhere_and_waits_for_no_delay() -> None:
    arena = full()
    arena.node("n2", cores(1))
    arena.node("spare", cores(4), c.CREATE_DRAIN)
    arena.runs("b", "n2", ONE, "w")
    arena.wants("a", "daemon", ONE, tags={"yunikorn.apache.org/requiredNode": "n2"})
    assert arena.ordered() == ["w"]
