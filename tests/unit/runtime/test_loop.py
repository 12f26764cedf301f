"""The loop: order, delivery, waiting, stopping, failing."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Sequence

import pytest

from remuda.base.errors import ProtocolError
from remuda.core.messages import commands as c
from remuda.core.messages.commands import (
    NewApplication,
    UpdateAllocations,
    UpdateApplications,
)
from remuda.core.messages.effects import AllocationNew, ApplicationsAnswered, Effect
from remuda.core.messages.queries import NodesQuery, PartitionsQuery
from remuda.runtime.driver import BURST, BURST_NS, SLICE, Removed
from remuda.runtime.errand import Errand
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.requests import PART
from tests.port import one_by_one
from tests.unit.runtime.fakes import Factory, FakeScheduler, Sink, asks, registration
from tests.waiting import wait

CORE_THREAD = "remuda-core"


def application(name: str, rm_id: str = "rm") -> UpdateApplications:
    return UpdateApplications(rm_id, new=(NewApplication(name),))


@pytest.mark.remuda_rule("RM-2")
def test_registration_returns_when_the_core_answered(loop: SchedulerLoop) -> None:
    assert not loop.registered("rm")
    answer = loop.register(registration()).result(60)
    assert answer.reason == ""
    assert loop.registered("rm")


@pytest.mark.remuda_rule("RM-2", "RM-13")
def test_a_refused_registration_leaves_the_rm_unregistered(loop: SchedulerLoop) -> None:
    answer = loop.register(registration("[x")).result(60)
    assert (answer.reason, answer.rule) == ("rmID is bad", "RM-1")
    assert not loop.registered("[x")


@pytest.mark.remuda_rule("SI-2", "SI-3")
def test_a_long_request_is_handled_in_parts_and_others_come_between_them(
    loop: SchedulerLoop, factory: Factory
) -> None:
    for rm_id in ("noisy", "calm"):
        loop.register(registration(rm_id)).result(60)
    busy = threading.Event()
    loop._send(Errand(lambda: busy.wait(60)))
    loop.submit(asks(*[f"k{number}" for number in range(10 * PART)], rm_id="noisy"))
    loop.submit(asks("calm", rm_id="calm"))
    loop.submit(asks("last", rm_id="noisy"))
    busy.set()
    loop.barrier("noisy").result(60)
    handled = [each for each in factory.scheduler.handled if isinstance(each, UpdateAllocations)]
    assert [each.rm_id for each in handled].index("calm") < len(handled) - 2
    noisy = [each for each in handled if each.rm_id == "noisy"]
    keys = [ask.allocation_key for each in noisy for ask in each.asks]
    assert keys == [f"k{number}" for number in range(10 * PART)] + ["last"]
    assert all(len(each.asks) <= 4 * PART for each in noisy)  # parts next to each other are merged
    parts = [each for each in noisy if each.asks[0].allocation_key != "last"]
    assert [each.continued for each in parts] == [True] * (len(parts) - 1) + [False]
    moments = dict(zip(map(id, factory.scheduler.handled), factory.scheduler.moments, strict=True))
    assert len({moments[id(each)] for each in parts}) == 1


@pytest.mark.remuda_rule("SI-2", "SI-3")
def test_decisions_are_made_between_long_requests_and_each_has_its_own_moment(
    loop: SchedulerLoop, factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop.register(registration()).result(60)
    scheduler = factory.scheduler
    decided: list[int] = []

    def step(*_: object, **__: object) -> list[Effect]:
        decided.append(len(scheduler.handled))
        return []

    monkeypatch.setattr(scheduler, "step", step)
    busy = threading.Event()
    loop._send(Errand(lambda: busy.wait(60)))
    # The rest of each request and the beginning of the next are in the same batch.
    for request in range(6):
        loop.submit(asks(*[f"{request}-{number}" for number in range(4 * PART + 1)]))
    loop.submit(asks("short"))
    busy.set()
    loop.barrier("rm").result(60)
    ends = [
        place
        for place, each in enumerate(scheduler.handled)
        if isinstance(each, UpdateAllocations) and not each.continued
    ]
    assert len(ends) == 7
    assert len({scheduler.moments[place] for place in ends}) == 7
    assert {place + 1 for place in ends[:5]} <= set(decided)


@pytest.mark.remuda_rule("SEED-172", "SEED-223", "SI-2", "SI-7")
def test_requests_are_handled_and_answered_in_order_on_one_thread(
    loop: SchedulerLoop, factory: Factory
) -> None:
    sink = Sink()
    loop.register(registration(), sink).result(60)
    for number in range(50):
        loop.submit(application(f"a{number}"))
    loop.barrier().result(60)
    accepted = [e.accepted[0] for e in sink.effects if isinstance(e, ApplicationsAnswered)]
    assert accepted == [f"a{number}" for number in range(50)]
    assert factory.scheduler.threads == {CORE_THREAD}
    assert sink.threads == {CORE_THREAD}


def test_work_is_done_in_bounded_bursts_until_none_is_left(
    loop: SchedulerLoop, factory: Factory
) -> None:
    sink = Sink()
    loop.register(registration(), sink).result(60)
    keys = [f"k{number}" for number in range(3 * BURST + 1)]
    loop.submit(asks(*keys))
    loop.idle().result(60)
    assert sink.keys() == keys
    assert max(sink.batches) <= BURST
    assert set(factory.scheduler.limits) == {SLICE}


@pytest.mark.parametrize("reading_ns, burst", [(1, BURST), (BURST_NS // 100, 2 * SLICE)])
def test_a_burst_ends_after_so_many_decisions_or_so_long(reading_ns: int, burst: int) -> None:
    # The question of each decision is measured, too: two readings, 65 for the first slice.
    reading = itertools.count(0, reading_ns)
    sink = Sink()
    loop = SchedulerLoop(Factory(), stopwatch=lambda: next(reading))
    keys = [f"k{number}" for number in range(3 * BURST)]
    try:
        loop.start()
        loop.register(registration(), sink).result(60)
        loop.submit(asks(*keys))
        loop.idle().result(60)
    finally:
        loop.stop()
    assert sink.keys() == keys
    assert max(sink.batches) == burst


@pytest.mark.remuda_rule("SI-9")
def test_with_predicates_each_allocation_is_delivered_before_the_next_question(
    loop: SchedulerLoop,
) -> None:
    log: list[str] = []

    def fits(rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
        log.append(f"asked {allocation_key}")
        return "no" if allocation_key == "k1" else ""

    def told(effects: Sequence[Effect]) -> None:
        log.extend(f"told {e.ask.allocation_key}" for e in effects if isinstance(e, AllocationNew))

    loop.register(registration(predicates=True), told, one_by_one(fits)).result(60)
    loop.submit(asks("k0", "k1", "k2"))
    loop.idle().result(60)
    assert log == ["asked k0", "told k0", "asked k1", "asked k2", "told k2"]


@pytest.mark.remuda_rule("RM-10", "SI-7")
def test_each_rm_hears_only_of_its_own(loop: SchedulerLoop) -> None:
    one, two, everything = Sink(), Sink(), Sink()
    loop.register(registration("one"), one).result(60)
    loop.register(registration("two"), two).result(60)
    loop.subscribe(everything)
    loop.submit(asks("k1", rm_id="one"))
    loop.submit(asks("k2", rm_id="two"))
    loop.submit(asks("k3", rm_id="one"))
    loop.idle().result(60)
    assert one.keys() == ["k1", "k3"]
    assert two.keys() == ["k2"]
    assert everything.keys() == ["k1", "k2", "k3"]


def test_a_subscription_can_be_ended(loop: SchedulerLoop) -> None:
    seen = Sink()
    forget = loop.subscribe(seen)
    loop.register(registration(), Sink()).result(60)
    before = len(seen.effects)
    forget()
    loop.submit(application("a"))
    loop.barrier().result(60)
    assert before == 1
    assert len(seen.effects) == before


@pytest.mark.remuda_rule("RM-9")
def test_after_registering_again_the_old_sink_hears_nothing_more(loop: SchedulerLoop) -> None:
    old, new = Sink(), Sink()
    loop.register(registration(), old).result(60)
    heard = len(old.effects)
    loop.register(registration(), new).result(60)
    loop.submit(application("a"))
    loop.barrier().result(60)
    assert len(old.effects) == heard
    assert isinstance(new.effects[-1], ApplicationsAnswered)


@pytest.mark.remuda_rule("RM-2", "RM-11")
def test_two_registrations_at_once_are_handled_one_after_the_other(
    loop: SchedulerLoop, factory: Factory
) -> None:
    first, second = Sink(), Sink()
    answers = [loop.register(registration(), sink) for sink in (first, second)]
    assert [answer.result(60).reason for answer in answers] == ["", ""]
    assert loop.registered("rm")
    loop.submit(application("a"))
    loop.barrier().result(60)
    assert len(factory.scheduler.handled) == 3
    assert isinstance(second.effects[-1], ApplicationsAnswered)
    assert not any(isinstance(e, ApplicationsAnswered) for e in first.effects)


@pytest.mark.remuda_rule("SI-8")
def test_an_error_of_a_receiver_is_logged_and_changes_nothing(
    loop: SchedulerLoop, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(effects: Sequence[Effect]) -> None:
        raise ValueError("theirs")

    seen = Sink()
    loop.register(registration(), broken).result(60)
    loop.subscribe(broken)
    loop.subscribe(seen)
    with caplog.at_level(logging.ERROR, "remuda.runtime"):
        loop.submit(asks("k"))
        loop.idle().result(60)
    assert seen.keys() == ["k"]
    assert "theirs" in caplog.text
    assert not loop.failed


@pytest.mark.remuda_rule("SI-6")
def test_a_receiver_may_send_requests_even_when_the_inbox_is_full(factory: Factory) -> None:
    loop = SchedulerLoop(factory, inbox_capacity=1)

    def chain(effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, AllocationNew) and effect.ask.allocation_key == "k0":
                loop.submit(asks("k1"))
                loop.submit(asks("k2"))

    sink = Sink(chain)
    loop.start()
    loop.register(registration(), sink).result(60)
    loop.submit(asks("k0"))
    loop.idle().result(60)
    loop.stop()
    assert sink.keys() == ["k0", "k1", "k2"]


def test_try_submit_says_when_there_is_no_room(factory: Factory) -> None:
    loop = SchedulerLoop(factory, inbox_capacity=1)
    assert loop.try_submit(asks("k0"))
    assert not loop.try_submit(asks("k1"))
    loop.stop()


@pytest.mark.remuda_rule("RM-19")
def test_unregistering_counts_what_was_removed_and_is_silent(
    loop: SchedulerLoop, factory: Factory
) -> None:
    sink = Sink()
    loop.register(registration(), sink).result(60)
    heard = len(sink.effects)
    assert loop.unregister("rm").result(60) == Removed(partitions=1, applications=0, nodes=3)
    assert not loop.registered("rm")
    assert len(sink.effects) == heard


@pytest.mark.remuda_rule("RM-19")
def test_unregistering_an_unknown_rm_is_an_error(loop: SchedulerLoop) -> None:
    with pytest.raises(ProtocolError, match="'nobody' is not registered"):
        loop.unregister("nobody").result(60)
    assert not loop.failed


def test_a_query_is_answered_on_the_core_thread_after_earlier_requests(
    loop: SchedulerLoop, factory: Factory
) -> None:
    loop.submit(application("a"))
    views = loop.query(PartitionsQuery()).result(60)
    assert isinstance(views, tuple)
    assert len(factory.scheduler.handled) == 1
    assert factory.scheduler.threads == {CORE_THREAD}


def test_a_query_that_fails_tells_its_sender_only(loop: SchedulerLoop) -> None:
    with pytest.raises(LookupError, match="no such view"):
        loop.query(NodesQuery("default")).result(60)
    assert not loop.failed
    assert loop.barrier().result(60) is None


def test_a_deadline_wakes_the_loop_without_any_input(loop: SchedulerLoop, factory: Factory) -> None:
    loop.barrier().result(60)
    due_ns = time.time_ns() + 30_000_000
    factory.scheduler.deadline_ns = due_ns
    loop.barrier().result(60)
    wait(lambda: bool(factory.scheduler.expired))
    assert factory.scheduler.expired[0] >= due_ns


@pytest.mark.remuda_rule("SI-10")
def test_an_idle_loop_does_not_run(loop: SchedulerLoop, factory: Factory) -> None:
    loop.submit(asks("k0"))
    loop.idle().result(60)
    steps = len(factory.scheduler.limits)
    (core,) = [each for each in threading.enumerate() if each.name == CORE_THREAD]
    assert core.ident is not None
    spent_by_core = time.pthread_getcpuclockid(core.ident)
    spent = time.clock_gettime_ns(spent_by_core)
    time.sleep(0.15)
    assert len(factory.scheduler.limits) == steps
    assert time.clock_gettime_ns(spent_by_core) - spent < 50_000_000


@pytest.mark.remuda_rule("RM-20")
def test_stop_ends_the_thread_and_everything_later_is_refused(loop: SchedulerLoop) -> None:
    loop.stop()
    loop.stop()
    assert CORE_THREAD not in {thread.name for thread in threading.enumerate()}
    assert loop.ended.result(0) is None
    assert not loop.failed
    with pytest.raises(LoopStoppedError, match="was stopped"):
        loop.submit(asks("k"))
    for future in (loop.barrier(), loop.idle(), loop.query(PartitionsQuery())):
        with pytest.raises(LoopStoppedError, match="was stopped"):
            future.result(60)


def test_a_loop_that_never_started_can_be_stopped(factory: Factory) -> None:
    loop = SchedulerLoop(factory)
    waiting = loop.barrier()
    loop.stop()
    with pytest.raises(LoopStoppedError):
        waiting.result(0)


def test_a_fault_of_the_core_stops_the_loop_with_one_line(
    loop: SchedulerLoop, factory: Factory, caplog: pytest.LogCaptureFixture
) -> None:
    sink = Sink()
    loop.register(registration(), sink).result(60)
    with caplog.at_level(logging.INFO, "remuda.runtime"):
        loop.submit(application("fault"))
        with pytest.raises(LoopStoppedError, match="ZeroDivisionError: a counter went wrong"):
            loop.barrier().result(60)
        with pytest.raises(LoopStoppedError, match="a counter went wrong"):
            loop.ended.result(60)
    assert loop.failed
    assert loop.failure == "ZeroDivisionError: a counter went wrong"
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]
    with pytest.raises(LoopStoppedError, match="the scheduler failed"):
        loop.submit(asks("k"))


@pytest.mark.remuda_rule("EXT-39")
def test_the_core_learns_of_a_shortage_before_the_requests_that_wait() -> None:
    core = FakeScheduler()
    loop = SchedulerLoop(lambda *_, **__: core)
    for number in range(3):
        loop.submit(c.UpdateApplications("rm", (c.NewApplication(f"a{number}"),)))
    loop.limit_growth("full")
    loop.limit_growth("full")
    loop.start()
    loop.barrier().result(60)
    loop.limit_growth("")
    loop.barrier().result(60)
    loop.stop()
    kinds = [each for each in core.handled if not isinstance(each, c.MoveWallClock)]
    assert kinds[0] == c.LimitGrowth("full")
    assert len(kinds) == 5
    assert kinds[4] == c.LimitGrowth("")
