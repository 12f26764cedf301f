"""All queues below a parent in the order they would be served, nothing being placed meanwhile.

The scheduling path only ever asks for the next one (``model.child_order``); who looks at all of
them at one moment needs the whole order.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TypeAlias

from remuda.core.model import states
from remuda.core.model.child_order import Numbers
from remuda.core.model.queue import Queue
from remuda.core.model.vectors import exceeds

# Name and pending amounts of a queue.
_Member: TypeAlias = tuple[str, tuple[int, ...]]


def children_in_order(parent: Queue) -> list[Queue]:
    """Return the children with something pending that are not stopped, first served first.

    Rules: QUE-32 to QUE-36. Cost: O(n log n), and of queues equal in priority and share the square
    of the number of their different pending amounts at worst.
    """
    tiers: dict[Numbers, list[_Member]] = {}
    for name in parent.child_order.names():
        place = parent.child_order.place(name)
        if place is not None and parent.children[name].state != states.STOPPED:
            tiers.setdefault(place[0], []).append((name, place[1]))
    found: list[Queue] = []
    for _, members in sorted(tiers.items()):
        found += [parent.children[name] for name in _in_order(members)]
    return found


def _in_order(members: list[_Member]) -> list[str]:
    """Return, again and again, the first by name of those left that no other of them exceeds.

    Equal amounts open together: when those that exceed them are served. Each kind of amounts waits
    for the nearest larger one that exceeds it, then for the next. Rules: QUE-35, QUE-36.
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
    """Let amounts wait for the next larger ones left that exceed them; False if there are none.

    Those before ``start`` were looked at already. Rules: QUE-35.
    """
    for larger in range(start, len(kinds)):
        if left[larger] and exceeds(kinds[larger], kinds[number]):
            waiting.setdefault(larger, []).append(number)
            return True
    return False


def _by_sum(pending: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return (sum(pending), pending)
