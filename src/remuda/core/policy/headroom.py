"""What may still be used below the limits on a path (rules: QUE-13, QUE-14, LIM-50 to LIM-53)."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.core.model.bound import Bound
from remuda.core.model.queue import Queue
from remuda.core.model.trackers import Account
from remuda.core.model.vectors import Vector, amount_at, define


def headroom(queue: Queue) -> Vector | None:
    """Return what a queue may still use; a type limited nowhere is absent. Rules: QUE-13."""
    return _least(queue.path_up)


def user_headroom(account: Account) -> Vector | None:
    """Return what user and group may still use, of the limited types. Rules: CYC-12, LIM-53."""
    return _least(account.limited)


def room_at(bound: Bound) -> Vector:
    """Return what is left under one limit, of the types it names. Rules: QUE-13, LIM-53."""
    return _least([bound]) or Vector()


def _least(bounds: Iterable[Bound]) -> Vector | None:
    """Return the least that is left under any of these, per type; None without a limit."""
    least: Vector | None = None
    for bound in bounds:
        maximum = bound.maximum
        if maximum is None:
            continue
        if least is None:
            least = Vector()
        known = least.types
        define(least, maximum.types)
        for index in range(len(maximum.amounts)):
            if maximum.types >> index & 1:
                left = amount_at(maximum, index) - _spoken_for(bound, index)
                if not known >> index & 1 or left < least.amounts[index]:
                    least.amounts[index] = left
    return least


def _spoken_for(bound: Bound, index: int) -> int:
    """Return what is used, or will be when victims went and those came they went for. PRE-89."""
    used = amount_at(bound.allocated, index)
    if bound.promised is None:
        return used
    return max(used, used - amount_at(bound.preempting, index) + amount_at(bound.promised, index))
