"""Requests that are handled as one have the effects they have one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import pytest

from remuda.core.messages.commands import UpdateAllocations
from remuda.core.messages.effects import AllocationsRejected, AsksRejected, Effect, Rejection
from remuda.runtime.requests import with_those_behind
from tests.reference.driver import play
from tests.reference.workloads import Input, Step, record

SEEDS = range(700, 760)


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
    joined: list[Input] = []
    while left:
        what, now_ns = left.popleft(), times.popleft()
        waiting = len(left)
        if isinstance(what, UpdateAllocations):
            what = with_those_behind(what, left)
        for _ in range(waiting - len(left)):
            times.popleft()
        joined.append((now_ns, what))
    return joined


def told(answers: list[list[Effect]]) -> tuple[list[Effect], list[Rejection]]:
    """All effects, and apart from them all rejections: they are told once a request."""
    effects: list[Effect] = []
    rejections: list[Rejection] = []
    for effect in (effect for answer in answers for effect in answer):
        if isinstance(effect, AsksRejected | AllocationsRejected):
            rejections += effect.rejected
        else:
            effects.append(effect)
    return effects, rejections


@pytest.mark.remuda_rule("SI-2", "SI-7")
@pytest.mark.parametrize("seed", SEEDS)
def test_requests_as_one_and_one_by_one_have_the_same_effects(seed: int) -> None:
    inputs = at_one_time(record(seed).inputs)
    as_one = together(inputs)
    assert told(play(as_one)) == told(play(inputs))


def test_the_workloads_have_requests_that_can_be_one() -> None:
    inputs = [at_one_time(record(seed).inputs) for seed in SEEDS]
    assert sum(len(each) - len(together(each)) for each in inputs) > len(SEEDS)
