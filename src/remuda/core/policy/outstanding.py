"""Finds the waiting asks that more nodes would allow to be placed (rules: CYC-30, QUE-14).

The walk goes through asks in the order of service. Each ask that fits the headroom takes all its
pending amounts from it. The size of the cluster is not a limit here. If the limits of a queue have
room for all its pending asks, the order does not matter, and only the asks to report are looked at.
Otherwise the walk goes through a *region*: the uppermost queue that has no room for its pending
asks, and all queues below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace
from itertools import islice
from typing import TYPE_CHECKING, Final, final

from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.class_queue import Group
from remuda.core.model.asks.outstanding import LeafAsks, Outstanding
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition
from remuda.core.model.queues.bound import Bound
from remuda.core.model.queues.demand import Scale
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import Amounts, Vector, amount_at
from remuda.core.policy.service_order import children_in_order

if TYPE_CHECKING:
    from remuda.core.model.ranking import SortKey


# About so many asks are found by one look where no limit is in the way. The next look goes on.
MOST: Final = 16_384


@final
class Look:
    """The result of one look: the asks to report, and the leaves where user limits mattered.

    ``found``: the asks in the order of the walk. ``by_quota``: leaf path -> whether limits of users
    or groups affected the result. ``unfinished``: leaves with more asks than one look finds.
    """

    __slots__ = ("by_quota", "found", "unfinished")

    def __init__(
        self, found: list[Request], by_quota: dict[str, bool], unfinished: list[Queue]
    ) -> None:
        self.found = found
        self.by_quota = by_quota
        self.unfinished = unfinished


def to_report(partition: Partition) -> Look:
    """Return the asks to report that were never reported, in the order of the walk.

    Rules: CYC-30, QUE-14, LIM-54.
    """
    outstanding = partition.waiting.outstanding
    search = _Search(partition.waiting.scale)
    for asks in _due(outstanding):
        search.include(asks)
    if search.leaves:
        search.descend(partition.root)
    return Look(search.found, search.by_quota, search.unfinished)


def _due(outstanding: Outstanding) -> list[LeafAsks]:
    """Return the leaves whose result may differ from that of the last look.

    A leaf shares its limits with all leaves below the same ancestors.
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
    """Return the queues on a path that have a maximum, without root. Implements: QUE-14."""
    return [each for each in leaf.path_up if each.maximum is not None and each.parent is not None]


@final
class _Room:
    """The headroom of a limit, less what the asks of the walk took. Rules: QUE-13, LIM-50."""

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
        """Whether one more allocation fits; a type without a limit always fits. Rules: RES-30."""
        types = self._types
        left = self._left
        for index, amount in amounts.need:
            if types >> index & 1 and amount > left[index]:
                return False
        return True

    def holds(self, pending: Vector) -> bool:
        """Whether all pending amounts fit together. Rules: RES-30."""
        types = self._types
        left = self._left
        for index, amount in enumerate(pending.amounts):
            if amount and types >> index & 1 and amount > left[index]:
                return False
        return True

    def take(self, amounts: Amounts, times: int) -> None:
        """Subtract amounts ``times`` times; the headroom may get negative. Rules: RES-20."""
        types = self._types
        left = self._left
        for index, amount in amounts.need:
            if types >> index & 1:
                left[index] -= amount * times

    def take_all(self, pending: Vector) -> None:
        """Subtract all pending amounts. Rules: RES-20."""
        types = self._types
        left = self._left
        for index, amount in enumerate(pending.amounts):
            if amount and types >> index & 1:
                left[index] -= amount


