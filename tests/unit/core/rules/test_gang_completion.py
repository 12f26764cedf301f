"""How a gang ends, and what is told of its task groups (chapter 80 sections 3 and 1)."""

from __future__ import annotations

import pytest

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
    half,
    heard,
    pair,
    swapping,
)

COMPLETED = ["updated[app Completed]"]


def leftover() -> Gang:
    """A gang of three; p1 and p2 were used and have ended; p3 is unused; Completing since now."""
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", {"vcore": 3})
    gang.hold("p1", "p2", "p3")
    gang.want("r1", "r2")
    gang.run()
    gang.confirm("p1-0", "p2-0")
    gang.confirm("r1-0", "r2-0", kind=c.STOPPED_BY_RM)
    assert gang.state("app") == "Completing"
    return gang


@pytest.mark.remuda_rule("APP-9", "APP-7", "APP-8", "GANG-14")
def test_a_gang_of_one_does_not_complete_during_its_swap() -> None:
    gang = swapping()
    assert gang.run(MINUTE) == []
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]
    log = [state for _, state in gang.application().state_log]
    assert log == ["Accepted", "Starting"]
    assert gang.confirm("r1-0", kind=c.STOPPED_BY_RM)[0] == "updated[app Completing]"


@pytest.mark.remuda_rule("APP-9", "APP-8")
def test_what_is_in_flight_counts_when_the_last_real_one_ends() -> None:
    gang = pair()
    gang.want("r1", "r2")
    gang.run()
    gang.confirm("p1-0")
    assert gang.confirm("r1-0", kind=c.STOPPED_BY_RM) == ["released[r1-0 STOPPED]"]
    assert gang.state("app") == "Starting"
    assert [line for line in gang.confirm("p2-0") if line.startswith("new")] == ["new[r2-0 n2]"]
    assert gang.confirm("r2-0", kind=c.STOPPED_BY_RM)[0] == "updated[app Completing]"


@pytest.mark.remuda_rule("APP-9", "APP-8")
def test_what_is_in_flight_counts_when_the_last_ask_goes() -> None:
    gang = pair()
    gang.want("r1")
    gang.want("more", size={"vcore": 100}, group="")
    gang.run()
    assert heard(gang.release_ask("app", "more")) == []
    assert gang.state("app") == "Starting"
    assert gang.confirm("p1-0") == ["new[r1-0 n1]"]


@pytest.mark.remuda_rule("APP-7", "GANG-5")
def test_the_first_replacement_starts_an_application_that_is_only_accepted() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit()
    gang.hold("p1", "p2")
    gang.want("r1", "r2")
    gang.run()
    assert gang.state("app") == "Accepted"
    assert gang.confirm("p1-0") == ["updated[app Starting]", "new[r1-0 n1]"]
    assert gang.confirm("p2-0") == ["updated[app Running]", "new[r2-0 n1]"]


@pytest.mark.remuda_rule("APP-10", "GANG-33")
def test_without_its_last_placeholder_it_still_waits_the_full_time() -> None:
    gang = leftover()
    assert gang.run(5 * SECOND) == []
    assert gang.confirm("p3-0", kind=c.STOPPED_BY_RM) == ["released[p3-0 STOPPED]"]
    assert gang.run(25 * SECOND - 1) == []
    assert gang.state("app") == "Completing"
    assert gang.run(1) == COMPLETED


@pytest.mark.remuda_rule("GANG-30", "GANG-31", "GANG-32", "APP-14")
def test_it_completes_with_the_last_confirmation() -> None:
    gang = pair()
    gang.existing("app", "x", "n1", ONE)
    gang.release("app", "x")
    assert gang.state("app") == "Completing"
    assert gang.run(WAITING) == ["released[p1-0 TIMEOUT]", "released[p2-0 TIMEOUT]"]
    assert gang.run(5 * MINUTE) == []
    assert gang.state("app") == "Completing"
    assert gang.timed_out("p2-0") == []
    assert gang.timed_out("p1-0") == COMPLETED
    assert gang.apps() == {}
    assert gang.home().applications.get("Completed") == 1
    assert (gang.in_queue(), gang.of_user(), gang.home().placeholders) == ({}, {}, 0)


@pytest.mark.remuda_rule("GANG-31", "APP-4")
def test_a_late_ask_brings_it_back_whatever_was_ordered_out() -> None:
    gang = leftover()
    assert gang.run(WAITING) == ["released[p3-0 TIMEOUT]"]
    assert gang.want("late", group="") == ["updated[app Running]"]
    assert gang.run() == ["new[late-0 n1]"]
    assert gang.timed_out("p3-0") == []
    assert gang.state("app") == "Running"
    assert gang.data() == (3, 2, 1)
    assert gang.run(MINUTE) == []


