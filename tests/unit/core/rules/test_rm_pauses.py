"""Pauses of resource managers and their end (chapter 70 section 2, EXT-6)."""

from __future__ import annotations

import pytest

from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from remuda.core.messages import queries as q
from tests.unit.core.door import DAY, MINUTE, SECOND, Caller, leaf, of, partition
from tests.unit.core.rules.gang import TIMEOUT, half

ONE = {"vcore": 1}
PAUSE = c.PauseResourceManager("rm")
RESUME = c.ResumeResourceManager("rm")
HOLD = c.PauseResourceManager("rm", timers=False)
RELEASE = c.ResumeResourceManager("rm", timers=False)


def door_with(timeout: str = "", **other: object) -> Caller:
    """A registered RM with a node and an application, and this pause timeout."""
    extra = {"rm.pauseTimeout": timeout} if timeout else {}
    door = Caller(leaf("a"))
    door.send(
        c.RegisterResourceManager("rm", Configuration((partition(leaf("a")),)), extra_config=extra)
    )
    door.node("n1", {"vcore": 10})
    door.app("app")
    return door


def send(door: Caller, command: c.Command) -> list[e.Effect]:
    """One command, and a look at what is kept."""
    found = door.send(command)
    door.scheduler.check()
    return found


@pytest.mark.remuda_rule("RM-15")
def test_nothing_is_placed_while_the_rm_is_away() -> None:
    door = door_with()
    send(door, PAUSE)
    door.ask("app", "k", ONE)
    assert not door.scheduler.has_work()
    assert door.place() == []
    send(door, RESUME)
    assert door.place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("EXT-6")
def test_nothing_is_placed_while_the_rm_takes_nothing_but_timers_go_on() -> None:
    door = door_with()
    door.ask("app", "k", ONE)
    door.place()
    send(door, HOLD)
    door.ask("app", "late", ONE)
    assert door.place() == []
    assert [x.state for x in of(door.wait(5 * MINUTE), e.ApplicationUpdated)] == ["Running"]
    assert of(door.wait(DAY), e.ResourceManagerStopped) == []
    send(door, RELEASE)
    assert door.place() == [("late-0", "n1")]


@pytest.mark.remuda_rule("RM-15", "EXT-6")
def test_the_two_pauses_end_each_by_itself() -> None:
    door = door_with()
    door.ask("app", "k", ONE)
    for command in (HOLD, PAUSE, RELEASE):
        send(door, command)
        assert not door.scheduler.has_work()
    for command in (HOLD, RESUME):
        send(door, command)
        assert not door.scheduler.has_work()
    send(door, RELEASE)
    assert door.scheduler.has_work()


def asking(*keys: str, continued: bool = False) -> c.UpdateAllocations:
    asks = tuple(c.Ask("app", key, ONE) for key in keys)
    return c.UpdateAllocations("rm", asks=asks, continued=continued)


@pytest.mark.remuda_rule("SI-2")
def test_nothing_is_placed_until_the_last_part_of_a_request() -> None:
    door = door_with()
    for keys in (("a", "b"), ("c",)):
        send(door, asking(*keys, continued=True))
        assert door.place() == []
    send(door, asking("d"))
    assert [key for key, _ in door.place()] == ["a-0", "b-0", "c-0", "d-0"]


@pytest.mark.remuda_rule("SI-2", "RM-15", "EXT-6")
def test_the_last_part_of_a_request_ends_no_pause() -> None:
    door = door_with()
    for command in (HOLD, PAUSE, asking("a", continued=True), asking("b"), RELEASE):
        send(door, command)
        assert not door.scheduler.has_work()
    send(door, asking("c", continued=True))
    send(door, RESUME)
    assert not door.scheduler.has_work()
    send(door, asking("d"))
    assert door.scheduler.has_work()


def registered_within_a_request() -> Caller:
    """An RM that registered again after a part of a request; it has an ask that fits."""
    door = door_with()
    send(door, asking("a", continued=True))
    send(door, c.RegisterResourceManager("rm", Configuration((partition(leaf("a")),))))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "k", ONE)
    return door


@pytest.mark.remuda_rule("SI-2", "RM-9")
def test_a_registration_ends_a_request_of_which_parts_are_missing() -> None:
    assert registered_within_a_request().place() == [("k-0", "n1")]


