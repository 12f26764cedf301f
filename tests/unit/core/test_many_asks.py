"""Applications with so many asks that no question may look at each (REST-144, DMP-17)."""

from __future__ import annotations

import time
from typing import cast

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import measures as m
from remuda.core.messages import queries as q
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.rows import (
    ApplicationRowsQuery,
    PartitionRowsQuery,
    Rows,
    WaitingAsks,
)
from remuda.core.model.partition import Partition
from remuda.core.policy.outstanding import MOST, to_report
from tests.unit.core.door import SECOND, START, Caller, leaf, of
from tests.unit.core.rules.crowd import LATE, Crowd

MANY = 20_001


def crowd(many: int = MANY) -> Caller:
    """An application with very many equal asks, of which none fits."""
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 1})
    door.app("app")
    fill(door, many)
    door.step()
    return door


def fill(door: Caller, many: int) -> None:
    """Send asks, in the reverse order of their keys."""
    for at in range(0, many, 1_000):
        numbers = range(many - at, max(many - at - 1_000, 0), -1)
        asks = tuple([c.Ask("app", f"k-{number:05}", {"vcore": 2}) for number in numbers])
        door.send(c.UpdateAllocations(door.rm, asks=asks))


def partition_of(door: Caller) -> Partition:
    """The partition, to look at it without a step."""
    (found,) = door.scheduler._cluster.partitions()
    return found


def applications(door: Caller) -> list[ApplicationView]:
    """The same application, as each question answers that may be asked while there is much."""
    view, rm = door.scheduler.view, door.rm
    every = cast("q.PartitionRows", view(PartitionRowsQuery("default", rm)))
    found: list[ApplicationView] = []
    for answer in (
        view(ApplicationQuery("default", "app", rm_id=rm)),
        view(ApplicationRowsQuery("default", "root.a", rm)),
        every.applications,
    ):
        found += cast("Rows[ApplicationView]", answer)
    return found


def portion(door: Caller, waiting: WaitingAsks[RequestView], *places: int) -> list[RequestView]:
    """What some of the asks are now."""
    chosen = tuple([waiting.asks[place] for place in places])
    return list(cast("Rows[RequestView]", door.scheduler.view(q.AskPortionQuery(waiting, chosen))))


@pytest.mark.remuda_rule("REST-144", "DMP-17")
def test_no_question_looks_at_each_of_very_many_asks() -> None:
    views = applications(crowd())
    assert len(views) == 3
    for view in views:
        assert not view.requests
        assert view.pending == {"vcore": 2 * MANY}
        assert view.waiting is not None
        assert len(view.waiting.asks) == MANY


@pytest.mark.remuda_rule("REST-144", "REST-79")
def test_asks_are_what_they_are_when_it_is_their_turn() -> None:
    door = crowd()
    waiting = applications(door)[0].waiting
    assert waiting is not None
    assert waiting.key(waiting.asks[0]) == f"k-{MANY:05}"
    door.now += SECOND
    door.release_ask("app", f"k-{MANY - 1:05}")
    first, last = portion(door, waiting, 0, 1, MANY - 1)
    assert [each.allocation_key for each in (first, last)] == [f"k-{MANY:05}", "k-00001"]
    assert first.request_time_ns == START
    assert first.finding is not None


@pytest.mark.remuda_rule("REST-144", "REST-77")
def test_what_they_reserved_is_of_the_moment() -> None:
    door = Crowd()
    door.full(n1=1)
    fill(door, MANY)
    door.step()
    door.now += LATE
    door.step()
    waiting = applications(door)[0].waiting
    assert waiting is not None
    ((node_id, key),) = waiting.reserved
    assert (node_id, key) == ("n1", f"k-{MANY:05}")


@pytest.mark.remuda_rule("DMP-17")
def test_how_many_asks_wait_and_since_when_is_known_without_a_look_at_each() -> None:
    door = crowd(100)
    door.now += SECOND
    for number, priority in enumerate((7, -1, 7, 3, 0)):
        door.ask("app", f"late-{number}", {"vcore": 2}, priority=priority, count=2)
        door.now += SECOND
    page = door.scheduler.view(m.QueueMeasuresQuery())
    assert isinstance(page, m.QueueMeasuresPage)
    (row,) = page.applications
    assert (row.pending_asks, row.oldest_pending_ns) == (110, START)
    for number in range(1, 101):
        door.release_ask("app", f"k-{number:05}")
    page = door.scheduler.view(m.QueueMeasuresQuery())
    assert isinstance(page, m.QueueMeasuresPage)
    (row,) = page.applications
    assert (row.pending_asks, row.oldest_pending_ns) == (10, START + SECOND)


@pytest.mark.remuda_rule("CYC-30")
def test_very_many_asks_are_reported_in_parts_each_once_and_soon() -> None:
    door = crowd()
    assert MANY > MOST
    assert len(to_report(partition_of(door)).found) == MOST
    door.now += SECOND
    told: list[str] = []
    for _ in range(MANY // 1_024 + 3):
        told += [each.allocation_key for each in of(door.step(), e.ContainerStateUpdated)]
        door.now += SECOND // 1_000
    door.scheduler.check()
    # They came in the reverse order of their keys.
    assert told == [f"k-{number:05}" for number in range(MANY, 0, -1)]


@pytest.mark.remuda_rule("CYC-30", "QUE-44")
def test_a_look_at_a_full_queue_does_not_go_through_all_that_waits() -> None:
    def seconds(many: int) -> float:
        door = Caller(leaf("a", maximum={"vcore": 20}))
        door.node("n1", {"vcore": 1})
        door.app("app")
        fill(door, many)
        door.step()
        partition = partition_of(door)
        began = time.process_time()
        for _ in range(20):
            assert len(to_report(partition).found) == 10
        return time.process_time() - began

    assert seconds(100 * 200) < 20 * seconds(200)