@pytest.mark.remuda_rule("GANG-31", "APP-10", "APP-16")
def test_who_comes_back_and_completes_again_waits_the_full_time_again() -> None:
    gang = leftover()
    assert gang.run(WAITING) == ["released[p3-0 TIMEOUT]"]
    gang.want("late", group="")
    gang.run()
    assert gang.confirm("late-0", kind=c.STOPPED_BY_RM)[0] == "updated[app Completing]"
    assert gang.timed_out("p3-0") == []
    assert gang.run(WAITING - 1) == []
    assert gang.run(1) == COMPLETED


@pytest.mark.remuda_rule("GANG-31", "GANG-11")
def test_a_late_ask_of_the_group_waits_until_the_leftover_is_gone() -> None:
    gang = leftover()
    gang.run(WAITING)
    assert gang.want("late") == ["updated[app Running]"]
    assert gang.run() == []
    gang.timed_out("p3-0")
    assert gang.run() == ["new[late-0 n1]"]


@pytest.mark.remuda_rule("GANG-32", "APP-8")
def test_a_late_ask_may_still_use_a_leftover() -> None:
    gang = leftover()
    gang.run(29 * SECOND)
    assert gang.want("late") == ["updated[app Running]"]
    assert gang.run() == ["released[p3-0 REPLACED]"]
    assert gang.run(WAITING) == []
    assert gang.confirm("p3-0") == ["new[late-0 n1]"]


@pytest.mark.remuda_rule("GANG-32", "APP-8")
def test_a_pending_placeholder_keeps_it_from_completing() -> None:
    gang = pair()
    gang.hold("p3", size={"gpu": 1})
    gang.want("r1")
    gang.run()
    gang.confirm("p1-0")
    assert gang.confirm("r1-0", kind=c.STOPPED_BY_RM) == ["released[r1-0 STOPPED]"]
    assert gang.state("app") == "Starting"
    # (a): a placeholder is left, so this alone completes nothing ...
    assert heard(gang.release_ask("app", "p3")) == []
    # ... but its end does.
    assert gang.confirm("p2-0", kind=c.STOPPED_BY_RM) == [
        "updated[app Completing]",
        "released[p2-0 STOPPED]",
    ]


@pytest.mark.remuda_rule("GANG-33", "APP-8", "GANG-35")
def test_the_rm_may_take_the_last_placeholder_of_a_gang_that_never_began() -> None:
    gang = half()
    gang.release_ask("app", "p2")
    assert gang.state("app") == "Accepted"
    assert gang.confirm("p1-0", kind=c.STOPPED_BY_RM) == [
        "updated[app Completing]",
        "released[p1-0 STOPPED]",
    ]
    assert gang.deadline() == 0
    assert gang.data()[1:] == (0, 2)
    assert gang.run(WAITING) == COMPLETED


@pytest.mark.remuda_rule("APP-8")
def test_the_last_ask_of_an_application_without_anything_completes_it() -> None:
    gang = Gang()
    gang.submit("app", TWO)
    gang.hold("p1", "p2")
    assert heard(gang.release_ask("app", "p1")) == []
    assert heard(gang.release_ask("app", "p2")) == ["updated[app Completing]"]


@pytest.mark.remuda_rule("APP-8", "SI-61")
def test_the_end_of_everything_completes_it() -> None:
    gang = pair()
    gang.want("r1")
    gang.run()
    gang.confirm("p1-0")
    lines = gang.confirm("", kind=c.STOPPED_BY_RM)
    assert lines[0] == "updated[app Completing]"
    assert sorted(lines[1:]) == ["released[p2-0 STOPPED]", "released[r1-0 STOPPED]"]
    assert (gang.data(), gang.deadline()) == ((2, 1, 1), 0)
    assert gang.run(WAITING) == COMPLETED


@pytest.mark.remuda_rule("APP-22", "GANG-22")
@pytest.mark.parametrize("style", ["Hard", "Soft"])
def test_the_loss_of_one_task_never_fails_the_others(style: str) -> None:
    gang = pair(style=style)
    gang.want("r1", "r2")
    gang.run()
    gang.confirm("p1-0", "p2-0")
    assert heard(gang.node("n1", action=c.DECOMISSION)) == ["released[r1-0 STOPPED]"]
    assert gang.run(TIMEOUT) == []
    assert (gang.state("app"), gang.runs()) == ("Running", ["r2-0"])


# --------------------------------------------------------------- what is told of the groups


