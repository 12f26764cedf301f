"""A trial: guarantees and owed room without some allocations (rules: PRE-85, PRE-86, PRE-88).

The partition is not changed. Victims removed on trial can be put back, so one trial serves for all
nodes of an attempt.
"""

from __future__ import annotations

from typing import TypeAlias, final

from remuda.core.model.allocation import Allocation
from remuda.core.model.preemption.candidates import Candidates, Kind
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts, amount_at
from remuda.core.policy.guarantees import effective_guarantee
from remuda.core.preempt.fence import Fence, Side, due

# By type index: the amount that may still be preempted, or placed.
Room: TypeAlias = dict[int, int]


@final
class Option:
    """Candidates of one kind, as one ask sees them.

    ``guards``: the usage above guarantees of the queues below the common queue. ``room``: the room
    owed to the ask below the common queue. ``allowed``: how many candidates may be victims if no
    other kind has victims.
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
    """Guarantees of victims and room owed to the ask, without the victims taken so far.

    ``options``: the kinds with possible victims, in the order of leaf and kind. ``owed``: the room
    owed to the ask, by common queue (PRE-85).
    Implements: PRE-11.
    """

    __slots__ = ("_asked", "_charged", "_guards", "_parity", "options", "owed")

    def __init__(
        self, fence: Fence, amounts: Amounts, candidates: Candidates, *, parity: bool
    ) -> None:
        self._asked = amounts.need_types
        self._parity = parity
        self._charged: Room = {}
        self._guards: dict[Queue, Room] = {}
        self.owed: dict[Queue, Room] = _owed(fence, amounts, parity=parity)
        self.options: dict[Kind, Option] = {}
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

    def option_of(self, allocation: Allocation) -> Option | None:
        """Return the option of an allocation's kind, None if it cannot be a victim of the ask."""
        kind = allocation.kind
        return None if kind is None else self.options.get(kind)

    def permits(self, option: Option, *, charged: bool) -> bool:
        """Whether one more victim of an option is permitted.

        ``charged``: the victim counts against the room owed to the ask.

        Implements: PRE-86, PRE-17. Rules: in parity PRE-17 (Ours).
        """
        for guard in option.guards:
            for index, amount in option.need:
                if guard.get(index, amount) < amount:
                    return False
        if self._parity:
            return True
        if option.guards and not self._is_above(option.guards):
            return False
        if charged:
            room = option.room
            for index, amount in option.need:
                if index in room and self._charged.get(index, 0) + amount > room[index]:
                    return False
        return True

    def take(self, option: Option, *, charged: bool = False, sign: int = 1) -> None:
        """Remove one victim of an option on trial; with ``sign`` -1 put it back."""
        for guard in option.guards:
            for index, amount in option.need:
                if index in guard:
                    guard[index] -= sign * amount
        if charged:
            for index, amount in option.need:
                self._charged[index] = self._charged.get(index, 0) + sign * amount

    def _is_above(self, guards: tuple[Room, ...]) -> bool:
        """Whether queues exceed their guarantees in a type that counts. Rules: PRE-86 (2)."""
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
            option = Option(kind, side, guards, room)
            if option.rank > 0 or not self.permits(option, charged=True):
                continue
            option.allowed = self._allowed(option)
            self.options[kind] = option

    def _allowed(self, option: Option) -> int:
        """Return how many victims of an option are possible if no other kind has victims."""
        most = len(option.kind.age_keys)
        for index, amount in option.need:
            for guard in option.guards:
                if index in guard:
                    most = min(most, guard[index] // amount)
            if not self._parity and index in option.room:
                most = min(most, option.room[index] // amount)
        return most

    def _guards_of(self, side: Side) -> tuple[Room, ...] | None:
        """Return the guards of a leaf, None if no allocation in it may be a victim.

        Implements: PRE-14. Rules: PRE-17, PRE-86.
        """
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
    """Return the guarantees of a queue by type; zero counts as a guarantee, too. Rules: PRE-85."""
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
    """Return the room owed to the ask by common queue, then by type.

    Implements: PRE-85. In parity mode all common queues are returned, since PRE-16 is checked
    instead.
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