@pytest.mark.remuda_rule("SI-2", "APP-16")
@pytest.mark.parametrize("away", [False, True])
def test_no_timer_runs_out_between_the_parts_of_a_request(*, away: bool) -> None:
    door = door_with()
    door.ask("app", "a", ONE)
    door.place()
    door.release("app", "a-0")
    door.now += 30 * SECOND - 1
    began = door.now
    stray = (c.Ask("other", "a", ONE),)
    send(door, c.UpdateAllocations("rm", asks=stray, continued=True))
    door.now += SECOND
    # Without the parts that are missing the application would be completed now.
    assert door.step() == []
    for command in (PAUSE, RESUME) if away else ():
        send(door, command)
    door.scheduler.check()
    door.now = began
    send(door, asking("c"))
    door.now += SECOND
    assert door.place() == [("c-0", "n1")]


@pytest.mark.remuda_rule("SI-2", "RM-9")
def test_timers_run_out_after_a_request_of_which_parts_are_missing() -> None:
    door = registered_within_a_request()
    door.place()
    assert [x.state for x in of(door.wait(5 * MINUTE), e.ApplicationUpdated)] == ["Running"]


@pytest.mark.remuda_rule("RM-15")
def test_pausing_and_resuming_again_changes_nothing() -> None:
    door = door_with()
    door.ask("app", "k", ONE)
    door.place()
    send(door, PAUSE)
    door.now += MINUTE
    assert send(door, PAUSE) == []
    door.now += MINUTE
    send(door, RESUME)
    assert send(door, RESUME) == []
    # Of the five minutes of Starting nothing had passed at the first pause.
    assert of(door.wait(5 * MINUTE - 1), e.ApplicationUpdated) == []
    assert [x.state for x in of(door.wait(1), e.ApplicationUpdated)] == ["Running"]


@pytest.mark.remuda_rule("RM-15", "APP-16")
def test_the_starting_timer_stands_still_with_what_it_has_left() -> None:
    door = door_with("-1s")
    door.ask("app", "k", ONE)
    door.place()
    door.wait(2 * MINUTE)
    send(door, PAUSE)
    assert door.wait(DAY) == []
    assert door.state("app") == "Starting"
    send(door, RESUME)
    assert of(door.wait(3 * MINUTE - 1), e.ApplicationUpdated) == []
    assert [x.state for x in of(door.wait(1), e.ApplicationUpdated)] == ["Running"]


@pytest.mark.remuda_rule("RM-15", "APP-16")
def test_the_completing_timer_stands_still_with_what_it_has_left() -> None:
    door = door_with("-1s")
    door.ask("app", "k", ONE)
    door.place()
    door.release("app", "k-0")
    door.wait(10 * SECOND)
    send(door, PAUSE)
    assert door.wait(DAY) == []
    send(door, RESUME)
    assert of(door.wait(20 * SECOND - 1), e.ApplicationUpdated) == []
    assert [x.state for x in of(door.wait(1), e.ApplicationUpdated)] == ["Completed"]


@pytest.mark.remuda_rule("RM-15")
def test_a_timer_that_is_set_during_the_pause_begins_with_its_end() -> None:
    door = door_with("-1s")
    door.ask("app", "k", ONE)
    door.place()
    send(door, PAUSE)
    door.release("app", "k-0")
    door.scheduler.check()
    assert door.state("app") == "Completing"
    door.wait(DAY)
    send(door, RESUME)
    assert of(door.wait(30 * SECOND - 1), e.ApplicationUpdated) == []
    assert [x.state for x in of(door.wait(1), e.ApplicationUpdated)] == ["Completed"]


@pytest.mark.remuda_rule("RM-15", "APP-15")
def test_ended_applications_expire_during_the_pause() -> None:
    door = door_with("-1s")
    door.app("bad", "root.none")
    send(door, PAUSE)
    found = door.wait(3 * DAY)
    door.scheduler.check()
    assert [x.object_id for x in of(found, e.EventRecord) if x.detail == ev.APP_EXPIRED] == ["bad"]


