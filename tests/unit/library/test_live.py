"""A live scheduler of the Python API: a thread and a clock of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from remuda import (
    Allocation,
    ConfigError,
    Queue,
    RejectedError,
    Rejection,
    Release,
    RemudaError,
    RequestError,
    Scheduler,
    TaskGroup,
    TerminationType,
)


@pytest.fixture
def live() -> Iterator[Scheduler]:
    with Scheduler(Queue("a"), live=True) as scheduler:
        scheduler.add_node("n1", {"vcore": "4"})
        scheduler.submit("job", queue="root.a")
        yield scheduler


def test_it_places_by_itself_on_its_own_thread(live: Scheduler) -> None:
    heard: list[tuple[str, str]] = []
    here = threading.current_thread().name
    live.on_allocation(lambda a: heard.append((a.allocation_id, threading.current_thread().name)))
    live.ask("job", "task", {"vcore": "3"}, max_allocations=2)
    live.wait()
    assert [key for key, _ in heard] == ["task-0"]
    assert here not in {thread for _, thread in heard}
    (waiting,) = live.pending()
    assert "the whole cluster has vcore 1 left" in str(live.explain(waiting))
    assert [each.allocation_id for each in live.allocations("job")] == ["task-0"]


def test_calls_from_outside_wait_for_their_verdict(live: Scheduler) -> None:
    refused: list[Rejection] = []
    live.on_rejection(refused.append)
    with pytest.raises(RejectedError, match="NODE-1"):
        live.add_node("n1", {"vcore": "4"})
    with pytest.raises(RejectedError) as caught:
        live.ask("none", "task", {"vcore": "4"})
    assert [each.subject for each in refused] == ["n1", "task"]
    assert list(caught.value.rejections) == refused[1:]


def test_calls_from_callbacks_do_not_wait_and_are_told_what_is_refused(live: Scheduler) -> None:
    refused: list[Rejection] = []
    told: list[str] = []
    live.on_rejection(refused.append)

    @live.on_allocation
    def started(allocation: Allocation) -> None:
        if allocation.allocation_key == "task":
            live.ask("job", "next", {"vcore": "1"})
            live.ask("none", "lost", {"vcore": "1"})
            for call in (live.wait, live.pending, lambda: live.update_configuration(Queue("a"))):
                try:
                    call()
                except RequestError as error:
                    told.append(str(error))

    live.ask("job", "task", {"vcore": "1"})
    live.wait()
    assert [each.allocation_key for each in live.allocations()] == ["next", "task"]
    assert [(each.subject, each.application_id) for each in refused] == [("lost", "none")]
    assert len(told) == 3
    assert all("cannot be made from a callback" in each for each in told)


def test_what_a_callback_raises_is_logged_and_the_rest_is_told(
    live: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    @live.on_allocation
    def fail(allocation: Allocation) -> None:
        heard.append(allocation.allocation_id)
        raise ValueError("no such image")

    with caplog.at_level(logging.ERROR, "remuda.library"):
        live.ask("job", "task", {"vcore": "1"}, max_allocations=2)
        live.wait()
    assert heard == ["task-0", "task-1"]
    assert caplog.text.count("no such image") == 2


@pytest.mark.remuda_rule("GANG-14", "GANG-17")
def test_a_gang_starts(live: Scheduler) -> None:
    ended: list[Release] = []
    live.on_release(ended.append)
    live.submit("gang", queue="root.a", task_groups=[TaskGroup("g", 2, {"vcore": "2"})])
    live.wait()
    for key in ("g1", "g2"):
        live.ask("gang", key, {"vcore": "2"}, task_group="g")
    live.wait()
    running = [(each.allocation_key, each.placeholder) for each in live.allocations("gang")]
    assert running == [("g1", False), ("g2", False)]
    assert {each.termination_type for each in ended} == {TerminationType.PLACEHOLDER_REPLACED}


def test_its_queues_change(live: Scheduler) -> None:
    live.update_configuration([Queue("a", maximum={"vcore": "1"})])
    live.ask("job", "task", {"vcore": "1"}, max_allocations=4)
    live.wait()
    assert len(live.allocations()) == 1
    with pytest.raises(ConfigError):
        live.update_configuration("partitions: {}")


def test_each_mode_names_the_call_of_the_other(live: Scheduler) -> None:
    with pytest.raises(RequestError, match=r"step is for stepped .* call wait"):
        live.step()
    with pytest.raises(RequestError, match="now is for stepped"):
        _ = live.now
    with pytest.raises(RequestError, match=r"wait is for Scheduler\(live=True\)"):
        Scheduler().wait()


def test_after_the_end_calls_say_so(live: Scheduler) -> None:
    live.stop()
    live.stop()
    for call in (live.wait, live.pending, lambda: live.add_node("n2", {"vcore": "1"})):
        with pytest.raises(RemudaError, match="stop"):
            call()


def test_waiting_has_an_end(live: Scheduler) -> None:
    release = threading.Event()
    live.on_allocation(lambda _: release.wait(30))
    live.ask("job", "task", {"vcore": "1"})
    try:
        with pytest.raises(TimeoutError, match="did not come to rest within"):
            live.wait(0.01)
    finally:
        release.set()
    live.wait()
