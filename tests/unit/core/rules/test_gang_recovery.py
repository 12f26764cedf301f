"""Gangs after a restart: the RM reports its placeholders (chapter 80 section 3)."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.base.resources import Resource
from remuda.core.messages import commands as c
from tests.unit.core.door import MINUTE, SECOND, START, leaf
from tests.unit.core.rules.gang import (
    ONE,
    TIMEOUT,
    TWO,
    WAITING,
    Gang,
    amounts,
    existing,
    heard,
)

MILLI = 1_000_000
CREATED = "yunikorn.apache.org/creationTime"


def tag(age_ns: int) -> dict[str, str]:
    """An allocation that was made so long ago."""
    return {"creationTime": str((START - age_ns) // SECOND)}


def holder(identity: str, node: str = "n1", age_ns: int = 0) -> c.ExistingAllocation:
    """A placeholder as the RM reports it."""
    tags = tag(age_ns) if age_ns else {}
    return existing("app", identity, node, "g", placeholder=True, tags=tags)


def restarted(ask: Resource = TWO, style: str = "", **other: Any) -> Gang:
    """Two nodes and an application without anything yet."""
    gang = Gang()
    gang.nodes(n1=10, n2=10)
    gang.submit("app", ask, style, **other)
    return gang


@pytest.mark.remuda_rule("GANG-40", "GANG-7", "GANG-35", "SI-41", "SI-42")
def test_placeholders_come_back_as_they_were() -> None:
    gang = restarted({"vcore": 3})
    assert gang.recover(holder("p1-0"), holder("p2-0", "n2")) == [
        "updated[app Accepted]",
        "new[p1-0 n1]",
        "new[p2-0 n2]",
    ]
    assert (gang.holds(), gang.data()) == (["p1-0", "p2-0"], (2, 0, 0))
    view = gang.application()
    assert (amounts(view.used), amounts(view.placeholder)) == ({}, {"vcore": 2})
    assert gang.home().placeholders == 2
    assert gang.in_queue() == gang.of_user() == {"vcore": 2}
    (minimum,) = [x.minimum for x in view.placeholder_data]
    assert amounts(minimum) == ONE


@pytest.mark.remuda_rule("GANG-40", "SI-40")
def test_a_placeholder_must_name_its_group() -> None:
    gang = restarted()
    assert gang.recover(existing("app", "p1-0", "n1", placeholder=True)) == ["refused[p1]"]
    assert (gang.state("app"), gang.in_queue()) == ("New", {})


@pytest.mark.remuda_rule("GANG-40")
@pytest.mark.parametrize("group", ["", "g"])
@pytest.mark.parametrize("total", [{}, TWO])
def test_without_the_flag_it_is_an_ordinary_allocation(group: str, total: Resource) -> None:
    gang = restarted(total)
    gang.recover(existing("app", "p1-0", "n1", group))
    assert (gang.state("app"), gang.runs(), gang.holds()) == ("Starting", ["p1-0"], [])
    gang.want("r1")
    assert gang.run() == ["updated[app Running]", "new[r1-0 n2]"]
    assert gang.home().placeholders == 0


@pytest.mark.remuda_rule("GANG-41", "GANG-5", "REC-7")
def test_all_of_them_complete_the_gang() -> None:
    gang = restarted()
    assert gang.recover(holder("p1-0"), holder("p2-0")) == [
        "updated[app Accepted]",
        "new[p1-0 n1]",
        "updated[app Starting]",
        "new[p2-0 n1]",
    ]
    gang.want("r1", "r2")
    assert gang.run() == ["released[p1-0 REPLACED]", "released[p2-0 REPLACED]"]


@pytest.mark.remuda_rule("GANG-41", "GANG-6", "GANG-5")
def test_some_of_them_wait_for_the_rest() -> None:
    gang = restarted()
    gang.recover(holder("p1-0"))
    gang.want("r1")
    assert gang.run() == []
    gang.hold("p2")
    assert gang.data() == (2, 0, 0)
    assert gang.run() == ["updated[app Starting]", "new[p2-0 n2]", "released[p1-0 REPLACED]"]


@pytest.mark.remuda_rule("GANG-41", "APP-6", "GANG-21")
@pytest.mark.parametrize("real_first", [True, False])
def test_those_that_were_replaced_move_the_state(real_first: bool) -> None:
    gang = restarted({"vcore": 3})
    reported = [existing("app", "r1-0", "n1", "g"), holder("p2-0"), holder("p3-0")]
    order = reported if real_first else reported[::-1]
    lines = gang.recover(*order)
    states = [line for line in lines if line.startswith("updated")]
    assert states == ["updated[app Accepted]", "updated[app Starting]"]
    assert (gang.data(), gang.deadline()) == ((2, 0, 0), START + TIMEOUT)
    gang.recover(existing("app", "r0-0", "n2", "g"))
    assert gang.state("app") == "Running"
    gang.want("r2", "r3", "r4")
    lines = gang.run()
    assert sorted(lines) == ["released[p2-0 REPLACED]", "released[p3-0 REPLACED]"]
    gang.confirm("p2-0", "p3-0")
    assert gang.data() == (2, 2, 0)
    assert [line.split()[0] for line in gang.run()] == ["new[r4-0"]


@pytest.mark.remuda_rule("GANG-42", "GANG-10")
def test_a_swap_that_was_under_way_begins_anew() -> None:
    gang = restarted(ONE)
    gang.recover(holder("p1-0"))
    gang.want("r1")
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-42", "GANG-11")
def test_a_real_ask_whose_placeholder_is_gone_is_placed_regularly() -> None:
    gang = restarted(ONE)
    gang.want("r1")
    assert gang.run() == ["updated[app Starting]", "new[r1-0 n1]"]


@pytest.mark.remuda_rule("GANG-43", "SI-63", "SI-65")
@pytest.mark.parametrize("kind", [c.TIMEOUT, c.PREEMPTED_BY_SCHEDULER, c.PLACEHOLDER_REPLACED])
def test_a_confirmation_of_the_former_life_is_a_plain_release(kind: int) -> None:
    gang = restarted({"vcore": 3})
    gang.recover(holder("p1-0"), holder("p2-0"))
    gang.want("r1", group="")
    assert gang.confirm("p1-0", kind=kind) == []
    assert (gang.holds(), gang.data(), gang.in_queue()) == (["p2-0"], (2, 0, 1), ONE)


@pytest.mark.remuda_rule("GANG-20", "GANG-43", "REC-10", "SI-45")
@pytest.mark.parametrize("of_application", ["", str((START - 60 * MINUTE) // SECOND)])
def test_the_clock_of_recovered_placeholders_starts_with_the_oldest(of_application: str) -> None:
    tags = {CREATED: of_application} if of_application else {}
    gang = restarted({"vcore": 4}, tags=tags)
    gang.recover(holder("p1-0", age_ns=5 * MINUTE))
    assert gang.deadline() == START + 10 * MINUTE
    gang.recover(holder("p2-0", age_ns=12 * MINUTE), holder("p3-0", age_ns=MINUTE))
    assert gang.deadline() == START + 3 * MINUTE
    gang.hold("p4", size={"gpu": 1})
    assert gang.run(3 * MINUTE - 1) == []
    lines = gang.run(1)
    assert lines[:2] == [
        "updated[app Resuming ResourceReservationTimeout]",
        "releasedAsk[p4 TIMEOUT]",
    ]
    assert sorted(lines[2:]) == [f"released[p{number}-0 TIMEOUT]" for number in (1, 2, 3)]


@pytest.mark.remuda_rule("GANG-20", "REC-10")
@pytest.mark.parametrize("age", [TIMEOUT, 60 * MINUTE])
@pytest.mark.parametrize("style, state", [("Hard", "Failing"), ("Soft", "Resuming")])
def test_at_least_a_millisecond_remains(age: int, style: str, state: str) -> None:
    gang = restarted({"vcore": 3}, style)
    gang.recover(holder("p1-0", age_ns=age))
    assert gang.deadline() == START + MILLI
    assert gang.run(MILLI - 1) == []
    assert gang.run(1) == [
        f"updated[app {state} ResourceReservationTimeout]",
        "released[p1-0 TIMEOUT]",
    ]


@pytest.mark.remuda_rule("GANG-20")
def test_an_old_application_that_merely_waited_keeps_its_full_time() -> None:
    gang = restarted(tags={CREATED: str((START - 60 * MINUTE) // SECOND)})
    gang.hold("p1", "p2", size={"vcore": 1})
    gang.run()
    assert gang.deadline() == START + TIMEOUT


@pytest.mark.remuda_rule("GANG-43", "GANG-20", "REC-10")
def test_without_a_time_the_clock_starts_with_the_report() -> None:
    gang = restarted({"vcore": 3})
    gang.now += MINUTE
    gang.recover(holder("p1-0"))
    assert gang.deadline() == START + MINUTE + TIMEOUT


@pytest.mark.remuda_rule("GANG-21", "GANG-22")
@pytest.mark.parametrize("count", [1, 2])
def test_placeholders_that_come_after_what_runs_time_out_too(count: int) -> None:
    gang = restarted({"vcore": 5}, "Hard")
    for number in range(count):
        gang.recover(existing("app", f"r{number}-0", "n1", "g"))
    assert gang.deadline() == 0
    gang.recover(holder("p1-0"))
    assert gang.deadline() == START + TIMEOUT
    gang.run(TIMEOUT - 1)
    assert gang.run(1) == ["released[p1-0 TIMEOUT]"]
    assert gang.state("app") == "Running"
    assert gang.timed_out("p1-0") == []
    assert len(gang.runs()) == count


@pytest.mark.remuda_rule("GANG-21", "GANG-30")
def test_placeholders_that_are_all_that_is_left_time_out_at_last() -> None:
    gang = restarted(ONE)
    gang.recover(existing("app", "r1-0", "n1", "g"), holder("p1-0"))
    gang.confirm("r1-0", kind=c.STOPPED_BY_RM)
    assert gang.state("app") == "Completing"
    assert gang.run(WAITING) == ["released[p1-0 TIMEOUT]"]
    assert gang.timed_out("p1-0") == ["updated[app Completed]"]


@pytest.mark.remuda_rule("REC-6", "SI-34", "GANG-35", "GANG-40")
def test_asks_of_what_was_recovered_may_be_replayed_as_well() -> None:
    gang = restarted()
    gang.recover(holder("p1-0"), holder("p2-0"))
    gang.hold("p1", "p2")
    assert (gang.data(), gang.pending()) == ((2, 0, 0), {})
    assert gang.run() == []


@pytest.mark.remuda_rule("SI-44", "GANG-35", "GANG-40")
def test_a_pending_placeholder_that_turns_out_to_exist_is_one_member() -> None:
    gang = restarted()
    gang.node("n1", action=c.DRAIN_NODE)
    gang.node("n2", action=c.DRAIN_NODE)
    gang.hold("p1", "p2")
    assert gang.run() == []
    assert gang.recover(holder("p1-0"))[-1] == "new[p1-0 n1]"
    assert (gang.data(), gang.pending()) == ((2, 0, 0), {"p2": 1})


@pytest.mark.remuda_rule("SI-43", "REC-8", "GANG-35")
def test_a_placeholder_that_is_reported_twice_is_one_member() -> None:
    gang = restarted()
    gang.recover(holder("p1-0"))
    before = gang.totals()
    assert gang.recover(holder("p1-0")) == ["new[p1-0 n1]"]
    assert gang.totals() == before
    assert gang.data() == (1, 0, 0)


@pytest.mark.remuda_rule("SI-66", "SI-43", "REC-8")
def test_a_placeholder_that_is_reported_during_its_swap_goes_on_being_swapped() -> None:
    gang = restarted(ONE)
    gang.hold("p1")
    gang.run()
    gang.want("r1")
    gang.run()
    assert gang.recover(holder("p1-0")) == ["new[p1-0 n1]"]
    assert gang.run() == []
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    assert gang.data() == (1, 1, 0)


@pytest.mark.remuda_rule("GANG-40", "SI-41", "GANG-5")
def test_neither_the_gate_nor_the_quota_refuses_what_exists() -> None:
    gang = Gang(leaf("a", TWO))
    gang.nodes(n1=10)
    gang.submit("other")
    gang.existing("other", "x", "n1", TWO)
    gang.submit("app", TWO)
    gang.recover(holder("p1-0"), holder("p2-0"))
    assert gang.state("app") == "Starting"
    assert gang.in_queue() == {"vcore": 4}
    assert heard(gang.release("other")) != []


@pytest.mark.remuda_rule("GANG-43", "GANG-25", "GANG-22")
@pytest.mark.parametrize("style, state", [("Soft", "Accepted"), ("Hard", "Failed")])
def test_a_placeholder_that_is_reported_after_the_timeout_goes_with_the_others(
    style: str, state: str
) -> None:
    # Decision 62: else nobody would ever end it, and the application would wait for ever.
    gang = restarted(style=style)
    gang.recover(holder("p1"))
    gang.run(TIMEOUT)
    lines = gang.recover(holder("p2"))
    assert lines == ["new[p2 n1]", "released[p2 TIMEOUT]"]
    assert gang.timed_out("p1") == []
    (line,) = gang.timed_out("p2")
    assert line.startswith(f"updated[app {state}")


@pytest.mark.remuda_rule("GANG-21", "GANG-22")
def test_the_clock_starts_anew_for_a_placeholder_that_comes_after_it_ran_out() -> None:
    gang = restarted()
    gang.recover(holder("p1"), holder("p2"))
    ended = ["released[p1 TIMEOUT]", "released[p2 TIMEOUT]"]
    assert gang.run(TIMEOUT) == ["updated[app Running]", *ended]
    gang.hold("p3")
    gang.run()
    assert gang.deadline() == gang.now + TIMEOUT


@pytest.mark.remuda_rule("GANG-40", "GANG-35", "SI-44")
def test_a_placeholder_ask_that_turns_out_to_be_real_work_is_a_member_less() -> None:
    gang = restarted(ONE)
    gang.hold("p1")
    assert gang.recover(existing("app", "p1", "n1", "")) == ["updated[app Starting]", "new[p1 n1]"]
    assert gang.data() == (1, 0, 1)
    gang.want("r1")
    assert gang.run() == ["updated[app Running]", "new[r1-0 n2]"]


@pytest.mark.remuda_rule("GANG-40", "GANG-35", "SI-44")
def test_a_real_ask_that_turns_out_to_be_a_placeholder_is_one_member() -> None:
    gang = restarted({})
    gang.want("k", group="")
    assert gang.recover(existing("app", "k-9", "n1", "g", placeholder=True)) == ["new[k-9 n1]"]
    assert gang.data() == (1, 0, 0)
    assert gang.pending() == {}


@pytest.mark.remuda_rule("GANG-30", "GANG-21", "GANG-43")
def test_a_placeholder_that_is_reported_while_completing_has_the_rest_of_the_30_seconds() -> None:
    gang = restarted({})
    gang.recover(existing("app", "x", "n1"))
    assert gang.confirm("x", kind=c.STOPPED_BY_RM)[0] == "updated[app Completing]"
    gang.run(10 * SECOND)
    assert gang.recover(holder("p1")) == ["new[p1 n1]"]
    assert (gang.state("app"), gang.deadline()) == ("Completing", 0)
    assert gang.run(WAITING - 10 * SECOND - 1) == []
    assert gang.run(1) == ["released[p1 TIMEOUT]"]
    # Decision 62: one that comes later goes at once.
    assert gang.recover(holder("p2")) == ["new[p2 n1]", "released[p2 TIMEOUT]"]
    assert gang.timed_out("p1") == []
    assert gang.timed_out("p2") == ["updated[app Completed]"]
