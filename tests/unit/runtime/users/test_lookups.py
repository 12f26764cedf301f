"""Threads that look users up: how many there are, whom they serve, what happens when all hang."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from remuda.runtime.users.lookups import Lookups
from tests.waiting import wait


class Job:
    """A lookup that ends when the test says so."""

    def __init__(self, end: threading.Event, began: list[Job]) -> None:
        self._end = end
        self._began = began
        self.done = threading.Event()
        self.late = threading.Event()

    def look_up(self) -> None:
        self._began.append(self)
        self._end.wait()
        self.done.set()

    def be_late(self) -> None:
        self.late.set()


@pytest.fixture
def end() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def began() -> list[Job]:
    return []


@pytest.fixture
def make(end: threading.Event, began: list[Job]) -> Callable[[], Job]:
    return lambda: Job(end, began)


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "remuda-users"]


@pytest.mark.remuda_rule("UGR-6")
def test_hanging_lookups_cost_each_manager_four_threads_and_all_of_them_sixteen(
    make: Callable[[], Job], began: list[Job], end: threading.Event
) -> None:
    wait(lambda: not threads())
    lookups = Lookups("os")
    for manager in range(6):
        for _ in range(20):
            lookups.add(f"rm{manager}", make())
            lookups.forget(f"rm{manager}")
        for _ in range(10):
            lookups.add(f"rm{manager}", make())
    wait(lambda: len(began) == 16)
    assert len(threads()) == 16
    assert all(thread.daemon for thread in threads())
    lookups.close()
    end.set()
    wait(lambda: not threads())
    assert len(began) == 16


@pytest.mark.remuda_rule("UGR-6")
def test_those_that_wait_are_told_although_all_threads_hang_and_the_log_says_so_once(
    make: Callable[[], Job], began: list[Job], caplog: pytest.LogCaptureFixture
) -> None:
    lookups = Lookups("os", patience_seconds=0.05)
    jobs = [make() for _ in range(10)]
    with caplog.at_level(logging.ERROR, "remuda.users"):
        for job in jobs:
            lookups.add("rm", job)
        assert all(job.late.wait(10) for job in jobs)
    assert set(began) == set(jobs[:4])
    assert not any(job.done.is_set() for job in jobs)
    (line,) = caplog.messages
    assert line == "lookups of users (os) take longer than 0.05 s; 4 of 16 threads are at it"
    lookups.close()


def test_another_manager_is_served_while_one_hangs(
    make: Callable[[], Job], began: list[Job]
) -> None:
    lookups = Lookups()
    for _ in range(50):
        lookups.add("rm", make())
    wait(lambda: len(began) == 4)
    done = threading.Event()
    done.set()
    quick = [Job(done, []) for _ in range(50)]
    for job in quick:
        lookups.add("other", job)
    assert all(job.done.wait(10) for job in quick)
    assert not any(job.late.is_set() for job in quick)
    lookups.close()
