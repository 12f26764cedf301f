"""A trial: what would be left if some allocations went (rules: PRE-85, PRE-86, PRE-88).

Nothing of the partition changes. What is taken away on trial can be given back, so one trial serves
for all nodes of an attempt.
"""

from __future__ import annotations

from typing import TypeAlias, final

from remuda.core.model.allocation import Allocation
from remuda.core.model.candidates import Candidates, Kind
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import Amounts, amount_at
from remuda.core.policy.guarantees import effective_guarantee
from remuda.core.preempt.fence import Fence, Side, due

# By index of the type: what may still go, or come.
Room: TypeAlias = dict[int, int]


@final
class Prey:
    """Candidates of one kind, as one ask sees them.

    ``guards``: what the queues below the common one have above their guarantees. ``room``: what is
    owed to the ask beside them. ``allowed``: how many could go if no other did.
    """

    __slots__ = ("allowed", "guards", "kind", "need", "rank", "room", "side")

    def __init__(self, kind: Kind, side: Side, guards: tuple[Room, ...], room: Room) -> None:
        self.kind = kind
        self.side = side
        self.guards = guards
        self.room = room
        self.need = kind.amounts.need
        self.rank = side.rank_of(kind.priority)
        self.allowed: int = 0


@final
class Trial:
    """The guarantees on both sides, as they would be without the victims taken so far.

    ``prey``: kinds of which something may go, in the order of leaf and kind. ``owed``: room by
    common queue (PRE-85).
    """

    __slots__ = ("_asked", "_charged", "_guards", "_parity", "owed", "prey")

    def __init__(
        self, fence: Fence, amounts: Amounts, candidates: Candidates, *, parity: bool
    ) -> None:
        self._asked = amounts.need_types
        self._parity = parity
        self._charged: Room = {}
        self._guards: dict[Queue, Room] = {}
        self.owed: dict[Queue, Room] = _owed(fence, amounts, parity=parity)
        self.prey: dict[Kind, Prey] = {}
        if not self.owed:
            return
        for path in sorted(candidates.kinds):
            kinds = candidates.kinds[path]
            leaf = next(iter(kinds.values())).leaf
            side = fence.side_of(leaf)
            if side is None or side.common not in self.owed:
                continue
            guards = self._guards_of(side)
            if guards is not None:
                self._add(sorted(kinds.items()), side, guards)

    def prey_of(self, allocation: Allocation) -> Prey | None:
        """Return what is known of an allocation, None if it cannot be a victim of the ask."""
        kind = allocation.kind
        return None if kind is None else self.prey.get(kind)

    def permits(self, prey: Prey, *, charged: bool) -> bool:
        """Whether one more such victim may go. Rules: PRE-86, in parity PRE-17 (Ours).

        ``charged``: it would count against what is owed to the ask.
        """
        for guard in prey.guards:
            for index, amount in prey.need:
                if guard.get(index, amount) < amount:
                    return False
        if self._parity:
            return True
        if prey.guards and not self._is_above(prey.guards):
            return False
        if charged:
            room = prey.room
            for index, amount in prey.need:
                if index in room and self._charged.get(index, 0) + amount > room[index]:
                    return False
        return True

    def take(self, prey: Prey, *, charged: bool = False, sign: int = 1) -> None:
        """Take one such victim away on trial; with ``sign`` -1 give it back."""
        for guard in prey.guards:
            for index, amount in prey.need:
                if index in guard:
                    guard[index] -= sign * amount
        if charged:
            for index, amount in prey.need:
                self._charged[index] = self._charged.get(index, 0) + sign * amount

    def _is_above(self, guards: tuple[Room, ...]) -> bool:
        """Whether queues use more than their guarantee, where that counts. Rules: PRE-86 (2)."""
        most: Room = {}
        for guard in guards:
            for index, surplus in guard.items():
                if surplus > 0 and self._asked >> index & 1:
                    return True
                most[index] = max(surplus, most.get(index, surplus))
        values = most.values()
        return not most or (min(values) >= 0 and max(values) > 0)

    def _add(self, kinds: list[tuple[object, Kind]], side: Side, guards: tuple[Room, ...]) -> None:
        room = self.owed[side.common]
        for _, kind in kinds:
            if not (self._parity or kind.amounts.need_types & self._asked):
                continue
            prey = Prey(kind, side, guards, room)
            if prey.rank > 0 or not self.permits(prey, charged=True):
                continue
            prey.allowed = self._allowed(prey)
            self.prey[kind] = prey

    def _allowed(self, prey: Prey) -> int:
        """Return how many could go at most if nothing else did."""
        most = len(prey.kind.places)
        for index, amount in prey.need:
            for guard in prey.guards:
                if index in guard:
                    most = min(most, guard[index] // amount)
            if not self._parity and index in prey.room:
                most = min(most, prey.room[index] // amount)
        return most

    def _guards_of(self, side: Side) -> tuple[Room, ...] | None:
        """Return what protects a leaf, None if nothing may go. Rules: PRE-14, PRE-17, PRE-86."""
        guards = [self._guard(queue) for queue in side.below if queue.guaranteed is not None]
        if self._parity:
            inherited = effective_guarantee(side.leaf)
            above = {index: _stays(side.leaf, index) - least for index, least in inherited.items()}
            used = side.leaf.allocated
            if above and all(amount_at(used, index) <= inherited[index] for index in above):
                return None
            guards.append(above)
        return tuple([guard for guard in guards if guard])

    def _guard(self, queue: Queue) -> Room:
        guard = self._guards.get(queue)
        if guard is None:
            guard = {index: _stays(queue, index) - least for index, least in _named(queue)}
            self._guards[queue] = guard
        return guard


def _named(queue: Queue) -> list[tuple[int, int]]:
    """Return what a queue is guaranteed by type; zero is a guarantee of nothing. Rules: PRE-85."""
    guaranteed = queue.guaranteed
    if guaranteed is None:
        return []
    return [
        (index, amount)
        for index, amount in enumerate(guaranteed.amounts)
        if guaranteed.types >> index & 1
    ]


def _stays(queue: Queue, index: int) -> int:
    return amount_at(queue.allocated, index) - amount_at(queue.preempting, index)


def _owed(fence: Fence, amounts: Amounts, *, parity: bool) -> dict[Queue, Room]:
    """Return for each common queue beside which the ask is owed room how much, by type.

    Rules: PRE-85. In parity nothing is asked here (PRE-16 is).
    """
    owed: dict[Queue, Room] = {}
    own: Room = {}
    above: Room = {}
    for number, queue in enumerate(fence.path):
        if number:
            room = {**above, **own}
            if parity or _is_owed(room, amounts):
                owed[queue] = room
        for index, least in _named(queue):
            left = least - due(queue, index)
            if number:
                above[index] = min(left, above.get(index, left))
            else:
                own[index] = left
    return owed


def _is_owed(room: Room, amounts: Amounts) -> bool:
    named = [(index, amount) for index, amount in amounts.need if index in room]
    return bool(named) and all(room[index] >= amount for index, amount in named)
