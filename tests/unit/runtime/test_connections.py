"""Connections that break and come back, over the real core and a clock of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from remuda.core.messages.commands import (
    CREATE,
    Ask,
    NewApplication,
    NodeUpdate,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.messages.effects import AllocationNew, ApplicationUpdated, EventRecord
from remuda.core.messages.queries import PartitionsQuery
from remuda.core.scheduler import Scheduler
from remuda.runtime.journal import JournalWriter
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.replay import replay
from remuda.runtime.roster import SESSION, STREAMS, RmState, RmStatus
from tests.unit.runtime.fakes import Sink, registration

SECOND = 1_000_000_000
MINUTE = 60 * SECOND


class SetClock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.time_ns = 1_700_000_000 * SECOND

    def now_ns(self) -> int:
        return self.time_ns

    def wall_ns(self) -> int:
        return self.now_ns()


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return tmp_path / "recording"


@pytest.fixture
def loop(clock: SetClock, recording: Path) -> Iterator[SchedulerLoop]:
    running = SchedulerLoop(Scheduler, clock=clock, recorder=JournalWriter(recording))
    running.start()
    yield running
    running.stop()
    # Pauses and what they bring are part of the recording, and happen again.
    assert replay(recording).same


def with_timeout(text: str, rm_id: str = "rm") -> RegisterResourceManager:
    plain = registration(rm_id)
    return RegisterResourceManager(
        rm_id, plain.config, extra_config={"rm.pauseTimeout": text} if text else {}
    )


def start(loop: SchedulerLoop, timeout: str = "", rm_id: str = "rm") -> Sink:
    """Register, with a node and an application; its answers so far."""
    sink = Sink()
    loop.register(with_timeout(timeout, rm_id), sink, transport=STREAMS).result(60)
    loop.submit(UpdateNodes(rm_id, (NodeUpdate("n1", CREATE, {"vcore": 10}),)))
    new = NewApplication("a", user="ann", groups=("g",), tags={"namespace": "dev"})
    loop.submit(UpdateApplications(rm_id, (new,)))
    loop.barrier().result(60)
    return sink


def ask(loop: SchedulerLoop, key: str, rm_id: str = "rm") -> None:
    loop.submit(UpdateAllocations(rm_id, asks=(Ask("a", key, {"vcore": 1}),)))
    loop.idle().result(60)


def wait(loop: SchedulerLoop, clock: SetClock, time_ns: int) -> None:
    """Let time pass; the loop would wake up by itself, were the clock a real one."""
    clock.time_ns += time_ns
    loop.idle().result(60)


def status(loop: SchedulerLoop, rm_id: str = "rm") -> RmStatus:
    found = loop.roster.find(rm_id)
    assert found is not None
    return found


@pytest.mark.remuda_rule("RM-14", "RM-15")
def test_a_lost_connection_pauses_and_one_that_is_back_goes_on(
    loop: SchedulerLoop, clock: SetClock
) -> None:
    sink = start(loop)
    began = clock.time_ns
    assert (status(loop).state, status(loop).since_ns) == (RmState.RUNNING, began)
    clock.time_ns += SECOND
    assert loop.connections.lost("rm", "the stream broke").result(60)
    assert status(loop).state is RmState.PAUSED
    assert (status(loop).since_ns, status(loop).cause) == (began + SECOND, "the stream broke")
    assert status(loop).transport == STREAMS
    ask(loop, "k")
    assert sink.keys() == []
    clock.time_ns += SECOND
    assert loop.connections.back("rm").result(60)
    loop.idle().result(60)
    assert (status(loop).state, status(loop).since_ns) == (RmState.RUNNING, began + 2 * SECOND)
    assert sink.keys() == ["k"]


@pytest.mark.remuda_rule("RM-15")
def test_what_the_core_says_during_a_pause_is_kept_for_the_rm(loop: SchedulerLoop) -> None:
    sink = start(loop)
    loop.connections.lost("rm").result(60)
    ask(loop, "k")
    assert [e.state for e in sink.effects if isinstance(e, ApplicationUpdated)] == ["Accepted"]


@pytest.mark.remuda_rule("RM-17", "RM-18")
def test_an_rm_that_stays_away_is_stopped_and_stays_visible(
    loop: SchedulerLoop, clock: SetClock
) -> None:
    told: list[str] = []
    everything = Sink()
    loop.subscribe(everything)
    old = Sink()
    loop.register(with_timeout("2m"), old, ended=lambda: told.append("ended")).result(60)
    loop.submit(UpdateApplications("rm", (NewApplication("a", user="u", tags={"namespace": "d"}),)))
    loop.connections.lost("rm").result(60)
    heard = len(old.effects)
    wait(loop, clock, 2 * MINUTE - 1)
    assert status(loop).state is RmState.PAUSED
    assert loop.registered("rm")
    wait(loop, clock, 1)
    assert (status(loop).state, status(loop).since_ns) == (RmState.STOPPED, clock.time_ns)
    assert "rm.pauseTimeout" in status(loop).cause
    assert not loop.registered("rm")
    assert told == ["ended"]
    assert len(old.effects) == heard
    messages = [e.message for e in everything.effects if isinstance(e, EventRecord)]
    assert messages.count("PartitionRemoved") == 2
    assert loop.query(PartitionsQuery()).result(60) == ()
    assert loop.configurations.registered().result(60) == ()
    assert not loop.connections.back("rm").result(60)


@pytest.mark.remuda_rule("RM-18")
def test_with_a_timeout_of_zero_a_lost_connection_is_the_end(loop: SchedulerLoop) -> None:
    start(loop, "0")
    assert not loop.connections.lost("rm").result(60)
    assert status(loop).state is RmState.STOPPED


@pytest.mark.remuda_rule("RM-18")
def test_with_a_negative_timeout_an_rm_may_stay_away(loop: SchedulerLoop, clock: SetClock) -> None:
    start(loop, "-1s")
    loop.connections.lost("rm").result(60)
    wait(loop, clock, 10_000 * MINUTE)
    assert status(loop).state is RmState.PAUSED


@pytest.mark.remuda_rule("RM-9", "RM-15")
def test_registering_again_during_a_pause_is_a_fresh_start(
    loop: SchedulerLoop, clock: SetClock
) -> None:
    old = start(loop)
    loop.connections.lost("rm").result(60)
    ask(loop, "k")
    heard = len(old.effects)
    new = start(loop)
    assert status(loop).state is RmState.RUNNING
    ask(loop, "k")
    assert new.keys() == ["k"]
    assert len(old.effects) == heard
    wait(loop, clock, 5 * MINUTE)
    assert status(loop).state is RmState.RUNNING


@pytest.mark.remuda_rule("RM-9", "RM-14")
def test_the_end_of_an_old_connection_does_not_pause_the_new_registration(
    loop: SchedulerLoop,
) -> None:
    old = start(loop)
    new = start(loop)
    assert not loop.connections.lost("rm", sink=old).result(60)
    assert status(loop).state is RmState.RUNNING
    assert not loop.connections.back("rm", sink=old).result(60)
    assert not loop.connections.hold("rm", old).result(60)
    assert loop.connections.lost("rm", sink=new).result(60)
    assert status(loop).state is RmState.PAUSED


@pytest.mark.remuda_rule("EXT-6")
def test_an_rm_that_is_held_is_running_and_gets_nothing(
    loop: SchedulerLoop, clock: SetClock
) -> None:
    sink = start(loop)
    assert loop.connections.hold("rm").result(60)
    assert loop.connections.hold("rm").result(60)
    ask(loop, "k")
    assert sink.keys() == []
    assert status(loop).state is RmState.RUNNING
    wait(loop, clock, 10 * MINUTE)
    assert status(loop).state is RmState.RUNNING
    assert loop.connections.release("rm").result(60)
    loop.idle().result(60)
    assert sink.keys() == ["k"]


@pytest.mark.remuda_rule("RM-19", "RM-17")
def test_an_rm_that_unregisters_is_stopped_and_stays_visible(
    loop: SchedulerLoop, clock: SetClock
) -> None:
    start(loop)
    clock.time_ns += SECOND
    removed = loop.unregister("rm").result(60)
    assert (removed.partitions, removed.applications, removed.nodes) == (1, 1, 1)
    assert (status(loop).state, status(loop).since_ns) == (RmState.STOPPED, clock.time_ns)
    assert [each.state for each in loop.roster.all()] == [RmState.STOPPED]
    start(loop)
    assert status(loop).state is RmState.RUNNING


@pytest.mark.remuda_rule("RM-10", "RM-15")
def test_another_rm_with_the_same_names_goes_on(loop: SchedulerLoop) -> None:
    away, there = start(loop), start(loop, rm_id="other")
    loop.connections.lost("rm").result(60)
    ask(loop, "k")
    ask(loop, "k", "other")
    assert (away.keys(), there.keys()) == ([], ["k"])
    assert [e.rm_id for e in there.effects if isinstance(e, AllocationNew)] == ["other"]
    assert loop.connections.back("rm").result(60)
    loop.idle().result(60)
    assert away.keys() == ["k"]


@pytest.mark.remuda_rule("RM-14")
@pytest.mark.parametrize("call", ["lost", "back", "hold", "release"])
def test_nothing_happens_to_an_rm_that_is_not_registered(loop: SchedulerLoop, call: str) -> None:
    assert getattr(loop.connections, call)("nobody").result(60) is False
    assert loop.roster.find("nobody") is None


@pytest.mark.remuda_rule("RM-9")
def test_a_registration_that_is_replaced_is_told_of_its_end_once(loop: SchedulerLoop) -> None:
    told: list[int] = []
    for number in range(3):
        loop.register(registration(), transport=SESSION, ended=partial(told.append, number)).result(
            10
        )
    assert told == [0, 1]
    assert status(loop).transport == SESSION
    loop.unregister("rm").result(60)
    assert told == [0, 1, 2]
