"""Every change that is proposed for a waiting ask places it when it is made."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial

import pytest

from remuda.core.messages.commands import (
    PREEMPTED_BY_SCHEDULER,
    STOP,
    AllocationRelease,
    ChangeObjectState,
    Command,
    UpdateAllocations,
)
from remuda.core.messages.effects import AllocationNew, AllocationsReleased, Effect
from remuda.core.scheduler import Scheduler
from remuda.insight.changes import COSTS
from remuda.insight.surroundings import WaysOutQuestion
from remuda.insight.ways_out import proposals, ways_out
from remuda.runtime.forks.fork import fork, side_by_side
from remuda.runtime.forks.limits import COPIES_AT_ONCE, FORK_LIMITS
from tests.property.test_findings import Story
from tests.unit.core.door import REQUIRED_NODE, Caller, leaf

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")

ON_COPIES = partial(side_by_side, at_once=COPIES_AT_ONCE, limits=FORK_LIMITS)
STEPS = 60


class PreemptingStory(Story):
    """A story of which every other ask may preempt."""

    def ask(self) -> None:
        tags = {REQUIRED_NODE: self.some_node()} if self.dice.random() < 0.1 else {}
        self.door.ask(
            self.some_app(),
            self.name("k"),
            self.size(),
            self.dice.randint(1, 3),
            priority=self.dice.randint(-1, 1),
            tags=tags,
            allow_preempt_other=self.dice.random() < 0.5,
        )


def place(
    scheduler: Scheduler, now_ns: int, commands: tuple[Command, ...], wanted: tuple[str, str]
) -> bytes:
    """Make a change and let the scheduler decide; b"yes" if the ask is placed then."""
    effects: list[Effect] = []
    for command in commands:
        effects += scheduler.handle(command, now_ns)
    heard = 0
    for _ in range(2_000):
        due = scheduler.next_deadline()
        if scheduler.has_work() or (due is not None and due <= now_ns):
            effects += scheduler.step(now_ns, 1)
            continue
        orders = [each for each in effects[heard:] if isinstance(each, AllocationsReleased)]
        heard = len(effects)
        if not orders:
            break
        for order in orders:
            effects += confirm(scheduler, now_ns, order)
    scheduler.check()
    placed = [each.ask for each in effects if isinstance(each, AllocationNew)]
    return b"yes" if wanted in [(ask.application_id, ask.allocation_key) for ask in placed] else b""


def confirm(scheduler: Scheduler, now_ns: int, order: AllocationsReleased) -> list[Effect]:
    """End what the scheduler wants ended, as a resource manager does."""
    ended = tuple(
        [
            AllocationRelease(
                each.application_id, each.allocation_id, termination_type=each.termination_type
            )
            for each in order.released
            if each.termination_type == PREEMPTED_BY_SCHEDULER
        ]
    )
    return list(scheduler.handle(UpdateAllocations(order.rm_id, releases=ended), now_ns))


def try_ways(story: Story, seen: Counter[str]) -> None:
    """Ask for ways out of one ask that waits, and go each."""
    door = story.door
    waiting = [
        (view.application_id, request.allocation_key)
        for view in door.apps().values()
        for request in view.requests
        if not request.preemption
    ]
    if not waiting:
        return
    wanted = story.dice.choice(waiting)
    question = WaysOutQuestion("default", *wanted)
    before = door.apps()
    ways = ways_out(door.scheduler, door.now, question, ON_COPIES)
    assert door.apps() == before
    seen["asks"] += 1
    seen["helped"] += bool(ways)
    assert [way.cost for way in ways] == sorted(way.cost for way in ways)
    first, last = proposals(door.scheduler, question)
    chosen = [*first, *last]
    for way in ways:
        edit = chosen[way.number]
        assert edit.text == way.text
        key = (edit.application_id, wanted[1])
        work = partial(place, door.scheduler, door.now, edit.commands, key)
        assert fork(work).result() == b"yes", (wanted, way)
        seen.update(way.kinds)


def try_stories(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        story = (Story, PreemptingStory)[seed % 2](seed)
        for _ in range(STEPS):
            story.act()
        if story.door.node_views():
            story.rest()
            try_ways(story, seen)
    return seen


@pytest.mark.remuda_rule("EXT-47", "EXT-176")
def test_a_node_that_an_operator_drains_is_used_again() -> None:
    door = Caller(leaf("a"))
    door.node("n1", {"vcore": 10})
    door.app("app")
    door.send(ChangeObjectState(door.rm, action=STOP, node="n1"))
    door.ask("app", "k", {"vcore": 1})
    assert door.place() == []
    question = WaysOutQuestion("default", "app", "k")
    ways = ways_out(door.scheduler, door.now, question, ON_COPIES)
    assert "use node n1 again" in [way.text for way in ways]


@pytest.mark.remuda_rule("EXT-47", "EXT-42", "EXT-119")
def test_each_way_out_places_the_ask() -> None:
    seen = try_stories(range(10))
    assert seen["helped"] >= 0.95 * seen["asks"] > 0, seen
    for kind in ("limits", "another node", "an application ends"):
        assert seen[kind], seen


@pytest.mark.long
@pytest.mark.remuda_rule("EXT-47", "EXT-42", "EXT-119")
def test_each_of_a_thousand_ways_out_places_the_ask() -> None:
    seen = try_stories(range(1_000))
    assert seen["helped"] >= 0.95 * seen["asks"] > 0, seen
    for kind in COSTS:
        assert seen[kind] >= 5, seen
