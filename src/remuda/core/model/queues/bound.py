"""Bounds: limits on usage and applications, of a queue or of a user or group at a queue.

Both kinds of bound stop asks for the same two reasons: the maximum has no room, or the number of
applications is reached. Blocked class queues and limit groups wait at a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

from remuda.core.model.ranking import Ranking
from remuda.core.model.vectors import (
    Amounts,
    Vector,
    add_vector,
    amount_at,
    copy,
    fits_limit,
    subtract_vector,
)

if TYPE_CHECKING:
    from remuda.core.model.asks.class_queue import LimitGroup


# Path of the leaf, number of the ask class; together they identify a class queue.
WaitKey: TypeAlias = tuple[str, int]


@final
class Waitlist:
    """Limit groups that wait at one limit, in the order of service for each class queue.

    The first limit group of a class queue gets the room or place, so the others need not be looked
    at. Another class queue may be served while this one is blocked, so each class queue has a first
    limit group. Change: O(log n). Rules: QUE-22, QUE-25, LIM-53, LIM-60.
    """

    __slots__ = ("_orders", "limit_groups")

    def __init__(self) -> None:
        self.limit_groups: dict[int, LimitGroup] = {}
        self._orders: dict[WaitKey, Ranking] = {}

    def put(self, limit_group: LimitGroup) -> None:
        """Add a limit group, or sort it again by its first application."""
        self.limit_groups[limit_group.number] = limit_group
        order = self._orders.setdefault(limit_group.wait_key(), Ranking())
        order.put(limit_group.sort_key())

    def remove(self, limit_group: LimitGroup) -> None:
        """Remove a limit group."""
        del self.limit_groups[limit_group.number]
        order = self._orders[limit_group.wait_key()]
        order.drop(limit_group.number)
        if not order.keys:
            del self._orders[limit_group.wait_key()]

    def first(self, key: WaitKey) -> LimitGroup | None:
        """Return the first limit group of a class queue, None if there is none."""
        order = self._orders.get(key)
        return None if order is None else self.limit_groups[order.first()]

    def firsts(self) -> list[LimitGroup]:
        """Return the first limit group of each class queue, by path and ask class."""
        return [self.limit_groups[order.first()] for _, order in sorted(self._orders.items())]


class Bound:
    """A maximum and a limit of applications, what counts against them, and what waits.

    Implements: LIM-1. Rules: QUE-2, QUE-5, QUE-22, LIM-2.
    """

    __slots__ = (
        "allocated",
        "closed",
        "counted_early",
        "lacking",
        "max_applications",
        "maximum",
        "preempting",
        "promised",
        "running",
        "starting",
        "unblocked",
    )

    def __init__(self) -> None:
        # None and 0: not limited.
        self.maximum: Vector | None = None
        self.max_applications: int = 0
        # Whether a type that ``maximum`` does not name is refused, not unlimited (root, QUE-8).
        self.closed: bool = False
        self.allocated = Vector()
        # The part of ``allocated`` that victims of preemption hold (PRE-89); at queues only.
        self.preempting = Vector()
        # Room kept for asks whose preemption is in effect, None for none (PRE-89).
        self.promised: Vector | None = None
        # What started gangs still lack, None for nothing (GANG-4).
        self.lacking: Vector | None = None
        # How many applications count, and how many in Accepted count early (QUE-24).
        self.running: int = 0
        self.counted_early: int = 0
        # Limit groups of applications that may not start.
        self.starting = Waitlist()
        # Limit groups that were unblocked for a free place, by number.
        self.unblocked: dict[int, LimitGroup] = {}

    def fits(self, amounts: Amounts) -> bool:
        """Whether one more allocation stays within the maximum and leaves promised room.

        Rules: QUE-8, RES-34, LIM-53, PRE-89.
        """
        return self.takes(amounts) and (self.promised is None or self._leaves_promised(amounts))

    def fits_gang(self, total: Amounts) -> bool:
        """Whether a whole gang stays within the maximum and leaves what other gangs still lack.

        Rules: GANG-4.
        """
        if not self.fits(total):
            return False
        if self.lacking is None or self.maximum is None:
            return True
        taken = copy(self.allocated)
        add_vector(taken, self.lacking)
        return fits_limit(self.maximum, taken, total)

    def takes(self, amounts: Amounts) -> bool:
        """Whether one more allocation stays within the maximum; promised room is not checked.

        At root, a type that the cluster does not have never fits; at other queues, a type without a
        limit is unlimited.
        Rules: QUE-8, RES-34, LIM-53, PRE-89.
        """
        maximum = self.maximum
        if maximum is None:
            return True
        if self.closed and amounts.need_types & ~maximum.types:
            return False
        return fits_limit(maximum, self.allocated, amounts)

    def overpromised(self) -> int:
        """Return a bit mask of the types of which more is promised than the victims leave.

        Victims count as used at a limit of a user or group. Rules: PRE-89.
        """
        maximum = self.maximum
        if maximum is None or self.promised is None:
            return 0
        due = self._due()
        types = 0
        for index, most in enumerate(maximum.amounts):
            if maximum.types >> index & 1 and amount_at(due, index) > most:
                types |= 1 << index
        return types

    def stays(self) -> Vector:
        """Return what is used without the victims of preemption. Rules: PRE-89."""
        stays = copy(self.allocated)
        subtract_vector(stays, self.preempting)
        return stays

    def _leaves_promised(self, amounts: Amounts) -> bool:
        """Whether one more allocation leaves promised room after the victims end."""
        return self.maximum is None or fits_limit(self.maximum, self._due(), amounts)

    def _due(self) -> Vector:
        """Return what is used after the victims end and the promised room is taken."""
        due = self.stays()
        if self.promised is not None:
            add_vector(due, self.promised)
        return due

    def full(self) -> bool:
        """Whether one more application may not start. Rules: QUE-22, LIM-61."""
        return 0 < self.max_applications <= self.running + self.counted_early
