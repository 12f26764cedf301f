"""The process in which the core runs: feeds it, lets it decide, carries its answers away."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Final

from remuda.config.process_limits import APPLICATION_ASKS, DEFAULT_LIMITS
from remuda.config.schema import Configuration
from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import events
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect
from remuda.core.ports import Predicates, PreemptionPredicates
from remuda.core.scheduler import Scheduler
from remuda.runtime.build import core_build
from tests.simulation.faults.audit import Audit
from tests.simulation.faults.bounds import Judge
from tests.simulation.faults.clock import MILLI, SECOND, START, Clock
from tests.simulation.faults.ledger import home_of
from tests.simulation.faults.witness import Witness, applications, node_views

# After so many commands and steps everything is checked; 0: after each, what it may have changed.
# In plain Python a check takes ten times as long as what it checks.
CHECKED: Final = 0 if core_build() == "compiled" else 12

# Of so many times at which the core has nothing to do, one is looked at for what could be placed.
IDLE: Final = 16

# Lines of history that a failure shows.
SHOWN: Final = 60

# What becomes of an answer: to whom, what, and whether the RM reported what it is about.
Carry = Callable[[Effect, bool], None]


# The commands in which a fault may be ordered; the others have answers that the RMs rely on.
REQUESTS: Final = (c.UpdateNodes, c.UpdateApplications, c.UpdateAllocations, c.PredicateVerdicts)


# What the core may raise when a fault is ordered: anything, memory that is not there included.
FAULTS: Final[tuple[type[Exception], ...]] = (
    KeyError,
    MemoryError,
    RecursionError,
    TypeError,
    ZeroDivisionError,
)

# Of which kinds the core keeps little, so that floods meet the limit (SI-14).
LIMITS: Final = {**DEFAULT_LIMITS, APPLICATION_ASKS.name: 30}


class Host:
    """One core at a time; after a crash there is another that knows nothing (REC-1)."""

    def __init__(
        self,
        clock: Clock,
        dice: random.Random,
        counts: Counter[str],
        predicates: Predicates,
        preemption: PreemptionPredicates,
        *,
        judge: Judge,
    ) -> None:
        self.clock = clock
        self.dice = dice
        self.counts = counts
        self.predicates = predicates
        self.preemption = preemption
        self.judge = judge
        self.carriers: dict[str, Carry] = {}
        self.history: deque[tuple[int, object]] = deque(maxlen=SHOWN)
        self.lives = 0
        self.checked = CHECKED
        self.left = 0
        self.ahead = 0
        self.ordered: Exception | None = None
        self.idle = 0
        self.on_idle: Callable[[], None] = lambda: None
        self.on_fault: Callable[[str], None] = lambda rm_id: None
        self.crash()

    def crash(self) -> None:
        """The process ends; the next one begins at once with nothing."""
        self.scheduler = Scheduler(self.predicates, preemption=self.preemption, limits=LIMITS)
        self.scheduler.contain_faults(self._note_fault)
        if self.ahead:
            self.scheduler.handle(c.MoveWallClock(self.ahead), self.clock.now)
        self.left = 0
        self.witness = Witness(self.counts, self.scheduler, self.judge)
        self.audit = Audit(self.scheduler, self.witness)
        self.lives += 1
        self.turns = 0
        self._alarm: int | None = None
        self.note("the core starts")

    def handle(self, command: Command) -> list[Effect]:
        """One command; its answers are on their way when this returns."""
        self.note(command)
        if isinstance(command, c.UpdateNodes):
            self._count_lost_swaps(command)
        with self._failing(on=isinstance(command, REQUESTS)):
            effects = self.scheduler.handle(command, self.clock.now)
        self.witness.handled(command, effects, self.clock.now)
        reported: set[tuple[str, str]] = set()
        if isinstance(command, c.UpdateAllocations):
            reported = {(x.ask.application_id, x.allocation_id) for x in command.allocations}
        self._carry(command, effects, reported)
        return effects

    def set_wall_clock(self, ahead: int) -> None:
        """Somebody sets the wall clock so far ahead of the time that never jumps (CYC-34)."""
        self.ahead = ahead
        self.handle(c.MoveWallClock(ahead))

    def fail_after(self, reports: int) -> None:
        """Let the core fail when it has reported that much more, in a request or on its own."""
        self.left = reports

    @contextmanager
    def _failing(self, *, on: bool) -> Iterator[None]:
        """Let an ordered fault happen inside."""
        self.scheduler.set_fault_point(self._pass if on and self.left else None)
        yield
        self.scheduler.set_fault_point(None)

    def _pass(self) -> None:
        if self.left:
            self.left -= 1
            if not self.left:
                kind = self.dice.choice(FAULTS)
                self.counts[f"ordered {kind.__name__}"] += 1
                self.ordered = kind("ordered")
                raise self.ordered

    def _note_fault(self, rm_id: str, fault: Exception) -> None:
        """Only an ordered fault is contained; any other one is a finding."""
        if fault is not self.ordered:
            raise fault
        self.note(f"the core fails in work for {rm_id}")

    def _count_lost_swaps(self, command: c.UpdateNodes) -> None:
        """Count on which side of a replacement a node is lost (GANG-18)."""
        lost = {x.node_id for x in command.nodes if x.action == c.DECOMISSION}
        if not lost or command.rm_id not in self.carriers:
            return
        for home in {home_of(update) for update in command.nodes}:
            for before, after in swaps(self.scheduler, command.rm_id, home):
                if before in lost:
                    both = "both sides" if after in lost else "the placeholder"
                    self.counts[f"node lost under {both} of a replacement"] += 1
                elif after in lost:
                    self.counts["node lost under the real side of a replacement"] += 1

    def note(self, what: object) -> None:
        """Remember what happened, for a failure to show."""
        self.history.append((self.clock.now, what))

    def told(self) -> str:
        """The last things that happened, a line each."""
        lines = [f"{(when - START) / SECOND:.3f} {brief(what)}" for when, what in self.history]
        return "\n".join(lines)

    def _step(self) -> None:
        limit = self.dice.choice((0, 1, 1, 2, 3, 8, 100))
        with self._failing(on=True):
            effects = self.scheduler.step(self.clock.now, limit)
        self.witness.stepped(effects, self.clock.now)
        self._carry(None, effects, set())

    def _carry(
        self, command: Command | None, effects: list[Effect], reported: set[tuple[str, str]]
    ) -> None:
        for effect in effects:
            if isinstance(effect, e.EventRecord):
                if effect.detail == events.NODE_RESERVATION:
                    self.counts["node reserved, or not any more"] += 1
                continue
            self.note(effect)
            if isinstance(effect, e.ResourceManagerFailed):
                self.on_fault(effect.rm_id)
            elif isinstance(effect, e.ApplicationUpdated):
                effect = self._untimed(effect)  # noqa: PLW2901 - what the RM takes it for
            known = False
            if isinstance(effect, e.AllocationNew):
                known = (effect.ask.application_id, effect.allocation_id) in reported
            carry = self.carriers.get(effect.rm_id)
            if carry is not None:
                carry(effect, known)
        self.turns += 1
        self.counts["input"] += 1
        if self.checked:
            if self.turns % self.checked == 0:
                self.check()
        else:
            self.counts["partition checked"] += self.audit.check_changed(command, effects)
            self.counts["check"] += 1
        self._plan()

    def _untimed(self, effect: e.ApplicationUpdated) -> e.ApplicationUpdated:
        """A state with the time that never jumps: RMs do not compare times of a clock that does."""
        wall = self.clock.now + self.ahead
        assert effect.timestamp_ns == wall, f"{effect} is told at {wall} (CYC-34)"
        return replace(effect, timestamp_ns=self.clock.now)

    def check(self) -> None:
        """Everything adds up, and is what was told."""
        self.counts["check"] += 1
        self.audit.check_all()

    def _plan(self) -> None:
        """See to it that there is a step when there is something to do."""
        if self.scheduler.has_work():
            self._wake(self.clock.now + self.dice.randrange(20 * MILLI))
            return
        self.idle += 1
        if self.idle % IDLE == 0:
            self.on_idle()
        deadline = self.scheduler.next_deadline()
        if deadline is not None:
            self._wake(deadline)

    def _wake(self, when: int) -> None:
        when = max(when, self.clock.now)
        if self._alarm is not None and self._alarm <= when:
            return
        self._alarm = when
        life = self.lives

        def ring() -> None:
            if self.lives == life and self._alarm == when:
                self._alarm = None
                self._step()

        self.clock.at(when, ring)


def brief(what: object) -> str:
    """A record without what is as usual; effects are indented."""
    if isinstance(what, tuple):
        return f"[{', '.join(brief(each) for each in what)}]"
    if not is_dataclass(what):
        return str(what)
    if isinstance(what, Configuration):
        return f"configuration {what.checksum.lstrip('0')}"
    shown: list[str] = []
    for field in fields(what):
        value = getattr(what, field.name)
        usual = field.default_factory() if field.default_factory is not MISSING else field.default
        if value != usual:
            shown.append(f"{field.name}={brief(value)}")
    indent = "    " if isinstance(what, Effect) else ""
    return f"{indent}{type(what).__name__}({', '.join(shown)})"


def swaps(scheduler: Scheduler, rm_id: str, home: str) -> list[tuple[str, str]]:
    """The replacements under way: nodes of the placeholder and of what takes its place."""
    nodes = node_views(scheduler, rm_id, home)
    where = {
        (each.application_id, each.allocation_id): node.node_id
        for node in nodes
        for each in node.allocations
    }
    found: list[tuple[str, str]] = []
    for app in applications(scheduler, rm_id, home):
        for each in app.allocations:
            if each.replacement:
                real = where.get((app.application_id, each.replacement), each.node_id)
                found.append((each.node_id, real))
    return found
