"""Which waiting asks would be placed if only there were more nodes (rules: CYC-30, QUE-14).

Taken in the order they would be served, each ask that fits what limits leave takes all it still
wants from that. The size of the cluster is no limit here. Where limits leave room for everything
that is pending the order does not matter, and only the asks to report are looked at. Elsewhere the
walk goes through a *region*: what is in and below the uppermost queue that cannot hold all that is
pending there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.model import states
from remuda.core.model.application import Application
from remuda.core.model.bound import Bound
from remuda.core.model.outstanding import LeafAsks, Outstanding
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Request
from remuda.core.model.vectors import Amounts, Vector, amount_at
from remuda.core.policy.service_order import children_in_order

if TYPE_CHECKING:
    from remuda.core.model.ranking import SortKey


def to_report(partition: Partition) -> list[Request]:
    """Return the asks that qualify and were never reported, in the order of the walk.

    Rules: CYC-30, QUE-14, LIM-54.
    """
    outstanding = partition.outstanding
    search = _Search()
    for asks in _due(outstanding):
        search.include(asks)
    if search.leaves:
        search.descend(partition.root)
    return search.found


def _due(outstanding: Outstanding) -> list[LeafAsks]:
    """Return the leaves for which the answer may be another one than last time.

    A leaf shares its limits with whatever is below one of the queues above it.
    """
    if outstanding.all_changed:
        return list(outstanding.leaves.values())
    changed: dict[str, None] = {}
    for leaf in outstanding.changed.values():
        for queue in leaf.path_up:
            changed[queue.path] = None
    return [asks for asks in outstanding.leaves.values() if asks.quota or _concerns(asks, changed)]


def _concerns(asks: LeafAsks, changed: dict[str, None]) -> bool:
    if asks.leaf.path in changed:
        return True
    for queue in _limited(asks.leaf):
        if queue.path in changed:
            return True
    return False


def _limited(leaf: Queue) -> list[Queue]:
    """Return the queues on a path whose maximum counts here: all but root. Rules: QUE-14."""
    return [each for each in leaf.path_up if each.maximum is not None and each.parent is not None]


@final
class _Room:
    """What a limit leaves, and what asks have taken of it in thought. Rules: QUE-13, LIM-50."""

    __slots__ = ("_left", "_types")

    def __init__(self, bound: Bound) -> None:
        maximum = bound.maximum
        assert maximum is not None
        self._types = maximum.types
        self._left: list[int] = [
            amount - amount_at(bound.allocated, index)
            for index, amount in enumerate(maximum.amounts)
        ]

    def fits(self, amounts: Amounts) -> bool:
        """Whether one more fits; a type without a limit does. Rules: RES-30."""
        types = self._types
        left = self._left
        for index, amount in amounts.need:
            if types >> index & 1 and amount > left[index]:
                return False
        return True

    def holds(self, pending: Vector) -> bool:
        """Whether all this fits together. Rules: RES-30."""
        types = self._types
        left = self._left
        for index, amount in enumerate(pending.amounts):
            if amount and types >> index & 1 and amount > left[index]:
                return False
        return True

    def take(self, amounts: Amounts, times: int) -> None:
        """Take amounts out, so many times. What is left may get negative. Rules: RES-20."""
        types = self._types
        left = self._left
        for index, amount in amounts.need:
            if types >> index & 1:
                left[index] -= amount * times

    def take_all(self, pending: Vector) -> None:
        """Take all this out. Rules: RES-20."""
        types = self._types
        left = self._left
        for index, amount in enumerate(pending.amounts):
            if amount and types >> index & 1:
                left[index] -= amount


@final
class _Search:
    """One look at a partition.

    ``leaves``: those concerned; ``_ways``: their paths and all above. ``_regions``: the uppermost
    queues that cannot hold what is pending, with the leaves concerned there. In the region being
    walked, ``_ahead``: how many asks to find the walk has not reached; ``_personal``: it met an
    application that limits of users or groups concern. ``_quotas``: what those leave.
    """

    __slots__ = (
        "_ahead",
        "_personal",
        "_quotas",
        "_regions",
        "_rooms",
        "_ways",
        "found",
        "leaves",
    )

    def __init__(self) -> None:
        self._ahead: int = 0
        self._personal: bool = False
        self._quotas: dict[int, _Room] = {}
        self._regions: dict[str, list[LeafAsks]] = {}
        self._rooms: dict[str, _Room] = {}
        self._ways: dict[str, None] = {}
        self.found: list[Request] = []
        self.leaves: dict[str, LeafAsks] = {}

    def include(self, asks: LeafAsks) -> None:
        """Look at a leaf too, unless its limits are in the way of each of its asks alone."""
        leaf = asks.leaf
        for queue in leaf.path_up:
            if queue.state == states.STOPPED:
                return
        limited = _limited(leaf)
        rooms = [self._room(queue) for queue in limited]
        hopeful = False
        for equal in asks.by_amounts.values():
            hopeful = hopeful or _all_fit(rooms, next(iter(equal.values())).amounts)
        if not hopeful:
            return
        self.leaves[leaf.path] = asks
        for queue in leaf.path_up:
            self._ways[queue.path] = None
        for queue in reversed(limited):
            if not self._room(queue).holds(queue.pending):
                self._regions.setdefault(queue.path, []).append(asks)
                break

    def descend(self, queue: Queue) -> None:
        """Go to the leaves concerned, in the order of service. Rules: CYC-10, RLD-27."""
        concerned = self._regions.get(queue.path)
        if concerned is not None:
            self._personal = False
            self._ahead = sum([asks.count() for asks in concerned])
            self._walk(queue)
            for asks in concerned:
                asks.quota = self._personal
            return
        below = [each for each in queue.children.values() if each.path in self._ways]
        if len(below) > 1:
            below = [each for each in children_in_order(queue) if each.path in self._ways]
        for child in below:
            self.descend(child)
        own = self.leaves.get(queue.path)
        if own is not None:
            self._look(own)

    def _look(self, asks: LeafAsks) -> None:
        """Look at a leaf whose queues have room for all that is pending. Rules: QUE-40, QUE-41."""
        asks.quota = False
        concerned: dict[int, list[Request]] = {}
        for equal in asks.by_amounts.values():
            for request in equal.values():
                concerned.setdefault(request.application.number, []).append(request)
        order = [each[0].application for each in concerned.values()]
        order.sort(key=_standing)
        for application in order:
            if self._tight_quotas(application):
                self._try(application, [], asks)
            else:
                self._find(concerned[application.number])

    def _walk(self, queue: Queue) -> None:
        """Go through a region in the order of service. Rules: CYC-10, QUE-40, QUE-41, RLD-27."""
        for child in children_in_order(queue) if queue.children else ():
            if self._ahead:
                self._walk(child)
        asks = self.leaves.get(queue.path)
        rooms = [self._room(each) for each in _limited(queue)]
        lanes = queue.lanes.values()
        kinds = list({each.shape.amounts.number: each.shape.amounts for each in lanes}.values())
        order = [each for each in queue.applications.values() if each.request_groups]
        order.sort(key=_standing)  # most often they are in order already
        for application in order:
            while kinds and not _all_fit(rooms, kinds[-1]):
                kinds.pop()
            if not kinds or not self._ahead:
                break
            self._try(application, rooms, asks)

    def _try(self, application: Application, rooms: list[_Room], asks: LeafAsks | None) -> None:
        """Let the asks of an application take what they want; note those to report.

        ``asks``: those to find in its leaf, None if there are none. Rules: CYC-12, CYC-30.
        """
        tried = _tried(application, rooms)
        mine = [each for each in tried if each.outstanding]
        if asks is not None:
            self._ahead -= len(mine)
        quotas = self._tight_quotas(application)
        if not quotas and _all_hold(rooms, application.pending):
            _take_all(rooms, application, tried)
            self._find(mine)
            return
        refused: dict[int, None] = {}
        tried.sort(key=_ask_key)
        for request in tried:
            amounts = request.amounts
            if amounts.number in refused:
                continue
            if not _all_fit(rooms, amounts):
                refused[amounts.number] = None
            elif not _all_fit(quotas, amounts):
                refused[amounts.number] = None
                if asks is not None:
                    asks.quota = True
            else:
                for room in rooms + quotas:
                    room.take(amounts, request.pending)
                if request.outstanding:
                    self.found.append(request)

    def _find(self, requests: list[Request]) -> None:
        """Add asks of one application to those found, in their order. Rules: QUE-44."""
        requests.sort(key=_ask_key)
        self.found += requests

    def _room(self, queue: Queue) -> _Room:
        room = self._rooms.get(queue.path)
        if room is None:
            room = _Room(queue)
            self._rooms[queue.path] = room
        return room

    def _tight_quotas(self, application: Application) -> list[_Room]:
        """Return what limits of users and groups leave where it is not enough for everything.

        Each application is looked at as if it were the only one of them. Rules: CYC-30, LIM-54.
        """
        account = application.account
        if account is None:
            return []
        self._personal = self._personal or len(account.limited) > 0
        tight: list[_Room] = []
        for tracker in account.limited:
            room = self._quotas.get(tracker.number)
            if room is None:
                room = _Room(tracker)
                self._quotas[tracker.number] = room
            if not room.holds(application.pending):
                tight.append(_Room(tracker))
        return tight


def _all_fit(rooms: list[_Room], amounts: Amounts) -> bool:
    for room in rooms:
        if not room.fits(amounts):
            return False
    return True


def _all_hold(rooms: list[_Room], pending: Vector) -> bool:
    for room in rooms:
        if not room.holds(pending):
            return False
    return True


def _take_all(rooms: list[_Room], application: Application, tried: list[Request]) -> None:
    """Take out what the tried asks of an application want: mostly that is all it wants."""
    groups = application.request_groups.values()
    if len(tried) == sum([group.order.count for group in groups]):
        for room in rooms:
            room.take_all(application.pending)
        return
    for request in tried:
        for room in rooms:
            room.take(request.amounts, request.pending)


def _tried(application: Application, rooms: list[_Room]) -> list[Request]:
    """Return the pending asks somebody tried to place, and would try now.

    Those that gang rules hold back are none of them. Rules: APP-12, CYC-12 (steps 0, 3), CYC-30.
    """
    if application.state in (states.FAILING, states.RESUMING):
        return []
    gang = application.gang
    found: list[Request] = []
    for group in application.request_groups.values():
        shape = group.strand.lane.shape
        if gang is not None:
            if not shape.placeholder and gang.holds_back(shape.task_group):
                continue
            if shape.total is not None and not _all_fit(rooms, shape.total):
                continue
        found += [each for each in group.order.asks() if each.attempted]
    return found


def _ask_key(request: Request) -> SortKey:
    return request.sort_key


def _standing(application: Application) -> SortKey:
    return application.standing
