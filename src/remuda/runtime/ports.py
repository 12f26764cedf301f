"""The few interfaces between the loop and what surrounds it.

They exist so that the loop can be driven by a fake clock or around a fake scheduler, and so
that edges can be attached without the loop knowing any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect
from remuda.core.messages.queries import Query, View
from remuda.core.ports import Predicates, PreemptionPredicates


class Door(Protocol):
    """What the loop needs of ``remuda.core.scheduler.Scheduler``."""

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        """Apply one command."""
        ...

    def step(self, now_ns: int, limit: int) -> list[Effect]:
        """Run due timers, then make at most ``limit`` decisions."""
        ...

    def next_deadline(self) -> int | None:
        """When to step even without input, Unix nanoseconds; None: never."""
        ...

    def has_work(self) -> bool:
        """Whether a step would find an ask worth trying."""
        ...

    def view(self, query: Query) -> View:
        """Answer a read-only question."""
        ...

    def check(self) -> None:
        """Recompute every counter and index; raise InvariantViolation on a difference."""
        ...


class Clock(Protocol):
    """Where the loop reads the time."""

    def now_ns(self) -> int:
        """Unix time in nanoseconds, never going back. Any thread."""
        ...


class SchedulerFactory(Protocol):
    """What makes a core; ``remuda.core.scheduler.Scheduler`` is one."""

    def __call__(
        self,
        predicates: Predicates,
        *,
        preemption: PreemptionPredicates,
        reservation_delay_ns: int | None,
    ) -> Door:
        """Return a new scheduler; ``reservation_delay_ns`` None: it never reserves (RSV-3)."""
        ...


class Recorder(Protocol):
    """Who writes down what goes into the core and what comes out, see journal.py."""

    def begin(self, reservation_delay_ns: int | None) -> None:
        """Write down what the scheduler is made with; comes first."""
        ...

    def listen(self, predicates: Predicates) -> Predicates:
        """Return a port that asks ``predicates`` and writes questions and answers down."""
        ...

    def listen_about_victims(self, predicates: PreemptionPredicates) -> PreemptionPredicates:
        """The same for questions about victims."""
        ...

    def command(self, now_ns: int, command: Command) -> None:
        """Write down that ``command`` is about to be handled."""
        ...

    def step(self, now_ns: int, limit: int) -> None:
        """Write down that a step is about to run."""
        ...

    def effects(self, effects: Sequence[Effect]) -> None:
        """Take note of what came out of the latest input."""
        ...

    def close(self) -> None:
        """Finish the recording."""
        ...


# Called on the core thread with the effects of one RM, or of all RMs, in the order the core
# produced them. It must return quickly and must not wait for the scheduler.
EffectSink: TypeAlias = Callable[[Sequence[Effect]], None]
