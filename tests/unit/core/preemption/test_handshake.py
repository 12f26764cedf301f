"""From the choice of victims to the allocation they went for (chapter 60 section A.8, PRE-59)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.events import (
    ALLOC_PREEMPT,
    APP,
    DETAILS_NONE,
    NODE,
    NODE_RESERVATION,
    NONE,
    REMOVE,
    REQUEST,
)
from remuda.core.ports import PreemptionAnswer, PreemptionQuestion
from tests.unit.core.door import MINUTE, SECOND, of
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

ORDER = "preempting allocations to free up resources to run ask: k"
GOES = c.PREEMPTED_BY_SCHEDULER


def chosen(size: int = 2, **other: object) -> Arena:
    """As ``full``, after v3 and v2 were chosen for an ask for two."""
    arena = full(**other)  # type: ignore[arg-type]
    arena.wants("a", "k", cores(size))
    assert arena.after() == ["v3", "v2"][:size]
    return arena


@pytest.mark.remuda_rule("PRE-34", "EVT-46")
def test_one_message_orders_all_victims_out() -> None:
    arena = full()
    arena.wants("a", "k", cores(2))
    arena.step()
    arena.now += DELAY
    effects = arena.step()
    (order,) = of(effects, e.AllocationsReleased)
    assert [
        (gone.application_id, gone.allocation_key, gone.termination_type, gone.message)
        for gone in order.released
    ] == [("b", "v3", GOES, ORDER), ("b", "v2", GOES, ORDER)]
    records = [each for each in of(effects, e.EventRecord) if each.kind == REQUEST]
    text = "Preempted by k from application a in root.a"
    told = [(r.object_id, r.reference_id, r.change, r.detail, r.message) for r in records]
    assert told == [(key, "b", NONE, DETAILS_NONE, text) for key in ("v3", "v2")]
    assert [record.resource for record in records] == [ONE, ONE]


@pytest.mark.remuda_rule("PRE-34", "PRE-36", "CYC-6")
def test_the_node_is_reserved_first() -> None:
    arena = full()
    arena.wants("a", "k", cores(2))
    arena.step()
    arena.now += DELAY
    effects = arena.step()
    told = [r for r in of(effects, e.EventRecord) if r.detail == NODE_RESERVATION]
    (order,) = of(effects, e.AllocationsReleased)
    assert len(told) == 1
    assert effects.index(told[0]) < effects.index(order)
    assert arena.reserved() == [("n1", "k")]


@pytest.mark.remuda_rule("PRE-34", "PRE-35", "QUE-2")
def test_victims_keep_what_they_have_until_they_are_gone() -> None:
    arena = chosen()
    assert arena.queue("root.b").allocated == cores(4)
    assert arena.node_view("n1").allocated == cores(4)
    assert arena.apps()["b"].used == cores(4)
    for path in ("root", "root.b"):
        assert arena.preempting(path) == cores(2)
    assert arena.preempting("root.a") == {}


@pytest.mark.remuda_rule("PRE-35", "PRE-34", "CYC-26", "SI-60", "EVT-27", "EVT-28")
def test_a_confirmation_frees_what_the_victim_had() -> None:
    arena = chosen()
    effects = arena.release("b", "v3", kind=GOES)
    assert of(effects, e.AllocationsReleased) == []
    gone = [r for r in of(effects, e.EventRecord) if (r.kind, r.change) == (APP, REMOVE)]
    assert [(r.object_id, r.reference_id, r.detail) for r in gone] == [("b", "v3", ALLOC_PREEMPT)]
    assert arena.queue("root.b").allocated == cores(3)
    assert arena.preempting("root") == arena.preempting("root.b") == ONE
    assert arena.node_view("n1").allocated == cores(3)


@pytest.mark.remuda_rule("PRE-35", "PRE-37")
@pytest.mark.parametrize("order", [("v3", "v2"), ("v2", "v3")])
def test_the_ask_is_placed_when_all_are_gone_in_whatever_order(order: tuple[str, str]) -> None:
    # Edge case 37.
    arena = chosen()
    assert arena.confirm(order[0]) == []
    assert arena.confirm(order[1]) == [("k-0", "n1")]
    assert arena.preempting("root") == {}
    assert arena.reserved() == []
    assert arena.records()[0].outcome == "placed"


@pytest.mark.remuda_rule("PRE-35", "SI-67", "SI-63")
@pytest.mark.parametrize("kind", [c.STOPPED_BY_RM, c.TIMEOUT, c.UNKNOWN_TERMINATION_TYPE])
def test_a_victim_may_end_otherwise(kind: int) -> None:
    arena = chosen(1)
    arena.release("b", "v3", kind=kind)
    assert arena.placed() == [("k-0", "n1")]
    assert arena.preempting("root") == {}


@pytest.mark.remuda_rule("SI-69", "PRE-35")
def test_an_order_that_nobody_confirms_is_repeated() -> None:
    arena = chosen(1)
    assert arena.after(10 * MINUTE - 1) == []
    assert arena.after(1) == ["v3"]


@pytest.mark.remuda_rule("PRE-35", "PRE-89", "CYC-21")
def test_the_ask_may_be_placed_elsewhere_before_its_victims_are_gone() -> None:
    arena = row(2)
    arena.wants("a", "k", ONE)
    assert arena.after() == ["v1"]
    arena.release("b", "v2")
    assert arena.placed() == [("k-0", "n2")]
    assert arena.records()[0].outcome == "placed"
    assert arena.reserved() == []
    assert arena.preempting("root.b") == ONE
    arena.release("b", "v1", kind=GOES)
    assert arena.preempting("root.b") == {}


@pytest.mark.remuda_rule("PRE-34", "PRE-35")
def test_nothing_is_left_in_preempting_after_the_node_is_gone() -> None:
    # Edge case 36.
    arena = chosen()
    arena.node("n1", action=c.DECOMISSION)
    assert arena.preempting("root") == {}
    arena.release("b", "v3", kind=GOES)
    assert arena.preempting("root.b") == {}
    record = arena.records()[0]
    assert (record.outcome, bool(record.cause)) == ("lost", True)


@pytest.mark.remuda_rule("QUE-12", "PRE-35")
@pytest.mark.parametrize("app", ["a", "b"])
def test_nothing_is_left_in_preempting_after_an_application_is_gone(app: str) -> None:
    arena = chosen()
    arena.remove(app)
    if app == "a":
        assert arena.preempting("root.b") == cores(2)
        for identity in ("v3", "v2"):
            arena.release("b", identity, kind=GOES)
    assert arena.preempting("root") == {}
    if app == "b":
        assert arena.placed() == [("k-0", "n1")]


@pytest.mark.remuda_rule("PRE-48", "PRE-34", "PRE-91")
def test_victims_of_an_ask_that_is_gone_stay_victims() -> None:
    # Edge case 38.
    arena = chosen()
    arena.release_ask("a", "k")
    assert arena.reserved() == []
    assert arena.preempting("root.b") == cores(2)
    assert arena.records()[0].outcome == "lost"
    assert arena.confirm("v3", "v2") == []
    assert arena.preempting("root") == {}


@pytest.mark.remuda_rule("PRE-36", "PRE-89")
def test_of_the_reservations_of_an_ask_the_one_of_the_chosen_node_is_left() -> None:
    # Edge case 35: the ask has all the reservations it may have.
    panel = Panel(n1=(False, -1))
    arena = pair(nodes={"n1": cores(3), "n2": cores(3)}, victims_port=panel)
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.runs("b", "n1", cores(2), "v1")
    arena.runs("b", "n2", cores(3), "v2")
    arena.wants("a", "k", cores(2))
    arena.after(3 * SECOND)
    assert arena.reserved() == [("n1", "k")]
    assert arena.after() == ["v2"]
    assert arena.reserved() == [("n2", "k")]


@pytest.mark.remuda_rule("PRE-39")
def test_an_attempt_that_fails_leaves_nothing_but_a_line_in_the_log() -> None:
    arena = full(victims_port=Panel(n1=(False, -1)))
    arena.wants("a", "k", ONE)
    arena.step()
    queues, nodes = arena.queue("root"), arena.node_views()
    arena.now += DELAY
    effects = arena.step()
    assert of(effects, e.EventRecord) == []
    assert of(effects, e.AllocationsReleased) == []
    assert (arena.queue("root"), arena.node_views()) == (queues, nodes)
    assert arena.log("a", "k")


class Far(Panel):
    """A resource manager that answers later: by the numbers of the questions, 1, 2, ..."""

    def __call__(self, question: PreemptionQuestion) -> PreemptionAnswer:
        self.questions.append(question)
        return PreemptionAnswer(ticket=len(self.questions))


@pytest.mark.remuda_rule("PRE-59", "PRE-13")
def test_a_victim_that_went_before_the_answer_came_is_not_chosen() -> None:
    # Edge case 34.
    panel = Far()
    arena = full(3, victims_port=panel)
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.wants("a", "k", cores(2))
    assert arena.after() == []
    assert panel.told == [("n1", ("v2", "v1", "v0"), 1)]
    arena.release("b", "v2")
    arena.send(c.PreemptionVerdicts(arena.rm, 1, ((True, 1),)))
    assert arena.ordered() == []
    # The question is another one now, and is put again.
    arena.now += PAUSE
    assert arena.ordered() == []
    assert panel.told[1:] == [("n1", ("v1", "v0"), 0)]
    arena.send(c.PreemptionVerdicts(arena.rm, 2, ((True, 0),)))
    assert arena.after() == ["v1"]


@pytest.mark.remuda_rule("PRE-59", "EXT-18")
def test_an_answer_that_comes_later_decides_as_one_that_comes_at_once() -> None:
    panel = Far()
    arena = full(3, victims_port=panel)
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    arena.send(c.PreemptionVerdicts(arena.rm, 1, ((True, 1),)))
    assert arena.ordered() == ["v2", "v1"]
    assert len(panel.questions) == 1


@pytest.mark.remuda_rule("PRE-34", "CYC-7")
def test_a_preemption_ends_no_pass_for_those_behind() -> None:
    arena = row(3)
    arena.runs("a", "n1", {"memory": 0, "gpu": 0, "vcore": 0, "pods": 1}, "own")
    arena.wants("a", "k", ONE)
    arena.app("late", "root.b")
    arena.node("n9", {"gpu": 1})
    arena.now += DELAY
    arena.ask("late", "small", {"gpu": 1})
    effects = arena.step()
    assert len(arena.ordered(effects)) == 1
    assert [new.allocation_id for new in of(effects, e.AllocationNew)] == ["small-0"]


@pytest.mark.remuda_rule("PRE-34")
def test_a_reservation_on_the_node_is_told_of_when_it_begins_and_ends() -> None:
    arena = full()
    arena.wants("a", "k", ONE)
    arena.step()
    arena.now += DELAY
    effects = arena.step()
    effects += arena.release("b", "v3", kind=GOES) + arena.step()
    told = [r for r in of(effects, e.EventRecord) if (r.kind, r.detail) == (NODE, NODE_RESERVATION)]
    assert [(r.object_id, r.reference_id, r.change) for r in told] == [
        ("n1", "k", 2),
        ("n1", "k", REMOVE),
    ]
