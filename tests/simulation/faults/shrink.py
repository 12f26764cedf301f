"""Shortens the script of a world that fails to a few steps that still fail in the same place.

The last steps are tried alone. Then steps are left out in halves, quarters and so on down to single
ones (delta debugging), and so is what the profile lets go wrong. A script that fails elsewhere
shows another fault, so it does not count.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.simulation.faults.script import Script, Steps

# Processor time that one script may take, in seconds.
BUDGET: Final = 60.0

# What the profile lets go wrong in every step. The rest is in the steps.
_RATES: Final = (
    "lost",
    "doubled",
    "echoed",
    "stale",
    "twins",
    "preempts",
    "predicates",
    "judges",
    "streams",
)


@dataclass(frozen=True)
class Finding:
    """How a script failed. ``place``: kind and place of the fault; ``done``: the steps it took."""

    place: str
    text: str
    done: int


Attempt = Callable[[Script], Finding | None]


def place_of(fault: BaseException) -> str:
    """Return what a fault is and where it was raised, by which faults are told from one another."""
    frames = traceback.extract_tb(fault.__traceback__)[-2:]
    where = ", ".join([f"{Path(frame.filename).name} {frame.name}" for frame in frames])
    return f"{type(fault).__name__} in {where}"


def shrink(script: Script, attempt: Attempt, budget: float = BUDGET) -> tuple[Script, Finding]:
    """Return the shortest script found within ``budget`` that fails as the given one does.

    Raises: ValueError if the given one does not fail.
    """
    found = attempt(script)
    if found is None:
        raise ValueError("the script does not fail")
    return _Shrinking(script, found, attempt, time.process_time() + budget).run()


class _Shrinking:
    """The shortest script so far, and how it fails."""

    def __init__(self, script: Script, found: Finding, attempt: Attempt, deadline: float) -> None:
        self.script = script
        self.found = found
        self.attempt = attempt
        self.deadline = deadline

    def run(self) -> tuple[Script, Finding]:
        """Shorten until nothing can be left out, or the time is over."""
        before = None
        while before != self.script and self._has_time():
            before = self.script
            self._cut()
            self._keep_last()
            self._calm()
            self._leave_out()
        return self.script, self.found

    def _has_time(self) -> bool:
        return time.process_time() < self.deadline

    def _try(self, script: Script) -> bool:
        """Take a shorter script if it fails in the same way."""
        found = self.attempt(script)
        if found is None or found.place != self.found.place:
            return False
        self.script, self.found = script, found
        return True

    def _cut(self) -> None:
        """Leave out what would have come after the fault."""
        done = self.found.done
        if done < len(self.script.steps):
            self._try(replace(self.script, steps=self.script.steps[:done]))

    def _keep_last(self) -> None:
        """Try the last steps alone, 4, 16, 64 and so on: most faults need no long history."""
        steps, size = self.script.steps, 4
        while size < len(steps) and self._has_time():
            if self._try(replace(self.script, steps=steps[-size:])):
                return
            size *= 4

    def _calm(self) -> None:
        """Let less go wrong in every step."""
        for name in _RATES:
            profile = self.script.profile
            value = getattr(profile, name)
            if value and self._has_time():
                milder = replace(profile, **{name: type(value)()})
                self._try(replace(self.script, profile=milder))

    def _leave_out(self) -> None:
        """Leave out as many steps at a time as possible, from the last to the first."""
        size = len(self.script.steps)
        while size := size // 2 if size > 1 else 0:
            at = len(self.script.steps)
            while at > 0 and self._has_time():
                at -= size
                self._without(max(at, 0), at + size)
        if len(self.script.steps) == 1:
            self._without(0, 1)

    def _without(self, begin: int, end: int) -> None:
        steps: Steps = self.script.steps
        self._try(replace(self.script, steps=steps[:begin] + steps[end:]))
