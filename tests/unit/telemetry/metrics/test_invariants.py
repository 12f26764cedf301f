"""What holds for the counters whatever happens (chapter 97 section 8, numbers 1 and 6)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

import pytest

from remuda.config.schema import PartitionConfig
from remuda.core.messages import commands as c
from remuda.core.messages import queries as q
from remuda.core.messages.application_views import AllocationView, ApplicationView
from remuda.core.messages.effects import Effect
from remuda.telemetry.metrics.settings import ALL, MetricsSettings
from tests.exposition import Series, samples, types
from tests.unit.core.door import (
    CREATING,
    MINUTE,
    PROVIDED,
    SECOND,
    Caller,
    existing_allocation,
    leaf,
    parent,
    partition,
)
from tests.unit.telemetry.metrics.scraping import Q, S, Scraper, chosen, value

QUEUES = ("root.a", "root.b", "root.p.x", "root.p.y")
STEPS = 250


class Recorded(Caller):
    """A caller that keeps all effects."""

    def __init__(self, tree: PartitionConfig) -> None:
        self.effects: list[Effect] = []
        super().__init__(partitions=[tree])

    def send(self, command: c.Command) -> list[Effect]:
        found = super().send(command)
        self.effects += found
        return found

    def step(self, limit: int = 1000) -> list[Effect]:
        found = super().step(limit)
        self.effects += found
        return found


class Workload:
    """Applications, asks, ends, nodes that go, and restarts that begin with what still runs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = 0
        self.begin()

    def begin(self) -> None:
        """Start a scheduler that knows nothing."""
        tree = partition(
            leaf("a", guaranteed={"vcore": 20}),
            leaf("b", guaranteed={"vcore": 20}),
            parent("p"),
            placement_rules=(PROVIDED, CREATING),
            preemption=True,
        )
        self.caller = Recorded(tree)
        self.scraper = Scraper(self.caller, MetricsSettings(queue_names=ALL, users=2))
        self.counted: dict[Series, float] = {}

    def check_never_less(self, text: str, found: Mapping[Series, float]) -> None:
        """No counter is lower than it was, also if its queue was away meanwhile (MET-27)."""
        kinds = types(text)
        counters = {name for name, kind in kinds.items() if kind == "counter"}
        parts = ("_bucket", "_count", "_sum")
        counters |= {n + part for n, kind in kinds.items() for part in parts if kind == "histogram"}
        for key, before in self.counted.items():
            assert found.get(key, before) >= before, key
        self.counted.update({key: each for key, each in found.items() if key[0] in counters})

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def apps(self) -> list[str]:
        return sorted(self.caller.apps())

    def act(self) -> None:
        """Do something at random, and let the scheduler and time go on."""
        weights = {
            self.add_node: 2,
            self.drop_node: 1,
            self.submit: 6,
            self.ask: 12,
            self.release: 10,
            self.remove: 2,
            self.confirm: 6,
            self.restart: 1,
        }
        self.random.choices([*weights], [*weights.values()])[0]()
        self.caller.step(self.random.randint(0, 20))
        self.caller.wait(self.random.choice((0, SECOND, 20 * SECOND, MINUTE)))

    def add_node(self) -> None:
        self.caller.node(f"n{self.number()}", {"vcore": 10, "nvidia.com/gpu": 2})

    def drop_node(self) -> None:
        nodes = sorted(self.caller.node_views())
        if nodes:
            self.caller.node(self.random.choice(nodes), action=c.DECOMISSION)

    def submit(self) -> None:
        queue = self.random.choice((*QUEUES, "root.a.nowhere"))
        self.caller.app(f"app{self.number()}", queue, user=self.random.choice("abcd"))

    def ask(self) -> None:
        for app in self.random.sample(self.apps(), min(2, len(self.apps()))):
            count = self.random.randint(1, 4)
            gang = self.random.random() < 0.3
            if gang:
                more = {"task_group": "g", "placeholder": self.random.random() < 0.5}
            else:
                more = {"allow_preempt_other": True}
            self.caller.ask(app, f"k{self.number()}", {"vcore": 1}, count, **more)

    def live(self) -> list[tuple[str, AllocationView]]:
        found = self.caller.apps()
        return [(app, each) for app in sorted(found) for each in found[app].allocations]

    def release(self) -> None:
        usual = [(app, each) for app, each in self.live() if not each.release_type]
        if usual:
            app, each = self.random.choice(usual)
            self.caller.release(app, each.allocation_id)

    def confirm(self) -> None:
        """Confirm the releases that were requested."""
        for app, each in self.live():
            if each.release_type and self.random.random() < 0.5:
                self.caller.release(app, each.allocation_id, kind=each.release_type)

    def remove(self) -> None:
        if self.apps():
            self.caller.remove(self.random.choice(self.apps()))

    def restart(self) -> None:
        """Begin anew; the resource manager reports what runs, with its nodes or after them."""
        apps, nodes = self.caller.apps(), self.caller.node_views()
        self.begin()
        for app in sorted(apps):
            self.caller.app(app, apps[app].queue, user=apps[app].user)
        for node in sorted(nodes):
            own = [
                existing_allocation(
                    each.application_id,
                    each.allocation_id,
                    node,
                    each.resource,
                    key=each.allocation_key,
                    placeholder=each.placeholder,
                    task_group=each.task_group,
                )
                for each in nodes[node].allocations
                if each.application_id in apps
            ]
            cut = self.random.randint(0, len(own))
            self.caller.node(node, nodes[node].capacity, existing=tuple(own[:cut]))
            if own[cut:]:
                self.caller.send(c.UpdateAllocations("rm", allocations=tuple(own[cut:])))


