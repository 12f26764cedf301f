"""Tasks and applications that may run only so long (SI-37, SI-38, APP-30)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import DAY, MINUTE, SECOND, START, leaf, of
from tests.unit.core.rules.gang import (
    ONE,
    REQUEST_TIMEOUT,
    TIMEOUT,
    WAITING,
    Gang,
    existing,
    heard,
    pair,
    records,
    swapping,
)

TASK = 60_000  # milliseconds
ENFORCED = {"application.enforceExecutionTimeout": "true"}
LENGTH = "remuda/executionTimeout"


def running(timeout_ms: int = TASK, count: int = 1) -> Gang:
    """An application with tasks that may run for a minute."""
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit()
    gang.want("k", group="", max_allocations=count, execution_timeout_ms=timeout_ms)
    gang.run()
    return gang


@pytest.mark.remuda_rule("SI-37", "SI-60", "SI-69", "SI-78", "APP-16")
def test_a_task_is_ordered_out_after_its_time() -> None:
    gang = running()
    assert gang.run(MINUTE - 1) == []
    assert gang.run(1) == ["released[k-0 TIMEOUT]"]
    (answer,) = of(gang.last, e.AllocationsReleased)
    (order,) = answer.released
    assert (order.application_id, order.allocation_key) == ("app", "k")
    assert gang.allocation("k-0").release_type == c.TIMEOUT
    assert gang.in_queue() == gang.of_user() == ONE  # until it is confirmed
    assert gang.timed_out("k-0") == ["updated[app Completing]"]
    assert gang.in_queue() == {}
    assert gang.run(WAITING) == ["updated[app Completed]"]


@pytest.mark.remuda_rule("SI-37", "SI-62")
def test_the_order_is_repeated_after_each_period_until_it_is_confirmed() -> None:
    gang = running()
    for _ in range(4):
        assert gang.run(MINUTE - 1) == []
        assert gang.run(1) == ["released[k-0 TIMEOUT]"]
    gang.timed_out("k-0")
    gang.want("more", group="")
    assert gang.run(DAY) == ["new[more-0 n1]"]


@pytest.mark.remuda_rule("SI-37")
def test_each_task_has_its_own_time() -> None:
    gang = running(count=2)
    gang.now += 20 * SECOND
    gang.want("j", group="", execution_timeout_ms=30_000)
    gang.want("free", group="")
    gang.run()
    assert gang.run(30 * SECOND) == ["released[j-0 TIMEOUT]"]
    gang.timed_out("j-0")
    assert sorted(gang.run(10 * SECOND)) == ["released[k-0 TIMEOUT]", "released[k-1 TIMEOUT]"]
    gang.confirm("k-0", kind=c.STOPPED_BY_RM)
    gang.timed_out("k-1")
    assert gang.run(DAY) == []
    assert gang.runs() == ["free-0"]


@pytest.mark.remuda_rule("SI-37")
@pytest.mark.parametrize("given", [0, -1])
def test_without_a_time_a_task_runs_as_long_as_it_likes(given: int) -> None:
    gang = running(given)
    assert [line for line in gang.run(365 * DAY) if line.startswith("released")] == []
    assert gang.runs() == ["k-0"]


@pytest.mark.remuda_rule("SI-37")
def test_a_task_that_ended_in_time_is_left_alone() -> None:
    gang = running(count=2)
    gang.run(MINUTE - 1)
    gang.confirm("k-0", kind=c.STOPPED_BY_RM)
    assert gang.run(1) == ["released[k-1 TIMEOUT]"]
    gang = running()
    gang.remove("app")
    assert gang.run(DAY) == []


@pytest.mark.remuda_rule("SI-37")
def test_the_time_counts_from_the_binding_not_from_the_ask() -> None:
    gang = Gang()
    gang.submit()
    gang.want("k", group="", execution_timeout_ms=TASK)
    gang.run(10 * MINUTE)
    gang.nodes(n1=10)
    gang.run()
    assert gang.run(MINUTE - 1) == []
    assert gang.run(1) == ["released[k-0 TIMEOUT]"]


@pytest.mark.remuda_rule("SI-37", "GANG-17")
def test_placeholders_are_exempt_and_what_replaces_them_is_not() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", ONE)
    gang.hold("p1", execution_timeout_ms=TASK)
    gang.run()
    assert gang.run(70 * SECOND) == []
    gang.want("r1", execution_timeout_ms=TASK)
    gang.run()
    assert gang.run(70 * SECOND) == []  # not bound yet
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    gang.run(MINUTE - 1)
    assert gang.run(1) == ["released[r1-0 TIMEOUT]"]


@pytest.mark.remuda_rule("SI-37", "REC-10")
def test_a_recovered_task_has_a_time_only_if_its_tag_says_so() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit()
    gang.recover(
        existing("app", "x", "n1", execution_timeout_ms=TASK),
        existing("app", "y", "n1", tags={LENGTH: str(TASK)}),
        existing("app", "z", "n1", tags={LENGTH: "soon"}),
        existing("app", "p", "n1", "g", placeholder=True, tags={LENGTH: str(TASK)}),
    )
    assert gang.run(MINUTE - 1) == []
    assert gang.run(1) == ["released[y TIMEOUT]"]
    gang.timed_out("y")
    assert gang.run(9 * MINUTE) == []
    assert gang.runs() == ["x", "z"]


@pytest.mark.remuda_rule("SI-38", "SI-76")
def test_the_first_task_of_an_application_is_known_as_such() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.want("driver", originator=True)
    gang.want("worker", group="")
    (waiting,) = [r for r in gang.application().requests if r.allocation_key == "driver"]
    assert waiting.originator
    gang.run()
    effects = gang.send(
        c.UpdateAllocations(
            gang.rm,
            releases=(c.AllocationRelease("app", "p1-0", termination_type=c.PLACEHOLDER_REPLACED),),
        )
    )
    (new,) = of(effects, e.AllocationNew)
    assert (new.allocation_id, new.ask.originator) == ("driver-0", True)
    told = {a.allocation_id: a.originator for a in gang.application().allocations}
    assert told == {"driver-0": True, "worker-0": False}


# ------------------------------------------------------------------------ applications


def enforced(extra: dict[str, str] | None = None) -> Gang:
    """Two nodes; what an application may take is a limit of its life."""
    gang = Gang()
    gang.nodes(n1=10, n2=10)
    gang.reload(leaf("a"), extra_config=ENFORCED if extra is None else extra)
    return gang


def two_tasks(gang: Gang) -> None:
    """An application that may run for a minute: k-0 and k-1, and an ask without a place."""
    gang.submit(execution_timeout_ms=TASK)
    gang.want("k", group="", max_allocations=2)
    gang.want("large", group="", size={"vcore": 50})
    gang.run()
    assert gang.state("app") == "Running"


@pytest.mark.remuda_rule("APP-30", "APP-11", "SI-78", "SI-79", "SI-28", "SI-70")
def test_an_application_that_runs_too_long_fails() -> None:
    gang = enforced()
    two_tasks(gang)
    assert gang.run(MINUTE - 1) == []
    lines = gang.run(1)
    assert lines[:2] == ["updated[app Failing ExecutionTimeout]", "releasedAsk[large TIMEOUT]"]
    assert sorted(lines[2:]) == ["released[k-0 TIMEOUT]", "released[k-1 TIMEOUT]"]
    assert records(gang.last, REQUEST_TIMEOUT)[-1][1] == "large"
    assert gang.want("more", group="") == ["refused[more]"]
    assert gang.timed_out("k-1") == []
    assert gang.state("app") == "Failing"
    assert gang.timed_out("k-0") == ["updated[app Failed]"]
    assert (gang.apps(), gang.in_queue()) == ({}, {})


@pytest.mark.remuda_rule("APP-30", "APP-11", "SI-70")
def test_an_application_that_only_waits_when_its_time_is_over_fails_at_once() -> None:
    gang = enforced()
    two_tasks(gang)
    gang.confirm("k-0", "k-1", kind=c.STOPPED_BY_RM)
    assert gang.run(MINUTE) == [
        "updated[app Failing ExecutionTimeout]",
        "releasedAsk[large TIMEOUT]",
        "updated[app Failed]",
    ]
    assert gang.apps() == {}


@pytest.mark.remuda_rule("APP-30", "SI-37", "SI-69")
def test_a_task_that_went_with_its_application_is_not_ordered_out_by_its_own_time_too() -> None:
    gang = enforced()
    gang.submit(execution_timeout_ms=TASK)
    gang.want("k", group="", execution_timeout_ms=TASK + TASK // 2)
    gang.run()
    assert gang.run(MINUTE)[-1] == "released[k-0 TIMEOUT]"
    # The order of the application is repeated after the ten minutes of SI-69, and only then.
    assert gang.run(10 * MINUTE - 1) == []
    assert gang.run(1) == ["released[k-0 TIMEOUT]"]
    assert gang.timed_out("k-0") == ["updated[app Failed]"]


@pytest.mark.remuda_rule("APP-30", "SI-28")
@pytest.mark.parametrize("extra", [{}, {"application.enforceExecutionTimeout": "false"}])
def test_only_if_it_is_switched_on(extra: dict[str, str]) -> None:
    gang = enforced(extra)
    two_tasks(gang)
    assert gang.run(DAY) == []
    assert gang.runs() == ["k-0", "k-1"]


@pytest.mark.remuda_rule("APP-30", "SI-28")
@pytest.mark.parametrize("given", [0, -5])
def test_an_application_without_a_time_is_not_concerned(given: int) -> None:
    gang = enforced()
    gang.submit(execution_timeout_ms=given)
    gang.want("k", group="")
    gang.run()
    assert gang.run(DAY) == ["updated[app Running]"]


@pytest.mark.remuda_rule("APP-30", "SI-28", "GANG-20")
def test_a_gang_is_not_concerned() -> None:
    gang = enforced()
    gang.submit("app", {"vcore": 2}, execution_timeout_ms=TASK)
    gang.hold("p1", "p2")
    gang.want("r1", "r2")
    gang.run()
    gang.confirm("p1-0", "p2-0")
    assert gang.run(DAY) == []
    assert gang.runs() == ["r1-0", "r2-0"]


@pytest.mark.remuda_rule("APP-30", "GANG-1", "GANG-27")
def test_placeholders_without_a_total_make_no_gang_and_end_with_the_application() -> None:
    gang = enforced()
    gang.submit(execution_timeout_ms=TASK)
    gang.hold("p1")
    gang.want("k", group="")
    gang.run()
    # The same length is that of the reservation (SI-28), which ends at the same moment.
    assert sorted(gang.run(MINUTE)) == [
        "released[k-0 TIMEOUT]",
        "released[p1-0 TIMEOUT]",
        "updated[app Failing ExecutionTimeout]",
    ]
    assert gang.timed_out("p1-0") == []
    assert gang.timed_out("k-0") == ["updated[app Failed]"]


@pytest.mark.remuda_rule("APP-30")
def test_the_time_counts_from_starting() -> None:
    gang = enforced()
    gang.submit(execution_timeout_ms=TASK)
    gang.want("large", group="", size={"vcore": 50})
    assert gang.run(10 * MINUTE) == []
    gang.want("k", group="")
    gang.run()
    assert gang.run(MINUTE - 1) == []
    assert gang.run(1)[0] == "updated[app Failing ExecutionTimeout]"


@pytest.mark.remuda_rule("APP-30", "APP-17")
def test_an_application_that_ended_in_time_is_left_alone() -> None:
    gang = enforced()
    two_tasks(gang)
    gang.release_ask("app", "large")
    gang.run(10 * SECOND)
    gang.release("app")
    assert gang.run(WAITING) == ["updated[app Completed]"]
    assert gang.submit(execution_timeout_ms=TASK) == ["accepted[app]"]
    gang.run(25 * SECOND)
    assert gang.state("app") == "New"


# ------------------------------------------------------------------------------ orders


def orders(gang: Gang, minutes: int) -> list[tuple[int, str]]:
    """What is ordered out in so many minutes, looked at every 10 s: (seconds, line)."""
    found: list[tuple[int, str]] = []
    for _ in range(6 * minutes):
        lines = gang.run(10 * SECOND)
        seconds = (gang.now - START) // SECOND
        found += [(seconds, line) for line in lines if line.startswith("released[")]
    return found


@pytest.mark.remuda_rule("SI-69", "GANG-14")
def test_an_order_that_nobody_confirms_is_sent_again() -> None:
    gang = swapping()
    line = "released[p1-0 REPLACED]"
    assert orders(gang, 25) == [(600, line), (1200, line)]
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    assert orders(gang, 15) == []


@pytest.mark.remuda_rule("SI-69", "GANG-15")
def test_only_what_is_still_unconfirmed_is_sent_again() -> None:
    gang = pair()
    gang.want("r1", size={"vcore": 20})
    gang.run()
    gang.timed_out("p1-0")
    assert orders(gang, 11) == [(600, "released[p2-0 TIMEOUT]")]


@pytest.mark.remuda_rule("SI-69", "KV-3")
@pytest.mark.parametrize(
    "given, seconds", [("1m", [60, 120]), ("90s", [90]), ("0", []), ("0s", []), ("soon", [])]
)
def test_how_long_a_confirmation_may_take_is_a_setting(given: str, seconds: list[int]) -> None:
    gang = swapping()
    gang.reload(leaf("a"), extra_config={"rm.confirmTimeout": given})
    gang.submit("other")  # an order given after the setting came into force
    gang.hold("q1", app="other", group="h")
    gang.run()
    gang.want("s1", app="other", group="h")
    assert gang.run() == ["released[q1-0 REPLACED]"]
    found = [when for when, line in orders(gang, 2) if "q1-0" in line]
    assert found == seconds


@pytest.mark.remuda_rule("SI-69", "GANG-23")
def test_the_orders_of_a_timeout_are_sent_again_too() -> None:
    gang = pair()
    gang.run(TIMEOUT)
    assert gang.holds() == ["p1-0", "p2-0"]
    again = [line for _, line in orders(gang, 11)]
    assert sorted(again) == ["released[p1-0 TIMEOUT]", "released[p2-0 TIMEOUT]"]
    assert heard(gang.release("app")) != []
    assert orders(gang, 11) == []
