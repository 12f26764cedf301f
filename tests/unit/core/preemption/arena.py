"""A cluster in which asks have to take room from others (chapter 60)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.ask_views import RequestView
from remuda.core.messages.effects import Effect
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.live import Preemption
from remuda.core.ports import (
    PreemptionAnswer,
    PreemptionItem,
    PreemptionQuestion,
    PreemptionVerdict,
)
from tests.unit.core.door import REQUIRED_NODE, SECOND, Caller, existing_allocation, leaf, of

DELAY = 30 * SECOND
PAUSE = 15 * SECOND
PARITY = {"scheduler.parity": "1.5"}
ONE = {"vcore": 1}
FENCED = {"preemption.policy": "fence"}
DISABLED = {"preemption.policy": "disabled"}


def cores(amount: int, **others: int) -> dict[str, int]:
    """So many of ``vcore``, and further types by name."""
    return {"vcore": amount, **others}


def offset(amount: int, **others: str) -> dict[str, str]:
    """The property ``priority.offset``, and further ones with ``_`` for the dot."""
    return {
        "priority.offset": str(amount),
        **{name.replace("_", "."): value for name, value in others.items()},
    }


class Arena(Caller):
    """A caller that works every counter out anew after each call.

    Applications have the names of their leaves' last parts unless created otherwise.
    """

    def __init__(
        self,
        *queues: QueueConfig,
        nodes: Mapping[str, Resource] | None = None,
        parity: bool = False,
        **other: Any,
    ) -> None:
        if parity:
            other["extra_config"] = {**other.get("extra_config", {}), **PARITY}
        super().__init__(*queues, **other)
        updates = [c.NodeUpdate(name, c.CREATE, size) for name, size in (nodes or {}).items()]
        self.send(c.UpdateNodes(self.rm, tuple(updates)))

    def send(self, command: c.Command) -> list[Effect]:
        found = super().send(command)
        self.scheduler.check()
        return found

    def step(self, limit: int = 1000) -> list[Effect]:
        """Due timers, then decisions one by one, each of them checked."""
        effects = self.scheduler.step(self.now, 0)
        while limit and self.scheduler.has_work():
            effects += self.scheduler.step(self.now, 1)
            self.scheduler.check()
            limit -= 1
        return effects

    def apps_in(self, **paths: str) -> None:
        """One application for each of these queues, whose paths are given without ``root.``."""
        for name, path in paths.items():
            self.app(name, f"root.{path}")

    def runs(
        self, app: str, node_id: str, size: Resource, *keys: str, age: int = 0, **ask: Any
    ) -> None:
        """Allocations that run already; ``age`` in seconds is that of the ask."""
        reported = [self.running(app, node_id, size, key, age=age, **ask) for key in keys]
        self.send(c.UpdateAllocations(self.rm, allocations=tuple(reported)))

    def running(
        self, app: str, node_id: str, size: Resource, key: str, age: int = 0, **ask: Any
    ) -> c.ExistingAllocation:
        """One of those, not reported yet."""
        if age:
            made = str(self.now // SECOND - age)
            ask["tags"] = {**ask.get("tags", {}), "creationTime": made}
        return existing_allocation(app, key, node_id, size, **ask)

    def wants(self, app: str, key: str, size: Resource, count: int = 1, **ask: Any) -> None:
        """An ask that may preempt others."""
        ask.setdefault("allow_preempt_other", True)
        self.ask(app, key, size, count, **ask)

    def requires(self, app: str, key: str, node_id: str, size: Resource, **ask: Any) -> None:
        """An ask for just this node."""
        self.ask(app, key, size, tags={REQUIRED_NODE: node_id}, **ask)

    def ordered(self, effects: Sequence[Effect] | None = None) -> list[str]:
        """Who is ordered out to make room, by identity, in order; by all there is to decide."""
        found = self.step() if effects is None else effects
        return [
            gone.allocation_id
            for answer in of(found, e.AllocationsReleased)
            for gone in answer.released
            if gone.termination_type == c.PREEMPTED_BY_SCHEDULER
        ]

    def after(self, time_ns: int = DELAY) -> list[str]:
        """Who is ordered out now and after so long."""
        now = self.ordered()
        self.now += time_ns
        return now + self.ordered()

    def confirm(self, *identities: str) -> list[tuple[str, str]]:
        """Say that victims are gone; what is placed then, and where."""
        for identity in identities:
            app = next(a for a, of_app in self.held().items() if identity in of_app)
            self.release(app, identity, kind=c.PREEMPTED_BY_SCHEDULER)
        return self.placed()

    def placed(self) -> list[tuple[str, str]]:
        """What is placed where by all there is to decide."""
        return [(new.allocation_id, new.node_id) for new in of(self.step(), e.AllocationNew)]

    def held(self) -> dict[str, list[str]]:
        """The identities of allocations by application."""
        return {
            name: [each.allocation_id for each in app.allocations]
            for name, app in self.apps().items()
        }

    def request(self, app: str, key: str) -> RequestView:
        """One ask that waits."""
        requests = self.apps()[app].requests
        return next(each for each in requests if each.allocation_key == key)

    def log(self, app: str, key: str) -> list[str]:
        """What the log of an ask says, by message."""
        return [entry.message for entry in self.request(app, key).log]

    def reserved(self) -> list[tuple[str, str]]:
        """(node, allocation key) of each reservation."""
        return [
            (node_id, key)
            for node_id, node in self.node_views().items()
            for _, key in node.reservations
        ]

    def preempting(self, path: str) -> Resource:
        """What victims in and below a queue hold, without types of which there is nothing."""
        return {name: amount for name, amount in self.queue(path).preempting.items() if amount}

    @property
    def partition(self) -> Partition:
        (found,) = self.scheduler._cluster.partitions()
        return found

    def records(self) -> list[Preemption]:
        """All preemptions that are remembered, oldest first (PRE-91)."""
        return list(self.partition.preempting.made.values())


def pair(
    size: int = 10,
    *,
    nodes: Mapping[str, Resource] | None = None,
    properties: Mapping[str, str] | None = None,
    **other: Any,
) -> Arena:
    """Leaf ``a`` that is guaranteed 5, leaf ``b`` without guarantee, one node unless given.

    ``properties`` are those of ``a``.
    """
    arena = Arena(
        leaf("a", guaranteed=cores(5), properties=properties),
        leaf("b"),
        nodes=nodes or {"n1": cores(size)},
        **other,
    )
    arena.apps_in(a="a", b="b")
    return arena


def full(size: int = 4, **other: Any) -> Arena:
    """As ``pair``, and ``b`` has all of node ``n1`` in allocations v0, v1, ... of one core each.

    The later, the newer.
    """
    arena = pair(size, **other)
    reported = [
        arena.running("b", "n1", ONE, f"v{number}", age=1000 - number) for number in range(size)
    ]
    arena.send(c.UpdateAllocations(arena.rm, allocations=tuple(reported)))
    return arena


def row(count: int, size: int = 1, **other: Any) -> Arena:
    """As ``pair``, with nodes n1, n2, ... each of which ``b`` fills with one allocation v1, v2, ...

    The later, the newer.
    """
    names = [str(number) for number in range(1, count + 1)]
    arena = pair(nodes={f"n{name}": cores(size) for name in names}, **other)
    reported = [
        arena.running("b", f"n{name}", cores(size), f"v{name}", age=1000 - int(name))
        for name in names
    ]
    arena.send(c.UpdateAllocations(arena.rm, allocations=tuple(reported)))
    return arena


class Panel:
    """A resource manager that judges nodes without some allocations; notes what it is asked.

    ``says``: by node what it answers, else the node would do with what goes first. A node with an
    error is answered by none.
    """

    def __init__(self, **says: tuple[bool, int]) -> None:
        self.says = says
        self.questions: list[PreemptionQuestion] = []

    def __call__(self, question: PreemptionQuestion) -> PreemptionAnswer:
        self.questions.append(question)
        verdicts: list[PreemptionVerdict] = []
        for item in question.items:
            success, index = self.says.get(item.node_id, (True, item.start_index))
            verdicts.append(PreemptionVerdict(success, index))
        return PreemptionAnswer(tuple(verdicts))

    @property
    def items(self) -> list[PreemptionItem]:
        """All it was asked about, in order."""
        return [item for question in self.questions for item in question.items]

    @property
    def told(self) -> list[tuple[str, tuple[str, ...], int]]:
        """All it was asked about, as (node, victims, start index)."""
        return [(item.node_id, item.victims, item.start_index) for item in self.items]
