"""What limits usage: a queue, or what one user or group may use in and below a queue.

Both stop asks for the same two reasons, an amount that is used up or a number of applications
that is reached, and both are what a stopped lane waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

from remuda.core.model.ranking import Ranking
from remuda.core.model.vectors import (
    Amounts,
    Vector,
    add_vector,
    copy,
    fits_limit,
    subtract_vector,
)

if TYPE_CHECKING:
    from remuda.core.model.request import Strand


# Path of the leaf, number of the shape: that is, a lane.
WaitKey: TypeAlias = tuple[str, int]


@final
class Waitlist:
    """Strands that wait for the same thing, those of one lane in the order they are served.

    Room or a place goes to the first of them, so nobody has to look at the others. Those of
    another lane may be served though this lane is parked, so each lane has its first.
    Change: O(log n). Rules: QUE-22, QUE-25, LIM-53, LIM-60.
    """

    __slots__ = ("_orders", "strands")

    def __init__(self) -> None:
        self.strands: dict[int, Strand] = {}
        self._orders: dict[WaitKey, Ranking] = {}

    def put(self, strand: Strand) -> None:
        """Add a strand, or put it where its first application stands now."""
        self.strands[strand.number] = strand
        order = self._orders.setdefault(strand.place(), Ranking())
        order.put(strand.standing())

    def remove(self, strand: Strand) -> None:
        """Take a strand out that is in."""
        del self.strands[strand.number]
        order = self._orders[strand.place()]
        order.drop(strand.number)
        if not order.keys:
            del self._orders[strand.place()]

    def first(self, key: WaitKey) -> Strand | None:
        """Return the first strand of a lane, None if there is none."""
        order = self._orders.get(key)
        return None if order is None else self.strands[order.first()]

    def firsts(self) -> list[Strand]:
        """Return the first strand of each lane, by path and shape."""
        return [self.strands[order.first()] for _, order in sorted(self._orders.items())]


class Bound:
    """Two limits, what counts against them, and who waits.

    ``maximum`` None and ``max_applications`` 0: not limited. ``starters``: applications in Accepted
    that count already (QUE-24). ``closed``: a type that ``maximum``
    does not name is refused, not unlimited (root, QUE-8). ``running``: applications counted.
    ``held``: strands of applications that may not start; ``woken``: those that were, until a place
    became free, by number. ``promised``: what is kept for asks whose preemption stands, None for
    nothing; ``preempting``: the part of ``allocated`` that is about to end for it (PRE-89).
    Rules: QUE-2, QUE-5, QUE-22, LIM-1, LIM-2.
    """

    __slots__ = (
        "allocated",
        "closed",
        "held",
        "max_applications",
        "maximum",
        "preempting",
        "promised",
        "running",
        "starters",
        "woken",
    )

    def __init__(self) -> None:
        self.maximum: Vector | None = None
        self.max_applications: int = 0
        self.closed: bool = False
        self.allocated = Vector()
        self.preempting = Vector()
        self.promised: Vector | None = None
        self.running: int = 0
        self.starters: int = 0
        self.held = Waitlist()
        self.woken: dict[int, Strand] = {}

    def fits(self, amounts: Amounts) -> bool:
        """Whether one more allocation stays within the maximum, and takes nothing promised.

        Rules: QUE-8, RES-34, LIM-53, PRE-89.
        """
        return self.takes(amounts) and (self.promised is None or self._leaves_promised(amounts))

    def takes(self, amounts: Amounts) -> bool:
        """Whether one more allocation stays within the maximum, whatever is promised to others.

        A type root does not have is refused; elsewhere a type without a limit is unlimited.
        Rules: QUE-8, RES-34, LIM-53, PRE-89.
        """
        maximum = self.maximum
        if maximum is None:
            return True
        if self.closed and amounts.need_types & ~maximum.types:
            return False
        return fits_limit(maximum, self.allocated, amounts)

    def _leaves_promised(self, amounts: Amounts) -> bool:
        """Whether one more allocation leaves what is promised, once the victims are gone."""
        if self.maximum is None or self.promised is None:
            return True
        due = copy(self.allocated)
        subtract_vector(due, self.preempting)
        add_vector(due, self.promised)
        return fits_limit(self.maximum, due, amounts)

    def full(self) -> bool:
        """Whether one more application may not start. Rules: QUE-22, LIM-61."""
        return 0 < self.max_applications <= self.running + self.starters