@pytest.mark.remuda_rule("GANG-35", "REST-77")
def test_what_is_told_of_a_group() -> None:
    gang = Gang()
    gang.node("n1", {"vcore": 10, "memory": 10})
    gang.submit("app", {"vcore": 5})
    gang.hold("q1", group="h", size={"vcore": 1, "memory": 2})
    gang.hold("p1", size=TWO)
    gang.hold("p2", size=ONE)
    found = gang.application().placeholder_data
    told = {x.task_group: (amounts(x.minimum), x.count, x.replaced, x.timed_out) for x in found}
    assert told == {"h": ({"vcore": 1, "memory": 2}, 1, 0, 0), "g": ({"vcore": 2}, 2, 0, 0)}
    assert len(found) == 2


@pytest.mark.remuda_rule("GANG-35", "GANG-33", "SI-112", "GANG-15")
def test_every_member_is_counted_once_however_it_ends() -> None:
    gang = Gang()
    gang.nodes(n1=10, n2=1)
    gang.submit("app", {"vcore": 5})
    gang.hold(*(f"p{number}" for number in range(1, 7)))
    gang.run()
    counts = [gang.data()]
    gang.want("r1")
    gang.run()
    first = gang.holds()[0]
    assert gang.allocation(first).release_type == c.PLACEHOLDER_REPLACED
    for kind in (c.PLACEHOLDER_REPLACED, c.TIMEOUT, c.STOPPED_BY_RM, c.PREEMPTED_BY_SCHEDULER):
        gang.confirm(gang.holds()[0], kind=kind)
        counts.append(gang.data())
    gang.confirm(gang.holds()[0], kind=c.PLACEHOLDER_REPLACED)  # nothing replaces it
    counts.append(gang.data())
    assert counts == [(6, 0, 0), (6, 1, 0), (6, 1, 1), (6, 1, 2), (6, 1, 3), (6, 1, 4)]


@pytest.mark.remuda_rule("GANG-35", "GANG-23")
def test_a_timeout_counts_every_member_that_was_not_replaced() -> None:
    gang = Gang()
    gang.nodes(n1=3)
    gang.submit()
    gang.hold("p1", "p2", "p3", "p4")
    gang.hold("q1", group="h", size={"gpu": 1})
    gang.run()
    gang.run(TIMEOUT)
    assert (gang.data("g"), gang.data("h")) == ((4, 0, 4), (1, 0, 1))
    gang.timed_out("p1-0", "p2-0")
    assert gang.data("g") == (4, 0, 4)
    gang.timed_out("p3-0")
    assert gang.data("g") == (4, 0, 4)


@pytest.mark.remuda_rule("GANG-36", "SI-76")
def test_what_is_told_of_an_allocation() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", ONE)
    gang.now += SECOND
    gang.hold("p1", originator=True, priority=3)
    gang.run()
    held = gang.allocation("p1-0")
    assert (held.placeholder, held.placeholder_used, held.task_group) == (True, False, "g")
    assert (held.request_time_ns, held.allocation_time_ns) == (START + SECOND, START + SECOND)
    gang.now += SECOND
    gang.want("r1", originator=True)
    gang.run()
    gang.now += SECOND
    gang.confirm("p1-0")
    real = gang.allocation("r1-0")
    assert (real.placeholder, real.placeholder_used, real.task_group) == (False, True, "g")
    assert real.placeholder_request_time_ns == START + SECOND
    assert real.allocation_time_ns == START + 3 * SECOND
    assert (real.originator, real.release_type, real.replacement) == (True, 0, "")


@pytest.mark.remuda_rule("GANG-37", "GANG-7")
def test_the_partition_counts_its_placeholders() -> None:
    gang = Gang(leaf("a"), leaf("b"))
    gang.nodes(n1=10, n2=10)
    for app, queue in (("one", "root.a"), ("two", "root.b")):
        gang.submit(app, TWO, queue=queue)
        gang.hold(f"{app}p", f"{app}q", app=app)
    gang.submit("plain", queue="root.b")
    gang.want("k", app="plain", group="")
    counts = [gang.home().placeholders]
    gang.run()
    counts.append(gang.home().placeholders)
    gang.want("r", app="one")
    gang.run()
    counts.append(gang.home().placeholders)
    gang.confirm("onep-0", app="one")
    counts.append(gang.home().placeholders)
    gang.remove("two")
    counts.append(gang.home().placeholders)
    gang.recover(existing("one", "z-0", "n1", "g", placeholder=True))
    counts.append(gang.home().placeholders)
    gang.node("n1", action=c.DECOMISSION)
    gang.node("n2", action=c.DECOMISSION)
    counts.append(gang.home().placeholders)
    assert counts == [0, 4, 4, 3, 1, 2, 0]
