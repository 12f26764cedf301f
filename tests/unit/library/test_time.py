"""Steps: time as a value, callbacks, and the same outcomes every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from remuda import (
    Allocation,
    Outcome,
    Queue,
    Rejection,
    Release,
    RequestError,
    Scheduler,
    TaskGroup,
)
from remuda.runtime.replay import replay


def cluster(config: Queue | None = None) -> Scheduler:
    scheduler = Scheduler(config or Queue("a"))
    scheduler.add_node("n1", {"vcore": "4"})
    scheduler.submit("job", queue="root.a")
    return scheduler


def test_time_is_what_the_caller_says() -> None:
    scheduler = cluster()
    assert scheduler.now == 0
    scheduler.step(12.5)
    assert scheduler.now == 12.5
    scheduler.step()
    assert scheduler.now == 12.5
    with pytest.raises(RequestError, match=r"now is 12, but it is 12\.5 already"):
        scheduler.step(12)
    assert scheduler.now == 12.5


def test_nothing_is_decided_between_steps() -> None:
    scheduler = cluster()
    heard: list[str] = []
    scheduler.on_allocation(lambda each: heard.append(each.allocation_id))
    scheduler.ask("job", "task", {"vcore": "1"})
    assert heard == []
    scheduler.step()
    assert heard == ["task-0"]


def story(scheduler: Scheduler, *times: float) -> list[Outcome]:
    """A gang that has no room: its time runs out on the way, and its tasks go on without it."""
    scheduler.submit(
        "gang",
        queue="root.a",
        task_groups=[TaskGroup("g", 3, {"vcore": "2"})],
        execution_timeout_ms=30_000,
    )
    scheduler.ask("gang", "real", {"vcore": "2"}, task_group="g")
    told = scheduler.step()
    scheduler.ask("job", "task", {"vcore": "1"}, max_allocations=9)
    for now in times:
        told += scheduler.step(now)
    return told


@pytest.mark.remuda_rule("CYC-1")
def test_it_does_not_matter_in_how_many_steps_time_passes() -> None:
    at_once = story(cluster(), 100.0)
    assert at_once == story(cluster(), 100.0)
    assert at_once == story(cluster(), 1.0, 29.999, 30.0, 30.001, 77.7, 100.0)
    assert any(isinstance(each, Release) and each.ordered for each in at_once)


def test_callbacks_hear_all_in_order_and_their_requests_are_decided_in_the_same_step() -> None:
    scheduler = cluster()
    told: list[Outcome] = []

    @scheduler.on_allocation
    def started(allocation: Allocation) -> None:
        told.append(allocation)
        if allocation.allocation_key == "first":
            scheduler.release(allocation)
            scheduler.ask("job", "second", {"vcore": "4"})

    scheduler.on_release(told.append)
    scheduler.on_application(told.append)
    scheduler.on_rejection(told.append)
    scheduler.ask("job", "first", {"vcore": "4"})
    with pytest.raises(RequestError):
        scheduler.ask("none", "ask", {"vcore": 1})
    outcomes = scheduler.step()
    assert outcomes == told
    assert [each.allocation_id for each in told if isinstance(each, Allocation)] == [
        "first-0",
        "second-0",
    ]
    assert [each.subject for each in told if isinstance(each, Rejection)] == ["ask"]


def test_what_a_callback_raises_comes_out_of_the_step_and_loses_nothing() -> None:
    scheduler = cluster()
    heard: list[str] = []

    @scheduler.on_allocation
    def fail_once(allocation: Allocation) -> None:
        heard.append(allocation.allocation_id)
        if len(heard) == 1:
            raise ValueError("no such image")

    scheduler.ask("job", "task", {"vcore": "1"}, max_allocations=2)
    with pytest.raises(ValueError, match="no such image"):
        scheduler.step()
    told = scheduler.step()
    assert heard == ["task-0", "task-1"]
    assert [each.allocation_id for each in told if isinstance(each, Allocation)] == heard


def test_callbacks_that_never_come_to_an_end_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remuda.library.stepped.ROUNDS_LIMIT", 50)
    scheduler = cluster()

    @scheduler.on_allocation
    def again(allocation: Allocation) -> None:
        scheduler.release(allocation)
        scheduler.ask("job", f"{allocation.allocation_key}+", {"vcore": "1"})

    scheduler.ask("job", "task", {"vcore": "1"})
    with pytest.raises(RequestError, match="50 times in a row at the same instant"):
        scheduler.step()


def test_a_callback_cannot_step() -> None:
    scheduler = cluster()
    scheduler.on_allocation(lambda _: scheduler.step())
    scheduler.ask("job", "task", {"vcore": "1"})
    with pytest.raises(RequestError, match="step was called by a callback"):
        scheduler.step()
    assert scheduler.step()


def test_what_is_no_function_is_no_callback() -> None:
    with pytest.raises(RequestError, match="cannot be called"):
        cluster().on_release("print")  # type: ignore[type-var]


def test_a_stopped_scheduler_says_so() -> None:
    with cluster() as scheduler:
        pass
    scheduler.stop()
    for call in (scheduler.step, scheduler.pending, lambda: scheduler.add_node("n", {"vcore": 1})):
        with pytest.raises(RequestError, match="was stopped"):
            call()
    with pytest.raises(RequestError, match="was stopped"):
        scheduler.update_configuration(Queue("a"))


def test_a_recording_of_it_can_be_replayed(tmp_path: Path) -> None:
    path = tmp_path / "inputs.jsonl"
    with Scheduler(Queue("a"), record=path) as scheduler:
        scheduler.add_node("n1", {"vcore": "4"})
        scheduler.submit("job", queue="root.a")
        scheduler.ask("job", "task", {"vcore": "1"}, max_allocations=3)
        scheduler.step(5)
    assert path.stat().st_size > 500
    repeated = replay(path)
    assert repeated.same
    assert repeated.inputs >= 5


@pytest.mark.remuda_rule("RSV-3")
@pytest.mark.parametrize("delay,taken", [(1.0, ["n2", "n3"]), (None, ["n1", "n2"])])
def test_an_old_ask_reserves_a_node_unless_none_may(delay: float | None, taken: list[str]) -> None:
    scheduler = Scheduler(Queue("a"), reservation_delay_seconds=delay)
    scheduler.add_nodes({name: {"vcore": "4"} for name in ("n1", "n2", "n3")})
    scheduler.submit("job", queue="root.a")
    scheduler.ask("job", "small", {"vcore": "1"}, max_allocations=3)
    scheduler.step()
    scheduler.ask("job", "large", {"vcore": "4"})
    scheduler.step(5)
    scheduler.ask("job", "next", {"vcore": "3"}, max_allocations=2)
    nodes = [each.node_id for each in scheduler.step() if isinstance(each, Allocation)]
    assert nodes == taken
