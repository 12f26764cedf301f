"""Computes headroom: the resources left under limits (rules: QUE-13, chapter 30 section 7)."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.core.model.queues.bound import Bound
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import LimitSet
from remuda.core.model.vectors import Vector, amount_at, define


def headroom(queue: Queue) -> Vector | None:
    """Return the headroom of a queue; a type without a limit is absent. Implements: QUE-13."""
    return least(_rooms(queue.path_up))


def user_headroom(limit_set: LimitSet) -> Vector | None:
    """Return the headroom of user and group in the limited types.

    Implements: LIM-3, LIM-52. Rules: CYC-12, LIM-53.
    """
    return least(_rooms(limit_set.limited))


def room_at(bound: Bound) -> Vector:
    """Return the headroom under one limit in the types it names.

    Implements: LIM-50, LIM-51. Rules: QUE-13, LIM-53.
    """
    room = Vector()
    maximum = bound.maximum
    if maximum is not None:
        define(room, maximum.types)
        for index in range(len(maximum.amounts)):
            if maximum.types >> index & 1:
                room.amounts[index] = amount_at(maximum, index) - _committed(bound, index)
    return room


def room_for_gang(bound: Bound) -> Vector:
    """Return the headroom for gangs that have not started. Rules: GANG-4."""
    found = room_at(bound)
    if bound.lacking is not None:
        for index in range(len(found.amounts)):
            if found.types >> index & 1:
                found.amounts[index] -= amount_at(bound.lacking, index)
    return found


def least(rooms: Iterable[Vector]) -> Vector | None:
    """Return the least headroom per type; None if there is no headroom to compare."""
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


def _committed(bound: Bound, index: int) -> int:
    """Return the usage now, or after the preemptions in effect if that is more. PRE-89."""
    used = amount_at(bound.allocated, index)
    if bound.promised is None:
        return used
    return max(used, used - amount_at(bound.preempting, index) + amount_at(bound.promised, index))