def compare(workload: Workload) -> None:
    """Compare the metrics with the views that REST shows."""
    text = workload.scraper.text()
    found = samples(text)  # fails if a series is there twice
    workload.check_never_less(text, found)
    apps = workload.caller.apps()
    states = Counter(each.state for each in apps.values())
    applications = chosen(found, S + "application_total")
    assert applications["running"] == states["Starting"] + states["Running"]
    assert applications.get("completing", 0) == states["Completing"]

    live = workload.live()
    to_release = sum(each.release_type > 0 for _, each in live)
    attempts = chosen(found, S + "container_allocation_attempt_total")
    assert attempts["allocated"] - attempts["released"] == len(live) - to_release
    recovered = value(found, S + "recovered_total")
    assert recovered is not None
    assert 0 <= recovered <= attempts["allocated"]

    by_queue = Counter(apps[app].queue for app, _ in live)
    came = chosen(found, Q + "container", "queue", state="allocated")
    went = chosen(found, Q + "container", "queue", state="released")
    for path in came:
        assert came[path] - went[path] == by_queue[path], path
    running = chosen(found, Q + "app", "queue", state="running")
    assert sum(running.values()) == applications["running"]

    submissions = chosen(found, S + "application_submission_total", "result")
    decided = submissions.get("accepted", 0) + submissions.get("rejected", 0)
    assert decided <= submissions.get("new", 0)
    views = workload.caller.scheduler.view(q.PartitionsQuery())
    assert isinstance(views, tuple)
    (view,) = [each for each in views if isinstance(each, q.PartitionView)]
    assert submissions.get("rejected", 0) >= view.applications.get("Rejected", 0)
    for queue in queues(workload):
        compare_queue(found, queue, [app for app in apps.values() if app.queue == queue.path])
    ranges = chosen(found, S + "vcore_node_usage_total", "range")
    assert sum(ranges.values()) == view.total_nodes == chosen(found, S + "node")["active"]


def queues(workload: Workload) -> list[q.QueueView]:
    """All queues, parents first."""
    root = workload.caller.scheduler.view(q.QueuesQuery("default", "rm"))
    assert isinstance(root, q.QueueView)
    found = [root]
    for queue in found:
        found += queue.children
    return found


def compare_queue(
    found: Mapping[Series, float], queue: q.QueueView, apps: list[ApplicationView]
) -> None:
    """Compare the gauges of a queue with the queue and its live applications."""
    amounts = {"allocated": queue.allocated, "pending": queue.pending}
    amounts |= {"preempting": queue.preempting, "guaranteed": queue.guaranteed or {}}
    amounts["max"] = queue.maximum or {}
    for state, expected in amounts.items():
        told = chosen(found, Q + "resource", "resource", state=state, queue=queue.path)
        assert positive(told) == positive(expected), (queue.path, state)
    if queue.leaf:
        wanted = sum(ask.pending_count for app in apps for ask in app.requests)
        assert value(found, Q + "pending_asks", queue=queue.path) == wanted
        states = Counter(app.state for app in apps)
        told = chosen(found, Q + "app", queue=queue.path)
        live = {"new": states["New"], "accepted": states["Accepted"]}
        live |= {"running": states["Starting"] + states["Running"]}
        live |= {name.lower(): states[name] for name in ("Completing", "Failing", "Resuming")}
        assert {name: told.get(name, 0) for name in live} == live


def positive(amounts: Mapping[str, float]) -> dict[str, float]:
    """The amounts that are not zero."""
    return {name: float(amount) for name, amount in amounts.items() if amount}


@pytest.mark.remuda_rule("MET-16", "MET-17", "MET-18", "MET-34", "MET-20", "MET-21")
@pytest.mark.parametrize("seed", range(4))
def test_counters_agree_with_what_there_is_over_restarts(seed: int) -> None:
    workload = Workload(seed)
    for step in range(STEPS):
        workload.act()
        if step % 5 == 0:
            compare(workload)
            workload.caller.scheduler.check()
    compare(workload)


@pytest.mark.remuda_rule("MET-1")
def test_reading_the_metrics_changes_no_decision() -> None:
    watched, alone = Workload(7), Workload(7)
    for step in range(STEPS):
        watched.act()
        if step % 10 == 0:
            watched.scraper.samples()
        alone.act()
    assert watched.caller.effects == alone.caller.effects
    assert len(alone.caller.effects) > STEPS
