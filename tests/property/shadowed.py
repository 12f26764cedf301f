"""A resource manager that does anything, a primary scheduler, and perhaps a shadow of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from remuda.config.process_limits import DEFAULT_LIMITS
from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.application_views import AllocationView
from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates, always_true
from remuda.core.scheduler import Scheduler
from remuda.insight.shadow.differences import Difference, ShadowResult
from remuda.insight.shadow.twin import Told, Trial, Twin
from tests.property.shadow_views import allocations
from tests.unit.core.door import SECOND, START, leaf, parent, partition

RM = "rm"
LEAVES = ("root.p.a", "root.p.b", "root.c")
DELAY_NS = 2 * SECOND
# An order to end an allocation, and who got it.
Order: TypeAlias = tuple[str, e.ReleasedAllocation]

NEVER_ENDED = (c.STOPPED_BY_RM, c.UNKNOWN_TERMINATION_TYPE)


def configuration(maximum: int | None = None, preempting: bool = True) -> Configuration:
    """Three leaves, one of which has a maximum."""
    soon = {"preemption.delay": "1s"} if preempting else {"preemption.policy": "disabled"}
    amount = None if maximum is None else {"vcore": maximum}
    tree = (
        parent(
            "p",
            leaf("a", amount, guaranteed={"vcore": 10}, properties=soon),
            leaf("b", guaranteed={"vcore": 6}, properties=soon),
            maximum={"vcore": 60},
        ),
        leaf("c", {"vcore": 40}, properties={"application.sort.policy": "fair", **soon}),
    )
    checksum = f"{maximum or 0:064X}"
    return Configuration((partition(*tree),), checksum=checksum, text=f"# {checksum}")


@dataclass
class Primary:
    """A scheduler whose inputs a shadow may get, too."""

    config: Configuration
    trial: Trial | None = None
    now: int = START
    number: int = 0
    told: list[Difference] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    ordered: Counter[str] = field(default_factory=Counter)
    made: dict[tuple[str, str], list[tuple[str, int]]] = field(default_factory=dict)
    rms: tuple[str, ...] = (RM,)
    predicates: Predicates = always_true
    answered: list[tuple[NodesQuestion, NodesAnswer]] = field(default_factory=list)
    refused: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.twin = None if self.trial is None else Twin(self.trial, self.told.append)
        self.begin()

    def begin(self) -> None:
        """A new process."""
        self.scheduler = Scheduler(self._ask, reservation_delay_ns=DELAY_NS)
        self.orders.clear()
        if self.twin is not None:
            self.twin.start(self.scheduler, DELAY_NS, DEFAULT_LIMITS, self.now)
        for rm in self.rms:
            self.send(c.RegisterResourceManager(rm, self.config))
            if self.predicates is not always_true:
                self.send(c.BindPredicates(rm, predicates=True))

    def send(self, command: c.Command) -> list[e.Effect]:
        """One command."""
        self._before()
        effects = self.scheduler.handle(command, self.now)
        told = Told(self.number, self.now, command, answered=tuple(self.answered))
        self._after(told, effects)
        return effects

    def step(self, limit: int) -> list[e.Effect]:
        """One step."""
        self._before()
        effects = self.scheduler.step(self.now, limit)
        told = Told(self.number, self.now, limit=limit, answered=tuple(self.answered))
        self._after(told, effects)
        return effects

    def rest(self) -> None:
        """Decide all there is to decide now."""
        for _ in range(5_000):
            due = self.scheduler.next_deadline()
            if not self.scheduler.has_work() and (due is None or due > self.now):
                return
            self.step(1_000)
        raise AssertionError("no rest")

    def go_to(self, now: int) -> None:
        """Let time pass, with a stop at each timer."""
        while (due := self.scheduler.next_deadline()) is not None and due <= now:
            self.now = max(self.now, due)
            self.rest()
            self.confirm_all()
        self.now = now

    def confirm_all(self) -> None:
        """Do what the scheduler ordered, one after the other."""
        while self.orders:
            self.confirm(self.orders.pop(0))
            self.rest()

    def confirm(self, given: Order) -> None:
        """End an allocation as ordered."""
        rm, order = given
        release = c.AllocationRelease(
            order.application_id,
            order.allocation_id,
            order.allocation_key,
            order.partition,
            order.termination_type,
        )
        self.send(c.UpdateAllocations(rm, releases=(release,)))

    def result(self) -> ShadowResult:
        """What the shadow found."""
        assert self.twin is not None
        return self.twin.result()

    def _ask(self, question: NodesQuestion) -> NodesAnswer:
        answer = self.predicates(question)
        self.answered.append((question, answer))
        if question.allocate:
            nodes = question.node_ids[: len(answer.refusals)]
            self.refused |= {(subject_of(question), node) for node in nodes}
        return answer

    def _before(self) -> None:
        self.number += 1
        self.answered.clear()
        if self.twin is not None:
            self.twin.before(self.now)

    def _after(self, told: Told, effects: Sequence[e.Effect]) -> None:
        for effect in effects:
            if isinstance(effect, e.AllocationsReleased):
                new = [each for each in effect.released if each.termination_type not in NEVER_ENDED]
                self.orders += [(effect.rm_id, each) for each in new]
                self.ordered.update([str(each.termination_type) for each in new])
            elif isinstance(effect, e.AllocationNew):
                key = (effect.ask.application_id, effect.ask.allocation_key)
                self.made.setdefault(key, []).append((effect.node_id, self.now))
        if self.twin is not None:
            self.twin.after(told, effects)


def subject_of(asked: NodesQuestion | c.Ask) -> str:
    """What a verdict on a node is about: the predicate class of an ask, or the ask itself."""
    return asked.equivalence or asked.allocation_key


class Life:
    """What happens to a primary: nodes, applications, gangs, asks, ends, orders, restarts."""

    def __init__(self, seed: int, primary: Primary, rm: str = RM, classes: int = 0) -> None:
        self.dice = random.Random(seed)
        self.primary = primary
        self.rm = rm
        self.classes = classes
        self.subjects: dict[str, str] = {}
        self.names = 0
        self.nodes: dict[str, dict[str, int]] = {}
        self.apps: dict[str, str] = {}
        for _ in range(3):
            self.node()

    def name(self, kind: str) -> str:
        """A new name."""
        self.names += 1
        return f"{kind}{self.names}"

    def act(self) -> None:
        """One thing that happens, and perhaps decisions."""
        dice = self.dice
        acts = (
            (self.app, 3),
            (self.gang, 2),
            (self.ask, 9),
            (self.end, 6),
            (self.confirm, 8),
            (self.node, 1),
            (self.change_node, 2),
            (self.remove, 1),
            (self.wait, 5),
        )
        dice.choice([act for act, weight in acts for _ in range(weight)])()
        for _ in range(dice.randint(0, 3)):
            self.primary.step(dice.choice((1, 2, 32, 1_000)))

    def app(self) -> None:
        name = self.name("app")
        self.apps[name] = self.dice.choice(LEAVES)
        new = c.NewApplication(name, self.apps[name], user="ann", groups=("staff",))
        self.primary.send(c.UpdateApplications(self.rm, (new,)))

    def gang(self) -> None:
        name, count, size = self.name("gang"), self.dice.randint(2, 4), {"vcore": 2}
        self.apps[name] = self.dice.choice(LEAVES)
        new = c.NewApplication(
            name,
            self.apps[name],
            user="ann",
            groups=("staff",),
            execution_timeout_ms=60_000,
            placeholder_ask={"vcore": 2 * count},
            gang_scheduling_style=self.dice.choice(("Soft", "Hard")),
        )
        self.primary.send(c.UpdateApplications(self.rm, (new,)))
        asks = [
            c.Ask(name, f"{name}-place{n}", size, task_group="g", placeholder=True)
            for n in range(count)
        ]
        self.primary.send(c.UpdateAllocations(self.rm, asks=tuple(asks)))

    def ask(self) -> None:
        app = self.dice.choice([*self.apps, "nobody"])
        asks = tuple([self.some_ask(app) for _ in range(self.dice.randint(1, 8))])
        self.primary.send(c.UpdateAllocations(self.rm, asks=asks))

    def some_ask(self, app: str) -> c.Ask:
        """An ask of an application, as a member of its gang if it has one."""
        gang = app.startswith("gang")
        ask = c.Ask(
            app,
            self.name("k"),
            {"vcore": 2 if gang else self.dice.choice((1, 2, 3, 9))},
            max_allocations=1 if gang else self.dice.choice((1, 1, 1, 3)),
            priority=self.dice.randint(0, 2),
            task_group="g" if gang else "",
            allow_preempt_other=self.dice.random() < 0.6,
            equivalence=f"class {self.names % self.classes}" if self.classes else "",
        )
        self.subjects[ask.allocation_key] = subject_of(ask)
        return ask

    def end(self) -> None:
        """The work of an ask ends: what runs of it, and what waits."""
        found = [
            (each.application_id, each.allocation_key, each.allocation_id)
            for each in allocations(self.primary.scheduler, self.rm)
        ]
        if found and self.dice.random() < 0.8:
            releases = [
                c.AllocationRelease(app, self.dice.choice((identity, "")), key)
                for app, key, identity in self.dice.sample(found, min(len(found), 8))
            ]
            self.primary.send(c.UpdateAllocations(self.rm, releases=tuple(releases)))
        elif self.apps:
            drop = c.AskRelease(self.dice.choice(list(self.apps)), f"k{self.dice.randint(1, 99)}")
            self.primary.send(c.UpdateAllocations(self.rm, ask_releases=(drop,)))

    def confirm(self) -> None:
        orders = self.primary.orders
        if orders:
            self.primary.confirm(orders.pop(self.dice.randrange(len(orders))))

    def node(self) -> None:
        name, size = self.name("n"), {"vcore": self.dice.randint(15, 30)}
        self.nodes[name] = size
        self.primary.send(c.UpdateNodes(self.rm, (c.NodeUpdate(name, c.CREATE, size),)))

    def change_node(self) -> None:
        actions = [c.DRAIN_NODE, c.DRAIN_TO_SCHEDULABLE]
        if len(self.nodes) >= 3:
            actions.append(c.DECOMISSION)
        name, action = self.dice.choice(list(self.nodes)), self.dice.choice(actions)
        self.primary.send(c.UpdateNodes(self.rm, (c.NodeUpdate(name, action),)))
        if action == c.DECOMISSION:
            del self.nodes[name]

    def remove(self) -> None:
        if self.apps:
            name = self.dice.choice(list(self.apps))
            del self.apps[name]
            removal = c.ApplicationRemoval(name)
            self.primary.send(c.UpdateApplications(self.rm, remove=(removal,)))

    def wait(self) -> None:
        self.primary.now += self.dice.choice((1, SECOND, 3 * SECOND, 70 * SECOND))

    def restart(self) -> None:
        """A new process: applications, then nodes with what runs on them; asks are forgotten."""
        primary = self.primary
        held = allocations(primary.scheduler, self.rm)
        primary.begin()
        self.report(held)

    def report(self, held: Sequence[AllocationView]) -> None:
        """Tell a new process what there is."""
        primary = self.primary
        new = [
            c.NewApplication(name, queue, user="ann", groups=("staff",))
            for name, queue in self.apps.items()
        ]
        primary.send(c.UpdateApplications(self.rm, tuple(new)))
        for name, size in self.nodes.items():
            existing = tuple(
                [
                    c.ExistingAllocation(
                        c.Ask(a.application_id, a.allocation_key, a.resource), a.allocation_id, name
                    )
                    for a in held
                    if a.node_id == name and not a.placeholder
                ]
            )
            update = c.NodeUpdate(name, c.CREATE, size, existing=existing)
            primary.send(c.UpdateNodes(self.rm, (update,)))
