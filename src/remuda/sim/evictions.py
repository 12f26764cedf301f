"""Allocations that the scheduler preempts, and what the resource manager does about them.

A victim ends EVICTION_NS after the order, like a container that is given a moment to stop; one
that ends by itself until then has finished. Then the resource manager confirms, and asks for the
same work again, from its start: what it had done is lost.

It asks under the same allocation key, with one more allocation in all: so the scheduler keeps the
age of the ask, and sees how often it was evicted (SI-33, SI-34, PRE-92). Only a placeholder gets a
new key, for the one that was preempted counts as a member that timed out (PRE-38, GANG-35).
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
    """One allocation that was ordered out; ``task``: its place in the workload."""

    task: int
    allocation_key: str


@message
class Preemption:
    """One decision of the scheduler to make room.

    ``task``: for whom.
    """

    at_ns: int
    task: int
    victims: tuple[Victim, ...]


@final
class Evictions:
    """What was ordered out, and what of it has not ended yet.

    ``place_of``: allocation key -> place of its task in the workload.
    """

    def __init__(self, place_of: Callable[[str], int]) -> None:
        self.preemptions: list[Preemption] = []
        self._place_of = place_of
        # (when it ends, what), oldest first.
        self._ordered: deque[tuple[int, ReleasedAllocation]] = deque()
        self._known: set[tuple[str, str]] = set()

    def heard(self, effect: AllocationsReleased, now_ns: int) -> None:
        """Note the orders among what is released; those that were heard before are no news."""
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
        """Yield the victims whose moment to stop is over, once."""
        while self._ordered and self._ordered[0][0] == now_ns:
            victim = self._ordered.popleft()[1]
            self._known.discard((victim.application_id, victim.allocation_id))
            yield victim
