"""Whatever happens while maximums are enforced: counters add up and runs end (PRE-65)."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from remuda.base.resources import Resource
from remuda.config.schema import Configuration, QueueConfig
from remuda.core.messages import commands as c
from tests.long_runs import rotated, usual
from tests.unit.core.door import MINUTE, SECOND, Properties, leaf, parent, partition
from tests.unit.core.rules.quota import Quotas, summaries

LEAVES = ("root.p.x.a", "root.p.x.b", "root.p.y", "root.z")
DELAYS: tuple[Properties, ...] = (
    {},
    {"quota.preemption.delay": "2s"},
    {"quota.preemption.delay": "1m"},
)
NODES = ("n1", "n2")


class Storm:
    """An RM that does what chance says."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.number = 0
        self.seen: Counter[str] = Counter()
        self.door = Quotas(*self._queues(generous=True))
        self._fill()

    def _limit(self, most: int) -> Resource | None:
        if self.random.random() < 0.4:
            return None
        names = self.random.choice((["memory"], ["vcore"], ["memory", "vcore"]))
        return {name: self.random.randrange(most) for name in names}

    def _queues(self, *, generous: bool = False) -> list[QueueConfig]:
        """The queues with other limits and delays; sometimes one is missing."""

        def own() -> dict[str, object]:
            return {
                "maximum": None if generous else self._limit(40),
                "guaranteed": self._limit(12),
                "properties": self.random.choice(DELAYS),
            }

        below = [leaf("a", **own()), leaf("b", **own())]  # type: ignore[arg-type]
        x = parent("x", *below, **own())  # type: ignore[arg-type]
        p = parent("p", x, leaf("y", **own()), **own())  # type: ignore[arg-type]
        z = leaf("z", **own())  # type: ignore[arg-type]
        return [p] if not generous and self.random.random() < 0.1 else [p, z]

    def _fill(self) -> None:
        for path in LEAVES:
            self.door.app(path, path)
            for _ in range(4):
                self.report(path)

    def report(self, path: str) -> None:
        """An allocation that exists."""
        self.number += 1
        size = {"memory": self.random.randrange(1, 9), "vcore": self.random.randrange(4)}
        ask = c.Ask(path, f"k{self.number}", size, priority=self.random.randrange(3))
        node_id = self.random.choice(NODES)
        self.door.recover(c.ExistingAllocation(ask, f"k{self.number}", node_id))

    def act(self) -> None:
        """Anything."""
        choice = self.random.choice
        door, path = self.door, choice(LEAVES)
        running = [(app, each) for app, view in door.apps().items() for each in view.allocations]
        what = choice((
            "change", "change", "wait", "wait", "wait", "report", "ask", "confirm", "confirm",
            "release", "resize", "node", "remove", "pause", "restart",
        ))  # fmt: skip
        if what == "change":
            door.reload(*self._queues(), quota_preemption=self.random.random() < 0.9)
        elif what == "wait":
            door.wait(choice((1, SECOND // 2, SECOND, 3 * SECOND, MINUTE)))
            self.seen["runs"] += len(summaries(door.last))
            door.step()
        elif what == "report":
            self.report(path)
        elif what == "ask":
            self.number += 1
            door.ask(path, f"k{self.number}", {"memory": 2, "vcore": 1}, 2)
            door.step()
        elif what == "confirm":
            door.confirm(*[each.allocation_id for _, each in running if choice((True, False))])
        elif what in ("release", "resize") and running:
            app, each = choice(running)
            if what == "release":
                door.release(app, each.allocation_id)
            else:
                ask = c.Ask(app, each.allocation_key, {"memory": self.random.randrange(1, 20)})
                door.recover(c.ExistingAllocation(ask, each.allocation_id, each.node_id))
        else:
            self._interrupt(what, path)

    def _interrupt(self, what: str, path: str) -> None:
        door = self.door
        if what == "node":
            node_id = self.random.choice(NODES)
            door.node(node_id, action=c.DECOMISSION)
            door.node(node_id, {"memory": 1000, "vcore": 1000})
        elif what == "remove":
            door.remove(path)
            door.app(path, path)
        elif what == "pause":
            door.send(c.PauseResourceManager(door.rm))
            door.wait(self.random.choice((SECOND // 3, 5 * SECOND)))
            door.reload(*self._queues(), quota_preemption=True)
            door.send(c.ResumeResourceManager(door.rm))
        elif what == "restart" and self.random.random() < 0.3:
            chosen = partition(*self._queues(generous=True), quota_preemption=True)
            door.send(c.RegisterResourceManager(door.rm, Configuration((chosen,))))
            for node_id in NODES:
                door.node(node_id, {"memory": 1000, "vcore": 1000})
            self._fill()


def end(storm: Storm) -> None:
    """With confirmations only it comes to an end: no run is on, no queue has a start time."""
    for _ in range(8):
        storm.door.wait(2 * MINUTE)
        storm.seen["runs"] += len(summaries(storm.door.last))
        storm.door.confirm()
    found = storm.door.scheduler._cluster.partition("rm", "default")
    assert found is not None
    assert not found.preempting.quotas.armed
    assert not found.preempting.quotas.running
    assert {each.outcome for each in found.preempting.made.values()} <= {"done"}


def weather(seed: int, steps: int) -> Counter[str]:
    """One storm and its end; what was seen in it."""
    storm = Storm(Random(seed))
    for _ in range(steps):
        storm.act()
    end(storm)
    return storm.seen


@pytest.mark.remuda_rule("PRE-64", "PRE-65", "PRE-66", "PRE-75")
def test_every_counter_adds_up_and_every_run_ends() -> None:
    seeds = usual(range(90))
    seen = sum([weather(seed, 60) for seed in seeds], Counter[str]())
    assert seen["runs"] > len(seeds)


@pytest.mark.long
@pytest.mark.parametrize("first", rotated(range(1000, 4000, 100)))
def test_every_counter_adds_up_in_many_storms(first: int) -> None:
    for seed in range(first, first + 100):
        weather(seed, 80)
