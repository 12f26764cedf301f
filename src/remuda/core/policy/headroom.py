"""What may still be used below the limits on a path (rules: QUE-13, QUE-14, LIM-50 to LIM-53)."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.core.model.bound import Bound
from remuda.core.model.queue import Queue
from remuda.core.model.trackers import Account
from remuda.core.model.vectors import Vector, amount_at, define


def headroom(queue: Queue) -> Vector | None:
    """Return what a queue may still use; a type limited nowhere is absent. Rules: QUE-13."""
    return least(_rooms(queue.path_up))


def user_headroom(account: Account) -> Vector | None:
    """Return what user and group may still use, of the limited types. Rules: CYC-12, LIM-53."""
    return least(_rooms(account.limited))


def room_at(bound: Bound) -> Vector:
    """Return what is left under one limit, of the types it names. Rules: QUE-13, LIM-53."""
    room = Vector()
    maximum = bound.maximum
    if maximum is not None:
        define(room, maximum.types)
        for index in range(len(maximum.amounts)):
            if maximum.types >> index & 1:
                room.amounts[index] = amount_at(maximum, index) - _spoken_for(bound, index)
    return room


def least(rooms: Iterable[Vector]) -> Vector | None:
    """Return the least of what is left in several places, per type; None without any."""
    found: Vector | None = None
    for room in rooms:
        if found is None:
            found = Vector()
        known = found.types
        define(found, room.types)
        for index in range(len(room.amounts)):
            if room.types >> index & 1:
                left = room.amounts[index]
                if not known >> index & 1 or left < found.amounts[index]:
                    found.amounts[index] = left
    return found


def _rooms(bounds: Iterable[Bound]) -> list[Vector]:
    return [room_at(bound) for bound in bounds if bound.maximum is not None]


def _spoken_for(bound: Bound, index: int) -> int:
    """Return what is used, or will be when victims went and those came they went for. PRE-89."""
    used = amount_at(bound.allocated, index)
    if bound.promised is None:
        return used
    return max(used, used - amount_at(bound.preempting, index) + amount_at(bound.promised, index))
