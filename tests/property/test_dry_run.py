"""A dry run says what then happens: node by node, victim by victim."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from remuda import (
    Allocation,
    Ask,
    DryRun,
    Outcome,
    Queue,
    RejectedError,
    Release,
    Scheduler,
    TaskGroup,
    TerminationType,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies take /proc")

LEAVES = ("root.a", "root.b", "root.p.c", "root.p.d")
PREEMPTED = TerminationType.PREEMPTED_BY_SCHEDULER


class Cluster:
    """A cluster in any state, and something that may be submitted to it."""

    def __init__(self, seed: int) -> None:
        dice = self.dice = random.Random(seed)
        a, b, c, d = [self.leaf(path.rpartition(".")[2]) for path in LEAVES]
        self.scheduler = Scheduler([a, b, Queue("p", queues=(c, d))])
        self.now = 0.0
        for number in range(dice.randint(1, 5)):
            self.scheduler.add_node(f"n{number}", {"vcore": str(dice.randint(2, 6))})
        for number in range(dice.randint(0, 5)):
            name = f"app{number}"
            self.scheduler.submit(name, queue=dice.choice(LEAVES), user=dice.choice("xy"))
            for key in range(dice.randint(1, 4)):
                size = {"vcore": str(dice.randint(1, 3))}
                count, priority = dice.randint(1, 3), dice.randint(-1, 1)
                self.scheduler.ask(name, f"k{key}", size, max_allocations=count, priority=priority)
            if dice.random() < 0.7:
                self.now += dice.choice((0.0, 1.0, 40.0))
                self.scheduler.step(self.now)
        self.scheduler.step(self.now)

    def leaf(self, name: str) -> Queue:
        """A leaf that may be owed something."""
        most = {"vcore": str(self.dice.randint(2, 9))} if self.dice.random() < 0.3 else None
        least = {"vcore": str(self.dice.randint(1, 2))} if self.dice.random() < 0.6 else None
        return Queue(
            name, guaranteed=least, maximum=most, max_applications=self.dice.choice((0, 2))
        )

    def compare(self) -> Iterator[str]:
        """Say what would happen, let it happen, and yield what kinds of things did."""
        dice, scheduler = self.dice, self.scheduler
        queue, within = dice.choice((*LEAVES, "root.none")), dice.choice((0.0, 35.0, 100.0))
        gang: tuple[TaskGroup, ...] = ()
        if dice.random() < 0.3:
            gang = (TaskGroup("w", dice.randint(1, 4), {"vcore": str(dice.randint(1, 2))}),)
        asks = [
            Ask("new", f"k{number}", {"vcore": 1_000 * dice.randint(1, 4)}, dice.randint(1, 2))
            for number in range(0 if gang else dice.randint(1, 3))
        ]
        before = scheduler.allocations(), scheduler.pending()
        told = scheduler.dry_run(
            "new",
            asks,
            queue=queue,
            user="x",
            task_groups=gang,
            allow_preempt_other=True,
            within_seconds=within,
        )
        assert (scheduler.allocations(), scheduler.pending()) == before
        if told.verdict == "refused":
            with pytest.raises(RejectedError) as caught:
                scheduler.submit("new", queue=queue, user="x", task_groups=gang)
            assert [(each.subject, each.reason) for each in told.refusals] == [
                (each.subject, each.reason) for each in caught.value.rejections
            ]
            yield "refused"
            return
        scheduler.submit("new", queue=queue, user="x", task_groups=gang)
        for ask in asks:
            count = ask.max_allocations
            scheduler.ask(
                "new",
                ask.allocation_key,
                ask.resource,
                max_allocations=count,
                allow_preempt_other=True,
            )
        happened = scheduler.step(self.now + within)
        yield from judge(told, happened)
        waits = bool(scheduler.pending("new"))
        assert told.verdict == ("waits" if waits else "placed")
        assert [each.allocation_key for each in told.waiting] == [
            each.allocation_key for each in scheduler.pending("new")
        ]
        yield told.verdict


def judge(told: DryRun, happened: list[Outcome]) -> Iterator[str]:
    """See that the same allocations were made and the same ones taken, in the same order."""
    made = [each for each in happened if isinstance(each, Allocation)]
    own = [each for each in made if each.application_id == "new"]
    others = [each for each in made if each.application_id != "new"]
    for said, did in ((told.placed, own), (told.others, others)):
        assert [(each.application_id, each.allocation_key, each.node_id) for each in said] == [
            (each.application_id, each.allocation_key, each.node_id) for each in did
        ]
    taken = [
        (each.application_id, each.allocation_id)
        for each in happened
        if isinstance(each, Release) and each.termination_type == PREEMPTED
    ]
    assert sorted((each.application_id, each.allocation_id) for each in told.victims) == sorted(
        taken
    )
    if taken:
        yield "preempted"
    if any(each.placeholder for each in own):
        yield "gang"
    if others:
        yield "others"


def compare_all(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        seen.update(Cluster(seed).compare())
    return seen


@pytest.mark.remuda_rule("EXT-48", "EXT-42")
def test_a_dry_run_says_what_then_happens() -> None:
    seen = compare_all(range(40))
    for kind in ("refused", "placed", "waits", "preempted", "gang"):
        assert seen[kind], seen


@pytest.mark.long
@pytest.mark.remuda_rule("EXT-48", "EXT-42")
def test_a_dry_run_says_what_then_happens_a_thousand_times() -> None:
    seen = compare_all(range(1_000))
    for kind in ("refused", "placed", "waits", "preempted", "gang"):
        assert seen[kind] >= 10, seen
    assert seen["others"], seen
