"""Predicates that are answered later, in any order, lead to the decisions of those at once."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.ports import NodesAnswer, NodesQuestion
from tests.long_runs import usual
from tests.port import one_by_one
from tests.unit.core.door import SECOND, Caller, leaf, of
from tests.unit.core.rules.gang import heard

NODES = [f"n{number}" for number in range(1, 7)]
QUEUES = (leaf("a", guaranteed={"vcore": 10}), leaf("b", maximum={"vcore": 12}), leaf("c"))


def taste(rm_id: str, key: str, node_id: str, allocate: bool) -> str:
    """Which nodes an ask may go to: a matter of the key."""
    number = int("".join(sign for sign in key if sign.isdigit()))
    return "" if (number + int(node_id[1:])) % 3 else f"not on {node_id}"


class Both:
    """The same commands for an RM that answers at once and for one that does not."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.waiting: dict[int, NodesQuestion] = {}
        self.tickets = 0
        self.at_once = Caller(*QUEUES, predicates=one_by_one(taste))
        self.later = Caller(*QUEUES, predicates=self._ask)

    def _ask(self, question: NodesQuestion) -> NodesAnswer:
        self.tickets += 1
        self.waiting[self.tickets] = question
        asked = self.random.randint(1, len(question.node_ids))
        return NodesAnswer(-1, ticket=self.tickets, asked=asked)

    def call(self, name: str, *args: Any, **kwargs: Any) -> None:
        for caller in (self.at_once, self.later):
            getattr(caller, name)(*args, **kwargs)

    def settle(self, after_ns: int) -> list[tuple[str, str]]:
        """Decide everything; both place the same in the same order."""
        self.at_once.now += after_ns
        self.later.now += after_ns
        expected = self.at_once.step(10_000)
        effects = self.later.step(10_000)
        while self.waiting:
            effects += self._answer()
            effects += self.later.step(10_000)
            self.later.scheduler.check()
        found = [(n.allocation_id, n.node_id) for n in of(effects, e.AllocationNew)]
        assert found == [(n.allocation_id, n.node_id) for n in of(expected, e.AllocationNew)]
        return found

    def _answer(self) -> list[Any]:
        """Answer some of the questions, and not all about every node."""
        count = self.random.randint(1, len(self.waiting))
        chosen = self.random.sample(sorted(self.waiting), count)
        verdicts = tuple(self._verdict(ticket, self.waiting.pop(ticket)) for ticket in chosen)
        return self.later.send(c.PredicateVerdicts("rm", verdicts))

    def _verdict(self, ticket: int, question: NodesQuestion) -> c.PredicateVerdict:
        key, allocate = question.allocation_key, question.allocate
        passed: list[str] = []
        refused: list[tuple[str, str]] = []
        void: list[str] = []
        for node_id in question.node_ids:
            reason = taste("rm", key, node_id, allocate)
            if self.random.random() < 0.1:
                void.append(node_id)
            if reason:
                refused.append((node_id, reason))
            else:
                passed.append(node_id)
                if self.random.random() < 0.5:
                    break
        return c.PredicateVerdict(ticket, tuple(passed), tuple(refused), tuple(void))


ASKS = st.tuples(st.sampled_from("abc"), st.integers(1, 5), st.integers(0, 3), st.integers(1, 4))


@pytest.mark.remuda_rule("EXT-5", "EXT-14", "QUE-44")
@given(
    st.lists(st.lists(ASKS, max_size=12), min_size=1, max_size=5),
    st.integers(0, 10**6),
    st.booleans(),
)
@settings(max_examples=len(usual(range(200))), deadline=None)
def test_answers_that_come_later_change_no_decision(
    rounds: list[list[tuple[str, int, int, int]]], seed: int, classed: bool
) -> None:
    both = Both(seed)
    for node_id in NODES:
        both.call("node", node_id, {"vcore": 10})
    for queue in "abc":
        both.call("app", f"app-{queue}", f"root.{queue}")
    number = 0
    for asks in rounds:
        for queue, size, priority, count in asks:
            number += 1
            key, size_ = f"k{number}", {"vcore": size}
            both.at_once.ask(f"app-{queue}", key, size_, count, priority=priority)
            more = {"equivalence": f"class-{number % 3}"} if classed else {}
            both.later.ask(f"app-{queue}", key, size_, count, priority=priority, **more)
        for identity, _ in both.settle(SECOND)[: both.random.randint(0, 4)]:
            queue = rounds_queue(rounds, int(identity[1:].partition("-")[0]))
            both.call("release", f"app-{queue}", identity)
    both.settle(5 * SECOND)
    first, second = both.at_once.apps(), both.later.apps()
    for name, view in first.items():
        logs = [
            [(r.allocation_key, r.pending_count, r.reservations) for r in v.requests]
            for v in (view, second[name])
        ]
        assert logs[0] == logs[1]


def rounds_queue(rounds: list[list[tuple[str, int, int, int]]], number: int) -> str:
    """The queue of the ask with this number."""
    return [queue for asks in rounds for queue, *_ in asks][number - 1]


class BothWithGangs(Both):
    """The same, for applications whose members take the places of placeholders."""

    def lines(self, after_ns: int = 0) -> list[str]:
        """Decide everything; the RM hears the same in the same order."""
        self.at_once.now += after_ns
        self.later.now += after_ns
        expected = heard(self.at_once.step(10_000))
        effects = self.later.step(10_000)
        while self.waiting:
            effects += self._answer()
            effects += self.later.step(10_000)
            self.later.scheduler.check()
        assert heard(effects) == expected
        return expected

    def confirm(self, lines: list[str]) -> None:
        """Do what the RM was told to end."""
        for identity, verb in re.findall(r"released\[(\S+) (REPLACED|TIMEOUT)\]", "\n".join(lines)):
            kind = c.PLACEHOLDER_REPLACED if verb == "REPLACED" else c.TIMEOUT
            self.call("release", f"app-{identity[1]}", identity, kind=kind)


MEMBERS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)),
    max_size=10,
)


@pytest.mark.remuda_rule("EXT-14", "GANG-13", "GANG-16")
@given(MEMBERS, MEMBERS, st.integers(0, 10**6))
@settings(max_examples=len(usual(range(150))), deadline=None)
def test_answers_that_come_later_replace_the_same_placeholders(
    held: list[tuple[str, int, int, int]], wanted: list[tuple[str, int, int, int]], seed: int
) -> None:
    both = BothWithGangs(seed)
    for node_id in NODES:
        both.call("node", node_id, {"vcore": 10})
    for queue in "abc":
        both.call("app", f"app-{queue}", f"root.{queue}", placeholder_ask={"vcore": 1})
    for number, (queue, group, size, count) in enumerate(held):
        extra = {"task_group": f"g{group}", "placeholder": True}
        key = f"p{queue}{number}"
        both.call("ask", f"app-{queue}", key, {"vcore": size}, count, **extra)
    both.lines()
    for number, (queue, group, size, count) in enumerate(wanted):
        key = f"r{queue}{number}"
        both.call("ask", f"app-{queue}", key, {"vcore": size}, count, task_group=f"g{group}")
    for _ in range(4):
        both.confirm(both.lines())
    both.lines(5 * SECOND)
    first, second = both.at_once.apps(), both.later.apps()
    for name, view in first.items():
        ids = [sorted(a.allocation_id for a in v.allocations) for v in (view, second[name])]
        assert ids[0] == ids[1]