@pytest.mark.remuda_rule("RM-15", "CYC-30")
def test_nothing_is_told_of_waiting_asks_during_the_pause() -> None:
    door = door_with("-1s")
    door.ask("app", "big", {"vcore": 11})
    door.step()
    send(door, PAUSE)
    assert of(door.wait(MINUTE), e.ContainerStateUpdated) == []
    send(door, RESUME)
    assert [x.allocation_key for x in of(door.wait(SECOND), e.ContainerStateUpdated)] == ["big"]


@pytest.mark.remuda_rule("RM-10", "RM-15")
def test_another_rm_goes_on_while_one_is_away() -> None:
    door = door_with()
    door.rm = "other"
    door.send(c.RegisterResourceManager("other", Configuration((partition(leaf("a")),))))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "k", ONE)
    send(door, PAUSE)
    assert [x.rm_id for x in of(door.step(), e.AllocationNew)] == ["other"]
    assert [x.rm_id for x in of(door.wait(4 * MINUTE), e.ApplicationUpdated)] == []
    assert [x.rm_id for x in of(door.wait(MINUTE), e.ApplicationUpdated)] == ["other"]


@pytest.mark.remuda_rule("RM-17", "RM-18", "EVT-26")
def test_an_rm_that_stays_away_for_five_minutes_is_stopped() -> None:
    door = door_with()
    door.ask("app", "k", ONE)
    door.place()
    door.app("idle")
    send(door, PAUSE)
    deadline = door.scheduler.next_deadline()
    assert deadline == door.now + 5 * MINUTE
    assert door.wait(5 * MINUTE - 1) == []
    found = door.wait(1)
    door.scheduler.check()
    assert [x.rm_id for x in of(found, e.ResourceManagerStopped)] == ["rm"]
    records = of(found, e.EventRecord)
    assert [(x.object_id, x.change, x.detail, x.message) for x in records] == [
        ("app", ev.SET, ev.APP_FAILING, "PartitionRemoved"),
        ("app", ev.SET, ev.APP_FAILED, "PartitionRemoved"),
        ("idle", ev.SET, ev.APP_FAILING, "PartitionRemoved"),
        ("idle", ev.SET, ev.APP_FAILED, "PartitionRemoved"),
    ]
    assert len(found) == len(records) + 1  # nothing is sent to the RM
    assert door.scheduler.view(q.PartitionsQuery()) == ()
    assert door.scheduler.next_deadline() is None
    assert [type(x).__name__ for x in door.app("app")] == ["RequestRefused"]


@pytest.mark.remuda_rule("RM-18")
@pytest.mark.parametrize("timeout, at_once", [("0", True), ("0s", True), ("1ms", False)])
def test_without_a_pause_timeout_a_lost_connection_stops_the_rm_at_once(
    timeout: str, at_once: bool
) -> None:
    door = door_with(timeout)
    found = send(door, PAUSE)
    assert bool(of(found, e.ResourceManagerStopped)) is at_once


@pytest.mark.remuda_rule("RM-18")
def test_with_a_negative_pause_timeout_an_rm_may_stay_away_for_ever() -> None:
    door = door_with("-1s")
    send(door, PAUSE)
    assert door.wait(1000 * DAY) == []
    assert send(door, RESUME) == []


@pytest.mark.remuda_rule("RM-18")
def test_an_rm_that_is_back_in_time_is_not_stopped() -> None:
    door = door_with()
    send(door, PAUSE)
    door.wait(5 * MINUTE - 1)
    send(door, RESUME)
    assert of(door.wait(DAY), e.ResourceManagerStopped) == []
    send(door, PAUSE)
    assert of(door.wait(5 * MINUTE), e.ResourceManagerStopped) != []


@pytest.mark.remuda_rule("RM-18", "KV-1")
def test_a_new_pause_timeout_counts_for_a_pause_that_began_before() -> None:
    door = door_with()
    send(door, PAUSE)
    door.wait(2 * MINUTE)
    door.reload(leaf("a"), extra_config={"rm.pauseTimeout": "1m"})
    door.scheduler.check()
    assert of(door.wait(0), e.ResourceManagerStopped) != []


@pytest.mark.remuda_rule("RM-9")
def test_an_rm_that_registers_again_is_no_longer_paused() -> None:
    door = door_with()
    door.ask("app", "k", ONE)
    send(door, PAUSE)
    send(door, HOLD)
    found = send(door, c.RegisterResourceManager("rm", Configuration((partition(leaf("a")),))))
    assert of(found, e.ApplicationUpdated) == []
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.ask("app", "k", ONE)
    assert door.place() == [("k-0", "n1")]
    assert of(door.wait(5 * MINUTE), e.ResourceManagerStopped) == []


