"""The order ``stateaware`` of applications, as in 1.5.1 (QUE-41)."""

from __future__ import annotations

from typing import Any

import pytest

from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages.effects import ApplicationsAnswered
from tests.unit.core.door import MINUTE, SECOND, Caller, leaf, of, parent, users

POLICY, PRIORITY = "application.sort.policy", "application.sort.priority"
AWARE = {POLICY: "stateaware"}
ONE = {"vcore": 1}
STARTING = 5 * MINUTE


def aware(name: str = "a", **other: Any) -> QueueConfig:
    """A leaf that sorts this way."""
    return leaf(name, properties=AWARE, **other)


def caller(*queues: QueueConfig, **other: Any) -> Caller:
    """These queues and a large node."""
    door = Caller(*(queues or (aware(),)), **other)
    door.node("n1", {"vcore": 100, "memory": 100})
    return door


def submit(door: Caller, app: str, count: int = 1, priority: int = 0, **other: Any) -> None:
    """An application a moment after the one before, with one ask named like it."""
    door.now += 1
    size = other.pop("size", ONE)
    door.app(app, **other)
    door.ask(app, app, size, count, priority=priority)


def letters(door: Caller) -> str:
    """The first letters of everything that is placed now, in order."""
    return "".join(key[0] for key in door.order())


# --------------------------------------------------------------------- one starts at a time


@pytest.mark.remuda_rule("QUE-41", "QUE-19")
def test_the_queue_says_how_it_sorts() -> None:
    door = caller(aware(), parent("p", leaf("x"), properties=AWARE))
    assert door.queue("root.a").sort_policy == "stateaware"
    assert door.queue("root.p.x").sort_policy == "stateaware"


@pytest.mark.remuda_rule("QUE-41")
def test_while_one_starts_all_others_wait() -> None:
    door = caller()
    for name in "xyz":
        submit(door, name)
    assert letters(door) == "x"
    assert [door.state(name) for name in "xyz"] == ["Starting", "Accepted", "Accepted"]
    # x wants nothing any more and hides the others all the same, until it counts as running.
    door.wait(STARTING - 1)
    assert letters(door) == ""
    door.wait(1)
    assert door.state("x") == "Running"
    assert letters(door) == "y"
    door.wait(STARTING)
    assert letters(door) == "z"
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-41")
def test_the_second_allocation_lets_the_next_start() -> None:
    door = caller()
    for name in "xyz":
        submit(door, name, 2)
    assert letters(door) == "xxyyzz"
    assert {door.state(name) for name in "xyz"} == {"Running"}


@pytest.mark.remuda_rule("QUE-41", "APP-16")
def test_the_tag_that_skips_starting_lets_the_next_start_at_once() -> None:
    door = caller()
    for name in "xyz":
        submit(door, name, tags={"application.stateaware.disable": "true"})
    assert letters(door) == "xyz"


@pytest.mark.remuda_rule("QUE-41")
def test_the_oldest_of_the_accepted_is_first_whatever_its_priority() -> None:
    # x is Accepted and oldest, then Starting: nobody else may start. Running, its 0 comes after
    # the 5 of y, and then of z, each of which starts while the one before runs.
    door = caller()
    for name, priority in (("x", 0), ("y", 5), ("z", 5)):
        submit(door, name, 3, priority)
    assert letters(door) == "xxyyyzzzx"


@pytest.mark.remuda_rule("QUE-41")
def test_those_that_run_are_sorted_with_the_one_that_may_start() -> None:
    door = caller()
    for name in "xy":
        submit(door, name, 2)
    assert letters(door) == "xxyy"
    for name, priority in (("x", 1), ("y", 2)):
        door.ask(name, f"{name}-more", ONE, 2, priority=priority)
    submit(door, "p", 2, 3)
    submit(door, "q", 2, 9)
    # p (3) is the oldest of the accepted; when it runs q may start, which is first of all.
    assert letters(door) == "ppqqyyxx"


