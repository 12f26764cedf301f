"""Why an ask waits is always true (CYC-12, decision 51): what the views show proves each reason.

Random stories; when nothing is left to do, every ask that waits has a finding, and what that names
is looked up: the node, the queue, the user or group, the other application.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from remuda.config.schema import LimitConfig, QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import gates
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.ask_views import RequestView
from tests.long_runs import usual
from tests.unit.core.door import (
    REQUIRED_NODE,
    SECOND,
    START,
    Caller,
    groups,
    leaf,
    parent,
    refusal,
    users,
)

LEAVES = ("root.p.a", "root.p.b", "root.c", "root.d")
STEPS = 80
Amounts = Mapping[str, int]


def exceeds(used: Amounts, wanted: Amounts, maximum: Amounts) -> bool:
    """Whether a type that is wanted and limited is used up."""
    return any(
        amount > 0 and kind in maximum and used.get(kind, 0) + amount > maximum[kind]
        for kind, amount in wanted.items()
    )


def plus(*parts: Amounts) -> dict[str, int]:
    """The sum of some resources."""
    kinds = sorted({kind for part in parts for kind in part})
    return {kind: sum(part.get(kind, 0) for part in parts) for kind in kinds}


def fits(free: Amounts, wanted: Amounts) -> bool:
    """Whether there is room for everything wanted."""
    return all(amount <= max(0, free.get(kind, 0)) for kind, amount in wanted.items())


# ----------------------------------------------------------------------------------- stories


class Story:
    """A resource manager that does anything, and a configuration that changes under it."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.names = 0
        queues = self.queues()
        self.door = Caller(*queues, root={"limits": self.limits["root"]})
        self.node()

    def name(self, kind: str) -> str:
        """A new name."""
        self.names += 1
        return f"{kind}{self.names}"

    def queues(self) -> tuple[QueueConfig, ...]:
        """The same tree with other settings."""
        self.limits: dict[str, tuple[LimitConfig, ...]] = {"root": self.limit()}
        a, b, alone, other = [self.leaf(path) for path in LEAVES]
        self.limits["root.p"] = self.limit()
        most = self.dice.choice((0, 0, 1, 2))
        above = parent(
            "p", a, b, maximum=self.amount(), max_applications=most, limits=self.limits["root.p"]
        )
        return above, alone, other

    def leaf(self, path: str) -> QueueConfig:
        """A leaf with settings that may limit it or choose an order in it."""
        self.limits[path] = self.limit()
        properties = {"application.sort.policy": self.dice.choice(("fifo", "fair", "stateaware"))}
        if self.dice.random() < 0.1:
            properties["application.unschedasks.backoff"] = "1"
        return leaf(
            path.rpartition(".")[2],
            self.amount(),
            properties=properties,
            max_applications=self.dice.choice((0, 0, 1, 2)),
            limits=self.limits[path],
        )

    def amount(self) -> dict[str, int] | None:
        """Now and then a maximum."""
        return {"vcore": self.dice.randint(2, 20)} if self.dice.random() < 0.4 else None

    def limit(self) -> tuple[LimitConfig, ...]:
        """Now and then a limit of users or of a group."""
        amount, count = {"vcore": self.dice.randint(1, 15)}, self.dice.choice((0, 1, 2))
        choices = ((), (), (users("ann *", amount, count),), (groups("staff", amount, count),))
        return self.dice.choice(choices)

    def act(self) -> None:
        """One thing that happens."""
        acts = (
            (self.ask, 8),
            (self.app, 4),
            (self.release, 4),
            (self.ask_again, 3),
            (self.node, 2),
            (self.change_node, 3),
            (self.wait, 3),
            (self.remove, 2),
            (self.report, 1),
            (self.reload, 1),
        )
        chosen = [act for act, weight in acts for _ in range(weight)]
        self.dice.choice(chosen)()

    def some_app(self) -> str:
        """An application, which may be known or not."""
        return self.dice.choice(sorted(self.door.apps()) or ["nobody"])

    def some_node(self) -> str:
        """A node, which may be known or not."""
        return self.dice.choice([*sorted(self.door.node_views()), "nowhere"])

    def size(self) -> dict[str, int]:
        """What an ask wants."""
        size = {"vcore": self.dice.choice((1, 1, 2, 5, 8))}
        if self.dice.random() < 0.2:
            size["memory"] = self.dice.randint(0, 4)
        return size

    def app(self) -> None:
        who = {"user": self.dice.choice(("ann", "bob", "joe"))}
        staff = self.dice.choice(((), ("staff",)))
        self.door.app(self.name("app"), self.dice.choice(LEAVES), groups=staff, **who)

    def ask(self) -> None:
        tags = {REQUIRED_NODE: self.some_node()} if self.dice.random() < 0.1 else {}
        priority, count = self.dice.randint(-1, 1), self.dice.randint(1, 3)
        self.door.ask(
            self.some_app(), self.name("k"), self.size(), count, priority=priority, tags=tags
        )

    def ask_again(self) -> None:
        waiting = [(a, r) for a, view in self.door.apps().items() for r in view.requests]
        if waiting:
            app, request = self.dice.choice(waiting)
            if self.dice.random() < 0.5:
                self.door.release_ask(app, request.allocation_key)
            else:
                self.door.ask(app, request.allocation_key, self.size(), self.dice.randint(1, 4))

    def release(self) -> None:
        held = [(a, x) for a, view in self.door.apps().items() for x in view.allocations]
        if held:
            app, allocation = self.dice.choice(held)
            self.door.release(app, allocation.allocation_id)

    def remove(self) -> None:
        self.door.remove(self.some_app())

    def report(self) -> None:
        self.door.existing(self.some_app(), self.name("run"), self.some_node(), self.size())

    def node(self) -> None:
        size = {"vcore": self.dice.randint(4, 12), "memory": self.dice.randint(0, 6)}
        self.door.node(self.name("n"), size, self.dice.choice((c.CREATE, c.CREATE, c.CREATE_DRAIN)))

    def change_node(self) -> None:
        actions = (c.DRAIN_NODE, c.DRAIN_TO_SCHEDULABLE, c.UPDATE, c.UPDATE, c.DECOMISSION)
        action = self.dice.choice(actions)
        size = {"vcore": self.dice.randint(1, 12)} if action == c.UPDATE else None
        self.door.node(self.some_node(), size, action)

    def reload(self) -> None:
        queues = self.queues()
        effects = self.door.reload(*queues, root={"limits": self.limits["root"]})
        assert refusal(effects) == ""

    def wait(self) -> None:
        self.door.now += self.dice.choice((1, SECOND, 2 * SECOND + 1, 40 * SECOND, 400 * SECOND))

    def rest(self) -> None:
        """Let everything happen that can happen now."""
        scheduler = self.door.scheduler
        for _ in range(2000):
            due = scheduler.next_deadline()
            if not scheduler.has_work() and (due is None or due > self.door.now):
                return
            self.door.step(1)
        raise AssertionError(f"no rest at {self.door.now - START}")


