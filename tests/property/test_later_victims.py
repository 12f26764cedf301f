"""Verdicts on victims that come later: the decisions of those at once, and no harm without them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.base.errors import InvariantViolation
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from remuda.core.ports import (
    PreemptionAnswer,
    PreemptionItem,
    PreemptionQuestion,
    PreemptionVerdict,
)
from remuda.core.scheduler import Scheduler
from tests.long_runs import usual
from tests.unit.core.door import SECOND, Caller, leaf, of

NODES = [f"n{number:02}" for number in range(1, 14)]
QUEUES = (
    leaf("a", guaranteed={"vcore": 12}),
    leaf("b", guaranteed={"vcore": 6}),
    leaf("c"),
    leaf("d"),
)
# A preemption is possible 30 s after an ask came, and a fruitless one again 15 s later.
LATER_NS = 31 * SECOND


def verdict(item: PreemptionItem) -> PreemptionVerdict:
    """What the RM thinks: a matter of the node, the ask, and the victims; mostly it is a no."""
    taste = (int(item.node_id[1:]) + len(item.allocation_key)) % 11
    index = max(item.start_index, min(item.start_index + taste, len(item.victims) - 1))
    return PreemptionVerdict(taste < 2, index)


def at_once(question: PreemptionQuestion) -> PreemptionAnswer:
    """The RM in this process."""
    return PreemptionAnswer(tuple([verdict(item) for item in question.items]))


class Later(Caller):
    """An RM that is asked over a distance. ``open``: questions without an answer, by ticket."""

    def __init__(self) -> None:
        self.open: dict[int, PreemptionQuestion] = {}
        self.tickets = 0
        super().__init__(*QUEUES, victims_port=self._ask)

    def _ask(self, question: PreemptionQuestion) -> PreemptionAnswer:
        self.tickets += 1
        self.open[self.tickets] = question
        return PreemptionAnswer(ticket=self.tickets)

    def tell(self, ticket: int, verdicts: list[PreemptionVerdict]) -> list[Effect]:
        """Say something about a question, be it that nobody asked it."""
        self.open.pop(ticket, None)
        told = tuple([(each.success, each.index) for each in verdicts])
        return self.send(c.PreemptionVerdicts("rm", ticket, told))

    def answer(self, ticket: int) -> list[Effect]:
        """Answer a question as the RM in the process would."""
        return self.tell(ticket, [verdict(item) for item in self.open[ticket].items])


def told(effects: list[Effect]) -> list[str]:
    """What an RM hears: what was placed, and what is to end."""
    lines: list[str] = []
    for effect in effects:
        if isinstance(effect, e.AllocationNew):
            lines.append(f"{effect.allocation_id} on {effect.node_id}")
        elif isinstance(effect, e.AllocationsReleased):
            lines += [f"end {gone.allocation_id}" for gone in effect.released]
    return lines


def orders(effects: list[Effect]) -> list[e.ReleasedAllocation]:
    """What the RM has to end."""
    return [
        gone
        for answer in of(effects, e.AllocationsReleased)
        for gone in answer.released
        if gone.termination_type == c.PREEMPTED_BY_SCHEDULER
    ]


def fill(callers: list[Caller], sizes: list[int]) -> None:
    """Nodes, applications, and what runs before anybody preempts."""
    for caller in callers:
        for node_id in NODES:
            caller.node(node_id, {"vcore": 3})
        for queue in "abcd":
            caller.app(f"app-{queue}", f"root.{queue}")
        for number, size in enumerate(sizes):
            queue = "cd"[number % 2]
            caller.ask(f"app-{queue}", f"{queue}{number}", {"vcore": size})
        caller.step(10_000)
        for queue in "cd":
            caller.release_ask(f"app-{queue}")


WANTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 3)), min_size=1, max_size=6)
SIZES = st.lists(st.integers(1, 2), min_size=30, max_size=40)


@pytest.mark.remuda_rule("EXT-14", "EXT-18", "PRE-81")
@given(SIZES, WANTS)
@settings(max_examples=len(usual(range(60))), deadline=None)
def test_verdicts_that_come_later_change_no_decision(
    sizes: list[int], wants: list[tuple[str, int]]
) -> None:
    near, far = Caller(*QUEUES, victims_port=at_once), Later()
    fill([near, far], sizes)
    for number, (queue, size) in enumerate(wants):
        for caller in (near, far):
            extra: dict[str, Any] = {"allow_preempt_other": True}
            caller.ask(f"app-{queue}", f"{queue}{number:0{number + 1}}", {"vcore": size}, **extra)
        expected: list[Effect] = []
        found: list[Effect] = []
        # Whoever is to reserve has done so when others may have to go.
        for pause_ns in (0, 3 * SECOND, LATER_NS):
            near.now += pause_ns
            far.now += pause_ns
            expected += near.step(10_000)
            found += far.step(10_000)
        while far.open:
            found += far.answer(min(far.open))
            found += far.step(10_000)
            far.scheduler.check()
        assert told(found) == told(expected)
        for gone in orders(expected):
            key = gone.application_id, gone.allocation_id
            for caller in (near, far):
                caller.release(*key, kind=c.PREEMPTED_BY_SCHEDULER)
        assert told(far.step(10_000)) == told(near.step(10_000))
        for caller in (near, far):
            caller.release_ask(f"app-{queue}")


class Chaos:
    """An RM that answers, errs, forgets and goes, in any order."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.later = Later()
        self.ending: list[e.ReleasedAllocation] = []
        self.number = 0

    def act(self) -> None:
        often = [self.want, self.settle, self.settle, self.answer, self.confirm, self.refill]
        seldom = [self.silence, self.nonsense, self.rebind, self.lose_node, self.finish]
        self.note(self.random.choice([*often, *often, *seldom])())
        self.later.scheduler.check()

    def note(self, effects: list[Effect]) -> None:
        self.ending += orders(effects)

    def want(self) -> list[Effect]:
        self.number += 1
        queue = self.random.choice("ab")
        extra: dict[str, Any] = {"allow_preempt_other": True}
        size = {"vcore": self.random.randint(1, 3)}
        return self.later.ask(f"app-{queue}", f"{queue}{self.number}", size, **extra)

    def settle(self) -> list[Effect]:
        self.later.now += self.random.choice([0, SECOND, LATER_NS])
        effects = self.later.step(10_000)
        assert not self.later.scheduler.has_work()
        return effects

    def ticket(self) -> int:
        return self.random.choice(sorted(self.later.open) or [self.random.randint(1, 99)])

    def answer(self) -> list[Effect]:
        ticket = self.ticket()
        return self.later.answer(ticket) if ticket in self.later.open else []

    def silence(self) -> list[Effect]:
        return self.later.tell(self.ticket(), [])

    def nonsense(self) -> list[Effect]:
        """More or fewer verdicts than items, with indexes of anything."""
        count = self.random.randint(0, 12)
        any_index = [self.random.randint(-5, 9) for _ in range(count)]
        return self.later.tell(self.ticket(), [PreemptionVerdict(True, i) for i in any_index])

    def rebind(self) -> list[Effect]:
        """Another session, or none, or one that is asked about nothing."""
        effects = self.later.send(c.BindPredicates("rm", predicates=False))
        self.later.open.clear()
        if self.random.random() < 0.8:
            bound = c.BindPredicates("rm", predicates=False, preemption=True)
            effects += self.later.send(bound)
        return effects

    def confirm(self) -> list[Effect]:
        if not self.ending:
            return []
        gone = self.ending.pop(self.random.randrange(len(self.ending)))
        kind = c.PREEMPTED_BY_SCHEDULER
        return self.later.release(gone.application_id, gone.allocation_id, kind=kind)

    def lose_node(self) -> list[Effect]:
        node_id = self.random.choice(NODES)
        effects = self.later.node(node_id, action=c.DECOMISSION)
        return effects + self.later.node(node_id, {"vcore": 3})

    def refill(self) -> list[Effect]:
        """Others take what is free, for as long as they may."""
        self.number += 1
        queue = self.random.choice("cd")
        effects = self.later.ask(f"app-{queue}", f"{queue}x{self.number}", {"vcore": 1}, 9)
        effects += self.later.step(10_000)
        return effects + self.later.release_ask(f"app-{queue}")

    def finish(self) -> list[Effect]:
        """All that somebody was evicted for ends, and what is still wanted is not any more."""
        queue = self.random.choice("ab")
        return self.later.release_ask(f"app-{queue}") + self.later.release(f"app-{queue}")


def fault_of(scheduler: Scheduler) -> str:
    """What is wrong with the counters of a scheduler, "" if nothing is."""
    try:
        scheduler.check()
    except InvariantViolation as fault:
        return str(fault)
    return ""


@pytest.mark.remuda_rule("EXT-10", "EXT-12", "EXT-17", "EXT-18", "PRE-39")
@given(SIZES, st.integers(0, 10**6))
@settings(max_examples=len(usual(range(60))), deadline=None)
def test_whatever_an_rm_says_of_victims_and_when_every_counter_is_right(
    sizes: list[int], seed: int
) -> None:
    chaos = Chaos(seed)
    fill([chaos.later], sizes)
    for _ in range(120):
        chaos.act()
        assert fault_of(chaos.later.scheduler) == ""
