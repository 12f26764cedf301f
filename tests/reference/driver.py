"""Feed recorded inputs to the real scheduler and compare what comes out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from remuda.core.messages import events as ev
from remuda.core.messages.commands import RegisterResourceManager, UpdateConfiguration
from remuda.core.messages.effects import AllocationNew, ApplicationUpdated, Effect, EventRecord
from remuda.core.ports import Predicates
from remuda.core.scheduler import Scheduler
from tests.reference.model import SECOND
from tests.reference.outcome import (
    USAGE,
    Outcome,
    Record,
    counted,
    entries,
    home,
    outcomes,
    records,
    settled,
)
from tests.reference.snapshot import compare, seen
from tests.reference.tastes import Taste, refuse_some
from tests.reference.workloads import Input, Run, Step

# Steps at one time, more than any workload needs.
ROUNDS: Final = 5_000

# Who holds an application back, and whether that begins or ends.
HOLDING: Final = {
    ev.APP_CANNOTRUN_QUEUE: ("queue", True),
    ev.APP_RUNNABLE_QUEUE: ("queue", False),
    ev.APP_CANNOTRUN_QUOTA: ("quota", True),
    ev.APP_RUNNABLE_QUOTA: ("quota", False),
}


def apply(scheduler: Scheduler, given: Input) -> list[Effect]:
    """One input, a step's limit taken as that many decisions."""
    now, what = given
    if isinstance(what, Step):
        return scheduler.step(now, what.limit)
    return scheduler.handle(what, now)


def answer(scheduler: Scheduler, given: Input) -> list[Effect]:
    """One input, a step's limit taken as that many allocations."""
    now, what = given
    if isinstance(what, Step):
        return place(scheduler, now, what.limit)
    return scheduler.handle(what, now)


def place(scheduler: Scheduler, now: int, limit: int) -> list[Effect]:
    """Step until ``limit`` allocations were placed or nothing is left to try.

    The scheduler counts decisions, and finding out that something fits nowhere is one.
    """
    effects = scheduler.step(now, 0)
    left = limit
    for _ in range(ROUNDS):
        if left <= 0 or not scheduler.has_work():
            return effects
        found = scheduler.step(now, left)
        effects += found
        left -= sum(isinstance(effect, AllocationNew) for effect in found)
    raise AssertionError(f"at {now} there is always something to decide")


def play(inputs: Iterable[Input], predicates: Predicates = refuse_some) -> list[list[Effect]]:
    """All inputs on a new scheduler."""
    scheduler = Scheduler(predicates)
    return [apply(scheduler, given) for given in inputs]


def digest(effects: Iterable[Effect]) -> str:
    """A short name for exactly these effects in this order."""
    hasher = hashlib.sha256()
    for effect in effects:
        hasher.update(repr(effect).encode())
    return hasher.hexdigest()


def difference(run: Run) -> str:
    """Where the scheduler and the reference part, "" if they do not."""
    return Comparison(run).difference()