# ------------------------------------------------------------------------------------- truth


class Truth:
    """What the views show at one moment, and the limits that are configured then."""

    def __init__(self, story: Story) -> None:
        door = self.door = story.door
        self.limits = story.limits
        self.apps = door.apps()
        self.nodes = door.node_views()
        self.usage = {"user": door.usage(), "group": door.usage(of_groups=True)}

    def waiting(self) -> Iterator[tuple[ApplicationView, RequestView]]:
        """Every ask that waits."""
        for view in self.apps.values():
            for request in view.requests:
                yield view, request

    def holds(self, view: ApplicationView, request: RequestView) -> bool:
        """Whether the finding of an ask is true."""
        finding = request.finding
        assert finding is not None
        subject = finding.subject
        if finding.gate == gates.TURN:
            return self.other_turn(view)
        if finding.gate == gates.BACKOFF:
            return view.backoff_deadline_ns > self.door.now
        if finding.gate == gates.MAX_APPLICATIONS:
            return view.state == "Accepted" and self.full(subject)
        if finding.gate == gates.USER_QUOTA:
            limit, used, _ = self.limited(subject)
            due = plus(used, self.promised(subject, request))
            return exceeds(due, request.resource, limit.maximum or {})
        if finding.gate == gates.QUEUE_QUOTA:
            return self.queue_full(subject, request)
        return finding.gate in (gates.NODES, gates.REQUIRED_NODE) and self.nowhere(request)

    def other_turn(self, view: ApplicationView) -> bool:
        """Whether another application of a StateAware leaf starts, or is older. Rules: QUE-41."""
        others = [x for x in self.apps.values() if x.queue == view.queue and x is not view]
        starting = any(x.state == "Starting" for x in others)
        older = [
            x
            for x in others
            if x.state == "Accepted"
            and x.requests
            and x.submission_time_ns <= view.submission_time_ns
        ]
        return view.state == "Accepted" and (starting or bool(older))

    def full(self, subject: str) -> bool:
        """Whether a queue, user or group has as many applications as may run. Rules: QUE-22."""
        if " " in subject:
            limit, _, count = self.limited(subject)
            return 0 < limit.max_applications <= count
        queue = self.door.queue(subject)
        starters = [
            x
            for x in self.apps.values()
            if x.state == "Accepted"
            and f"{x.queue}.".startswith(f"{subject}.")
            and any(request.reservations for request in x.requests)
        ]
        return 0 < queue.max_applications <= queue.running_applications + len(starters)

    def limited(self, subject: str) -> tuple[LimitConfig, Amounts, int]:
        """The limit of ``user ann at root.a``, what she uses there, and in how many applications.

        Who uses nothing and has no limit of his own is not in the view.
        """
        kind, name, _, path = subject.split(" ")
        (limit,) = self.limits[path]
        assert limit.users if kind == "user" else limit.groups == (name,)
        view = self.usage[kind].get(name)
        found = [] if view is None else [view.queues]
        while found and found[0].path != path:
            found = [x for x in found[0].children if f"{path}.".startswith(f"{x.path}.")]
        return (limit, found[0].used or {}, len(found[0].applications)) if found else (limit, {}, 0)

    def promised(self, subject: str, request: RequestView) -> Amounts:
        """What is kept there for asks for which others went; not for these themselves. PRE-89."""
        if request.preemption:
            return {}
        kind, name, _, path = subject.split(" ") if " " in subject else ("", "", "", subject)
        return plus(
            *[
                ask.resource
                for view in self.apps.values()
                if f"{view.queue}.".startswith(f"{path}.")
                and (not kind or (name == view.user if kind == "user" else name in view.groups))
                for ask in view.requests
                if ask.preemption
            ]
        )

    def queue_full(self, path: str, request: RequestView) -> bool:
        """Whether a queue has no room, as it is or once the victims went. Rules: QUE-8, PRE-89."""
        queue, wanted = self.door.queue(path), request.resource
        assert queue.maximum is not None
        unknown = path == "root" and any(
            amount > 0 and kind not in queue.maximum for kind, amount in wanted.items()
        )
        leaving = {kind: -amount for kind, amount in queue.preempting.items()}
        due = plus(queue.allocated, leaving, self.promised(path, request))
        full = exceeds(queue.allocated, wanted, queue.maximum)
        return unknown or full or exceeds(due, wanted, queue.maximum)

    def nowhere(self, request: RequestView) -> bool:
        """Whether no node takes an ask; one that another ask reserved does not. Rules: CYC-15."""
        if request.required_node:
            node = self.nodes.get(request.required_node)
            own = bool(request.reservations)
            usable = node is not None and (own or not node.reservations)
            return node is None or not usable or not fits(node.available, request.resource)
        return not any(
            node.schedulable
            and (not node.reservations or node.node_id in request.reservations)
            and fits(node.available, request.resource)
            for node in self.nodes.values()
        )


def judge(story: Story, seen: Counter[str]) -> None:
    """See that every ask that waits has a reason, and that it is true."""
    truth = Truth(story)
    for view, request in truth.waiting():
        finding = request.finding
        where = f"{view.application_id} {request.allocation_key} of {view.queue}: {finding}"
        assert finding is not None, where
        assert dict(finding.requested) == dict(request.resource), where
        assert truth.holds(view, request), where
        seen[finding.gate] += 1


@pytest.mark.remuda_rule("CYC-12", "QUE-8", "QUE-22", "QUE-41", "CYC-33", "LIM-53", "LIM-61")
def test_every_reason_to_wait_is_true() -> None:
    seen: Counter[str] = Counter()
    for seed in usual(range(180)):
        story = Story(seed)
        for _ in range(STEPS):
            story.act()
            if story.dice.random() < 0.4 and story.door.node_views():
                story.rest()
                judge(story, seen)
    everything = {
        gates.TURN,
        gates.BACKOFF,
        gates.MAX_APPLICATIONS,
        gates.USER_QUOTA,
        gates.QUEUE_QUOTA,
        gates.REQUIRED_NODE,
        gates.NODES,
    }
    assert set(seen) == everything
    assert min(seen.values()) >= 20, seen
