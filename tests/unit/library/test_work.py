"""Applications, asks, allocations and gangs of the Python API."""

from __future__ import annotations

from typing import Literal

import pytest

from remuda import (
    Allocation,
    ApplicationUpdate,
    Outcome,
    Queue,
    RejectedError,
    Release,
    RequestError,
    Scheduler,
    TaskGroup,
    TerminationType,
)

WORKERS = TaskGroup("workers", 2, {"vcore": "2"})


def cluster(*queues: Queue, confirm: bool = True, cores: str = "4") -> Scheduler:
    scheduler = Scheduler(queues or Queue("a"), confirm=confirm)
    scheduler.add_node("n1", {"vcore": cores})
    return scheduler


def allocated(outcomes: list[Outcome]) -> list[str]:
    return [each.allocation_id for each in outcomes if isinstance(each, Allocation)]


def released(outcomes: list[Outcome]) -> list[tuple[str, int]]:
    return [
        (each.allocation_id, each.termination_type)
        for each in outcomes
        if isinstance(each, Release)
    ]


@pytest.mark.remuda_rule("SI-79")
def test_an_application_is_told_state_by_state() -> None:
    scheduler = cluster()
    scheduler.submit("job", queue="root.a", user="ada", groups=["staff"])
    scheduler.ask("job", "one", {"vcore": 1000})
    scheduler.ask("job", "two", {"vcore": 1000})
    states = [each.state for each in scheduler.step() if isinstance(each, ApplicationUpdate)]
    assert states == ["Accepted", "Starting", "Running"]


def test_an_application_without_a_queue_is_rejected_and_not_there() -> None:
    scheduler = cluster()
    for _ in range(2):
        with pytest.raises(RejectedError) as caught:
            scheduler.submit("job", queue="root.nowhere")
        (refused,) = caught.value.rejections
        assert (refused.kind, refused.subject) == ("application", "job")
    with pytest.raises(RejectedError, match="ask 'task' of application 'job' rejected"):
        scheduler.ask("job", "task", {"vcore": 1})


def test_an_ask_carries_what_was_asked_for_to_its_allocation() -> None:
    scheduler = cluster()
    scheduler.submit("job", queue="root.a")
    wanted: dict[str, int | str] = {"vcore": "500m", "gpu": 0}
    ask = scheduler.ask("job", "task", wanted, priority=7, tags={"shift": "night"})
    wanted["vcore"] = "9"
    (allocation,) = [each for each in scheduler.step() if isinstance(each, Allocation)]
    assert allocation == Allocation(
        "job", "task", "task-0", "n1", ask.resource, 7, tags={"shift": "night"}
    )
    assert ask.resource == {"vcore": 500, "gpu": 0}
    assert scheduler.allocations() == scheduler.allocations("job") == [allocation]
    assert scheduler.allocations("other") == []


@pytest.mark.remuda_rule("SI-33")
def test_an_ask_with_the_same_key_takes_the_place_of_the_old_one() -> None:
    scheduler = cluster()
    scheduler.submit("job", queue="root.a")
    scheduler.ask("job", "task", {"vcore": "8"})
    scheduler.step()
    scheduler.ask("job", "task", {"vcore": "3"})
    assert allocated(scheduler.step()) == ["task-0"]


@pytest.mark.remuda_rule("SI-60")
def test_a_released_allocation_makes_room() -> None:
    scheduler = cluster()
    scheduler.submit("job", queue="root.a")
    ask = scheduler.ask("job", "task", {"vcore": "3"}, max_allocations=2)
    (first,) = [each for each in scheduler.step() if isinstance(each, Allocation)]
    (rest,) = scheduler.pending()
    assert (rest.allocation_key, rest.max_allocations) == (ask.allocation_key, 1)
    scheduler.release(first)
    scheduler.release(first)
    outcomes = scheduler.step()
    assert released(outcomes) == [("task-0", TerminationType.STOPPED_BY_RM)]
    assert allocated(outcomes) == ["task-1"]
    assert scheduler.pending() == []


@pytest.mark.remuda_rule("SI-50", "SI-51")
def test_a_released_ask_waits_no_longer() -> None:
    scheduler = cluster()
    scheduler.submit("job", queue="root.a")
    ask = scheduler.ask("job", "task", {"vcore": "8"})
    scheduler.step()
    scheduler.release(ask)
    assert scheduler.pending() == []
    scheduler.add_node("n2", {"vcore": "8"})
    assert allocated(scheduler.step()) == []


@pytest.mark.remuda_rule("SI-29")
def test_a_removed_application_takes_all_it_has_with_it() -> None:
    scheduler = cluster()
    scheduler.submit("job", queue="root.a")
    scheduler.ask("job", "task", {"vcore": "3"}, max_allocations=2)
    scheduler.step()
    scheduler.remove_application("job")
    assert [key for key, _ in released(scheduler.step())] == ["task-0"]
    assert scheduler.pending() == []
    assert scheduler.allocations() == []
    for name in ("job", "jbo"):
        with pytest.raises(RequestError, match=f"application '{name}' is not known"):
            scheduler.remove_application(name)


