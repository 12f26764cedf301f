"""Releases as the cycle sees them, and what time changes (CYC-26, CYC-27, CYC-32)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from tests.unit.core.door import (
    MINUTE,
    SECOND,
    Caller,
    answers,
    leaf,
    of,
    parent,
    released,
    users,
)
from tests.unit.core.rules.crowd import Crowd, went

ONE = {"vcore": 1}
TWO = {"vcore": 2}


@pytest.fixture
def door() -> Caller:
    """Two nodes; an application with three allocations of two keys."""
    limits = (users("ann", {"vcore": 50}),)
    found = Caller(parent("p", leaf("a", limits=limits)))
    found.node("n1", {"vcore": 4})
    found.app("app", "root.p.a")
    found.ask("app", "k", TWO, 2)
    found.place()
    found.node("n2", {"vcore": 4})
    found.existing("app", "x-7", "n2", ONE, key="x")
    return found


def usage(door: Caller) -> tuple[int, ...]:
    """What node n1, the application, its user, the leaf, its parent and root count as allocated."""
    return (
        door.node_view("n1").allocated.get("vcore", 0),
        door.apps()["app"].used.get("vcore", 0),
        (door.usage()["ann"].queues.used or {}).get("vcore", 0),
        *(door.queue(path).allocated.get("vcore", 0) for path in ("root.p.a", "root.p", "root")),
    )


ECHO = [
    (c.STOPPED_BY_RM, True),
    (c.UNKNOWN_TERMINATION_TYPE, True),
    (c.TIMEOUT, False),
    (c.PREEMPTED_BY_SCHEDULER, False),
]


@pytest.mark.remuda_rule("CYC-26", "SI-60", "SI-61")
@pytest.mark.parametrize("kind, echoed", ECHO)
def test_a_release_is_taken_off_everywhere(door: Caller, kind: int, echoed: bool) -> None:
    assert usage(door) == (4, 5, 5, 5, 5, 5)
    found = answers(door.release("app", "k-1", kind=kind))
    assert usage(door) == (2, 3, 3, 3, 3, 3)
    assert [a.allocation_id for a in door.node_view("n1").allocations] == ["k-0"]
    if not echoed:
        assert found == []
        return
    (answer,) = of(found, e.AllocationsReleased)
    (gone,) = answer.released
    assert (gone.allocation_id, gone.allocation_key) == ("k-1", "k")
    assert gone.termination_type == c.STOPPED_BY_RM
    assert gone.message == "allocation remove as per RM request"


@pytest.mark.remuda_rule("CYC-26", "SI-61")
@pytest.mark.parametrize(
    "key, gone, left",
    [("", ["k-0", "k-1", "x-7"], (0, 0, 0, 0, 0, 0)), ("k", ["k-0", "k-1"], (0, 1, 1, 1, 1, 1))],
)
def test_without_an_id_all_are_released_or_all_of_the_key(
    door: Caller, key: str, gone: list[str], left: tuple[int, ...]
) -> None:
    found = answers(door.release("app", key=key))
    assert [sorted(each) for each in released(found)] == [gone]
    if not left[1]:
        assert door.node_view("n1").allocations == ()
        assert not any(door.queue("root").allocated.values())
    else:
        assert usage(door) == left


@pytest.mark.remuda_rule("CYC-27", "SI-62")
def test_a_release_after_its_node_went_takes_nothing_twice(door: Caller) -> None:
    door.node("n1", action=c.DECOMISSION)
    before = [door.queue(path).allocated for path in ("root.p.a", "root.p", "root")]
    assert before == [ONE] * 3
    for identity in ("k-0", "k-1"):
        assert answers(door.release("app", identity)) == []
    assert [door.queue(path).allocated for path in ("root.p.a", "root.p", "root")] == before
    assert released(door.release("app")) == [["x-7"]]
    assert not any(door.queue("root").allocated.values())
    door.scheduler.check()


@pytest.mark.remuda_rule("CYC-32")
def test_time_alone_changes_no_decision() -> None:
    """The same requests, all at once or spread over the time before anybody may reserve."""

    def story(pause_ns: int) -> list[tuple[str, str]]:
        crowd = Crowd(leaf("a"), leaf("b", {"vcore": 6}))
        crowd.full(n1=4, n2=5, n3=6)
        crowd.app("other", "root.b")
        placed: list[tuple[str, str]] = []
        for number, (app, size) in enumerate(
            [("app", 5), ("other", 3), ("app", 4), ("other", 4), ("app", 1), ("other", 2)]
        ):
            crowd.now += pause_ns
            crowd.ask(app, f"k{number}", {"vcore": size}, priority=number % 2)
            placed += went(crowd.run())
        crowd.now += pause_ns
        crowd.clear("n1")
        return placed + went(crowd.run())

    fast = story(0)
    assert len(fast) >= 4
    assert story(1) == story(SECOND // 10) == fast


@pytest.mark.remuda_rule("CYC-1", "CYC-25", "SI-10")
def test_time_alone_gives_no_work() -> None:
    door = Caller(leaf("a"))
    door.node("n1", ONE)
    door.node("n2", TWO, c.CREATE_DRAIN)
    door.app("app")
    door.ask("app", "large", TWO)
    assert went(door.step()) == []
    door.now += MINUTE  # by now it may reserve, which it need not
    assert went(door.step()) == []
    for _ in range(3):
        assert not door.scheduler.has_work()
        assert answers(door.wait(MINUTE)) == []
    # A request that makes room is followed by a decision.
    door.node("n1", TWO, c.UPDATE)
    assert door.scheduler.has_work()
    assert went(door.step()) == [("large-0", "n1")]
    assert not door.scheduler.has_work()
