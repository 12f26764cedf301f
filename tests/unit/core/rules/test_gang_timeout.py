"""The reservation of a gang times out (chapter 80 section 3, SI-27, SI-28)."""

from __future__ import annotations

import itertools

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.unit.core.door import DAY, MINUTE, SECOND, START, leaf, of, parent
from tests.unit.core.rules.gang import (
    ONE,
    REQUEST_TIMEOUT,
    TIMEOUT,
    TWO,
    WAITING,
    Gang,
    half,
    heard,
    pair,
    records,
)

MILLI = 1_000_000
SHORT = 20 * SECOND  # less than what Completing and Starting last
QUICK = 20_000


@pytest.mark.remuda_rule("SI-28", "GANG-20")
@pytest.mark.parametrize(
    "given, length",
    [
        (0, TIMEOUT),
        (-1, TIMEOUT),
        (1, MILLI),
        (1_000, SECOND),
        (900_001, TIMEOUT + MILLI),
        (86_400_000, DAY),
        (9_223_372_036_855, TIMEOUT),  # as nanoseconds it does not fit 64 bits
        (2**63 - 1, TIMEOUT),
        (-(2**63), TIMEOUT),
    ],
)
def test_how_long_a_gang_may_take(given: int, length: int) -> None:
    gang = half(execution_timeout_ms=given)
    assert gang.deadline() == START + length
    assert gang.run(length - 1) == []
    assert gang.run(1)[0] == "updated[app Resuming ResourceReservationTimeout]"


@pytest.mark.remuda_rule("SI-27", "GANG-23")
@pytest.mark.parametrize("style", ["", "Soft", "soft", "hard", "HARD", "Hard ", "anything"])
def test_whatever_is_not_exactly_hard_is_soft(style: str) -> None:
    gang = half(style=style)
    assert gang.run(TIMEOUT)[0] == "updated[app Resuming ResourceReservationTimeout]"


@pytest.mark.remuda_rule("GANG-21", "APP-16")
def test_the_clock_starts_with_the_first_placeholder() -> None:
    gang = Gang()
    gang.submit("app", TWO)
    gang.hold("p1", "p2")
    assert gang.run(40 * DAY) == []
    assert (gang.state("app"), gang.deadline()) == ("Accepted", 0)
    gang.nodes(n1=1)
    assert gang.run() == ["new[p1-0 n1]"]
    assert gang.deadline() == gang.now + TIMEOUT
    began = gang.deadline()
    gang.run(MINUTE)
    gang.nodes(n2=1)
    gang.run()
    assert gang.deadline() == began


@pytest.mark.remuda_rule("GANG-21", "APP-17")
def test_the_clock_stops_with_the_last_placeholder_and_may_start_again() -> None:
    gang = half()
    gang.run(TIMEOUT - MINUTE)
    gang.confirm("p1-0", kind=c.STOPPED_BY_RM)
    assert gang.deadline() == 0
    gang.node("n1", action=c.DRAIN_NODE)
    assert gang.run(DAY) == []
    gang.node("n1", action=c.DRAIN_TO_SCHEDULABLE)
    assert gang.run() == ["new[p2-0 n1]"]
    assert gang.deadline() == gang.now + TIMEOUT
    assert gang.run(TIMEOUT - 1) == []
    assert gang.run(1) == [
        "updated[app Resuming ResourceReservationTimeout]",
        "released[p2-0 TIMEOUT]",
    ]


@pytest.mark.remuda_rule("GANG-21", "APP-17")
@pytest.mark.parametrize("style", ["Hard", "Soft"])
def test_a_gang_that_is_replaced_in_time_never_times_out(style: str) -> None:
    gang = pair(style=style)
    gang.want("r1", "r2")
    gang.run()
    gang.now += TIMEOUT
    assert gang.confirm("p1-0", "p2-0") == [
        "new[r1-0 n1]",
        "updated[app Running]",
        "new[r2-0 n2]",
    ]
    gang.want("r3", size={"vcore": 100})
    assert gang.run(DAY) == []
    assert gang.pending() == {"r3": 1}