@pytest.mark.remuda_rule("QUE-41")
def test_with_priorities_disabled_the_submission_decides_among_those_that_run() -> None:
    door = caller(leaf("a", properties={**AWARE, PRIORITY: "disabled"}))
    for name, priority in (("x", 0), ("y", 9), ("z", 5)):
        submit(door, name, 3, priority)
    assert letters(door) == "xxxyyyzzz"


@pytest.mark.remuda_rule("QUE-41", "QUE-40")
def test_those_of_one_instant_start_in_the_order_of_arrival() -> None:
    door = caller()
    new = tuple(c.NewApplication(name, "root.a", user="ann") for name in "zxy")
    door.send(c.UpdateApplications(door.rm, new))
    asks = tuple(c.Ask(name, name, ONE, max_allocations=2) for name in "xyz")
    door.send(c.UpdateAllocations(door.rm, asks=asks))
    assert letters(door) == "zzxxyy"


@pytest.mark.remuda_rule("QUE-41")
def test_other_leaves_do_not_matter() -> None:
    door = caller(aware("a"), aware("b"), leaf("c"))
    for queue in "abc":
        for number in "12":
            submit(door, f"{queue}{number}", queue=f"root.{queue}")
    assert sorted(door.order()) == ["a1", "b1", "c1", "c2"]


# ------------------------------------------------------------------------- who is a candidate


@pytest.mark.remuda_rule("QUE-41")
def test_the_oldest_waits_for_room_and_the_younger_wait_with_it() -> None:
    door = caller()
    submit(door, "x", size={"vcore": 1000})
    submit(door, "y")
    assert letters(door) == ""
    door.release_ask("x")
    assert letters(door) == "y"


@pytest.mark.remuda_rule("QUE-41", "QUE-39")
def test_the_oldest_is_that_of_those_that_want_something() -> None:
    door = caller()
    door.app("idle")
    submit(door, "x", 2)
    assert letters(door) == "xx"
    submit(door, "y", size={"vcore": 1000})
    door.ask("idle", "i", ONE, 2)
    assert letters(door) == "ii"


@pytest.mark.remuda_rule("QUE-41")
def test_those_that_run_go_on_while_the_oldest_waits() -> None:
    door = caller()
    submit(door, "x", 2)
    assert letters(door) == "xx"
    submit(door, "y", size={"vcore": 1000})
    submit(door, "z")
    door.ask("x", "x2", ONE, 3)
    assert letters(door) == "xxx"


@pytest.mark.remuda_rule("QUE-41", "QUE-25")
def test_the_oldest_is_chosen_before_anybody_asks_whether_it_may_start() -> None:
    # ann may run one application and does; her next one is the oldest of those accepted.
    door = caller(aware(limits=(users("ann", None, 1),)))
    submit(door, "x", 2)
    assert letters(door) == "xx"
    submit(door, "y")
    submit(door, "b", user="bob", groups=())
    assert letters(door) == ""
    door.remove("y")
    assert letters(door) == "b"


@pytest.mark.remuda_rule("QUE-41", "APP-6")
def test_one_that_was_reported_and_starts_hides_the_accepted_too() -> None:
    door = caller()
    submit(door, "x")
    door.app("back")
    door.existing("back", "run", "n1", ONE)
    assert door.state("back") == "Starting"
    assert letters(door) == ""
    door.existing("back", "run2", "n1", ONE)
    assert door.state("back") == "Running"
    assert letters(door) == "x"


