"""The connection between one RM and the core, with everything that may go wrong on it.

Messages keep their order per stream and take their time. They may get lost, come twice, or come
again much later. What is under way when a registration begins belongs to the old life: the RM
drops such answers (RM-9), requests may still reach the core if the profile says so.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Final

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect
from tests.simulation.faults.clock import MILLI, SECOND, Clock
from tests.simulation.faults.profiles import Profile

CONFIRMATIONS: Final = (c.TIMEOUT, c.PREEMPTED_BY_SCHEDULER, c.PLACEHOLDER_REPLACED)

# Whose loss is made good within a registration: by repeated orders (SI-69), by an RM that sends
# again what is not answered, and by asks that are sent again while they wait.
REPAIRABLE: Final = frozenset(
    {
        "confirmation",
        "order",
        "release",
        "released",
        "application",
        "applications answered",
        "updated",
        "create",
        "nodes answered",
        "existing",
        "existing new",
        "asks rejected",
        "asks released",
        "allocations rejected",
        "ask",
    }
)

# Requests with what runs. They never arrive late: what ended since then would run for the core
# alone. The core does not take them either, as the streams of a registration end with it.
BRINGING: Final = frozenset({"create", "existing"})


class Link:
    """Both directions. ``gaps``: answers that were lost and that nobody will send again."""

    def __init__(
        self, clock: Clock, dice: random.Random, profile: Profile, counts: Counter[str]
    ) -> None:
        self.clock = clock
        self.dice = dice
        self.profile = profile
        self.counts = counts
        self.to_core: Callable[[Command], None]
        self.to_rm: Callable[[Effect], None]
        self.life = 0
        self.open = True
        self.calm = False
        self.gaps = 0
        self._held: list[tuple[int, Callable[[], None], bool, bool]] = []
        self._last: dict[str, int] = {}

    def begin_life(self) -> None:
        """The RM registers: what is under way is of the past."""
        self.life += 1
        self.gaps = 0
        self.open = True
        self._held.clear()

    def request(self, command: Command) -> None:
        """The RM sends a request."""
        kind = kind_of_request(command)
        self._send(kind, lambda: self.to_core(command), request=True, late=kind not in BRINGING)

    def answer(self, effect: Effect, *, known: bool) -> None:
        """The core sends an answer; ``known``: the RM reported what the answer is about."""
        kind = kind_of_answer(effect)
        if known:
            kind = "existing new"
        self._send(kind, lambda: self.to_rm(effect), request=False)

    def cut(self) -> None:
        """The connection breaks; what arrives now waits (RM-15)."""
        self.open = False

    def mend(self) -> None:
        """The connection is back, with what waited, in order (RM states)."""
        self.open = True
        held, self._held = self._held, []
        for life, what, request, late in held:
            self._arrive(life, what, request, late)

    def crash(self) -> None:
        """The core is gone with what it had not sent; part of what is under way still arrives."""
        life = self.life
        deadline = self.clock.now + self.dice.randrange(SECOND)
        self.clock.at(deadline, lambda: self._past(life))

    def _past(self, life: int) -> None:
        if self.life == life:
            self.life += 1

    def _send(
        self, kind: str, what: Callable[[], None], *, request: bool, late: bool = False
    ) -> None:
        """Send a message; ``late``: it may arrive after the RM has registered again."""
        life = self.life
        stream = f"{request} {stream_of(kind) if self.profile.streams else ''}"
        arrival = max(self.clock.now + self._delay(), self._last.get(stream, 0))
        self._last[stream] = arrival

        def arrive() -> None:
            self._arrive(life, what, request, late)

        if not self.calm and self._is_lost(kind):
            self.counts[f"lost {kind}"] += 1
            if kind == "new":
                self.gaps += 1
        else:
            self.clock.at(arrival, arrive)
        if not self.calm and self.dice.random() < self.profile.doubled:
            self.counts[f"doubled {kind}"] += 1
            self.clock.at(arrival, arrive)
        if not self.calm and self.dice.random() < self.profile.echoed:
            self.counts[f"echoed {kind}"] += 1
            self.clock.at(arrival + self.dice.randrange(SECOND, 60 * SECOND), arrive)

    def _is_lost(self, kind: str) -> bool:
        lost = self.dice.random() < self.profile.lost
        return lost and (not self.profile.repairable or kind in REPAIRABLE)

    def _delay(self) -> int:
        shape = 1.0 if self.calm else self.dice.random()
        if shape < 0.05:
            self.counts["slow message"] += 1
            return self.dice.randrange(self.profile.slow)
        return self.dice.randrange(MILLI, 50 * MILLI)

    def _arrive(self, life: int, what: Callable[[], None], request: bool, late: bool) -> None:
        if life != self.life:
            self.counts[f"{'request' if request else 'answer'} from an old life"] += 1
            if not (late and self.profile.stale):
                return
        if not self.open:
            self._held.append((life, what, request, late))
            return
        what()


def kind_of_request(command: Command) -> str:
    """What a request is mainly about, for counting and for what its loss means."""
    if isinstance(command, c.UpdateApplications):
        return "application" if command.new else "removal"
    if isinstance(command, c.UpdateNodes):
        creates = (c.CREATE, c.CREATE_DRAIN)
        return "create" if all(n.action in creates for n in command.nodes) else "node change"
    assert isinstance(command, c.UpdateAllocations)
    if command.ask_releases:
        return "ask release"
    if any(each.termination_type in CONFIRMATIONS for each in command.releases):
        return "confirmation"
    if command.releases:
        return "release"
    return "existing" if command.allocations else "ask"


def kind_of_answer(effect: Effect) -> str:
    """What an answer is, for counting and for what its loss means."""
    if isinstance(effect, e.AllocationsReleased):
        ordered = any(each.termination_type in CONFIRMATIONS for each in effect.released)
        return "order" if ordered else "released"
    return _ANSWERS[type(effect)]


def stream_of(kind: str) -> str:
    """On which of three streams a message goes (SI-104)."""
    return _STREAMS.get(kind, "allocations")


_ANSWERS: Final[dict[type, str]] = {
    e.ApplicationsAnswered: "applications answered",
    e.ApplicationUpdated: "updated",
    e.AllocationNew: "new",
    e.AsksReleased: "asks released",
    e.AsksRejected: "asks rejected",
    e.AllocationsRejected: "allocations rejected",
    e.NodesAnswered: "nodes answered",
    e.RequestRefused: "refused",
    e.ContainerStateUpdated: "container state",
}

_STREAMS: Final = {
    "application": "applications",
    "removal": "applications",
    "applications answered": "applications",
    "updated": "applications",
    "create": "nodes",
    "node change": "nodes",
    "nodes answered": "nodes",
}
