"""What a result tells besides the checks: only if there is something, and never as a fault."""

from __future__ import annotations

import logging

import pytest

from remuda.core.messages import commands as c
from remuda.telemetry.health.findings import Finding
from tests.unit.core.door import MINUTE, SECOND
from tests.unit.core.rules.gang import Gang
from tests.unit.core.rules.preempting import Evictor
from tests.unit.telemetry.health.ward import NAMES, Ward, ward

HOUR = 60 * MINUTE


def stuck() -> Ward:
    """The release of two placeholders was requested after 15 minutes; the RM confirms nothing."""
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", {"vcore": 3})
    gang.hold("p2", "p1")
    gang.run()
    gang.run(15 * MINUTE)
    return Ward(gang)


@pytest.mark.remuda_rule("HLT-20", "SI-69", "HLT-16")
def test_orders_that_had_to_be_repeated_are_listed_until_they_are_confirmed() -> None:
    found = stuck()
    assert found.news() == {}
    found.caller.now += 10 * MINUTE - 1
    found.caller.step()
    assert found.news() == {}
    found.caller.now += 1
    found.caller.step()
    news = found.news()
    texts = [
        f"applicationID=app, allocationID={x}-0, allocationKey={x}, Node=n1, result=Allocated"
        for x in ("p1", "p2")
    ]
    assert list(news) == ["Unconfirmed releases"]
    assert news["Unconfirmed releases"].diagnosis == f"Unconfirmed releases: [{' '.join(texts)}]"
    assert found.run().healthy
    for identity in ("p1-0", "p2-0"):
        found.caller.release("app", identity, kind=c.TIMEOUT)
    assert found.news() == {}


@pytest.mark.remuda_rule("HLT-20", "SI-69", "SI-37")
def test_a_task_that_ran_out_and_is_told_again_is_listed() -> None:
    found = ward()
    found.caller.ask("app", "short", {"vcore": 1}, execution_timeout_ms=1_000)
    found.caller.step()
    for _ in range(2):
        assert found.news() == {}
        found.caller.wait(SECOND)
    assert "allocationKey=short" in found.news()["Unconfirmed releases"].diagnosis


@pytest.mark.remuda_rule("HLT-20", "APP-20")
def test_applications_without_anything_are_listed_after_an_hour() -> None:
    found = ward()
    for name in ("zoo", "bee"):
        found.caller.app(name)
    found.caller.now += HOUR - 1
    assert found.news() == {}
    found.caller.now += 1
    news = found.news()["Waiting applications"]
    assert news.succeeded
    texts = [f"applicationID={name}, partition=[rm]default, state=New" for name in ("bee", "zoo")]
    assert news.diagnosis == f"Waiting applications: [{' '.join(texts)}]"
    found.caller.ask("zoo", "k2", {"vcore": 1})
    found.caller.remove("bee")
    assert found.news() == {}


@pytest.mark.remuda_rule("HLT-20", "APP-20")
def test_an_application_that_is_accepted_and_has_no_ask_is_listed_too() -> None:
    found = stuck()
    for identity in ("p1-0", "p2-0"):
        found.caller.release("app", identity, kind=c.TIMEOUT)
    assert found.caller.state("app") == "Accepted"  # it was Resuming
    found.caller.now += HOUR - 1
    assert found.news() == {}
    found.caller.now += 1
    (news,) = found.news().values()
    assert news.diagnosis == (
        "Waiting applications: [applicationID=app, partition=[rm]default, state=Accepted]"
    )


@pytest.mark.remuda_rule("HLT-20", "APP-20")
def test_an_application_whose_ask_finds_no_room_is_not_listed() -> None:
    found = ward()
    found.caller.app("late")
    found.caller.ask("late", "huge", {"vcore": 100})
    found.caller.now += 2 * HOUR
    assert found.caller.state("late") == "Accepted"
    assert found.news() == {}


@pytest.mark.remuda_rule("HLT-20", "PRE-92", "HLT-16")
def test_what_is_evicted_again_and_again_is_listed_for_an_hour() -> None:
    crowd = Evictor()
    found = Ward(crowd)
    for _ in range(3):
        assert found.news() == {}
        crowd.evict(("batch", "task"))
    news = found.news()["Repeated evictions"]
    assert news.succeeded
    assert news.diagnosis == (
        "Repeated evictions: [applicationID=batch, allocationKey=task, partition=[rm]default, "
        "evictions=3]"
    )
    crowd.now += HOUR
    assert "Repeated evictions" not in found.news()


@pytest.mark.remuda_rule("HLT-1", "HLT-20")
def test_other_parts_may_add_what_they_found() -> None:
    full = Finding("Event store", "Check whether events are kept", "disk full", succeeded=False)
    told: list[Finding] = []
    found = ward([lambda: told])
    assert len(found.run().findings) == len(NAMES)
    told.append(full)
    assert found.run().findings[-1] == full
    assert not found.run().healthy
    told.clear()
    assert found.run().healthy


def _broken() -> list[Finding]:
    raise OSError("no such store")


def test_a_part_that_fails_to_tell_does_not_end_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = ward([_broken])
    with caplog.at_level(logging.INFO, "remuda"):
        assert found.run().healthy
    assert [each.getMessage() for each in caplog.records] == [
        "the health check leaves out a part that failed: OSError('no such store')"
    ]
