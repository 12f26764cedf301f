"""A scheduler with what surrounds each of its inputs: the recording, and what is done about faults.

Only the core thread calls this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect, RequestRefused
from remuda.core.messages.queries import Query, View
from remuda.runtime.faults import Faults
from remuda.runtime.ports import Door, Recorder
from remuda.runtime.requests import Request


class GuardedScheduler:
    """The core as the driver uses it.

    Args:
        scheduler: the core itself.
        recorder: gets each input before the core does, and the effects after it.
        faults: knows what made the core fail before. Rules: SI-15.

    ``inputs``: how many inputs the core has got; the state is the same while it is.
    """

    def __init__(self, scheduler: Door, recorder: Recorder | None, faults: Faults | None) -> None:
        self.inputs = 0
        self._scheduler = scheduler
        self._recorder = recorder
        self._faults = faults
        self.has_work: Final[Callable[[], bool]] = scheduler.has_work
        self.next_deadline: Final[Callable[[], int | None]] = scheduler.next_deadline
        self.view: Final[Callable[[Query], View]] = scheduler.view
        self.check: Final[Callable[[], None]] = scheduler.check

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        """Apply one command, in parts if elements of it made the core fail before."""
        faults = self._faults
        if faults is None or not isinstance(command, Request) or not faults.watches(command):
            return self._handle(command, now_ns)
        effects: list[Effect] = []
        for part in faults.parts(command):
            found = self._handle(part, now_ns)
            effects += found
            if command.rm_id in faults.failed:
                break
            if not any(isinstance(effect, RequestRefused) for effect in found):
                faults.passed(part)
        return effects

    def step(self, now_ns: int, limit: int, *, timers: bool) -> list[Effect]:
        """Make one step."""
        self.inputs += 1
        if self._recorder is not None:
            self._recorder.step(now_ns, limit, timers=timers)
        if self._faults is not None:
            self._faults.command = None
        effects = self._scheduler.step(now_ns, limit, timers=timers)
        if self._recorder is not None:
            self._recorder.effects(effects)
        return effects

    def _handle(self, command: Command, now_ns: int) -> list[Effect]:
        self.inputs += 1
        if self._recorder is not None:
            self._recorder.command(now_ns, command)
        if self._faults is not None:
            self._faults.command = command
        effects = self._scheduler.handle(command, now_ns)
        if self._recorder is not None:
            self._recorder.effects(effects)
        return effects