@pytest.mark.remuda_rule("GANG-4", "GANG-10", "GANG-14", "GANG-17")
def test_a_gang_keeps_its_room_and_its_tasks_take_it() -> None:
    scheduler = cluster()
    scheduler.submit("gang", queue="root.a", task_groups=[WORKERS])
    kept = [each for each in scheduler.step() if isinstance(each, Allocation)]
    assert [(each.allocation_key, each.placeholder) for each in kept] == [
        ("tg-workers-0", True),
        ("tg-workers-1", True),
    ]
    for key in ("w1", "w2"):
        scheduler.ask("gang", key, {"vcore": "2"}, task_group="workers")
    outcomes = scheduler.step()
    assert allocated(outcomes) == ["w1-0", "w2-0"]
    replaced = TerminationType.PLACEHOLDER_REPLACED
    assert released(outcomes) == [("tg-workers-0-0", replaced), ("tg-workers-1-0", replaced)]
    assert [each.placeholder for each in scheduler.allocations()] == [False, False]


@pytest.mark.remuda_rule("SI-69")
def test_an_order_is_confirmed_by_the_caller_who_wants_to() -> None:
    scheduler = cluster(confirm=False)
    scheduler.submit("gang", queue="root.a", task_groups=[WORKERS])
    scheduler.step()
    scheduler.ask("gang", "w1", {"vcore": "2"}, task_group="workers")
    (order,) = [each for each in scheduler.step() if isinstance(each, Release)]
    assert order.ordered
    assert scheduler.step() == []
    scheduler.confirm(order)
    assert allocated(scheduler.step()) == ["w1-0"]
    scheduler.confirm(order)
    assert allocated(scheduler.step()) == []


@pytest.mark.remuda_rule("GANG-3")
def test_a_gang_that_can_never_fit_is_not_there() -> None:
    scheduler = cluster(Queue("a", maximum={"vcore": "3"}))
    with pytest.raises(RejectedError) as caught:
        scheduler.submit("gang", queue="root.a", task_groups=[WORKERS])
    assert [each.kind for each in caught.value.rejections] == ["application"]
    assert scheduler.pending() == []


@pytest.mark.remuda_rule("GANG-23")
@pytest.mark.parametrize("style,state", [("Hard", "Failing"), ("Soft", "Resuming")])
def test_a_gang_without_room_ends_as_its_style_says(
    style: Literal["Hard", "Soft"], state: str
) -> None:
    scheduler = Scheduler(Queue("a"))
    scheduler.add_node("n1", {"vcore": "3"})
    scheduler.submit(
        "gang",
        queue="root.a",
        task_groups=[WORKERS],
        gang_scheduling_style=style,
        execution_timeout_ms=60_000,
    )
    assert allocated(scheduler.step()) == ["tg-workers-0-0"]
    before = scheduler.step(59.0)
    assert [each for each in before if isinstance(each, ApplicationUpdate)] == []
    entered = [each.state for each in scheduler.step(61.0) if isinstance(each, ApplicationUpdate)]
    assert entered[:1] == [state]


def test_groups_of_a_gang_have_their_own_sizes() -> None:
    scheduler = cluster()
    driver = TaskGroup("driver", 1, {"vcore": "1"}, priority=5, tags={"role": "driver"})
    worker = TaskGroup("worker", 3, {"vcore": "1"})
    scheduler.submit("gang", queue="root.a", task_groups=[driver, worker])
    kept = [each for each in scheduler.step() if isinstance(each, Allocation)]
    assert [each.task_group for each in kept] == ["driver", "worker", "worker", "worker"]
    assert (kept[0].priority, kept[0].tags) == (5, {"role": "driver"})


@pytest.mark.remuda_rule("EXT-60")
def test_fair_shares_say_what_each_queue_is_owed() -> None:
    scheduler = Scheduler((Queue("a", guaranteed={"vcore": "3"}), Queue("b")))
    scheduler.add_node("n1", {"vcore": "4"})
    for name in "ba":
        scheduler.submit(name, queue=f"root.{name}")
        scheduler.ask(name, "task", {"vcore": "1"}, max_allocations=4)
        scheduler.step()
    found = {each.queue: each for each in scheduler.fair_shares()}
    assert list(found) == ["root", "root.a", "root.b"]
    assert (found["root.a"].owed, found["root.a"].share) == ({"vcore": 3000}, 0.0)
    assert found["root.a"].guaranteed == {"vcore": 3000}
    assert (found["root.b"].owed, found["root.b"].share) == ({}, 1.0)
