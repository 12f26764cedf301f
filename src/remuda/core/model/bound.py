"""What limits usage: a queue, or what one user or group may use in and below a queue.

Both stop asks for the same two reasons, an amount that is used up or a number of applications
that is reached, and both are what a stopped lane waits for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.model.ranking import Ranking
from remuda.core.model.vectors import Amounts, Vector, fits_limit

if TYPE_CHECKING:
    from remuda.core.model.request import Lane


@final
class HeldLanes:
    """Lanes of applications that may not start, per leaf in the order they would be served.

    One free place is for the first of them, so nobody has to look at the others. Change: O(log n).
    Rules: QUE-22, QUE-25, LIM-60.
    """

    __slots__ = ("_orders", "lanes")

    def __init__(self) -> None:
        self.lanes: dict[int, Lane] = {}
        self._orders: dict[str, Ranking] = {}

    def put(self, lane: Lane) -> None:
        """Add a lane, or put it where its first ask belongs now."""
        self.lanes[lane.number] = lane
        order = self._orders.setdefault(lane.leaf.path, Ranking())
        order.put(lane.number, lane.order.first_key())

    def remove(self, lane: Lane) -> None:
        """Take a lane out that is in."""
        del self.lanes[lane.number]
        order = self._orders[lane.leaf.path]
        order.drop(lane.number)
        if not order.keys:
            del self._orders[lane.leaf.path]

    def first(self, path: str) -> Lane | None:
        """Return the first lane of a leaf, None if there is none."""
        order = self._orders.get(path)
        return None if order is None else self.lanes[order.first()]

    def firsts(self) -> list[Lane]:
        """Return the first lane of each leaf, by path."""
        return [self.lanes[order.first()] for _, order in sorted(self._orders.items())]


class Bound:
    """Two limits, what counts against them, and who waits.

    ``maximum`` None and ``max_applications`` 0: not limited. ``closed``: a type that ``maximum``
    does not name is refused, not unlimited (root, QUE-8). ``running``: applications counted.
    ``waiting``: lanes that ``maximum`` stopped, by shape number, then lane number; ``held``: those
    that ``max_applications`` stopped. Rules: QUE-5, QUE-22, LIM-1, LIM-2.
    """

    __slots__ = (
        "allocated",
        "closed",
        "held",
        "max_applications",
        "maximum",
        "running",
        "waiting",
    )

    def __init__(self) -> None:
        self.maximum: Vector | None = None
        self.max_applications: int = 0
        self.closed: bool = False
        self.allocated = Vector()
        self.running: int = 0
        self.waiting: dict[int, dict[int, Lane]] = {}
        self.held = HeldLanes()

    def fits(self, amounts: Amounts) -> bool:
        """Whether one more allocation stays within the maximum. Rules: QUE-8, RES-34, LIM-53.

        A type root does not have is refused; elsewhere a type without a limit is unlimited.
        """
        maximum = self.maximum
        if maximum is None:
            return True
        if self.closed and amounts.need_types & ~maximum.types:
            return False
        return fits_limit(maximum, self.allocated, amounts)

    def full(self) -> bool:
        """Whether one more application may not start. Rules: QUE-22, LIM-61."""
        return 0 < self.max_applications <= self.running
