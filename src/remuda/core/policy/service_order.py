"""Sorts the children of a parent queue in the order of service at one moment.

The scheduling path needs only the next child (``model.child_order``). The search for outstanding
asks needs the whole order.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TypeAlias

from remuda.core.model import states
from remuda.core.model.queues.demand import Demand, Scale
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.tiers import KINDS_LIMIT, Numbers
from remuda.core.model.vectors import exceeds

# Name and pending amounts of a queue.
_Member: TypeAlias = tuple[str, tuple[int, ...]]


def children_in_order(parent: Queue, scale: Scale) -> list[Queue]:
    """Return the children that have pending asks and are not stopped, in the order of service.

    ``scale``: the units of demands. Rules: QUE-32, QUE-33, QUE-34, QUE-35, QUE-36, KV-5. Cost: O(n
    log n); in parity mode plus the square of the number of different pending amounts, which is
    limited.
    """
    tiers: dict[Numbers, list[_Member]] = {}
    for name in parent.child_order.names():
        sort_data = parent.child_order.sort_data(name)
        if sort_data is not None and parent.children[name].state != states.STOPPED:
            tiers.setdefault(sort_data[0], []).append((name, sort_data[1]))
    found: list[Queue] = []
    for _, members in sorted(tiers.items()):
        by_exceeding = scale.parity and len({pending for _, pending in members}) <= KINDS_LIMIT
        names = _by_exceeding(members) if by_exceeding else _by_demand(members, scale)
        found += [parent.children[name] for name in names]
    return found


def _by_demand(members: list[_Member], scale: Scale) -> list[str]:
    """Return the names by demand, largest first, then by name. Rules: QUE-35, QUE-36."""
    keys: list[tuple[Demand, str]] = [(scale.demand(pending), name) for name, pending in members]
    return [name for _, name in sorted(keys)]


def _by_exceeding(members: list[_Member]) -> list[str]:
    """Return the names so that each is the first left whose amounts no other left exceeds.

    Members with equal amounts become available together, when all members that exceed them are
    served. Each kind of amounts waits for the nearest larger kind that exceeds it, then for the
    next one. Rules: QUE-36 (parity), KV-5.
    """
    names: dict[tuple[int, ...], list[str]] = {}
    for name, pending in members:
        names.setdefault(pending, []).append(name)
    if len(names) == 1:
        return sorted([name for name, _ in members])
    kinds = sorted(names, key=_by_sum)
    waiting: dict[int, list[int]] = {}
    left = [len(names[kind]) for kind in kinds]
    open_: list[tuple[str, int]] = []
    for number, kind in enumerate(kinds):
        if not _wait(kinds, left, waiting, number, number + 1):
            open_ += [(name, number) for name in names[kind]]
    heapify(open_)
    found: list[str] = []
    while open_:
        name, number = heappop(open_)
        found.append(name)
        left[number] -= 1
        if left[number]:
            continue
        for other in waiting.pop(number, []):
            if not _wait(kinds, left, waiting, other, number + 1):
                for each in names[kinds[other]]:
                    heappush(open_, (each, other))
    return found


def _wait(
    kinds: list[tuple[int, ...]],
    left: list[int],
    waiting: dict[int, list[int]],
    number: int,
    start: int,
) -> bool:
    """Let a kind wait for the next larger kind left that exceeds it; False if there is none.

    Kinds before ``start`` were looked at already. Rules: QUE-35 (parity).
    """
    for larger in range(start, len(kinds)):
        if left[larger] and exceeds(kinds[larger], kinds[number]):
            waiting.setdefault(larger, []).append(number)
            return True
    return False


def _by_sum(pending: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return (sum(pending), pending)
