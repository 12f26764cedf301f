"""What is reported each second is what CYC-30 says word for word, and reporting decides nothing.

The scheduler only looks where something changed and where limits are in the way; here the whole
walk is made every time, ask by ask.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from remuda.config.schema import Configuration, LimitConfig, PartitionConfig, QueueConfig
from remuda.core import scheduler as scheduler_module
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.model.applications.application import Application
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector, amount_at
from remuda.core.policy.sort_keys import application_key
from remuda.core.scheduler import Scheduler
from tests.long_runs import rotated, usual
from tests.package import replaces_functions
from tests.reference.driver import play
from tests.reference.workloads import record
from tests.unit.core.door import (
    EVERYBODY,
    PROVIDED,
    REQUIRED_NODE,
    SECOND,
    START,
    groups,
    leaf,
    parent,
    users,
)

RM = "rm"
LEAVES = ("root.p.a", "root.p.b", "root.p.q.c", "root.p.q.d", "root.e")
USERS = {"ann": "staff", "bob": "staff", "eve": "guests"}
Taken = dict[str, int]


class Walk:
    """CYC-30 as it is written, with the headroom of QUE-14 worked out for each ask."""

    def __init__(self, partition: Partition) -> None:
        self.names = partition.types.names
        self.whole = partition.pool.capacity
        self.taken: dict[str, Taken] = {}
        self.found: list[str] = []
        self.visit(partition.root)

    def visit(self, queue: Queue) -> None:
        """A queue with all below it."""
        for child in in_order(queue, self.whole):
            self.visit(child)
        apps = [app for app in queue.applications.values() if any(app.pending.amounts)]
        for app in sorted(apps, key=lambda each: application_key(queue, each)):
            self.try_all(queue, app)

    def try_all(self, queue: Queue, app: Application) -> None:
        """The asks of one application, whose user has all headroom to begin with."""
        limit_set = app.limit_set
        assert limit_set is not None
        own = {f"tracker {tracker.number}": tracker for tracker in limit_set.trackers}
        limits: dict[str, Bound] = {each.path: each for each in queue.path_up if each.parent}
        for name in own:
            self.taken.pop(name, None)
        for request in sorted(app.requests.values(), key=lambda each: each.sort_key):
            wanted = {name: amount for name, amount in request.ask.resource.items() if amount}
            if not request.pending or not request.attempted:
                continue
            if not all(self.fits(k, bound, wanted) for k, bound in {**limits, **own}.items()):
                continue
            for name in (*limits, *own):
                taken = self.taken.setdefault(name, {})
                for kind, amount in wanted.items():
                    taken[kind] = taken.get(kind, 0) + amount * request.pending
            if not request.reported and REQUIRED_NODE not in request.ask.tags:
                self.found.append(request.ask.allocation_key)

    def fits(self, key: str, bound: Bound, wanted: Taken) -> bool:
        """Whether one more is within what a limit leaves."""
        if bound.maximum is None:
            return True
        taken = self.taken.get(key, {})
        for index, kind in enumerate(self.names):
            if bound.maximum.types >> index & 1 and wanted.get(kind, 0):
                used = bound.allocated.amounts[index : index + 1] or [0]
                if wanted[kind] > bound.maximum.amounts[index] - used[0] - taken.get(kind, 0):
                    return False
        return True


def in_order(queue: Queue, whole: Vector) -> list[Queue]:
    """The children with pending: by their numbers, then by QUE-35, chosen one by one.

    ``whole``: all that the cluster has.
    """
    left = {name: queue.child_order.sort_data(name) for name in queue.child_order.names()}
    found: list[Queue] = []
    while left:
        places = {name: place for name, place in left.items() if place is not None}
        least = min(place[0] for place in places.values())
        equal = {name: place[1] for name, place in places.items() if place[0] == least}
        first = min(equal, key=lambda name: (*wanted(equal[name], whole), name))
        del left[first]
        found.append(queue.children[first])
    return found


def wanted(pending: tuple[int, ...], whole: Vector) -> tuple[Fraction, int]:
    """What is pending as parts of the cluster, and what cannot be parts. More is smaller."""
    parts, others = Fraction(0), 0
    for index, amount in enumerate(pending):
        size = amount_at(whole, index)
        parts -= Fraction(amount, size) if size else 0
        others -= 0 if size else amount
    return parts, others


def configuration(rng: random.Random, number: int) -> Configuration:
    """A tree of three levels with limits that are in the way now and then."""

    def some(low: int, high: int) -> dict[str, int] | None:
        kinds = rng.choice((("memory",), ("vcore",), ("memory", "vcore"), ()))
        return {kind: rng.randint(low, high) for kind in kinds} or None

    def limits() -> tuple[LimitConfig, ...]:
        chosen = [users("ann", some(6, 30)), groups("staff", some(10, 40)), users("*", some(6, 30))]
        return tuple(each for each in chosen if each.maximum and rng.random() < 0.3)

    def make(name: str, *below: QueueConfig) -> QueueConfig:
        size = 60 if below else 25
        maximum = some(size // 3, size) if rng.random() < 0.6 else None
        properties = {
            "application.sort.policy": rng.choice(("fifo", "fair")),
            "priority.offset": rng.choice(("0", "0", "2")),
        }
        if below:
            return parent(name, *below, maximum=maximum, properties=properties, limits=limits())
        return leaf(name, maximum, some(1, 9), properties, limits=limits())

    inner = make("q", make("c"), make("d"))
    root = parent("root", make("p", make("a"), make("b"), inner), make("e"), submit_acl=EVERYBODY,
                  limits=limits())  # fmt: skip
    return Configuration((PartitionConfig("default", root, (PROVIDED,)),), checksum=str(number))


def commands(rng: random.Random, count: int) -> list[c.Command]:
    """Something that fills the cluster, then any changes; names are drawn from small pools."""
    apps = {f"app{n}": rng.choice(LEAVES) for n in range(8)}
    found: list[c.Command] = [
        c.RegisterResourceManager(RM, configuration(rng, 0)),
        c.UpdateNodes(RM, (c.NodeUpdate("n0", c.CREATE, {"memory": 9, "vcore": 9}),)),
    ]
    for name, queue in apps.items():
        user = rng.choice(sorted(USERS))
        new = c.NewApplication(name, queue, user=user, groups=(USERS[user],))
        found.append(c.UpdateApplications(RM, (new,)))
    return found + [any_command(rng, number, sorted(apps)) for number in range(1, count)]


def any_command(rng: random.Random, number: int, apps: Sequence[str]) -> c.Command:
    """One change, mostly of asks."""
    app = rng.choice(apps)
    key = f"{app}-k{rng.randrange(5)}"
    kind = rng.random()
    if kind < 0.6:
        amounts = {"memory": rng.randint(1, 9), "vcore": rng.choice((0, 1, 3))}
        tags = {REQUIRED_NODE: "n0"} if rng.random() < 0.1 else {}
        ask = c.Ask(
            app, key, amounts, max_allocations=rng.choice((1, 1, 2, 4)),
            priority=rng.choice((0, 0, 1)), tags=tags,
        )  # fmt: skip
        return c.UpdateAllocations(RM, asks=(ask,))
    if kind < 0.72:
        return c.UpdateAllocations(RM, ask_releases=(c.AskRelease(app, key),))
    if kind < 0.84:
        return c.UpdateAllocations(RM, releases=(c.AllocationRelease(app, "", key),))
    if kind < 0.9:
        return c.UpdateConfiguration(RM, configuration(rng, number))
    action = rng.choice((c.CREATE, c.UPDATE, c.DECOMISSION, c.DRAIN_NODE))
    capacity = {"memory": rng.randint(3, 20), "vcore": rng.randint(3, 9)}
    return c.UpdateNodes(RM, (c.NodeUpdate(f"n{rng.randrange(3)}", action, capacity),))


def reported(effects: Sequence[Effect]) -> list[str]:
    """The keys of the reported asks, in order."""
    return [one.allocation_key for one in effects if isinstance(one, e.ContainerStateUpdated)]


def check_run(seed: int) -> int:
    """One history in which a second passes after some of the commands; counts the reports."""
    rng = random.Random(seed)
    scheduler = Scheduler()
    now = START
    count = 0
    for command in commands(rng, 60):
        assert reported(scheduler.handle(command, now)) == []
        assert reported(scheduler.step(now, 1000)) == []
        if rng.random() < 0.5:
            scheduler.check()
            partition = scheduler._cluster.partition(RM, "default")
            assert partition is not None
            expected = Walk(partition).found
            now += SECOND
            assert reported(scheduler.step(now, 0)) == expected
            count += len(expected)
            scheduler.step(now, 1000)
    return count


@pytest.mark.remuda_rule("CYC-30", "QUE-14", "QUE-36", "LIM-54")
@pytest.mark.parametrize("first", usual(range(0, 120, 20)))
def test_every_second_what_qualifies_is_reported_and_nothing_else(first: int) -> None:
    assert sum(check_run(seed) for seed in range(first, first + 20)) > 20


@pytest.mark.long
@pytest.mark.parametrize("first", rotated(range(1000, 3000, 100)))
def test_what_qualifies_is_reported_in_many_runs(first: int) -> None:
    assert sum(check_run(seed) for seed in range(first, first + 100)) > 100


def told(seed: int, *, at_all: bool) -> tuple[list[Effect], int]:
    """What a recorded workload causes without the reports, and how many of those there are."""
    with pytest.MonkeyPatch.context() as patch:
        if not at_all:
            patch.setattr(scheduler_module, "plan_look", lambda turn, partition: None)
        effects = [effect for answer in play(record(seed).inputs) for effect in answer]
    rest: list[Effect] = [one for one in effects if not isinstance(one, e.ContainerStateUpdated)]
    return rest, len(effects) - len(rest)


@replaces_functions
@pytest.mark.remuda_rule("CYC-30", "CYC-32")
def test_reporting_decides_nothing() -> None:
    count = 0
    for seed in usual(range(6000, 6060)):
        with_reports, reports = told(seed, at_all=True)
        without, none = told(seed, at_all=False)
        assert none == 0
        assert with_reports == without
        count += reports
    assert count > 20
