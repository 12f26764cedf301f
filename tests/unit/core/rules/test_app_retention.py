"""How long applications are known after they ended (APP-15, APP-16, APP-18)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages.application_queries import ApplicationIndex, ApplicationIndexQuery
from tests.unit.core.door import DAY, MINUTE, SECOND, Caller, of, states

HOUR = 60 * MINUTE
MOST = 10_000  # rejected applications that are kept (APP-18)


def kept(caller: Caller, which: str) -> list[str]:
    """Return the IDs of the applications that ended and are kept, by arrival."""
    found = caller.scheduler.view(ApplicationIndexQuery("default", which))
    assert isinstance(found, ApplicationIndex)
    return [key[1] for key in sorted(found.keys, key=lambda key: key[2])]


@pytest.mark.remuda_rule("APP-16", "APP-18")
def test_each_that_ended_is_kept_for_three_days_of_its_own() -> None:
    caller = Caller()
    for name in ("one", "two", "three", "four"):
        caller.app(name, "root.nowhere")
        caller.now += HOUR if name != "three" else 0
    caller.wait(3 * DAY - 3 * HOUR - 1)
    assert kept(caller, "rejected") == ["one", "two", "three", "four"]
    caller.wait(1)
    assert kept(caller, "rejected") == ["two", "three", "four"]
    caller.wait(HOUR)
    assert kept(caller, "rejected") == ["three", "four"]
    effects = caller.wait(DAY)
    records = [r for r in of(effects, e.EventRecord) if r.detail == ev.APP_EXPIRED]
    assert [r.object_id for r in records] == ["three", "four"]
    assert caller.scheduler.next_deadline() is None


@pytest.mark.remuda_rule("APP-15", "APP-16", "APP-18")
def test_completed_and_rejected_ones_go_in_the_order_in_which_they_ended() -> None:
    caller = Caller()
    caller.node("n1", {"vcore": 10})
    for name in ("first", "second"):
        caller.app(f"{name}-wrong", "root.nowhere")
        caller.now += HOUR
        caller.app(name)
        caller.ask(name, "k", {"vcore": 1})
        caller.step()
        caller.release(name)
        caller.wait(HOUR)
    assert kept(caller, "completed") == ["first", "second"]
    effects = caller.wait(4 * DAY)
    gone = [name for name, state in states(effects) if state == "Expired"]
    assert gone == ["first-wrong", "first", "second-wrong", "second"]


@pytest.mark.remuda_rule("APP-15", "APP-18")
def test_of_very_many_that_ended_the_oldest_go_early() -> None:
    caller = Caller()
    names = [f"job-{number:05}" for number in range(MOST + 2)]
    new = tuple(
        [c.NewApplication(name, "root.nowhere", user="ann", groups=("g",)) for name in names]
    )
    caller.send(c.UpdateApplications(caller.rm, new[:MOST]))
    assert len(kept(caller, "rejected")) == MOST
    caller.now += HOUR
    effects = caller.send(c.UpdateApplications(caller.rm, new[MOST:]))
    assert states(effects).count(("job-00000", "Expired")) == 1
    assert kept(caller, "rejected") == names[2:]
    caller.scheduler.check()
    # The timer of those that went early does nothing to the others.
    caller.wait(3 * DAY - HOUR - 1)
    assert len(kept(caller, "rejected")) == MOST
    caller.wait(1)
    assert kept(caller, "rejected") == names[MOST:]
    caller.wait(HOUR)
    assert kept(caller, "rejected") == []


@pytest.mark.remuda_rule("APP-18", "RM-15")
def test_what_ended_expires_while_its_manager_is_away() -> None:
    caller = Caller()
    caller.app("app", "root.nowhere")
    caller.wait(3 * DAY - SECOND)
    caller.send(c.PauseResourceManager(caller.rm))
    assert kept(caller, "rejected") == ["app"]
    caller.wait(SECOND)
    assert kept(caller, "rejected") == []