@final
class _Search:
    """One look at a partition.

    ``leaves``: the leaves to look at, by path; ``_ways``: the paths of these and of their
    ancestors. ``_regions``: path of the uppermost queue of a region -> the leaves to look at in it.
    In the region being walked, ``_ahead``: how many of its asks the walk has not reached;
    ``_personal``: the walk met an application with limits of users or groups. ``_quotas``: the
    headroom of these limits, by tracker number.
    """

    __slots__ = (
        "_ahead",
        "_personal",
        "_quotas",
        "_regions",
        "_rooms",
        "_scale",
        "_ways",
        "by_quota",
        "found",
        "leaves",
        "unfinished",
    )

    def __init__(self, scale: Scale) -> None:
        self._scale = scale
        self._ahead: int = 0
        self._personal: bool = False
        self._quotas: dict[int, _Room] = {}
        self._regions: dict[str, list[LeafAsks]] = {}
        self._rooms: dict[str, _Room] = {}
        self._ways: dict[str, None] = {}
        self.by_quota: dict[str, bool] = {}
        self.found: list[Request] = []
        self.leaves: dict[str, LeafAsks] = {}
        self.unfinished: list[Queue] = []

    def include(self, asks: LeafAsks) -> None:
        """Add a leaf to look at, unless no single ask of it fits its limits."""
        leaf = asks.leaf
        for queue in leaf.path_up:
            if queue.state == states.STOPPED:
                return
        limited = _limited(leaf)
        rooms = [self._room(queue) for queue in limited]
        if not any(_all_fit(rooms, amounts) for amounts in asks.amounts.values()):
            return
        self.leaves[leaf.path] = asks
        for queue in leaf.path_up:
            self._ways[queue.path] = None
        for queue in reversed(limited):
            if not self._room(queue).holds(queue.pending):
                self._regions.setdefault(queue.path, []).append(asks)
                break

    def descend(self, queue: Queue) -> None:
        """Visit the leaves to look at, in the order of service. Rules: CYC-10, RLD-27."""
        concerned = self._regions.get(queue.path)
        if concerned is not None:
            self._personal = False
            self._ahead = sum([asks.count() for asks in concerned])
            self._walk(queue)
            for asks in concerned:
                self.by_quota[asks.leaf.path] = self._personal
            return
        below = [each for each in queue.children.values() if each.path in self._ways]
        if len(below) > 1:
            below = [
                each for each in children_in_order(queue, self._scale) if each.path in self._ways
            ]
        for child in below:
            self.descend(child)
        own = self.leaves.get(queue.path)
        if own is not None:
            self._look(own)

    def _look(self, asks: LeafAsks) -> None:
        """Look at a leaf whose path has room for all pending asks. Rules: QUE-40, QUE-41."""
        self.by_quota[asks.leaf.path] = False
        order = [next(iter(each.values())).application for each in asks.by_application.values()]
        order.sort(key=_sort_key)
        for application in order:
            left = max(0, MOST - len(self.found))
            if self._tight_quotas(application):
                self._try(application, [], asks)
            else:
                mine = asks.by_application[application.number]
                self._find(list(islice(mine.values(), left)))
                if left < len(mine):
                    self.unfinished.append(asks.leaf)
                    break

    def _walk(self, queue: Queue) -> None:
        """Go through a region in the order of service. Rules: CYC-10, QUE-40, QUE-41, RLD-27."""
        for child in children_in_order(queue, self._scale) if queue.children else ():
            if self._ahead:
                self._walk(child)
        asks = self.leaves.get(queue.path)
        rooms = [self._room(each) for each in _limited(queue)]
        class_queues = queue.class_queues.values()
        kinds = list(
            {
                each.ask_class.amounts.number: each.ask_class.amounts for each in class_queues
            }.values()
        )
        order = [each for each in queue.applications.values() if each.request_groups]
        order.sort(key=_sort_key)  # usually they are in order already
        for application in order:
            while kinds and not _all_fit(rooms, kinds[-1]):
                kinds.pop()
            if not kinds or not self._ahead:
                break
            self._try(application, rooms, asks)

    def _try(self, application: Application, rooms: list[_Room], asks: LeafAsks | None) -> None:
        """Let the asks of an application take headroom; note the asks to report.

        ``asks``: the asks to find in its leaf, None if there are none. Rules: CYC-12, CYC-30.
        """
        if asks is not None:
            self._ahead -= asks.count_of(application)
        groups = _groups_to_try(application, rooms)
        quotas = self._tight_quotas(application)
        if not quotas and _all_hold(rooms, application.pending):
            tried = [each for group in groups for each in group.order.asks() if each.attempted]
            _take_all(rooms, application, tried)
            self._find([each for each in tried if each.outstanding])
            return
        refused: dict[int, None] = {}
        for request in _in_order(groups, refused):
            amounts = request.amounts
            if not request.attempted:
                continue
            if not _all_fit(rooms, amounts):
                refused[amounts.number] = None
            elif not _all_fit(quotas, amounts):
                refused[amounts.number] = None
                if asks is not None:
                    self.by_quota[asks.leaf.path] = True
            else:
                for room in rooms + quotas:
                    room.take(amounts, request.pending)
                if request.outstanding:
                    self.found.append(request)

    def _find(self, requests: list[Request]) -> None:
        """Add asks of one application to ``found``, in ask order. Rules: QUE-44."""
        requests.sort(key=_ask_key)
        self.found += requests

    def _room(self, queue: Queue) -> _Room:
        room = self._rooms.get(queue.path)
        if room is None:
            room = _Room(queue)
            self._rooms[queue.path] = room
        return room

    def _tight_quotas(self, application: Application) -> list[_Room]:
        """Return the headroom of user and group limits that cannot hold all pending asks.

        Each application is looked at as if it were the only one of its user and group. Rules:
        CYC-30, LIM-54.
        """
        limit_set = application.limit_set
        if limit_set is None:
            return []
        self._personal = self._personal or len(limit_set.limited) > 0
        tight: list[_Room] = []
        for tracker in limit_set.limited:
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
    """Subtract the pending amounts of the tried asks; usually these are all asks."""
    groups = application.request_groups.values()
    if len(tried) == sum([group.order.count for group in groups]):
        for room in rooms:
            room.take_all(application.pending)
        return
    for request in tried:
        for room in rooms:
            room.take(request.amounts, request.pending)