@pytest.mark.remuda_rule("GANG-22", "APP-1")
@pytest.mark.parametrize("style", ["Hard", "Soft"])
@pytest.mark.parametrize("state, length", [("Starting", MINUTE), ("Running", TIMEOUT)])
def test_later_only_the_unused_placeholders_go(style: str, state: str, length: int) -> None:
    gang = pair(style=style, execution_timeout_ms=length // MILLI)
    gang.hold("p3", size={"gpu": 1})
    gang.want("r1")
    gang.run()
    gang.run(length - 1)
    assert gang.state("app") == state
    # One replacement is in flight: it goes on.
    assert gang.run(1) == ["released[p2-0 TIMEOUT]"]
    assert (gang.state("app"), gang.pending()) == (state, {"p3": 1})
    assert gang.data() == (3, 0, 0)
    assert gang.timed_out("p2-0") == []
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    assert (gang.data(), gang.state("app")) == ((3, 1, 1), state)


@pytest.mark.remuda_rule("GANG-22", "GANG-30", "GANG-31", "APP-10")
@pytest.mark.parametrize("confirmed_after", [1, WAITING - SHORT, WAITING])
def test_what_timed_out_while_completing_is_not_ordered_out_again(confirmed_after: int) -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", TWO, "Hard", execution_timeout_ms=QUICK)
    gang.hold("p1", "p2")
    gang.want("r1")
    gang.run()
    gang.confirm("p1-0")
    gang.confirm("r1-0", kind=c.STOPPED_BY_RM)
    assert gang.state("app") == "Completing"
    assert gang.run(SHORT) == ["released[p2-0 TIMEOUT]"]
    assert gang.run(confirmed_after) == []
    assert gang.state("app") == "Completing"
    done = ["updated[app Completed]"]
    early = confirmed_after < WAITING - SHORT
    assert gang.timed_out("p2-0") == ([] if early else done)
    assert gang.run(WAITING) == (done if early else [])


@pytest.mark.remuda_rule("GANG-23", "GANG-26", "SI-70", "EVT-19", "EVT-34")
def test_soft_drops_the_pending_placeholders_only() -> None:
    gang = half()
    gang.want("r1")
    gang.want("r2", group="")
    lines = gang.run(TIMEOUT)
    assert lines == [
        "updated[app Resuming ResourceReservationTimeout]",
        "releasedAsk[p2 TIMEOUT]",
        "released[p1-0 TIMEOUT]",
    ]
    assert records(gang.last, REQUEST_TIMEOUT) == [("app", "p2", REQUEST_TIMEOUT)]
    assert gang.pending() == {"r1": 1, "r2": 1}
    assert gang.data() == (2, 0, 2)
    gang.nodes(n2=10)
    assert gang.run(MINUTE) == []  # APP-12
    assert gang.timed_out("p1-0") == ["updated[app Accepted]"]
    assert gang.data() == (2, 0, 2)
    assert [line.split()[0] for line in gang.run()] == [
        "updated[app",
        "new[r1-0",
        "updated[app",
        "new[r2-0",
    ]


@pytest.mark.remuda_rule("GANG-23", "GANG-26", "SI-70", "EVT-19")
def test_hard_drops_every_pending_ask() -> None:
    gang = half(style="Hard")
    gang.want("r1")
    gang.want("r2", group="")
    lines = gang.run(TIMEOUT)
    assert lines[0] == "updated[app Failing ResourceReservationTimeout]"
    assert sorted(lines[1:-1]) == [
        "releasedAsk[p2 TIMEOUT]",
        "releasedAsk[r1 TIMEOUT]",
        "releasedAsk[r2 TIMEOUT]",
    ]
    assert lines[-1] == "released[p1-0 TIMEOUT]"
    assert len(of(gang.last, e.AsksReleased)) == 1
    told = [key for _, key, _ in records(gang.last, REQUEST_TIMEOUT)]
    assert sorted(told) == ["p2", "r1", "r2"]
    assert gang.pending() == {}
    assert gang.want("r3") == ["refused[r3]"]
    assert gang.timed_out("p1-0") == ["updated[app Failed]"]


@pytest.mark.remuda_rule("SI-70", "SI-52", "SI-78", "GANG-24")
def test_what_was_dropped_is_told_with_its_type_and_may_be_confirmed() -> None:
    gang = half()
    gang.run(TIMEOUT)
    (answer,) = of(gang.last, e.AsksReleased)
    (dropped,) = answer.released
    assert (answer.rm_id, dropped.partition, dropped.application_id) == ("rm", "default", "app")
    assert (dropped.allocation_key, dropped.termination_type) == ("p2", c.TIMEOUT)
    (update,) = of(gang.last, e.ApplicationUpdated)
    assert update.message == "ResourceReservationTimeout"
    before = gang.totals()
    assert gang.release_ask("app", "p2", kind=c.TIMEOUT) == []
    assert gang.totals() == before
    assert gang.state("app") == "Resuming"


def surprised(style: str) -> Gang:
    """Placeholders without a total: p1-0 is about to be replaced, p2-0 is not, p3 has no place."""
    gang = Gang()
    gang.nodes(n1=2)
    gang.submit("app", {}, style)
    gang.hold("p1", "p2", "p3")
    gang.run()
    gang.run(TIMEOUT - SECOND)
    gang.want("r1")
    assert gang.run() == ["released[p1-0 REPLACED]"]
    return gang


@pytest.mark.remuda_rule("GANG-23", "GANG-26", "GANG-35")
def test_a_hard_timeout_takes_back_a_replacement_under_way() -> None:
    # Decision 68: nothing may start in an application that fails.
    gang = surprised("Hard")
    assert gang.run(SECOND) == [
        "updated[app Failing ResourceReservationTimeout]",
        "releasedAsk[p3 TIMEOUT]",
        "releasedAsk[r1 TIMEOUT]",
        "released[p2-0 TIMEOUT]",
    ]
    assert (gang.data(), gang.pending()) == ((3, 0, 3), {})
    assert gang.confirm("p1-0") == []
    assert gang.timed_out("p2-0") == ["updated[app Failed]"]
    assert (gang.in_queue(), gang.on("n1")) == ({}, {})


@pytest.mark.remuda_rule("GANG-23", "GANG-26", "GANG-35")
def test_a_soft_timeout_lets_a_replacement_under_way_go_on() -> None:
    gang = surprised("Soft")
    assert gang.run(SECOND) == [
        "updated[app Resuming ResourceReservationTimeout]",
        "releasedAsk[p3 TIMEOUT]",
        "released[p2-0 TIMEOUT]",
    ]
    assert gang.data() == (3, 0, 2)
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    assert (gang.data(), gang.state("app")) == ((3, 1, 2), "Resuming")
    # Decision 66: Accepted after the last placeholder, and Starting since something runs.
    assert gang.timed_out("p2-0") == ["updated[app Accepted]", "updated[app Starting]"]
    assert gang.data() == (3, 1, 2)


@pytest.mark.remuda_rule("GANG-23", "GANG-35")
@pytest.mark.parametrize("first", ["p1-0", "p2-0"])
def test_a_member_that_timed_out_counts_once_when_others_are_asked_for_meanwhile(
    first: str,
) -> None:
    gang = Gang()
    gang.nodes(n1=2)
    gang.submit("app", {"vcore": 3}, "Soft")
    gang.hold("p1", "p2", "p3")
    gang.run()
    gang.run(TIMEOUT)
    assert gang.data() == (3, 0, 3)
    gang.hold("p4", "p5")
    assert gang.data() == (5, 0, 3)
    last = {"p1-0": "p2-0", "p2-0": "p1-0"}[first]
    gang.timed_out(first)
    assert gang.data() == (5, 0, 3)
    gang.timed_out(last)
    assert gang.data() == (5, 0, 3)
    gang.run()
    assert gang.holds() == ["p4-0", "p5-0"]
    assert gang.data() == (5, 0, 3)


@pytest.mark.remuda_rule("GANG-23", "APP-12", "RSV-6")
def test_a_soft_timeout_ends_the_reservations_of_what_it_keeps() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
    gang.submit("app", {}, "Soft")
    gang.hold("p1")
    gang.hold("p2", size={"gpu": 1})
    gang.want("big", group="", size={"vcore": 10})
    gang.run()
    gang.run(3 * SECOND)
    assert gang.home().reservations == 1
    assert gang.run(TIMEOUT)[0] == "updated[app Resuming ResourceReservationTimeout]"
    assert (gang.home().reservations, gang.pending()) == (0, {"big": 1})
    gang.submit("other")
    gang.want("k", app="other", group="")
    assert gang.run() == ["updated[other Starting]", "new[k-0 n1]"]


@pytest.mark.remuda_rule("GANG-27", "SI-62")
@pytest.mark.parametrize("order", list(itertools.permutations(["p1-0", "p2-0", "p3-0"])))
@pytest.mark.parametrize("style, last", [("Hard", "Failed"), ("Soft", "Accepted")])
def test_only_the_last_confirmation_moves_the_state(
    style: str, last: str, order: tuple[str, ...]
) -> None:
    gang = Gang()
    gang.nodes(n1=3)
    gang.submit("app", {"vcore": 4}, style)
    gang.hold("p1", "p2", "p3", "p4")
    gang.run()
    gang.run(TIMEOUT)
    state = gang.state("app")
    for identity in order[:-1]:
        assert gang.timed_out(identity, identity, "p4-0", "unheard-of") == []
        assert gang.state("app") == state
    assert gang.timed_out(order[-1]) == [f"updated[app {last}]"]
    assert gang.timed_out(*order) == []
    assert (gang.in_queue(), gang.of_user(), gang.on("n1")) == ({}, {}, {})


@pytest.mark.remuda_rule("GANG-27", "SI-67")
@pytest.mark.parametrize("kind", [c.STOPPED_BY_RM, c.TIMEOUT, c.PREEMPTED_BY_SCHEDULER])
def test_any_end_of_the_last_placeholder_moves_the_state(kind: int) -> None:
    gang = half()
    gang.run(TIMEOUT)
    lines = gang.confirm("p1-0", kind=kind)
    assert lines[0] == "updated[app Accepted]"
    assert lines[1:] == (["released[p1-0 STOPPED]"] if kind == c.STOPPED_BY_RM else [])


@pytest.mark.remuda_rule("GANG-25")
def test_after_a_soft_timeout_it_is_an_ordinary_application() -> None:
    gang = half(leaf("a", TWO))
    gang.run(TIMEOUT)
    gang.timed_out("p1-0")
    gang.submit("other")
    gang.existing("other", "x", "n1", ONE)
    gang.nodes(n2=10)
    # No gate: there is room for one only. No hold: real asks need not wait for placeholders.
    gang.hold("p3")
    gang.want("r1", group="", priority=1)
    gang.want("r2", group="")
    lines = gang.run()
    assert lines == ["updated[app Starting]", "new[r1-0 n2]"]
    gang.confirm("r1-0", kind=c.STOPPED_BY_RM)
    assert gang.run() == ["new[p3-0 n2]"]


@pytest.mark.remuda_rule("GANG-25")
def test_after_a_soft_timeout_a_later_placeholder_holds_no_real_ask_back() -> None:
    gang = half()
    gang.run(TIMEOUT)
    gang.timed_out("p1-0")
    gang.hold("p3")
    assert gang.run() == ["new[p3-0 n1]"]
    assert gang.state("app") == "Accepted"
    gang.nodes(n2=1)
    gang.want("r1", group="")
    assert gang.run() == ["updated[app Starting]", "new[r1-0 n2]"]


@pytest.mark.remuda_rule("GANG-25", "APP-14", "SI-23")
def test_after_a_hard_timeout_it_is_out_of_the_queue() -> None:
    gang = half(style="Hard")
    gang.run(TIMEOUT)
    gang.timed_out("p1-0")
    assert gang.apps() == {}
    assert gang.home().applications.get("Failed") == 1
    assert gang.want("late") == ["refused[late]"]
    assert gang.submit("app", TWO, "Hard") == ["accepted[app]"]


@pytest.mark.remuda_rule("GANG-23", "APP-17")
@pytest.mark.parametrize("style", ["Hard", "Soft"])
def test_without_any_placeholder_nothing_times_out(style: str) -> None:
    gang = half(style=style)
    gang.run(TIMEOUT - 1)
    gang.now += 1
    gang.confirm("p1-0", kind=c.STOPPED_BY_RM)
    assert heard(gang.step(0)) == []
    assert gang.state("app") == "Accepted"


@pytest.mark.remuda_rule("GANG-22", "GANG-23", "APP-17")
def test_the_timer_and_the_last_replacement_may_meet_in_either_order() -> None:
    for confirm_first in (True, False):
        gang = pair(style="Hard")
        gang.want("r1", "r2")
        gang.run()
        gang.confirm("p1-0")
        gang.now = START + TIMEOUT
        heard_then: list[str] = []
        if not confirm_first:
            heard_then += heard(gang.step(0))
        heard_then += gang.confirm("p2-0")
        heard_then += heard(gang.step(0))
        assert "new[r2-0 n2]" in heard_then
        assert "released[p2-0 TIMEOUT]" not in heard_then
        assert (gang.state("app"), gang.data()) == ("Running", (2, 2, 0))


@pytest.mark.remuda_rule("APP-19", "GANG-23", "GANG-25", "QUE-24", "SI-29")
@pytest.mark.parametrize("style", ["Hard", "Soft", "removed"])
def test_a_gang_that_leaves_gives_its_place_among_the_running_back(style: str) -> None:
    gang = Gang(parent("p", leaf("a", max_applications=1), max_applications=1))
    gang.nodes(n1=1)
    for app in ("one", "two", "three"):
        gang.submit(app, TWO, style, queue="root.p.a")
        gang.hold(f"p{app}", f"q{app}", app=app)
        assert gang.run() == [f"new[p{app}-0 n1]"]
        if style == "removed":
            gang.remove(app)
        else:
            gang.run(TIMEOUT)
            gang.timed_out(f"p{app}-0", app=app)
    for path in ("root", "root.p", "root.p.a"):
        assert gang.queue(path).running_applications == 0
    gang.submit("last", queue="root.p.a")
    gang.want("z", app="last", group="")
    assert gang.run() == ["updated[last Starting]", "new[z-0 n1]"]


@pytest.mark.remuda_rule("QUE-22", "QUE-24", "GANG-25")
def test_a_gang_that_began_is_the_one_application_that_may_run() -> None:
    gang = Gang(parent("p", leaf("a"), leaf("b"), max_applications=1))
    gang.nodes(n1=1)
    gang.submit("app", TWO, queue="root.p.a")
    gang.hold("p1", "p2")
    gang.run()
    gang.nodes(n2=10)
    gang.node("n2", action=c.DRAIN_NODE)
    gang.submit("next", queue="root.p.b")
    gang.want("k", app="next", group="")
    gang.node("n2", action=c.DRAIN_TO_SCHEDULABLE)
    # The gang is complete now, and counts as running.
    assert gang.run() == ["updated[app Starting]", "new[p2-0 n2]"]
    gang.confirm("p1-0", "p2-0", kind=c.STOPPED_BY_RM)
    assert gang.state("app") == "Completing"
    assert gang.run()[0] == "updated[next Starting]"


@pytest.mark.remuda_rule("LIM-36", "D-U11")
def test_an_application_that_resumed_with_nothing_no_longer_counts_for_its_user() -> None:
    gang = half()
    assert gang.usage()["ann"].queues.applications == ("app",)
    gang.run(TIMEOUT)
    gang.timed_out("p1-0")
    assert gang.state("app") == "Accepted"
    found = gang.usage().get("ann")
    assert found is None or found.queues.applications == ()


@pytest.mark.remuda_rule("EVT-28", "EVT-27", "GANG-23")
def test_the_events_of_the_placeholders_come_with_their_confirmation() -> None:
    gang = half()
    gang.run(TIMEOUT)
    assert records(gang.last, ev.ALLOC_TIMEOUT) == []
    gang.timed_out("p1-0")
    assert records(gang.last, ev.ALLOC_TIMEOUT) == [("app", "p1-0", ev.ALLOC_TIMEOUT)]


@pytest.mark.remuda_rule("SI-28", "APP-30")
def test_the_timeout_of_a_gang_does_not_end_what_runs() -> None:
    gang = pair(execution_timeout_ms=QUICK)
    gang.want("r1", "r2")
    gang.run()
    gang.confirm("p1-0", "p2-0")
    assert gang.run(30 * DAY) == []
    assert gang.runs() == ["r1-0", "r2-0"]
