"""A fork of a stepped scheduler: the same state, and nothing in common."""

from __future__ import annotations

from random import Random

import pytest

from remuda import Allocation, Outcome, Queue, RejectedError, Rejection, RequestError, Scheduler

pytestmark = pytest.mark.remuda_rule("EXT-41")

Call = tuple[str, int, int]


def test_a_fork_goes_on_alone(job: Scheduler, told: list[object]) -> None:
    fork = job.fork()
    fork.add_node("n2", {"vcore": "4"})
    assert [each.allocation_key for each in fork.step() if isinstance(each, Allocation)] == [
        "large"
    ]
    assert [ask.allocation_key for ask in job.pending()] == ["large"]
    assert fork.pending() == []
    assert told == []
    assert job.step(50) == []
    assert (job.now, fork.now) == (50, 0)


def test_a_fork_has_the_time_the_queues_and_the_timers(job: Scheduler) -> None:
    job.step(10)
    job.update_configuration((Queue("a", maximum={"vcore": "2"}), Queue("b")))
    fork = job.fork()
    assert fork.now == 10
    for one in (job, fork):
        for allocation in one.allocations():
            one.release(allocation)
        one.submit("other", queue="root.b")
        one.ask("other", "task", {"vcore": "4"})
    assert fork.step(1_000) == job.step(1_000)
    fork.update_configuration((Queue("b"), Queue("c")))
    fork.submit("third", queue="root.c")


def test_what_no_step_returned_yet_both_return() -> None:
    scheduler = Scheduler(Queue("a"))
    with pytest.raises(RejectedError):
        scheduler.submit("job", queue="root.nowhere")
    fork = scheduler.fork()
    found = fork.step()
    assert [type(each) for each in found] == [Rejection]
    assert scheduler.step() == found


def test_a_fork_of_a_fork_and_one_that_is_stopped(job: Scheduler) -> None:
    second = job.fork().fork()
    second.stop()
    assert [ask.allocation_key for ask in job.fork().pending()] == ["large"]
    with pytest.raises(RequestError, match="stopped"):
        second.fork()


def test_a_live_scheduler_and_a_callback_are_told_why_not(job: Scheduler) -> None:
    with Scheduler(Queue("a"), live=True) as live, pytest.raises(RequestError, match="live"):
        live.fork()
    job.on_allocation(lambda _: job.fork())
    job.add_node("n2", {"vcore": "4"})
    with pytest.raises(RequestError, match="between two steps"):
        job.step()


def calls(seed: int) -> list[Call]:
    """Random requests, each with a number and a size, and a step after each."""
    rng = Random(seed)
    return [(rng.choice(("node", "job", "ask", "ask", "release")), n, n % 4 + 1) for n in range(70)]


def act(scheduler: Scheduler, call: Call) -> list[Outcome]:
    """Make a request, and let time pass."""
    what, number, size = call
    if what == "node":
        scheduler.add_node(f"n{number}", {"vcore": "4", "memory": "8"})
    elif what == "job":
        queue = ("root.a", "root.b")[number % 2]
        scheduler.submit(f"job-{number}", queue=queue, user=f"user-{number % 3}")
        scheduler.ask(f"job-{number}", "task", {"vcore": str(size)}, max_allocations=3)
    elif what == "ask":
        scheduler.ask("first", f"k{number}", {"vcore": str(size)}, priority=number % 3)
    else:
        for allocation in scheduler.allocations()[:size]:
            scheduler.release(allocation)
    return scheduler.step(number * 7.0)


@pytest.mark.parametrize("seed", range(6))
def test_a_fork_with_the_same_calls_has_the_same_outcomes(seed: int) -> None:
    scheduler = Scheduler((Queue("a", maximum={"vcore": "9"}), Queue("b")))
    scheduler.submit("first", queue="root.a")
    scheduler.ask("first", "long", {"vcore": "1"})
    every = calls(seed)
    middle = Random(seed).randrange(20, 50)
    for call in every[:middle]:
        act(scheduler, call)
    fork = scheduler.fork()
    outcomes: list[Outcome] = []
    for call in every[middle:]:
        found = act(scheduler, call)
        assert act(fork, call) == found
        outcomes += found
    assert fork.allocations() == scheduler.allocations()
    assert fork.pending() == scheduler.pending()
    assert outcomes