@pytest.mark.remuda_rule("QUE-41")
@pytest.mark.parametrize("end", ["remove", "release"])
def test_when_the_one_that_starts_goes_the_next_may(end: str) -> None:
    door = caller()
    submit(door, "x")
    submit(door, "y")
    assert letters(door) == "x"
    if end == "remove":
        door.remove("x")
    else:
        door.release("x")
        assert door.state("x") == "Completing"
    assert letters(door) == "y"
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-41", "QUE-42")
def test_the_oldest_is_the_one_whose_asks_are_oldest() -> None:
    door = caller()
    submit(door, "x", 2)
    door.app("y")
    long_ago = {"creationTime": str(door.now // SECOND - 60)}
    door.ask("y", "y", ONE, 2, tags=long_ago)
    assert letters(door) == "yyxx"


@pytest.mark.remuda_rule("QUE-41", "QUE-42")
def test_who_grows_older_while_waiting_has_the_next_turn() -> None:
    door = caller()
    for name in "xyz":
        submit(door, name)
    assert letters(door) == "x"
    door.ask("z", "zold", ONE, tags={"creationTime": str(door.now // SECOND - 60)})
    door.wait(STARTING)
    assert letters(door) == "zzy"  # with its second allocation z runs, and it is y's turn


# ------------------------------------------------------------------------------- reserved


@pytest.mark.remuda_rule("QUE-41", "CYC-19")
def test_a_reservation_is_used_although_another_one_starts() -> None:
    door = Caller(aware(), leaf("filler"))
    door.node("full", {"vcore": 10})
    door.node("small", {"vcore": 4})
    door.app("filler", "root.filler")
    door.existing("filler", "fill", "full", {"vcore": 8})
    submit(door, "x", size={"vcore": 5})
    door.now += 2 * SECOND + 1
    door.step()
    assert door.apps()["x"].requests[0].reservations == ("full",)
    door.app("back")
    door.existing("back", "run", "small", ONE)
    submit(door, "y")
    door.release("filler", "fill")
    assert letters(door) == "x"
    assert [door.state(name) for name in ("back", "x", "y")] == ["Starting", "Starting", "Accepted"]


@pytest.mark.remuda_rule("QUE-41", "RSV-3")
def test_those_that_are_left_out_do_not_reserve() -> None:
    door = Caller(aware(), leaf("filler"))
    door.app("filler", "root.filler")
    for number in "123":
        door.node(f"full-{number}", {"vcore": 10})
        door.existing("filler", f"fill-{number}", f"full-{number}", {"vcore": 8})
    for name in "xyz":
        submit(door, name, size={"vcore": 5})
    door.now += 2 * SECOND + 10
    door.step()
    views = door.apps()
    assert [len(views[name].requests[0].reservations) for name in "xyz"] == [1, 0, 0]


# ---------------------------------------------------------------------------- at run time


@pytest.mark.remuda_rule("QUE-41", "RLD-23", "QUE-21")
def test_the_policy_can_be_switched_on_and_off() -> None:
    door = caller(leaf("a"))
    for name in "xy":
        submit(door, name)
    assert letters(door) == "xy"
    door.reload(aware())
    for name in "uvw":
        submit(door, name)
    assert letters(door) == ""  # x and y are starting
    door.reload(leaf("a"))
    assert letters(door) == "uvw"
    door.reload(aware())
    for name in "pq":
        submit(door, name)
    door.wait(STARTING)
    assert letters(door) == "p"
    door.reload(leaf("a", properties={POLICY: "fair"}))
    assert letters(door) == "q"
    # Those who started meanwhile wait for their turn no more.
    door.reload(aware())
    for name in "rs":
        submit(door, name)
    assert letters(door) == ""
    door.wait(STARTING)
    assert letters(door) == "r"
    # Nor does one who left while nobody had to wait: s is next.
    submit(door, "t")
    door.ask("t", "told", ONE, tags={"creationTime": "1"})
    door.reload(leaf("a"))
    door.remove("t")
    door.reload(aware())
    door.wait(STARTING)
    assert letters(door) == "s"
    door.scheduler.check()


@pytest.mark.remuda_rule("QUE-43", "GANG-2")
def test_such_a_leaf_takes_gangs() -> None:
    door = caller()
    gang = c.NewApplication("gang", "root.a", user="ann", placeholder_ask=ONE)
    (answer,) = of(door.send(c.UpdateApplications(door.rm, (gang,))), ApplicationsAnswered)
    assert not any("unsupported sort type" in bad.reason for bad in answer.rejected)
