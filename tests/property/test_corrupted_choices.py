"""A check of victims that never fails proves nothing: real choices are corrupted in every way.

Two schedulers are brought to where they choose victims; each law is broken in the choice, one at a
time. Then victims are ordered out, and what is counted of them is falsified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from remuda.base.errors import InvariantViolation
from remuda.core.cycle.decide import decide
from remuda.core.cycle.preempt import decide_preemption, may_preempt
from remuda.core.invariants.victims import check_choice
from remuda.core.messages import commands as c
from remuda.core.model.allocation import Allocation
from remuda.core.model.asks.request import Request
from remuda.core.model.decision import NoRoom, Preempt
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.candidates import Candidates, Kind
from remuda.core.model.preemption.live import LOST, Preemption
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Vector
from remuda.core.ports import always_true, first_will_do
from remuda.core.preempt.attempt import Ports
from tests.unit.core.door import REQUIRED_NODE, leaf, parent, users
from tests.unit.core.preemption.arena import DELAY, DISABLED, FENCED, ONE, Arena, cores


def fenced() -> Arena:
    """Queues and victims of every sort; ``k`` of queue ``p.a`` may take just v1 and v2."""
    arena = Arena(
        parent(
            "p",
            leaf("a", guaranteed=cores(5)),
            leaf("b"),
            leaf("g", guaranteed=ONE),
            leaf("d", properties=DISABLED),
            properties=FENCED,
        ),
        leaf("out"),
        nodes={"n1": cores(10), "n2": cores(2)},
    )
    arena.apps_in(a="p.a", b="p.b", g="p.g", d="p.d", out="out")
    arena.runs("b", "n1", ONE, "v1", "v2", age=9)
    arena.runs("b", "n1", ONE, "important", priority=9)
    arena.runs("b", "n1", ONE, "bound", tags={REQUIRED_NODE: "n1"})
    arena.runs("b", "n2", ONE, "elsewhere", "further", age=99)
    arena.runs("g", "n1", ONE, "kept")
    arena.runs("d", "n1", ONE, "disabled")
    arena.runs("out", "n1", ONE, "outside")
    arena.runs("a", "n1", ONE, "own")
    arena.runs("out", "n1", cores(2), "rest")
    arena.wants("a", "k", cores(2))
    return arena


def capped() -> Arena:
    """Parent ``p`` has all it may have, so v1 and v2 go, and n2 is free."""
    top = parent("p", leaf("a", guaranteed=cores(5)), leaf("b"), maximum=cores(4))
    arena = Arena(top, nodes={"n1": cores(4), "n2": cores(9)})
    arena.apps_in(a="p.a", b="p.b")
    arena.runs("b", "n1", ONE, "v1", "v2", "v3", "v4", age=9)
    arena.wants("a", "k", cores(2))
    return arena


def daemon() -> Arena:
    """``k`` requires n1, and v1 goes."""
    arena = Arena(leaf("a"), leaf("b"), nodes={"n1": cores(3), "n2": cores(3)})
    arena.apps_in(a="a", b="b")
    arena.runs("b", "n1", ONE, "v1", "v2", age=9)
    arena.runs("b", "n1", ONE, "important", priority=9)
    arena.runs("b", "n2", ONE, "elsewhere")
    arena.requires("a", "k", "n1", ONE)
    return arena


class Choice:
    """A choice that was just made and not carried out, and short ways to what it is about."""

    def __init__(self, arena: Arena) -> None:
        self.partition: Partition = arena.partition
        arena.now += DELAY
        self.now_ns = arena.now
        ports = Ports(always_true, first_will_do)
        arena.scheduler.step(arena.now, 0)
        for _ in range(9):
            decision = decide(self.partition, always_true)
            if isinstance(decision, NoRoom) and may_preempt(self.partition, decision):
                made = decide_preemption(self.partition, decision, ports, arena.now)
                assert isinstance(made, Preempt)
                self.made = made
                break
            arena.scheduler.step(arena.now, 1)

    def allocation(self, name: str) -> Allocation:
        """One allocation."""
        applications = self.partition.applications.values()
        found = [each for app in applications for each in app.allocations.values()]
        return next(each for each in found if each.allocation_id == name)

    def victims(self, *names: str) -> None:
        """Choose these."""
        self.made.victims = [self.allocation(name) for name in names]

    def also(self, name: str) -> None:
        """Choose one more."""
        self.made.victims = [*self.made.victims, self.allocation(name)]

    def shrink(self) -> None:
        """Make the node too small, unnoticed."""
        self.made.node.total = self.allocation("v1").amounts


def another(victim: Allocation) -> Preemption:
    """A preemption that the victim could have been chosen for before."""
    return Preemption(
        9, kind="", created_ns=0, queue_path="root", amounts=victim.amounts, reasons=()
    )


Corruption: TypeAlias = Callable[[Choice], object]

QUEUE_CHOICES: dict[str, tuple[Corruption, str]] = {
    "nobody": (lambda w: w.victims(), "it has no victims"),
    "twice": (lambda w: w.also("v1"), "a victim is chosen twice"),
    "ordered": (
        lambda w: setattr(w.made.victims[0], "release_type", c.TIMEOUT),
        "is to be released already",
    ),
    "of another": (
        lambda w: setattr(w.made.victims[0], "preemption", another(w.made.victims[0])),
        "is a victim already",
    ),
    "in flight": (
        lambda w: setattr(w.made.victims[0], "replaces", w.allocation("rest")),
        "is in flight",
    ),
    "bound": (lambda w: w.also("bound"), "bound is bound to its node"),
    "too few": (lambda w: w.victims("v1"), "too little is freed on the node"),
    "elsewhere": (lambda w: w.victims("v1", "elsewhere"), "too little is freed on the node"),
    "small node": (Choice.shrink, "the node is too small"),
    "own queue": (lambda w: w.also("own"), "own is in the queue of the ask"),
    "fence": (lambda w: w.also("outside"), r"outside is outside the fence at root\.p"),
    "disabled": (lambda w: w.also("disabled"), r"root\.p\.d has preemption disabled"),
    "priority": (lambda w: w.also("important"), "important has a higher priority"),
    "guarantee": (lambda w: w.also("kept"), r"root\.p\.g falls below its guarantee"),
}


@pytest.mark.remuda_rule("PRE-82", "PRE-17", "PRE-59")
@pytest.mark.parametrize("what", QUEUE_CHOICES)
def test_a_choice_that_breaks_a_law_is_noticed(what: str) -> None:
    choice = Choice(fenced())
    assert [each.allocation_id for each in choice.made.victims] == ["v1", "v2"]
    check_choice(choice.partition, choice.made, choice.now_ns)
    corrupt, text = QUEUE_CHOICES[what]
    corrupt(choice)
    with pytest.raises(InvariantViolation, match=text):
        check_choice(choice.partition, choice.made, choice.now_ns)


@pytest.mark.remuda_rule("PRE-82", "PRE-88")
@pytest.mark.parametrize("names", [("v3",), ("v4",)])
def test_a_choice_that_leaves_a_queue_above_its_maximum_is_noticed(names: tuple[str]) -> None:
    choice = Choice(capped())
    assert len(choice.made.victims) == 2
    check_choice(choice.partition, choice.made, choice.now_ns)
    choice.victims(*names)
    with pytest.raises(InvariantViolation, match=r"root\.p stays above its maximum"):
        check_choice(choice.partition, choice.made, choice.now_ns)


@pytest.mark.remuda_rule("PRE-82", "PRE-89")
def test_a_choice_that_forgets_what_is_promised_is_noticed() -> None:
    choice = Choice(capped())
    queue = choice.partition.queue("root.p")
    assert queue is not None
    queue.promised = queue.allocated
    with pytest.raises(InvariantViolation, match=r"root\.p stays above its maximum"):
        check_choice(choice.partition, choice.made, choice.now_ns)


DAEMON_CHOICES: dict[str, tuple[Corruption, str]] = {
    "nobody": (lambda w: w.victims(), "it has no victims"),
    "twice": (lambda w: w.also("v1"), "a victim is chosen twice"),
    "priority": (lambda w: w.also("important"), "a victim of higher priority"),
    "elsewhere": (lambda w: w.also("elsewhere"), "a victim elsewhere"),
    "too few": (lambda w: w.victims("elsewhere"), "too little is freed on the node"),
}


@pytest.mark.remuda_rule("PRE-41", "PRE-43")
@pytest.mark.parametrize("what", DAEMON_CHOICES)
def test_a_choice_for_a_daemon_that_breaks_a_law_is_noticed(what: str) -> None:
    choice = Choice(daemon())
    assert [each.allocation_id for each in choice.made.victims] == ["v1"]
    check_choice(choice.partition, choice.made, choice.now_ns)
    corrupt, text = DAEMON_CHOICES[what]
    corrupt(choice)
    with pytest.raises(InvariantViolation, match=text):
        check_choice(choice.partition, choice.made, choice.now_ns)


# ------------------------------------------------------------------- what is counted of them


class World:
    """Victims that were ordered out, under the limit of a user, and what else could be one."""

    def __init__(self) -> None:
        limits = {"limits": (users("ann", cores(90)),)}
        queues = leaf("a", guaranteed=cores(5)), leaf("b")
        self.arena = Arena(*queues, nodes={"n1": cores(4), "n2": cores(9)}, root=limits)
        self.arena.node("n2", action=c.DRAIN_NODE)
        self.arena.apps_in(a="a", b="b")
        self.arena.runs("b", "n1", ONE, "v1", "v2", "other", "spare", age=9)
        self.arena.wants("a", "k", cores(2))
        self.arena.wants("a", "second", cores(3), allow_preempt_other=False)
        assert self.arena.after() == ["other", "spare"]
        self.arena.scheduler.check()

    @property
    def partition(self) -> Partition:
        return self.arena.partition

    @property
    def request(self) -> Request:
        return self.partition.applications["a"].requests["k"]

    @property
    def preemption(self) -> Preemption:
        found = self.request.preemption
        assert found is not None
        return found

    def queue(self, path: str) -> Queue:
        found = self.partition.queue(path)
        assert found is not None
        return found

    def allocation(self, name: str) -> Allocation:
        found = self.partition.applications["b"].allocations.values()
        return next(each for each in found if each.allocation_id == name)

    @property
    def node(self) -> Node:
        return self.partition.nodes["n1"]

    @property
    def index(self) -> Candidates:
        found = self.partition.preempting.candidates
        assert found is not None
        return found

    @property
    def kind(self) -> Kind:
        found = self.allocation("v1").kind
        assert found is not None
        return found

    def promised_to_user(self) -> Vector:
        """What is promised to a user."""
        found = [each.promised for each in self.partition.trackers.values() if each.promised]
        return found[0]

    def replace_request(self) -> None:
        """Let a preemption be for somebody else."""
        self.preemption.request = self.partition.applications["a"].requests["second"]

    def forget_candidate(self) -> None:
        """Take one out of its kind and leave it believe it is in."""
        self.kind.allocations.popitem()

    def empty_kind(self) -> None:
        """Leave a kind without members."""
        self.kind.age_keys.clear()

    def mix_kinds(self) -> None:
        """Put a victim among those that may be one."""
        place = self.kind.age_keys[0]
        self.kind.allocations[place] = self.allocation("other")

    def promise_nothing_in_queue(self) -> None:
        """Promise nothing in a queue."""
        self.queue("root.a").promised = None


def more(vector: Vector | None) -> None:
    """One unit too much of the first type."""
    assert vector is not None
    vector.amounts[0] += 1


def _confirm_early(world: World) -> None:
    next(iter(world.preemption.victims.values())).confirmed = True


def _order_back(world: World) -> None:
    world.allocation("other").release_type = 0
    del world.partition.leaving[world.allocation("other")]


SUMS: dict[str, tuple[Callable[[World], object], str]] = {
    "victims of root": (lambda w: more(w.queue("root").preempting), "root preempting is"),
    "victims of a leaf": (lambda w: more(w.queue("root.b").preempting), r"root\.b preempting is"),
    "promises of root": (lambda w: more(w.queue("root").promised), "root promised is"),
    "promises of a leaf": (lambda w: more(w.queue("root.a").promised), r"root\.a promised is"),
    "a promise is forgotten": (World.promise_nothing_in_queue, r"root\.a promised is"),
    "promises to a user": (lambda w: more(w.promised_to_user()), "promised is"),
    "promises of an application": (
        lambda w: more(w.partition.applications["a"].promised),
        "application a promised is",
    ),
    "a promise that is none": (lambda w: setattr(w.preemption, "promised", False), "promised is"),
    "a victim nobody ordered": (_order_back, "allocation other"),
    "a victim ordered for another reason": (
        lambda w: setattr(w.allocation("other"), "release_type", c.TIMEOUT),
        "is a victim and its release was not requested",
    ),
    "a victim that is not listed": (
        lambda w: w.preemption.victims.clear(),
        "is no victim that is still to go",
    ),
    "a victim that has ended": (_confirm_early, "is no victim that is still to go"),
    "an unknown preemption": (
        lambda w: w.partition.preempting.made.clear(),
        "is a victim of an unknown preemption",
    ),
    "those still to go": (lambda w: setattr(w.preemption, "left", 9), "still to go are miscounted"),
    "a preemption that is over": (
        lambda w: setattr(w.preemption, "outcome", LOST),
        "has ended and is still in effect",
    ),
    "a preemption without reservation": (
        lambda w: setattr(w.preemption, "node_id", "n2"),
        "is in effect without a reservation",
    ),
    "a preemption for somebody else": (World.replace_request, "is for somebody else"),
    "a candidate is forgotten": (
        lambda w: setattr(w.allocation("v1"), "kind", None),
        "allocation v1: is wrongly listed as a candidate, or is missing",
    ),
    "a victim is a candidate": (
        lambda w: setattr(w.allocation("other"), "kind", w.kind),
        "allocation other: is wrongly listed as a candidate, or is missing",
    ),
    "a kind is empty": (World.empty_kind, "is empty"),
    "a kind is out of order": (lambda w: w.kind.age_keys.reverse(), "no order"),
    "one of another kind": (World.mix_kinds, "of another kind"),
    "nodes of a kind": (lambda w: w.kind.hosts.update(n1=9), "nodes are miscounted"),
    "a kind lost one": (World.forget_candidate, "nodes are miscounted"),
    "candidates on a node": (lambda w: w.index.on.clear(), "on nodes are miscounted"),
}


@pytest.mark.remuda_rule("QUE-2", "PRE-34", "PRE-59", "PRE-60", "PRE-89")
@pytest.mark.parametrize("what", SUMS)
def test_what_is_falsified_of_victims_and_promises_is_noticed(what: str) -> None:
    world = World()
    corrupt, text = SUMS[what]
    corrupt(world)
    with pytest.raises(InvariantViolation, match=text):
        world.arena.scheduler.check()
