"""Requests that are handled as one, or in parts, have the effects they have one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import pytest

from remuda.core.messages.commands import UpdateAllocations, UpdateApplications, UpdateNodes
from remuda.core.messages.effects import (
    AllocationsRejected,
    ApplicationsAnswered,
    AsksRejected,
    Effect,
    NodesAnswered,
    Rejection,
)
from remuda.runtime.requests import joined, parts_of, with_those_behind
from tests.long_runs import usual
from tests.reference.driver import play
from tests.reference.workloads import Input, Step, record

SEEDS = usual(range(700, 760))
HOUR = 3_600_000_000_000


def at_one_time(inputs: Iterable[Input]) -> list[Input]:
    """The same inputs, those between two steps at the same time."""
    ended: list[Input] = []
    now_ns = 0
    for at_ns, what in inputs:
        if isinstance(what, Step) or not ended or isinstance(ended[-1][1], Step):
            now_ns = at_ns
        ended.append((now_ns, what))
    return ended


def together(inputs: Iterable[Input]) -> list[Input]:
    """The same inputs, with those as one that can be."""
    left = deque(what for _, what in inputs)
    times = deque(now_ns for now_ns, _ in inputs)
    merged: list[Input] = []
    while left:
        what, now_ns = left.popleft(), times.popleft()
        waiting = len(left)
        if isinstance(what, UpdateAllocations):
            what = with_those_behind(what, left)
        for _ in range(waiting - len(left)):
            times.popleft()
        merged.append((now_ns, what))
    return merged


def apart(inputs: Iterable[Input], most: int, later_ns: int = 0) -> list[Input]:
    """The same inputs, with requests of more elements in parts. Between these, nothing happens.

    ``later_ns``: how much later than the parts the scheduler is called between them.
    """
    cut: list[Input] = []
    for now_ns, what in inputs:
        if isinstance(what, UpdateAllocations | UpdateApplications | UpdateNodes):
            for part in parts_of(what, most):
                cut.append((now_ns, part))
                if part.continued:
                    cut.append((now_ns + later_ns, Step(50)))
        else:
            cut.append((now_ns, what))
    return cut


def told(answers: list[list[Effect]]) -> tuple[list[Effect], list[Rejection], list[str]]:
    """All effects, and apart from them all rejections and acceptances: they come once a request."""
    effects: list[Effect] = []
    rejections: list[Rejection] = []
    accepted: list[str] = []
    for effect in (effect for answer in answers for effect in answer):
        if isinstance(effect, AsksRejected | AllocationsRejected):
            rejections += effect.rejected
        elif isinstance(effect, ApplicationsAnswered | NodesAnswered):
            rejections += effect.rejected
            accepted += effect.accepted
        else:
            effects.append(effect)
    return effects, rejections, accepted


@pytest.mark.remuda_rule("SI-2", "SI-7")
@pytest.mark.parametrize("seed", SEEDS)
def test_requests_as_one_and_one_by_one_have_the_same_effects(seed: int) -> None:
    inputs = at_one_time(record(seed).inputs)
    as_one = together(inputs)
    assert told(play(as_one)) == told(play(inputs))


def test_the_workloads_have_requests_that_can_be_one() -> None:
    inputs = [at_one_time(record(seed).inputs) for seed in SEEDS]
    assert sum(len(each) - len(together(each)) for each in inputs) > len(SEEDS)


@pytest.mark.remuda_rule("SI-2", "SI-3")
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_request_in_parts_has_the_effects_of_the_whole_one(seed: int, most: int) -> None:
    inputs = settled(record(seed).inputs)
    assert told(play(apart(inputs, most))) == told(play(inputs))


@pytest.mark.remuda_rule("SI-2", "APP-16")
@pytest.mark.parametrize("seed", SEEDS)
def test_what_becomes_due_between_the_parts_of_a_request_waits(seed: int) -> None:
    inputs = settled(
        (now_ns, what)
        for now_ns, what in record(seed).inputs
        if isinstance(what, Step) or what.rm_id == "rm-a"
    )
    assert told(play(apart(inputs, 1, later_ns=HOUR))) == told(play(inputs))


def settled(inputs: Iterable[Input]) -> list[Input]:
    """The same inputs, each after all that the ones before it made due or possible."""
    ended: list[Input] = []
    for now_ns, what in inputs:
        ended += [(now_ns, Step(5_000)), (now_ns, what)]
    return ended


@pytest.mark.parametrize("most", [1, 2, 3, 1_000])
def test_the_parts_of_a_request_are_the_request(most: int) -> None:
    cut = 0
    for seed in SEEDS:
        for _, what in record(seed).inputs:
            if isinstance(what, UpdateAllocations | UpdateApplications | UpdateNodes):
                parts = parts_of(what, most)
                assert joined(parts) == what
                assert [part.continued for part in parts] == [True] * (len(parts) - 1) + [False]
                cut += len(parts) > 1
    assert (cut > 0) == (most < 1_000)
