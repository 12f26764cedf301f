"""Timers of what is over are dropped, and with them what they were for."""

from __future__ import annotations

import gc
import random
from heapq import heapify, heappop
from typing import TypeVar

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.model.allocation import Allocation
from remuda.core.model.applications.application import Application
from remuda.core.model.deadlines import Deadline, _drop
from tests.unit.core.door import DAY, SECOND, Caller, leaf, of

ONE = {"vcore": 1}
T = TypeVar("T")


def count(kind: type[T]) -> int:
    """How many objects of a type there are in this process."""
    gc.collect()
    return sum(isinstance(each, kind) for each in gc.get_objects())


def started() -> Caller:
    """One node, and an application that goes on."""
    caller = Caller(leaf("a"))
    caller.node("n1", {"vcore": 1_000})
    caller.app("stays")
    caller.ask("stays", "k", ONE)
    caller.place()
    return caller


@pytest.mark.remuda_rule("SI-37", "APP-17")
def test_allocations_that_ended_do_not_wait_for_the_end_of_their_time() -> None:
    caller = started()
    before = count(Allocation), count(Deadline)
    for number in range(2_000):
        caller.ask("stays", f"k-{number}", ONE, execution_timeout_ms=DAY // 1_000_000)
        (new,) = of(caller.step(), e.AllocationNew)
        caller.release("stays", new.allocation_id)
    assert count(Allocation) - before[0] <= 20
    assert count(Deadline) - before[1] <= 20


@pytest.mark.remuda_rule("APP-17", "APP-30")
def test_applications_that_ended_leave_no_timers() -> None:
    caller = started()
    caller.wait(10 * SECOND)
    before = count(Deadline)
    for number in range(500):
        caller.app(f"app-{number}", execution_timeout_ms=DAY // 1_000_000)
        caller.ask(f"app-{number}", "k", ONE)
        caller.place()
        caller.remove(f"app-{number}")
    assert count(Deadline) - before <= 20


@pytest.mark.remuda_rule("SI-69", "GANG-17")
def test_an_allocation_that_was_ordered_out_is_freed_when_it_ends() -> None:
    caller = Caller(leaf("a"), extra_config={"rm.confirmTimeout": "10s"})
    caller.node("n1", {"vcore": 10})
    caller.app("app")
    caller.ask("app", "stays", ONE)
    caller.place()
    before = count(Allocation), count(Application)
    gc.disable()
    try:
        for number in range(20):
            caller.ask("app", f"k-{number}", ONE, execution_timeout_ms=1_000)
            (new,) = of(caller.step(), e.AllocationNew)
            caller.wait(2 * SECOND)
            caller.release("app", new.allocation_id, kind=c.TIMEOUT)
        caller.wait(60 * SECOND)
        kept = sum(isinstance(each, Allocation) for each in gc.get_objects())
    finally:
        gc.enable()
    assert (kept, count(Application)) == before


@pytest.mark.remuda_rule("SI-37", "SI-69")
def test_timers_that_are_of_use_run_out_in_their_order_whatever_was_dropped() -> None:
    caller = started()
    draw = random.Random(5)
    expected: list[str] = []
    for number in range(400):
        timeout_s = draw.randint(100, 10_000)
        key = f"k-{number}"
        caller.ask("stays", key, ONE, execution_timeout_ms=timeout_s * 1_000)
        (new,) = of(caller.step(), e.AllocationNew)
        if number % 4:
            caller.release("stays", new.allocation_id)
        else:
            expected.append(f"{timeout_s:05} {number:03} {key}")
    heard: list[str] = []
    for _ in range(10_000):
        for answer in of(caller.wait(SECOND), e.AllocationsReleased):
            for gone in answer.released:
                if gone.allocation_key not in heard:
                    heard.append(gone.allocation_key)
    assert heard == [each.split()[-1] for each in sorted(expected)]


def test_a_heap_stays_in_order_whichever_entry_goes() -> None:
    draw = random.Random(8)
    (partition,) = started().scheduler._cluster.partitions()
    timer = Deadline(partition, "state", None)
    for size in range(1, 60):
        heap = [(draw.randrange(30), number, timer) for number in range(size)]
        heapify(heap)
        place = draw.randrange(size)
        left = sorted(each[:2] for number, each in enumerate(heap) if number != place)
        _drop(heap, place)
        assert [heappop(heap)[:2] for _ in range(size - 1)] == left
