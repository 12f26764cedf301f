"""Rules on the order and the time of what the core says, gangs above all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from tests.simulation.faults.clock import SECOND

# An application in one of these states has left the active list.
ENDED: Final = ("Completed", "Failed")

# Said of an application that ended some days ago and is forgotten now (APP-18).
EXPIRED: Final = "Expired"

# Which states follow which (chapter 80, section 1).
FOLLOWING: Final = {
    "New": ("Accepted", "Failing", "Resuming"),
    "Accepted": ("Starting", "Completing", "Failing", "Resuming"),
    "Starting": ("Running", "Completing", "Failing"),
    "Running": ("Completing", "Failing"),
    "Completing": ("Running", "Completed", "Failing"),
    "Resuming": ("Accepted", "Completing", "Failing"),
    "Failing": ("Failed",),
}

# Nothing is placed for an application in one of these (APP-12).
CLOSED: Final = ("Failing", "Resuming")


class Manners:
    """What the core said of applications, and how long it waits for confirmations.

    ``states``: of live applications, by RM and ID. ``patience``: rm.confirmTimeout by RM, in ns.
    """

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self.states: dict[tuple[str, str], str] = {}
        self.patience: dict[str, int] = {}

    def registered(self, command: c.RegisterResourceManager) -> None:
        """An RM begins anew."""
        self.forget(command.rm_id)
        text = command.extra_config.get("rm.confirmTimeout", "600s")
        self.patience[command.rm_id] = int(text.removesuffix("s")) * SECOND

    def forget(self, rm_id: str) -> None:
        """All applications of an RM are gone."""
        self.states = {name: state for name, state in self.states.items() if name[0] != rm_id}

    def removed(self, rm_id: str, app: str) -> None:
        """An application is gone without another word."""
        self.states.pop((rm_id, app), None)

    def heard(self, effects: Iterable[Effect], *, placed: bool) -> None:
        """Raise if something is said that may not be said in this order."""
        stopped: set[str] = set()
        for effect in effects:
            if isinstance(effect, e.ApplicationUpdated):
                self._updated(effect)
                if effect.message in ("ResourceReservationTimeout", "ExecutionTimeout"):
                    stopped.add(effect.application_id)
            elif isinstance(effect, e.AllocationNew) and placed:
                state = self.states.get((effect.rm_id, effect.ask.application_id), "")
                assert state not in CLOSED, f"{effect} while {state} (APP-12)"
            elif isinstance(effect, e.AsksReleased):
                for ask in effect.released:
                    assert ask.application_id in stopped, f"{ask} before the state (GANG-24)"
                    self.counts["ask dropped at a timeout"] += 1

    def _updated(self, effect: e.ApplicationUpdated) -> None:
        name = (effect.rm_id, effect.application_id)
        if effect.state == EXPIRED:
            assert name not in self.states, f"{name} expires and is {self.states[name]} (APP-18)"
            return
        before = self.states.pop(name, "New")
        self.counts[f"{before} -> {effect.state}"] += 1
        assert effect.state in FOLLOWING[before], f"{name}: {before} -> {effect.state}"
        if effect.state not in ENDED:
            self.states[name] = effect.state

    def repeated(self, name: tuple[str, str, str, str], since: int | None, now: int) -> None:
        """Raise if an order is repeated before there was time to confirm it (SI-69).

        ``since`` None: it has an execution timeout of its own, which comes when it comes (SI-37).
        """
        self.counts["release requested again"] += 1
        if since is not None:
            early = f"{name} is ordered out again after {now - since} ns"
            assert now - since >= self.patience[name[0]], early