def _groups_to_try(application: Application, rooms: list[_Room]) -> list[Group]:
    """Return the groups of an application whose asks a decision would try now.

    Those that must wait for their gang are left out. Rules: APP-12, CYC-12 (steps 0, 3), CYC-30.
    """
    if application.state in (states.FAILING, states.RESUMING):
        return []
    gang = application.gang
    found: list[Group] = []
    for group in application.request_groups.values():
        ask_class = group.limit_group.class_queue.ask_class
        if gang is not None:
            if not ask_class.placeholder and gang.keeps_waiting(ask_class.task_group):
                continue
            total = ask_class.total
            if total is not None and not (
                _all_fit(rooms, total) and _gang_may_begin(application, total)
            ):
                continue
        found.append(group)
    return found


def _in_order(groups: list[Group], refused: dict[int, None]) -> Iterator[Request]:
    """Yield asks in the order of service, without those whose amounts were refused meanwhile.

    ``refused``: numbers of amounts; the caller adds to it. The asks of a group have equal amounts,
    so a group ends with the first that is refused. Rules: QUE-44, CYC-30.
    """
    heads: list[tuple[SortKey, Request, Iterator[Request]]] = []
    for group in groups:
        order = group.order.in_order()
        first = next(order)
        heads.append((first.sort_key, first, order))
    heapify(heads)
    while heads:
        _, request, order = heads[0]
        kind = request.amounts.number
        if kind not in refused:
            yield request
        following = None if kind in refused else next(order, None)
        if following is None:
            heappop(heads)
        else:
            heapreplace(heads, (following.sort_key, following, order))


def _gang_may_begin(application: Application, total: Amounts) -> bool:
    """Whether a gang may start and leave what started gangs still lack. GANG-4."""
    for queue in _limited(application.queue):
        if not queue.fits_gang(total):
            return False
    return True


def _ask_key(request: Request) -> SortKey:
    return request.sort_key


def _sort_key(application: Application) -> SortKey:
    return application.sort_key
