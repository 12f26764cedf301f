"""What is proposed for an ask that waits, before anything is tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from remuda.base.scopes import Scope
from remuda.core.messages.trace_queries import AskTraceQuery, AskTraceView
from remuda.insight.changes import PRIORITY, QUEUE, RELEASE, Surroundings
from remuda.insight.edits import edits, last_edits
from remuda.insight.surroundings import WaysOutQuestion, free_name, surroundings
from remuda.insight.ways_out import proposals
from tests.unit.core.door import Caller, leaf

HIGHEST = 2**31 - 1


def waiting(own: int, other: int) -> Caller:
    """Return a scheduler without nodes: asks of two queues wait, with these priorities."""
    door = Caller(leaf("own"), leaf("other"))
    door.app("app", "root.own")
    door.app("rival", "root.other")
    door.ask("app", "k", {"vcore": 1}, priority=own)
    door.ask("rival", "k", {"vcore": 1}, priority=other)
    return door


def priorities(door: Caller, scope: Scope | None = None) -> set[str]:
    """What is proposed about priorities."""

    def parts() -> Iterator[str]:
        question = WaysOutQuestion("default", "app", "k", rm_id="rm", scope=scope)
        for edit in (each for some in proposals(door.scheduler, question) for each in some):
            yield from (
                text for kind, text in zip(edit.kinds, edit.parts, strict=True) if kind == PRIORITY
            )

    return set(parts())


@pytest.mark.remuda_rule("EXT-47")
def test_a_priority_is_above_that_of_all_that_is_served_before() -> None:
    assert priorities(waiting(1, 41)) == {"raise the priority of the ask to 42"}


@pytest.mark.remuda_rule("EXT-65")
def test_a_priority_tells_nothing_about_queues_beyond_the_scope() -> None:
    assert priorities(waiting(1, 41), Scope((), ("root.own",))) == {
        "raise the priority of the ask to 2"
    }


@pytest.mark.remuda_rule("EXT-47")
def test_a_priority_that_is_the_highest_is_not_raised() -> None:
    assert priorities(waiting(HIGHEST - 1, 0)) == {f"raise the priority of the ask to {HIGHEST}"}
    assert priorities(waiting(HIGHEST, 0)) == set()


@pytest.mark.remuda_rule("EXT-119")
def test_a_name_is_found_however_many_are_taken() -> None:
    assert free_name([]) == "what-if-1"
    # A longer name begins with each shorter one.
    assert free_name(["what-if-1", "what-if-23", "what-if-", "other"]) == "what-if-3"
    # Trying each name with each other one would take minutes.
    many = [f"what-if-{number}" for number in range(1, 200_001)]
    assert free_name(many) == "what-if-200001"


def around_of(door: Caller) -> tuple[AskTraceView, Surroundings]:
    """The trace of the ask that waits, and what is around it."""
    question = WaysOutQuestion("default", "app", "k", rm_id="rm")
    trace = door.scheduler.view(AskTraceQuery("default", "app", "k", "rm"))
    assert isinstance(trace, AskTraceView)
    return trace, surroundings(door.scheduler, question, trace)


def crowded() -> Caller:
    """Six applications of six leaves run on a node; an ask waits for the maximum of its queue."""
    door = Caller(leaf("own", {"vcore": 4}), *(leaf(f"q{number}") for number in range(6)))
    door.node("n", {"vcore": 30})
    for number in range(6):
        door.app(f"run-{number}", f"root.q{number}")
        # The later ones are smaller.
        door.ask(f"run-{number}", "k", {"vcore": 6 - number})
    assert len(door.place()) == 6
    door.app("app", "root.own")
    door.ask("app", "k", {"vcore": 5})
    return door


@pytest.mark.remuda_rule("EXT-119")
def test_the_edits_are_a_bounded_number_and_small_applications_end_first() -> None:
    trace, around = around_of(crowded())
    assert list(around.running) == [f"run-{number}" for number in (5, 4, 3, 2, 1, 0)]
    single = [edit.parts[0] for edit in edits(trace, around) if edit.kinds == (RELEASE,)]
    assert single == [f"application run-{number} ends" for number in (5, 4, 3, 2)]
    queues = [edit for edit in edits(trace, around) if edit.kinds == (QUEUE,)]
    assert [edit.parts[0] for edit in queues] == [
        f"submit it to queue root.q{number} instead of root.own" for number in range(4)
    ]


@pytest.mark.remuda_rule("EXT-119")
@pytest.mark.parametrize("reserved, told", [(0, "one more node"), (3, "4 more"), (99, "16 more")])
def test_there_is_a_node_more_than_are_reserved_up_to_sixteen(reserved: int, told: str) -> None:
    trace, around = around_of(crowded())
    found = last_edits(trace, replace(around, reserved=reserved))
    nodes = {text for edit in found for text in edit.parts if "with vcore" in text}
    (text,) = nodes
    assert text.startswith(told)


@pytest.mark.remuda_rule("EXT-119")
def test_limits_have_room_for_what_other_reservations_still_want() -> None:
    trace, around = around_of(crowded())
    around = replace(around, reserving=2, reserving_amounts={"vcore": 7})
    raised = "raise the limit of root.own to vcore"
    of_first = {text for edit in edits(trace, around) for text in edit.parts if raised in text}
    of_last = {text for edit in last_edits(trace, around) for text in edit.parts if raised in text}
    assert (of_first, of_last) == ({f"{raised} 5"}, {f"{raised} 12"})
