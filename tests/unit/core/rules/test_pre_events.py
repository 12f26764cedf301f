"""What observers hear of a preemption: at once that it was decided, the end when it comes."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events
from remuda.core.messages.effects import Effect, EventRecord
from tests.unit.core.door import of
from tests.unit.core.rules.preempting import ONE, Evictor


def told(effects: list[Effect], kind: int) -> list[EventRecord]:
    """The records of one kind."""
    return [each for each in of(effects, e.EventRecord) if each.kind == kind]


@pytest.mark.remuda_rule("EVT-46", "EVT-28", "PRE-34")
def test_each_victim_is_told_of_when_it_is_chosen_and_nothing_is_gone_yet() -> None:
    crowd = Evictor(size=2)
    crowd.run("batch", "t1")
    crowd.run("night", "t2")
    effects = crowd.want(2)
    text = "Preempted by k from application owed in root.a"
    found = told(effects, events.REQUEST)
    assert [(each.object_id, each.reference_id, each.message) for each in found] == [
        ("t1", "batch", text),
        ("t2", "night", text),
    ]
    for record in found:
        assert (record.change, record.detail) == (events.NONE, events.DETAILS_NONE)
        assert record.resource == ONE
    assert told(effects, events.APP) == []
    assert [each.detail for each in told(effects, events.NODE)] == [events.NODE_RESERVATION]


@pytest.mark.remuda_rule("PRE-34", "SI-69")
def test_one_response_orders_all_victims_out() -> None:
    crowd = Evictor(size=2)
    victims = [crowd.run("batch"), crowd.run("night")]
    (answer,) = of(crowd.want(2), e.AllocationsReleased)
    assert [each.allocation_id for each in answer.released] == victims
    for each in answer.released:
        assert each.termination_type == c.PREEMPTED_BY_SCHEDULER
        assert each.message == "preempting allocations to free up resources to run ask: k"


@pytest.mark.remuda_rule("EVT-27", "EVT-28", "EVT-21", "PRE-35")
@pytest.mark.parametrize(
    "kind, detail",
    [
        (c.PREEMPTED_BY_SCHEDULER, events.ALLOC_PREEMPT),
        (c.STOPPED_BY_RM, events.ALLOC_CANCEL),
    ],
)
def test_the_end_of_a_victim_is_told_when_it_is_confirmed(kind: int, detail: int) -> None:
    crowd = Evictor(size=2)
    identity = crowd.run("batch", "t1")
    crowd.run("batch", "t2")
    crowd.want(1)
    (gone,) = told(crowd.release("batch", identity, kind=kind), events.APP)
    assert (gone.object_id, gone.reference_id) == ("batch", identity)
    assert (gone.change, gone.detail) == (events.REMOVE, detail)
    assert gone.resource == ONE
