"""The few interfaces between the loop and what surrounds it.

They exist so that the loop can be driven by a fake clock or around a fake scheduler, and so
that edges can be attached without the loop knowing any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from remuda.config.process_limits import Limits
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect
from remuda.core.messages.queries import Query, View
from remuda.core.ports import AttemptWatch, FaultWatch, Predicates, PreemptionPredicates


class Door(Protocol):
    """What the loop needs of ``remuda.core.scheduler.Scheduler``."""

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        """Apply one command."""
        ...

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        """Run due timers, unless they are held, then make at most ``limit`` decisions."""
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


@runtime_checkable
class Watchable(Protocol):
    """A scheduler that tells of its attempts to preempt, as the core does."""

    def watch_attempts(self, watch: AttemptWatch) -> None:
        """Tell ``watch`` of each attempt, as it begins and ends. Rules: MET-13."""
        ...


@runtime_checkable
class Containing(Protocol):
    """A scheduler that goes on after a fault, without the RM it was for, as the core does."""

    def contain_faults(self, watch: FaultWatch) -> None:
        """Drop only the RM for which a fault happened, and call ``watch`` before. Rules: SI-15."""
        ...


class Clock(Protocol):
    """Where the loop reads the time."""

    def now_ns(self) -> int:
        """The scheduler's time in nanoseconds, which never jumps or goes back. Any thread."""
        ...

    @property
    def wall_ns(self) -> Callable[[], int]:
        """What reads the Unix time as the machine has it, in nanoseconds. Any thread."""
        ...


class SchedulerFactory(Protocol):
    """What makes a core; ``remuda.core.scheduler.Scheduler`` is one."""

    def __call__(
        self,
        predicates: Predicates,
        *,
        preemption: PreemptionPredicates,
        reservation_delay_ns: int | None,
        limits: Limits,
    ) -> Door:
        """Return a new scheduler; ``reservation_delay_ns`` None: it never reserves (RSV-3).

        ``limits``: how much each partition may keep (SI-14).
        """
        ...


class Recorder(Protocol):
    """Records the inputs and effects of the core, see journal.py."""

    @property
    def failure(self) -> str:
        """Why nothing is written any more; "" while all is well. Any thread."""
        ...

    @property
    def lost_inputs(self) -> int:
        """How many inputs are missing since then. Any thread."""
        ...

    def begin(self, reservation_delay_ns: int | None, limits: Limits) -> None:
        """Write down what the scheduler is made with; comes first."""
        ...

    def write_states_of(self, scheduler: Door) -> None:
        """Learn whose states to write, if it writes any; comes before all inputs."""
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

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> None:
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