@pytest.mark.remuda_rule("RM-15", "OBJ-9")
def test_a_partition_that_is_configured_during_the_pause_rests_too() -> None:
    door = door_with("-1s")
    send(door, PAUSE)
    door.reload(partitions=[partition(leaf("a")), partition(leaf("a"), name="gpu")])
    door.node("g1", {"vcore": 10}, home="gpu")
    door.app("g", partition="gpu")
    door.ask("g", "k", ONE, partition="gpu")
    door.scheduler.check()
    assert not door.scheduler.has_work()
    door.reload(leaf("a"))  # gpu is cleaned up, paused or not
    door.step()
    door.wait(DAY)
    assert [type(x) for x in of(door.app("g2", partition="gpu"), e.ApplicationsAnswered)]
    views = door.scheduler.view(q.PartitionsQuery())
    assert isinstance(views, tuple)
    assert len(views) == 1
    send(door, RESUME)


@pytest.mark.parametrize("command", [PAUSE, RESUME, HOLD])
@pytest.mark.remuda_rule("SI-1")
def test_an_rm_that_is_not_registered_is_not_paused(command: c.Command) -> None:
    door = Caller(leaf("a"))
    door.send(c.UnregisterResourceManager("rm"))
    assert [type(x).__name__ for x in door.send(command)] == ["RequestRefused"]


@pytest.mark.remuda_rule("RM-15", "GANG-20", "GANG-23")
def test_the_timer_of_a_gang_stands_still_however_long_the_pause() -> None:
    """Edge case 5."""
    gang = half()
    gang.reload(leaf("a"), extra_config={"rm.pauseTimeout": "-1s"})
    assert gang.run(TIMEOUT - MINUTE) == []
    gang.send(PAUSE)
    assert gang.run(3 * TIMEOUT) == []
    assert gang.state("app") == "Accepted"
    gang.send(RESUME)
    assert gang.run(MINUTE - 1) == []
    assert gang.run(1)[0] == "updated[app Resuming ResourceReservationTimeout]"
    gang.scheduler.check()


@pytest.mark.remuda_rule("RM-15", "SI-69")
def test_orders_are_not_repeated_while_nobody_hears_them() -> None:
    gang = half()
    gang.reload(leaf("a"), extra_config={"rm.pauseTimeout": "-1s"})
    ordered = [line for line in gang.run(TIMEOUT) if line.startswith("released[")]
    assert ordered == ["released[p1-0 TIMEOUT]"]
    gang.send(PAUSE)
    assert gang.run(DAY) == []
    gang.send(RESUME)
    assert gang.run(10 * MINUTE - 1) == []
    assert gang.run(1) == ordered


@pytest.mark.remuda_rule("RM-15", "SI-37")
def test_execution_timeouts_stand_still() -> None:
    door = door_with("-1s")
    door.ask("app", "k", ONE, execution_timeout_ms=60_000)
    door.place()
    door.wait(50 * SECOND)
    send(door, PAUSE)
    assert of(door.wait(DAY), e.AllocationsReleased) == []
    send(door, RESUME)
    assert of(door.wait(10 * SECOND - 1), e.AllocationsReleased) == []
    (order,) = of(door.wait(1), e.AllocationsReleased)
    assert [(x.allocation_id, x.termination_type) for x in order.released] == [("k-0", c.TIMEOUT)]


@pytest.mark.remuda_rule("RM-17", "APP-11", "GANG-22")
@pytest.mark.parametrize("style, told", [("Hard", 1), ("Soft", 2)])
def test_what_ends_already_is_told_the_rest_of_its_way(style: str, told: int) -> None:
    gang = half(style=style)
    gang.run(TIMEOUT)
    assert gang.state("app") == ("Failing" if style == "Hard" else "Resuming")
    found = gang.send(c.UnregisterResourceManager("rm"))
    details = [x.detail for x in of(found, e.EventRecord)]
    assert details == [ev.APP_FAILING, ev.APP_FAILED][-told:]
