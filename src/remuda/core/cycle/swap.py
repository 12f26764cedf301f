"""Finds a placeholder whose place a real ask can take (rules: CYC-23, GANG-10 to GANG-16).

Asks in their order, placeholders of their group oldest first; on the placeholder's own node only
the predicates have a say, for usage does not grow there. If no pair works, the first one found is
tried on the other nodes. Placeholders that are too small for an ask are given up on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from remuda.core.cycle.search import BATCH, BATCH_LIMIT, Search
from remuda.core.model.allocation import Allocation
from remuda.core.model.decision import Swap
from remuda.core.model.gang import Gang
from remuda.core.model.partition import Partition
from remuda.core.model.queue import Queue
from remuda.core.model.request import Request
from remuda.core.model.vectors import smaller
from remuda.core.ports import Predicates

_Pair: TypeAlias = tuple[Request, Allocation]


def decide_swap(partition: Partition, predicates: Predicates) -> Swap:
    """Return what becomes of the placeholders of the application whose turn it is.

    Rules: CYC-23, GANG-10, GANG-13, GANG-15, GANG-16.
    """
    application = first_leaf(partition, partition.swapping).swaps.first()
    gang = application.gang
    assert gang is not None
    swap = Swap(application)
    gone: dict[str, None] = {}
    first: _Pair | None = None
    for request in _asks_in_order(gang):
        search = _search(partition, request, predicates)
        for chunk in _chunks(partition, gang, request, gone):
            fitting = [each for each in chunk if not smaller(each.amounts, request.amounts)]
            found = search.first_agreeing([each.node for each in fitting])
            taken = fitting[found] if found >= 0 else None
            _discard(swap, gone, request, chunk, taken)
            if taken is not None:
                swap.request, swap.placeholder, swap.node = request, taken, taken.node
                return swap
            if first is None and fitting:
                first = (request, fitting[0])
        swap.reasons += [(request, reason) for reason in search.reasons]
    if first is not None and first[1].allocation_id not in gone:
        _try_elsewhere(partition, swap, first, predicates)
    return swap


def _chunks(
    partition: Partition, gang: Gang, request: Request, gone: Mapping[str, None]
) -> Iterator[list[Allocation]]:
    """Yield the placeholders an ask may replace, oldest first, as many as are asked about at once.

    Without predicates the first that is large enough will do. Rules: GANG-10, EXT-13.
    """
    free = gang.groups[request.ask.task_group].free
    left = (each for each in free.values() if each.allocation_id not in gone)
    size = BATCH if partition.predicates else 1
    while chunk := list(islice(left, size)):
        yield chunk
        size = min(size * 4, BATCH_LIMIT) if partition.predicates else 1


def _discard(
    swap: Swap,
    gone: dict[str, None],
    request: Request,
    chunk: list[Allocation],
    taken: Allocation | None,
) -> None:
    """Give up the placeholders that are too small for an ask, up to the one it takes.

    Rules: GANG-15.
    """
    for placeholder in chunk:
        if placeholder is taken:
            return
        if smaller(placeholder.amounts, request.amounts):
            swap.discarded.append((request, placeholder))
            gone[placeholder.allocation_id] = None


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

    Mostly the first one is all that is needed, so only then all are put in order.
    """
    able = [gang.groups[name] for name in gang.able]
    firsts = [group.asks[group.order.first()] for group in able]
    first = min(firsts, key=lambda each: each.sort_key)
    yield first
    asks = [each for group in able for each in group.asks.values() if each is not first]
    yield from sorted(asks, key=lambda each: each.sort_key)


def _search(partition: Partition, request: Request, predicates: Predicates) -> Search:
    group = request.group
    assert group is not None
    return Search(partition, group.strand.lane.shape, request, predicates)


def _try_elsewhere(partition: Partition, swap: Swap, pair: _Pair, predicates: Predicates) -> None:
    """Look for another node for the first pair; its room is charged at once. Rules: GANG-16."""
    request, placeholder = pair
    search = _search(partition, request, predicates)
    node = search.open_node()
    swap.tried, swap.refusals = request, search.refusals
    if node is not None:
        swap.request, swap.placeholder, swap.node = request, placeholder, node
