"""Lists, timers and ends of applications (chapter 80 section 1 and edge cases)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import DAY, MINUTE, SECOND, START, of
from tests.unit.core.rules.gang import (
    ONE,
    TIMEOUT,
    TWO,
    WAITING,
    Gang,
    existing,
    half,
    pair,
)

AT_ONCE = {"application.stateaware.disable": "x"}


def started(**other: object) -> Gang:
    """An application with one allocation k-0."""
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit(**other)  # type: ignore[arg-type]
    gang.want("k", group="")
    gang.run()
    return gang


@pytest.mark.remuda_rule("APP-16", "APP-17")
def test_one_allocation_alone_is_starting_for_five_minutes() -> None:
    gang = started()
    assert gang.run(5 * MINUTE - 1) == []
    assert gang.state("app") == "Starting"
    assert gang.run(1) == ["updated[app Running]"]
    gang = started(tags=AT_ONCE)
    gang.step(0)
    assert gang.state("app") == "Running"


@pytest.mark.remuda_rule("APP-16", "APP-8", "APP-2", "SI-23")
@pytest.mark.parametrize("after, state", [(29 * SECOND, "Running"), (WAITING - 1, "Running")])
def test_an_ask_in_the_last_moment_keeps_it_alive(after: int, state: str) -> None:
    gang = started()
    gang.confirm("k-0", kind=c.STOPPED_BY_RM)
    gang.run(after)
    assert gang.want("late", group="") == [f"updated[app {state}]"]
    assert gang.run(WAITING) == ["new[late-0 n1]"]


@pytest.mark.remuda_rule("APP-14", "SI-23", "SI-31")
def test_an_ask_after_the_end_is_refused_and_the_id_is_free_at_once() -> None:
    gang = started()
    gang.confirm("k-0", kind=c.STOPPED_BY_RM)
    assert gang.run(WAITING) == ["updated[app Completed]"]
    assert gang.want("late", group="") == ["refused[late]"]
    assert gang.submit() == ["accepted[app]"]
    assert gang.want("late", group="") == ["updated[app Accepted]"]


@pytest.mark.remuda_rule("APP-8", "SI-51", "APP-16")
@pytest.mark.parametrize("key", ["k", ""])
def test_asks_that_go_while_completing_do_not_shorten_the_wait(key: str) -> None:
    gang = started()
    gang.confirm("k-0", kind=c.STOPPED_BY_RM)
    assert gang.release_ask("app", key) == []  # the ask has ended, so there is nothing to tell
    assert gang.state("app") == "Completing"
    assert gang.run(WAITING - 1) == []
    assert gang.run(1) == ["updated[app Completed]"]


@pytest.mark.remuda_rule("APP-8", "SI-34")
def test_an_ask_that_wants_no_more_than_it_had_lets_the_application_complete() -> None:
    gang = Gang()
    gang.nodes(n1=1)
    gang.submit()
    gang.want("k", group="", max_allocations=2)
    gang.run()
    assert gang.confirm("k-0", kind=c.STOPPED_BY_RM) == ["released[k-0 STOPPED]"]
    assert gang.want("k", group="", max_allocations=1) == ["updated[app Completing]"]
    assert gang.run(WAITING) == ["updated[app Completed]"]


@pytest.mark.remuda_rule("APP-8", "SI-34", "GANG-33")
def test_a_placeholder_ask_that_wants_no_more_does_so_too() -> None:
    gang = half()
    gang.release_ask("app", "p2")
    gang.hold("p3", max_allocations=2)
    assert gang.run() == []
    gang.confirm("p1-0", kind=c.STOPPED_BY_RM)
    assert gang.run() == ["new[p3-0 n1]"]
    # With a placeholder left nothing completes yet; its end does it.
    assert gang.hold("p3", max_allocations=1) == []
    assert gang.confirm("p3-0", kind=c.STOPPED_BY_RM)[0] == "updated[app Completing]"


@pytest.mark.remuda_rule("APP-15", "APP-18")
def test_two_runs_of_one_id_within_a_second_are_two_entries() -> None:
    gang = Gang()
    gang.nodes(n1=1)
    for _ in range(2):
        assert gang.submit("app", TWO, "Hard", execution_timeout_ms=1) == ["accepted[app]"]
        gang.hold("p1", "p2")
        gang.run()
        gang.run(SECOND // 1000)
        assert gang.timed_out("p1-0") == ["updated[app Failed]"]
    assert gang.now - START < SECOND
    assert gang.home().applications.get("Failed") == 2
    assert gang.run(3 * DAY) == ["updated[app Expired]"] * 2


@pytest.mark.remuda_rule("APP-15", "APP-18")
def test_an_entry_lives_three_to_four_days() -> None:
    gang = Gang()
    gang.submit()
    gang.want("k", group="")
    gang.release_ask("app", "k")
    gang.run(WAITING)
    assert gang.run(3 * DAY - 1) == []
    assert gang.home().applications.get("Completed") == 1
    assert gang.run(1) == ["updated[app Expired]"]
    gang.run(DAY)
    found = gang.home().applications
    assert (found.get("Completed", 0), found.get("Expired", 0)) == (0, 0)


@pytest.mark.remuda_rule("APP-20")
def test_applications_may_wait_for_ever() -> None:
    gang = half()
    gang.submit("new")
    gang.run(TIMEOUT)
    gang.timed_out("p1-0")
    for _ in range(10):
        assert gang.run(30 * DAY) == []
    assert (gang.state("new"), gang.state("app")) == ("New", "Accepted")


@pytest.mark.remuda_rule("APP-12", "GANG-25")
@pytest.mark.parametrize("predecessor", ["pending before", "asked after"])
def test_nothing_is_placed_while_resuming(predecessor: str) -> None:
    gang = half()
    if predecessor == "pending before":
        gang.want("r1", group="")
    gang.run(TIMEOUT)
    assert gang.state("app") == "Resuming"
    if predecessor == "asked after":
        assert gang.want("r1", group="") == []
    gang.nodes(n2=10)
    assert gang.run(9 * MINUTE) == []
    assert gang.node_view("n2").reservations == ()
    gang.timed_out("p1-0")
    lines = gang.run()
    assert lines[0] == "updated[app Starting]"
    assert lines[1].startswith("new[r1-0 ")


@pytest.mark.remuda_rule("APP-12", "RSV-6")
def test_reservations_go_when_nothing_is_placed_any_more() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.node("spare", {"vcore": 100}, c.CREATE_DRAIN)
    gang.submit("app", {"vcore": 12}, "Hard")
    gang.hold("p1", size={"vcore": 4})
    gang.hold("p2", size={"vcore": 8})
    gang.run()
    gang.run(3 * SECOND)
    assert gang.home().reservations == 1
    gang.run(TIMEOUT)
    assert gang.state("app") == "Failing"
    assert gang.home().reservations == 0
    gang.submit("other")
    gang.want("k", app="other", group="", size={"vcore": 6})
    assert gang.run() == ["updated[other Starting]", "new[k-0 n1]"]


@pytest.mark.remuda_rule("APP-12", "APP-11", "SI-31")
def test_a_failing_application_gets_nothing_more() -> None:
    gang = half(style="Hard")
    gang.run(TIMEOUT)
    gang.nodes(n2=10)
    assert gang.want("k", group="") == ["refused[k]"]
    assert gang.hold("p3") == ["refused[p3]"]
    (answer,) = of(gang.last, e.AsksRejected)
    assert "failing" in answer.rejected[0].reason.lower()
    assert gang.run(9 * MINUTE) == []


@pytest.mark.remuda_rule("APP-11", "GANG-25")
def test_a_failing_application_with_something_that_runs_ends_with_that() -> None:
    gang = half(style="Hard")
    gang.run(TIMEOUT)
    gang.nodes(n2=10)
    # The RM had started something the scheduler did not know of.
    assert gang.recover(existing("app", "x", "n2")) == ["new[x n2]"]
    assert gang.state("app") == "Failing"
    assert gang.timed_out("p1-0") == []
    assert gang.on("n2") == ONE
    lines = gang.confirm("x", kind=c.STOPPED_BY_RM)
    assert lines == ["updated[app Failed]", "released[x STOPPED]"]
    assert (gang.in_queue(), gang.on("n2"), gang.of_user()) == ({}, {}, {})


@pytest.mark.remuda_rule("APP-11", "GANG-23")
@pytest.mark.parametrize("style", ["Hard", "Soft"])
def test_a_swap_under_way_when_the_gang_times_out_leaves_nothing_behind(style: str) -> None:
    gang = Gang()
    gang.nodes(n1=2)
    gang.submit("app", {}, style)
    gang.hold("p1", "p2", "p3")
    gang.run()
    gang.run(TIMEOUT - SECOND)
    gang.want("r1")
    assert gang.run() == ["released[p1-0 REPLACED]"]
    lines = gang.run(SECOND)
    assert lines[0].endswith("ResourceReservationTimeout]")
    assert "released[p2-0 TIMEOUT]" in lines
    assert "released[p1-0 TIMEOUT]" not in lines
    gang.timed_out("p2-0")
    gang.confirm("p1-0")
    if "r1-0" in (gang.runs() if gang.state("app") else []):
        gang.confirm("r1-0", kind=c.STOPPED_BY_RM)
    assert (gang.in_queue(), gang.on("n1"), gang.of_user()) == ({}, {}, {})
    gang.run(MINUTE)
    assert gang.state("app") in ("", "Accepted")
    assert gang.home().applications.get("Failed", 0) == (1 if style == "Hard" else 0)


@pytest.mark.remuda_rule("APP-13")
@pytest.mark.parametrize("style", ["Hard", "Soft"])
def test_only_a_gang_that_is_incomplete_resumes_or_fails(style: str) -> None:
    for gang in (pair(style=style), started()):
        entered: list[str] = []
        for _ in range(10):
            entered += [line for line in gang.run(MINUTE * 2) if line.startswith("updated")]
        assert entered == ["updated[app Running]"]


@pytest.mark.remuda_rule("APP-2", "APP-17", "GANG-21")
def test_the_reservation_timer_of_a_removed_gang_leaves_its_successor_alone() -> None:
    gang = half(style="Hard")
    gang.run(TIMEOUT - MINUTE)
    gang.remove("app")
    assert gang.submit("app", TWO, "Hard") == ["accepted[app]"]
    gang.hold("p1", "p2")
    assert gang.run() == ["new[p1-0 n1]"]
    assert gang.run(TIMEOUT - 1) == []
    assert gang.run(1)[0] == "updated[app Failing ResourceReservationTimeout]"


@pytest.mark.remuda_rule("APP-3", "REST-77")
def test_the_time_of_starting_is_when_the_gang_was_complete() -> None:
    gang = half()
    assert gang.application().start_time_ns == 0
    gang.now += MINUTE
    gang.nodes(n2=1)
    gang.run()
    assert gang.application().start_time_ns == START + MINUTE


@pytest.mark.remuda_rule("APP-3", "APP-19", "GANG-5", "QUE-23")
def test_a_gang_is_running_from_its_completion_on() -> None:
    gang = half()
    counts = [gang.queue("root").running_applications]
    gang.nodes(n2=1)
    gang.run()
    counts.append(gang.queue("root").running_applications)
    gang.run(5 * MINUTE)
    counts.append(gang.queue("root").running_applications)
    lines = gang.confirm("", kind=c.STOPPED_BY_RM)
    assert lines[0] == "updated[app Completing]"
    counts.append(gang.queue("root").running_applications)
    assert counts == [0, 1, 1, 0]


@pytest.mark.remuda_rule("APP-21", "QUE-42", "GANG-10")
def test_placeholders_count_for_the_age_of_an_application() -> None:
    gang = Gang()
    gang.nodes(n1=1)
    gang.submit("young")
    gang.submit("old", TWO)
    gang.want("k", app="young", group="")
    created = {"creationTime": str(START // SECOND - 60)}
    gang.hold("p1", app="old", tags=created)
    assert gang.run() == ["new[p1-0 n1]"]
