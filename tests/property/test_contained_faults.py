"""A fault in work for one RM changes no decision for the others, wherever it happens (SI-15)."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from remuda.core.messages.effects import Effect, ResourceManagerFailed
from remuda.core.scheduler import Scheduler
from tests.long_runs import usual
from tests.reference.driver import ROUNDS
from tests.reference.tastes import refuse_some
from tests.reference.workloads import Run, Step, record

pytestmark = pytest.mark.remuda_rule("SI-15")

# Faults that are tried in each workload of two RMs, at places as far apart as possible.
PLACES = 20

BLOCK = 60
# Faults were found in the last two blocks.
FIRST = [*range(0, 180, BLOCK), 2_290, 2_600]

_TIME = re.compile(r"timestamp_ns=\d+")


class Point:
    """A fault point that raises once, and counts how often it was passed."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.passed = 0

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self.place:
            raise ZeroDivisionError("a fault of ours")


class Heard:
    """What a workload led to: the effects of each RM, who failed, and when the core was asked."""

    def __init__(self, run: Run, place: int = 0) -> None:
        self.point = Point(place)
        self.failed: list[str] = []
        self.effects: dict[str, list[Effect]] = {}
        self.scheduler = Scheduler(refuse_some)
        self.scheduler.contain_faults(lambda rm_id, fault: self.failed.append(rm_id))
        self.scheduler.set_fault_point(self.point)
        for now, what in run.inputs:
            if isinstance(what, Step):
                self._place(now)
            else:
                self._note(self.scheduler.handle(what, now))
        self.scheduler.check()

    def _place(self, now: int) -> None:
        """All that can be decided now: how far the others get must not depend on the fault."""
        self._note(self.scheduler.step(now, 0))
        for _ in range(ROUNDS):
            if not self.scheduler.has_work():
                return
            self._note(self.scheduler.step(now, 1))
        raise AssertionError("there is always something to decide")

    def _note(self, effects: list[Effect]) -> None:
        for effect in effects:
            self.effects.setdefault(effect.rm_id, []).append(effect)


def told(effects: list[Effect]) -> list[Effect] | Counter[str]:
    """What an RM heard, to be compared.

    Partitions of all RMs take turns (CYC-3), so that a fault may change which of its own partitions
    an RM hears of first. Of an RM with several the order does not count, nor the times.
    """
    partitions = {
        partition for effect in effects if (partition := getattr(effect, "partition", ""))
    }
    if len(partitions) < 2:
        return effects
    return Counter([_TIME.sub("", repr(effect)) for effect in effects])


@pytest.mark.parametrize("first", usual(FIRST))
def test_the_others_hear_exactly_what_they_hear_without_it(first: int) -> None:
    survivors = sum([_survivors(record(seed), seed) for seed in range(first, first + BLOCK)])
    assert survivors > PLACES


def _survivors(run: Run, seed: int) -> int:
    """Let a workload fail in several places; count the RMs that did not notice."""
    calm = Heard(run)
    assert calm.failed == []
    owners = [rm_id for rm_id in calm.effects if rm_id != "stranger"]
    places = PLACES if len(owners) > 1 else 1
    survivors = 0
    for turn in range(places):
        passed = calm.point.passed
        faulty = Heard(run, 1 + (turn * passed + seed) // places % passed)
        (failed,) = faulty.failed
        kinds = [type(effect) for effect in faulty.effects[failed]]
        assert kinds.count(ResourceManagerFailed) == 1
        for rm_id in owners:
            if rm_id != failed:
                assert told(faulty.effects.get(rm_id, [])) == told(calm.effects[rm_id])
                survivors += 1
    return survivors
