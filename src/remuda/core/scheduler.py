"""The one door of the core: commands in, effects out.

Exactly one thread may touch a Scheduler. It reads no clock, does no I/O and draws no random
number: the same sequence of (time, command or step) and predicate answers gives the same
effects, byte for byte.
"""

from __future__ import annotations

from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect
from remuda.core.messages.queries import Query, View
from remuda.core.ports import Predicates, always_true


class Scheduler:
    """Partitions of all RMs, and what happens to them."""

    def __init__(self, predicates: Predicates = always_true) -> None:
        raise NotImplementedError

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        """Apply one command at a time; it applies or, element by element, changes nothing."""
        raise NotImplementedError

    def step(self, now_ns: int, limit: int) -> list[Effect]:
        """Run due timers, then make at most ``limit`` allocations."""
        raise NotImplementedError

    def next_deadline(self) -> int | None:
        """When step must be called even if nothing happens; None: never."""
        raise NotImplementedError

    def has_work(self) -> bool:
        """Whether step would find an ask worth trying."""
        raise NotImplementedError

    def view(self, query: Query) -> View:
        """Answer a read-only question."""
        raise NotImplementedError

    def check(self) -> None:
        """Recompute every counter and index; raise InvariantViolation on a difference."""
        raise NotImplementedError
