"""Finds a placeholder whose place a real ask can take (rules: CYC-23, GANG-10 to GANG-16).

Asks in their order, placeholders of their group oldest first; on the placeholder's own node only
the predicates have a say, for usage does not grow there. If no pair works, the first one found is
tried on the other nodes. Placeholders that are too small for an ask are given up on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, final

from remuda.core.cycle.search import BATCH, BATCH_LIMIT, Search
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.decision import Await, Postpone, Replacement, Swap
from remuda.core.model.gang import Gang
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.ranking import SortKey
from remuda.core.model.request import Request
from remuda.core.model.vectors import fits, smaller
from remuda.core.ports import Predicates

# Placeholders looked at in one decision; what is left of an application comes in the next.
PLACEHOLDERS_LIMIT: Final = 4_096


def decide_swap(partition: Partition, predicates: Predicates) -> Swap | Await | Postpone:
    """Return what becomes of the placeholders of the application whose turn it is.

    Rules: CYC-23, GANG-10, GANG-13, GANG-15, GANG-16, EXT-14, EXT-17.
    """
    application = first_leaf(partition, partition.swapping).swaps.first()
    attempt = _Attempt(partition, application, predicates)
    swap = attempt.result()
    if attempt.waits is not None:
        attempt.waits.application = application
        return attempt.waits
    if attempt.skipped and swap.replacement is None:
        return Postpone(None, application)
    return Await(None, application) if partition.questions.waiting() else swap


@final
class _Attempt:
    """One attempt to replace a placeholder of one application.

    ``_gone``: IDs of placeholders given up on the way. ``_first``: the first ask with a placeholder
    that is large enough, wherever that is. ``_shapes``: of the asks that were looked at; equal ones
    are not, for they get the same answers. ``_looked``: at how many placeholders, for all asks.
    ``waits``: the question that is not answered yet; ``skipped``: some never was.
    """

    __slots__ = (
        "_first",
        "_gang",
        "_gone",
        "_looked",
        "_partition",
        "_predicates",
        "_shapes",
        "_swap",
        "skipped",
        "waits",
    )

    def __init__(
        self, partition: Partition, application: Application, predicates: Predicates
    ) -> None:
        assert application.gang is not None
        self._partition = partition
        self._predicates = predicates
        self._gang: Gang = application.gang
        self._swap = Swap(application)
        self._gone: dict[str, None] = {}
        self._first: tuple[Request, Allocation] | None = None
        self._shapes: dict[int, None] = {}
        self._looked: int = 0
        self.waits: Await | None = None
        self.skipped: bool = False

    def result(self) -> Swap:
        """Look through the asks in their order, then for another node. Rules: GANG-10, GANG-16."""
        for request in _asks_in_order(self._gang):
            if self._looked >= PLACEHOLDERS_LIMIT:
                break
            self._swap.looked_until = request.sort_key
            group = request.group
            assert group is not None
            if group.strand.lane.shape.number not in self._shapes:
                self._shapes[group.strand.lane.shape.number] = None
                self._try(request)
            if self._swap.replacement is not None or self.waits is not None:
                return self._swap
        else:
            self._swap.looked_until = ()
        first = self._first
        if first is not None and first[1].allocation_id not in self._gone and not self.skipped:
            self._try_elsewhere(*first)
        return self._swap

    def _try(self, request: Request) -> None:
        """Look for a placeholder whose place an ask can take where that is.

        Rules: GANG-13, GANG-15, SI-39.
        """
        search = self._search(request)
        asked: dict[str, None] = {}
        for chunk in self._chunks(request):
            fitting = [each for each in chunk if not smaller(each.amounts, request.amounts)]
            if self._first is None and fitting:
                self._first = (request, fitting[0])
            found = _on_new_nodes(fitting, request.required_node(), asked)
            passed = search.first_agreeing([each.node for each in found])
            if self._hear(search):
                return
            self._looked += len(chunk)
            taken = found[passed] if passed >= 0 else None
            self._discard(request, chunk, taken)
            if taken is not None:
                self._swap.replacement = Replacement(request, taken, taken.node)
                return
        self._swap.reasons += [(request, reason) for reason in search.reasons]

    def _chunks(self, request: Request) -> Iterator[list[Allocation]]:
        """Yield the placeholders of an ask's task group, oldest first, in growing portions.

        Their nodes are asked about together. Without predicates the first that is large enough will
        do, so they come one by one. Rules: GANG-10, EXT-13.
        """
        free = self._gang.groups[request.ask.task_group].free
        left = (each for each in free.values() if each.allocation_id not in self._gone)
        size, limit = (BATCH, BATCH_LIMIT) if self._partition.predicates else (1, 1)
        while chunk := list(islice(left, size)):
            yield chunk
            size = min(size * 4, limit)

    def _discard(self, request: Request, chunk: list[Allocation], taken: Allocation | None) -> None:
        """Give up the placeholders that are too small for an ask, up to the one it takes.

        Rules: GANG-15.
        """
        for placeholder in chunk:
            if placeholder is taken:
                return
            if smaller(placeholder.amounts, request.amounts):
                self._swap.discarded.append((request, placeholder))
                self._gone[placeholder.allocation_id] = None

    def _try_elsewhere(self, request: Request, placeholder: Allocation) -> None:
        """Look for another node for the first pair; its room is charged at once.

        Rules: GANG-16, SI-39, NOD-8.
        """
        search = self._search(request)
        required = request.required_node()
        node = self._partition.nodes.get(required) if required else search.open_node()
        if required and node is not None:
            fitting = [node] if fits(node.available, request.amounts) else []
            node = search.first_accepted(fitting)
        if self._hear(search):
            return
        self._swap.tried, self._swap.refusals = request, search.refusals
        if node is not None:
            self._swap.replacement = Replacement(request, placeholder, node)

    def _hear(self, search: Search) -> bool:
        """Note what answers are missing; whether one is still to come. Rules: EXT-14, EXT-17."""
        if search.lane.judged:
            self._swap.judged.append(search.lane)
        self.skipped = self.skipped or search.skipped
        self.waits = search.waits
        return self.waits is not None

    def _search(self, request: Request) -> Search:
        group = request.group
        assert group is not None
        return Search(self._partition, group.strand.lane, request, self._predicates)


def _on_new_nodes(
    placeholders: list[Allocation], required: str, asked: dict[str, None]
) -> list[Allocation]:
    """Return the first placeholder on each node nobody was asked about, and note these nodes.

    ``required``: the only node that counts, "" for any. Rules: SI-39 (decision 67 of docs/spec).
    """
    found: list[Allocation] = []
    for placeholder in placeholders:
        node_id = placeholder.node.node_id
        if required in ("", node_id) and node_id not in asked:
            asked[node_id] = None
            found.append(placeholder)
    return found


def first_leaf(partition: Partition, leaves: Mapping[str, Queue]) -> Queue:
    """Walk to the leaf among some that is served next. Rules: CYC-19, CYC-23, QUE-39, RLD-27.

    There are only few, so the way is chosen among the queues that lead there.
    """
    leads: dict[str, dict[str, None]] = {}
    for leaf in leaves.values():
        for queue in leaf.path_up:
            if queue.parent is not None:
                leads.setdefault(queue.parent.path, {})[queue.name] = None
    queue = partition.root
    while queue.path in leads:
        queue = queue.children[queue.child_order.first_among(leads[queue.path])]
    return queue


def _asks_in_order(gang: Gang) -> Iterator[Request]:
    """Yield the real asks of groups with a free placeholder, in ask order. Rules: GANG-10.

    Mostly the first one is all that is needed, so the others are put in order only after it. Those
    that were looked at in the last decision, without success, are left out.
    """
    able = [gang.groups[name] for name in gang.able]
    if not gang.looked_until:
        yield min([group.order.first() for group in able], key=_sort_key)
    asks = [each for group in able for each in group.order.asks()]
    if gang.looked_until:
        asks = [each for each in asks if each.sort_key > gang.looked_until]
    yield from sorted(asks, key=_sort_key)


def _sort_key(request: Request) -> SortKey:
    return request.sort_key
