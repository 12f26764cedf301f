"""Allocations that the scheduler preempts, and what the resource manager does about them.

A victim ends EVICTION_NS after its release request, like a container that gets a moment to stop. If
its task finishes before, the task is done. Otherwise the resource manager confirms the release and
asks for the same work again; the work so far is lost. The new ask has the same allocation key, so
the scheduler keeps the age of the ask and counts its evictions (SI-33, SI-34, PRE-92). Only a
placeholder gets a new key, because the preempted one counts as a member that timed out (PRE-38,
GANG-35).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, final

from remuda.base.message import message
from remuda.core.messages.commands import PREEMPTED_BY_SCHEDULER
from remuda.core.messages.effects import AllocationsReleased, ReleasedAllocation
from remuda.sim.workload import SECOND_NS

EVICTION_NS: Final = SECOND_NS


@message
class Victim:
    """One allocation whose release was requested; ``task``: its place in the workload."""

    task: int
    allocation_key: str


@message
class Preemption:
    """One decision of the scheduler to preempt. ``task``: the task that gets the room."""

    at_ns: int
    task: int
    victims: tuple[Victim, ...]


@final
class Evictions:
    """Allocations whose release was requested, and those of them that have not ended yet.

    ``place_of``: allocation key -> place of its task in the workload.
    """

    def __init__(self, place_of: Callable[[str], int]) -> None:
        self.preemptions: list[Preemption] = []
        self._place_of = place_of
        # (when it ends, what), oldest first.
        self._ordered: deque[tuple[int, ReleasedAllocation]] = deque()
        self._known: set[tuple[str, str]] = set()

    def heard(self, effect: AllocationsReleased, now_ns: int) -> None:
        """Note new release requests of the scheduler; repeated ones are ignored."""
        victims: list[Victim] = []
        key = ""
        for each in effect.released:
            name = (each.application_id, each.allocation_id)
            if each.termination_type != PREEMPTED_BY_SCHEDULER or name in self._known:
                continue
            self._known.add(name)
            self._ordered.append((now_ns + EVICTION_NS, each))
            victims.append(Victim(self._place_of(each.allocation_key), each.allocation_key))
            # The message ends with the key of the ask (PRE-34).
            key = each.message.rpartition(": ")[2]
        if victims:
            self.preemptions.append(Preemption(now_ns, self._place_of(key), tuple(victims)))

    def next_end(self) -> int | None:
        """Return when the next victim ends."""
        return self._ordered[0][0] if self._ordered else None

    def due(self, now_ns: int) -> Iterator[ReleasedAllocation]:
        """Yield the victims that end now, once."""
        while self._ordered and self._ordered[0][0] == now_ns:
            victim = self._ordered.popleft()[1]
            self._known.discard((victim.application_id, victim.allocation_id))
            yield victim
