"""Asks that ended cost next to nothing, and their keys still mean what they meant."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Mapping

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.model.asks.ages import Ages
from remuda.core.model.asks.past_asks import REMEMBERED
from remuda.core.model.asks.request import Request
from tests.unit.core.door import MINUTE, SECOND, Caller, answers, leaf, of, released

ONE = {"vcore": 1}

# What an ask that ended may cost, in bytes.
MOST = 64


def started(remembered: int = REMEMBERED, properties: Mapping[str, str] | None = None) -> Caller:
    """An application with room for anything, and a scheduler that remembers so many keys."""
    caller = Caller(leaf("a", properties=properties))
    (partition,) = caller.scheduler._cluster.partitions()
    partition.waiting.past.remembered = remembered
    caller.node("n1", {"vcore": 1_000})
    caller.app("app")
    caller.ask("app", "stays", ONE)  # so that the application goes on
    caller.place()
    return caller


def churn(caller: Caller, first: int, count: int, app: str = "app") -> None:
    """Let asks come, be placed and end, a hundred at a time."""
    for start in range(first, first + count, 100):
        names = [f"{app}-{number}" for number in range(start, min(start + 100, first + count))]
        asks = tuple(c.Ask(app, name, ONE) for name in names)
        caller.send(c.UpdateAllocations(caller.rm, asks=asks))
        placed = of(caller.step(), e.AllocationNew)
        assert len(placed) == len(names)
        releases = tuple(c.AllocationRelease(app, each.allocation_id) for each in placed)
        caller.send(c.UpdateAllocations(caller.rm, releases=releases))


def requests() -> int:
    """How many asks there are in this process."""
    gc.collect()
    return sum(isinstance(each, Request) for each in gc.get_objects())


@pytest.mark.remuda_rule("SI-34")
def test_an_ask_that_ended_costs_at_most_64_bytes() -> None:
    caller = started()
    tracemalloc.start()
    try:
        churn(caller, 0, 1_000)
        caller.wait(10 * SECOND)  # the asks are old enough for everything
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        churn(caller, 1_000, 5_000)
        caller.wait(10 * SECOND)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown <= MOST * 5_000
    caller.scheduler.check()


@pytest.mark.remuda_rule("SI-34")
def test_asks_that_ended_cost_nothing_more_once_there_were_many() -> None:
    caller = started(remembered=500)
    tracemalloc.start()
    try:
        churn(caller, 0, 2_000)
        caller.wait(10 * SECOND)
        before = requests()
        held, _ = tracemalloc.get_traced_memory()
        churn(caller, 2_000, 3_000)
        caller.wait(10 * SECOND)
        after = requests()
        grown = tracemalloc.get_traced_memory()[0] - held
    finally:
        tracemalloc.stop()
    assert grown <= 500 * MOST  # one of the two tables may have been small before
    assert after <= before  # fewer, if those of another test went meanwhile


@pytest.mark.remuda_rule("SI-35", "CYC-18")
def test_no_identity_is_given_out_twice_though_its_key_was_forgotten() -> None:
    caller = started(remembered=10)
    given: list[str] = []
    for turn in range(5):
        caller.ask("app", "again", ONE, 2)
        ours = [identity for identity, _ in caller.place()]
        given += ours
        for identity in ours:
            caller.release("app", identity)
        churn(caller, 100 * turn, 40)
    assert len(given) == 10  # the key was forgotten each time, so it could have two anew
    assert len(set(given)) == 10
    caller.scheduler.check()


@pytest.mark.remuda_rule("SI-35", "CYC-18")
def test_keys_of_an_application_that_came_later_are_numbered_from_zero() -> None:
    caller = started(remembered=10)
    churn(caller, 0, 100)
    caller.app("later")
    caller.ask("later", "k", ONE, 2)
    assert [identity for identity, _ in caller.place()] == ["k-0", "k-1"]


@pytest.mark.remuda_rule("SI-34", "SI-35")
def test_a_key_is_known_while_no_more_than_so_many_ended_after_it() -> None:
    caller = started(remembered=200)
    caller.ask("app", "k", ONE)
    caller.place()
    caller.release("app", "k-0")
    churn(caller, 0, 200)
    caller.ask("app", "k", ONE)
    assert caller.place() == []  # it had what it asks for
    caller.ask("app", "k", ONE, 2)
    assert caller.place() == [("k-1", "n1")]


@pytest.mark.remuda_rule("SI-33", "QUE-44")
def test_an_ask_that_goes_on_after_it_ended_is_as_old_as_it_was() -> None:
    caller = started()
    caller.ask("app", "old", ONE)
    caller.place()
    caller.now += MINUTE
    caller.ask("app", "young", ONE)
    caller.release("app", "old-0")
    caller.now += MINUTE
    caller.ask("app", "old", ONE, 2)
    assert [identity for identity, _ in caller.place()] == ["old-1", "young-0"]
    caller.scheduler.check()


@pytest.mark.remuda_rule("SI-50", "SI-53")
@pytest.mark.parametrize("key", ["k", ""])
def test_the_key_of_an_ask_that_ended_may_be_dropped_and_used_anew(key: str) -> None:
    caller = started()
    caller.ask("app", "k", ONE)
    caller.place()
    caller.release("app", "k-0")
    assert answers(caller.release_ask("app", key)) == []
    caller.ask("app", "k", ONE)
    assert [identity for identity, _ in caller.place()] == ["k-0"]


@pytest.mark.remuda_rule("SI-34", "SI-51")
def test_an_ask_is_there_while_one_of_its_allocations_runs() -> None:
    caller = started()
    caller.ask("app", "k", ONE, 3)
    caller.place()
    before = requests()
    caller.release("app", "k-0")
    caller.release("app", "k-2")
    assert requests() == before
    caller.ask("app", "k", ONE, 4)
    assert caller.place() == [("k-3", "n1")]
    for identity in ("k-1", "k-3"):
        caller.release("app", identity)
    caller.wait(10 * SECOND)
    assert requests() == before - 1


@pytest.mark.remuda_rule("SI-34")
def test_an_ask_that_wants_no_more_than_it_had_is_forgotten_too() -> None:
    caller = started()
    caller.app("other")
    caller.ask("app", "k", {"vcore": 600}, 2)
    caller.place()
    caller.release("app", "k-0")
    caller.ask("app", "k", {"vcore": 600}, 2)
    caller.ask("app", "k", {"vcore": 600}, 1)
    caller.wait(10 * SECOND)
    before = requests()
    caller.ask("other", "j", ONE)
    assert requests() == before + 1
    caller.scheduler.check()


@pytest.mark.remuda_rule("SI-62", "SI-61")
def test_a_late_release_of_what_ended_means_nothing() -> None:
    caller = started(remembered=10)
    caller.ask("app", "k", ONE)
    caller.place()
    caller.release("app", "k-0")
    churn(caller, 0, 40)
    caller.ask("app", "k", ONE)
    caller.place()
    assert released(caller.release("app", "k-0")) == []
    assert len(caller.apps()["app"].allocations) == 2


@pytest.mark.remuda_rule("SI-41", "SI-35")
def test_what_the_manager_reports_for_a_key_that_ended_counts_with_the_rest() -> None:
    caller = started()
    caller.ask("app", "k", ONE)
    caller.place()
    caller.release("app", "k-0")
    caller.existing("app", "k-5", "n1", ONE, key="k")
    caller.ask("app", "k", ONE, 3)
    assert [identity for identity, _ in caller.place()] == ["k-6"]
    caller.scheduler.check()


@pytest.mark.remuda_rule("PRE-5")
def test_asks_that_went_are_not_kept_until_they_would_be_old_enough() -> None:
    caller = started(properties={"preemption.delay": "24h"})
    before = requests()
    for start in range(0, 12_000, 100):
        asks = tuple(
            c.Ask("app", f"k-{number}", ONE, allow_preempt_other=True)
            for number in range(start, start + 100)
        )
        caller.send(c.UpdateAllocations(caller.rm, asks=asks))
        caller.release_ask("app")
        caller.wait(SECOND)
    assert requests() - before < 12_000 / 2
    caller.scheduler.check()


def test_an_age_is_told_once_and_in_order_whatever_was_dropped() -> None:
    ages = Ages()
    caller = started()
    caller.ask("app", "k", {"vcore": 2_000})
    (partition,) = caller.scheduler._cluster.partitions()
    request = partition.applications["app"].requests["k"]
    for due_ns in range(10_000):
        ages.add(due_ns, request)
    for _ in range(9_999):
        ages.note_ended()  # of which none has really gone
    assert len(ages.take_old_enough(9_998)) == 9_999
    assert ages.next_ns() == 9_999
