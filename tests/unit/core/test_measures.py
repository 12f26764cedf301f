"""Questions of the metrics: answered in parts, and counts that outlive what they are about."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from remuda.core.messages import commands as c
from remuda.core.messages.measures import (
    START,
    ApplicationMeasures,
    NodeMeasures,
    NodeMeasuresQuery,
    Place,
    QueueMeasures,
    QueueMeasuresPage,
    QueueMeasuresQuery,
)
from remuda.core.model.totals import KEPT, KeptCounts, LeafCounts
from tests.unit.core.door import Caller, leaf, parent, partition


def pages(caller: Caller, limit: int) -> list[list[QueueMeasures]]:
    """All queues, page by page."""
    found: list[list[QueueMeasures]] = []
    place: Place | None = START
    while place is not None:
        page = caller.scheduler.view(QueueMeasuresQuery(place, limit))
        assert isinstance(page, QueueMeasuresPage)
        found.append(list(page.queues))
        place = page.next
    return found


@pytest.fixture
def two() -> Caller:
    tree = [leaf("b"), parent("a", leaf("x"), leaf("y"))]
    return Caller(partitions=[partition(*tree), partition(*tree, name="other")])


@pytest.mark.remuda_rule("MET-28")
@pytest.mark.parametrize("limit", [1, 150, 250, 1_000_000, 0])
def test_every_queue_is_on_one_page_whatever_its_size(two: Caller, limit: int) -> None:
    found = pages(two, limit)
    paths = ["root", "root.a", "root.a.x", "root.a.y", "root.b"]
    rows = [(each.partition, each.path) for page in found for each in page]
    assert rows == [(name, path) for name in ("default", "other") for path in paths]
    if limit == 1:
        assert {len(page) for page in found} <= {0, 1}
    if limit in (0, 1_000_000):
        assert len(found) == 1


@pytest.mark.remuda_rule("MET-28", "MET-42")
def test_a_page_ends_with_the_queue_that_makes_it_full(two: Caller) -> None:
    page = two.scheduler.view(QueueMeasuresQuery(START, 101))
    assert isinstance(page, QueueMeasuresPage)
    assert [each.path for each in page.queues] == ["root", "root.a", "root.a.x"]


@pytest.mark.remuda_rule("MET-22", "MET-42")
@pytest.mark.parametrize("limit", [1, 40, 0])
def test_applications_of_one_queue_are_told_in_as_many_parts_as_needed(
    two: Caller, limit: int
) -> None:
    for number in range(20):
        two.app(f"app{number}", "root.a.x")
        two.ask(f"app{number}", "k", {"vcore": 1}, 2)
    place: Place | None = START
    parts: list[ApplicationMeasures] = []
    queues: list[str] = []
    while place is not None:
        page = two.scheduler.view(QueueMeasuresQuery(place, limit, users=True))
        assert isinstance(page, QueueMeasuresPage)
        parts += page.applications
        queues += [each.path for each in page.queues if each.partition == "default"]
        if place == START:
            # What comes and goes between two pages stops nothing.
            two.app("late", "root.a.x")
            two.remove("app0")
        place = page.next
    assert queues == ["root", "root.a", "root.a.x", "root.a.y", "root.b"]
    assert {each.path for each in parts} == {"root.a.x"}
    asked = sum(each.pending_asks for each in parts)
    assert asked in ((40,) if limit == 0 else (38, 40))
    states = sum((Counter(each.states) for each in parts), Counter[str]())
    assert states["Accepted"] == asked // 2
    assert (len(parts) == 1) == (limit == 0)
    assert {each.oldest_pending_ns for each in parts} <= {two.now, 0}


@pytest.mark.remuda_rule("MET-33")
def test_queues_that_go_between_two_pages_are_no_obstacle(two: Caller) -> None:
    page = two.scheduler.view(QueueMeasuresQuery(START, 1))
    assert isinstance(page, QueueMeasuresPage)
    two.reload(partitions=[partition(leaf("c"))])
    two.wait(60 * 10**9)
    while page.next is not None:
        page = two.scheduler.view(QueueMeasuresQuery(page.next, 1))
        assert isinstance(page, QueueMeasuresPage)
    assert [each.path for each in pages(two, 0)[0]] == ["root", "root.c"]


@pytest.mark.remuda_rule("MET-14", "MET-21")
def test_nodes_are_looked_at_in_parts_until_none_is_behind(two: Caller) -> None:
    for number in range(10):
        two.node(f"n{number}", {"vcore": 10})
    parts: list[NodeMeasures] = []
    while not parts or parts[-1].behind:
        part = two.scheduler.view(NodeMeasuresQuery(4))
        assert isinstance(part, NodeMeasures)
        parts.append(part)
    assert [part.behind for part in parts] == [6, 2, 0]
    assert [sum(part.ranges["vcore"]) for part in parts] == [4, 8, 10]
    assert all(len(a.ranges["vcore"]) == 10 for a, _ in pairwise(parts))
    two.scheduler.check()


@pytest.mark.remuda_rule("MET-27")
def test_counts_of_queues_that_are_gone_are_bounded() -> None:
    counts = KeptCounts()
    for number in range(KEPT + 5):
        counted = LeafCounts()
        counted.completed = number + 1
        counts.leave(("rm", "default", f"root.{number}"), counted)
    assert counts.enter(("rm", "default", "root.4")).completed == 0
    assert counts.enter(("rm", "default", "root.5")).completed == 6
    assert counts.enter(("rm", "default", "root.5")).completed == 0


@pytest.mark.remuda_rule("MET-20", "MET-9")
def test_draining_and_unready_nodes_are_counted_through_all_changes(two: Caller) -> None:
    two.node("n1", {"vcore": 1})
    for action in (c.DRAIN_NODE, c.DRAIN_NODE, c.DRAIN_TO_SCHEDULABLE, c.DRAIN_NODE):
        two.node("n1", action=action)
        two.scheduler.check()
    for ready in ("false", "false", "true", "false"):
        two.node("n1", action=c.UPDATE, attributes={"ready": ready})
        two.scheduler.check()
    two.node("n1", action=c.DECOMISSION)
    two.scheduler.check()