class Comparison:
    """One workload played to a new scheduler, input by input.

    ``blocked``: what the event records say holds back each application. ``background``: what was
    heard of removed partitions.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.taste = Taste()
        self.scheduler = Scheduler(
            self.taste.port, reservation_delay_ns=run.reference.reservation_delay
        )
        self.blocked: dict[tuple[str, str], list[str]] = {}
        self.gone: set[tuple[str, str, str]] = set()
        self.background: list[Outcome] = []

    def difference(self) -> str:
        """The first difference, "" if there is none."""
        for number, given in enumerate(self.run.inputs):
            self.gone |= self.run.removed.get(number, set())
            if isinstance(given[1], RegisterResourceManager):
                self.gone = {one for one in self.gone if one[1] != given[1].rm_id}
            if number in self.run.moods:
                self.taste.change(*self.run.moods[number])
            effects = answer(self.scheduler, given)
            fault = self.answered(number, effects) or self.told(number, effects)
            if fault := fault or self.due(number) or self.snapshot(number):
                return f"input {number} {given[1]!s:.300}:\n{fault}"
        return self.heard()

    def answered(self, number: int, effects: list[Effect]) -> str:
        """Compare the answers; those about removed partitions come when they come."""
        stepping = isinstance(self.run.inputs[number][1], Step)
        found = [o for one in outcomes(effects) if (o := self.present(one)) is not None]
        wanted = [o for o in self.run.expected[number] if not self.of_gone_node(o)]
        if settled(found, stepping) == settled(wanted, stepping):
            return ""
        return f"  reference {wanted}\n  scheduler {found}"

    def present(self, found: Outcome) -> Outcome | None:
        """What is left of an answer without what belongs to removed partitions."""
        if self.of_gone_node(found):
            return None
        if found[0] == "state" and ("application", found[1], found[2]) in self.gone:
            self.background.append(found)
            return None
        if found[0] != "released":
            return found
        mine = {one: ("application", found[1], one[0]) in self.gone for one in entries(found)}
        self.background += [("released", found[1], (one,)) for one in mine if mine[one]]
        left = tuple(one for one in mine if not mine[one])
        return ("released", found[1], left) if left else None

    def of_gone_node(self, found: Outcome) -> bool:
        """Whether this is about reservations of a removed partition, which may be there again."""
        about_node = found[0] in ("reserved", "unreserved")
        return about_node and ("partition", *home(found)) in self.gone

    def told(self, number: int, effects: list[Effect]) -> str:
        """Compare the event records, usage summed; a reload may move usage among groups."""
        quiet = isinstance(self.run.inputs[number][1], UpdateConfiguration)
        events = [r for r in records(effects) if not (quiet and r[5] in USAGE)]
        found, wanted = counted(self.still(events)), counted(self.still(self.run.records[number]))
        if fault := self.follow(number, effects):
            return fault
        if found == wanted:
            return ""
        missing, more = wanted[0] - found[0], found[0] - wanted[0]
        return f"  usage {wanted[1]}\n  but told {found[1]}\n  missing {missing}, too many {more}"

    def still(self, events: list[Record]) -> list[Record]:
        """Without the records of partitions that were removed, which may be there again."""
        return [r for r in events if ("partition", r[0], r[1]) not in self.gone]

    def follow(self, number: int, effects: list[Effect]) -> str:
        """Note who is held back; nobody starts that is. Rules: QUE-26, EVT-32, CYC-11.

        When it is told is open (README, decision 35), but nothing is told twice.
        """
        stepping = isinstance(self.run.inputs[number][1], Step)
        for one in effects:
            if isinstance(one, EventRecord) and one.detail in HOLDING:
                by, begins = HOLDING[one.detail]
                held = self.blocked.setdefault((one.rm_id, one.object_id), [])
                if (by in held) == begins:
                    return f"  {one} changes nothing"
                held.append(by) if begins else held.remove(by)
            if isinstance(one, ApplicationUpdated) and stepping and one.state == "Starting":
                known = self.blocked.get((one.rm_id, one.application_id), [])
                if known:
                    return f"  {one} although held back by {known}"
        return ""

    def due(self, number: int) -> str:
        """Compare the next timer."""
        due, known = self.run.deadlines[number], self.scheduler.next_deadline()
        if due is None or (known is not None and known <= due):
            return ""
        return f"  next timer at {due}, scheduler says {known}"

    def snapshot(self, number: int) -> str:
        """Compare what can be seen, where the reference noted it."""
        for name, wanted in self.run.snapshots.get(number, {}).items():
            if fault := compare(wanted, seen(self.scheduler, *name, wanted)):
                return f"  partition {name}:\n{fault}"
        return ""

    def heard(self) -> str:
        """Wait for what is done in the background and compare it. Rules: OBJ-9."""
        now = self.run.inputs[-1][0]
        for second in range(120):
            for one in outcomes(self.scheduler.step(now + second * SECOND, 0)):
                self.present(one)
            if len(self.background) >= len(self.run.reference.background):
                break
        wanted, found = self.run.reference.background, self.background
        mine = [o for o in found if (o[1], subject(o)) in {(w[1], subject(w)) for w in wanted}]
        if by_subject(mine) == by_subject(wanted):
            return ""
        return f"of removed partitions:\n  reference {wanted}\n  scheduler {found}"


def subject(found: Outcome) -> str:
    """The application a background answer is about."""
    return entries(found)[0][0] if found[0] == "released" else str(found[2])


def by_subject(found: list[Outcome]) -> object:
    """Answers per application: its states in order, its releases in any."""
    states = [o for o in found if o[0] == "state"]
    releases = sorted(str(o) for o in found if o[0] == "released")
    return sorted(states, key=subject), releases


def comparable(effects: Iterable[Iterable[Effect]]) -> list[Outcome]:
    """Many answers as one list."""
    return [o for answer in effects for o in outcomes(answer)]
