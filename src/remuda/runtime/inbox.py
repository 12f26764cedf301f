"""Hands work to the core thread: a bounded queue per resource manager that blocks its senders.

The queues are bounded by elements (asks, nodes, releases), not by requests, because one request may
carry a hundred thousand of them. A sender waits while its queue is full (SI-6). The core thread
never waits, because a callback that sends a request would block the thread that drains the queues.

The core thread takes from the queues in turn, by elements (deficit round robin, Shreedhar and
Varghese 1995). So an RM that sends many requests delays only itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from operator import itemgetter
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from remuda.runtime.errand import promise
from remuda.runtime.errors import LoopStoppedError


class Entry(Protocol):
    """What an inbox takes."""

    @property
    def rm_id(self) -> str:
        """The RM in whose queue it waits; "": it comes after all that is there before it."""


T = TypeVar("T", bound=Entry)

# Elements that may wait before senders block, of all RMs and of one: about 100 MB of asks, 25 MB.
CAPACITY: Final = 200_000
_SHARES: Final = 4

# Elements that a queue gives in its turn, if others wait, too.
_TURN: Final = 256

# The largest debt of elements after a large entry: some ten turns of the others.
_DEBT: Final = 10_240


def anything() -> None:
    """Accept the entry: the default check."""


# Cuts an entry of a weight into parts with their weights, and with the efforts they take.
Cut: TypeAlias = Callable[[T, int], Sequence[tuple[T, int, int]]]


def _whole(entry: T, weight: int) -> Sequence[tuple[T, int, int]]:
    """Cut nothing."""
    return ((entry, weight, weight),)


class _Queue(Generic[T]):
    """What waits for one RM: (number, entry, weight, effort, begins), oldest first.

    ``begins``: it is the first part of an entry that was cut. ``weight``: that of all entries.
    ``credit``: elements that may be taken before others are served.
    """

    __slots__ = ("credit", "entries", "weight")

    def __init__(self) -> None:
        self.entries: deque[tuple[int, T, int, int, bool]] = deque()
        self.weight = 0
        self.credit = _TURN


class Inbox(Generic[T]):
    """A queue for each RM, first in, first out; any number of senders, one receiver.

    Args:
        capacity: elements that may wait; a quarter of them for one RM.
        cut: cuts an entry of a weight into parts, each with its weight, which counts against the
            capacity, and its effort, which counts in turns. Nothing of the same RM comes between
            them, and the first part is not taken with anything before it.

    Rules: SI-2, SI-6.
    """

    def __init__(self, capacity: int = CAPACITY, cut: Cut[T] | None = None) -> None:
        self._cut: Cut[T] = cut or _whole
        self._capacity = capacity
        self._share = max(1, capacity // _SHARES)
        # In the order in which they are served; those of RMs for which nothing waits are removed.
        self._queues: dict[str, _Queue[T]] = {}
        self._order: deque[str] = deque()
        # Entries of no RM: (number, entry), oldest first.
        self._common: deque[tuple[int, T]] = deque()
        self._number = 0
        self._weight = 0
        self._effort = 0
        # The effort of what the last ``take`` removed.
        self.taken = 0
        self._closed = ""
        self._hurry = False
        self._enough = 0
        self._lock = threading.Lock()
        self._filled = threading.Condition(self._lock)
        self._drained = threading.Condition(self._lock)
        self._waiters: list[tuple[str, Future[None]]] = []

    def put(self, entry: T, weight: int = 1, check: Callable[[], None] = anything) -> None:
        """Hand ``entry`` over, waiting while the queue of its RM or the inbox is full.

        ``check`` is called when there is room; no entry is added between it and this one.

        Raises: LoopStoppedError if the inbox is closed, also while waiting; what ``check`` raises.
        """
        with self._lock:
            while self._full(entry.rm_id) and not self._closed:
                self._drained.wait()
            check()
            self._append(entry, weight, hurry=True)

    def put_now(self, entry: T, weight: int = 1, check: Callable[[], None] = anything) -> None:
        """Hand ``entry`` over without waiting, even beyond the bound; see ``put``."""
        with self._lock:
            check()
            self._append(entry, weight, hurry=True)

    def offer(self, entry: T, weight: int = 1, check: Callable[[], None] = anything) -> bool:
        """Hand ``entry`` over if there is room; return whether there was; see ``put``.

        Unlike the other methods it does not end a ``rest`` of the receiver.
        """
        with self._lock:
            if self._full(entry.rm_id) and not self._closed:
                return False
            check()
            self._append(entry, weight, hurry=False)
            return True

    def _full(self, rm_id: str) -> bool:
        queue = self._queues.get(rm_id)
        return self._weight >= self._capacity or (queue is not None and queue.weight >= self._share)

    def _append(self, entry: T, weight: int, *, hurry: bool) -> None:
        if self._closed:
            raise LoopStoppedError(self._closed)
        self._number += 1
        rm_id = entry.rm_id
        if rm_id:
            queue = self._queues.get(rm_id)
            if queue is None:
                queue = self._queues[rm_id] = _Queue()
                self._order.append(rm_id)
            parts = self._cut(entry, weight)
            for place, (part, heft, effort) in enumerate(parts):
                begins = place == 0 and len(parts) > 1
                queue.entries.append((self._number, part, heft, effort, begins))
                queue.weight += heft
                self._weight += heft
                self._effort += effort
        else:
            self._common.append((self._number, entry))
            self._weight += weight
            self._effort += weight
        if hurry:
            self._hurry = True
        if hurry or self._weight >= self._enough:
            self._filled.notify()

    def rest(self, seconds: float, enough: int) -> None:
        """Let offered entries gather for a time. Only the receiver calls this.

        Ends early when ``enough`` elements wait, when an entry was put, or when the inbox is
        closed.
        """
        with self._lock:
            if self._hurry or self._closed or self._weight >= enough:
                return
            self._enough = enough
            self._filled.wait(seconds)
            self._enough = 0

    def room(self, rm_id: str) -> Future[None] | None:
        """Return a future that completes when an RM has room or the inbox is closed.

        None if there is room.
        """
        with self._lock:
            if self._closed or not self._full(rm_id):
                return None
            waiter: Future[None] = promise()
            self._waiters.append((rm_id, waiter))
            return waiter

    def take(self, effort: int, timeout: float | None) -> deque[T]:
        """Remove entries up to an ``effort`` in total, at least one if there is one.

        Those of one RM come in their order. The RMs are served in turn if not all can be taken;
        otherwise all come in the order in which they were handed over.
        Waits at most ``timeout`` seconds for the first entry, for ever if it is None. The result is
        empty if no entry came in time or the inbox was closed.
        """
        with self._lock:
            if self.empty() and not self._closed and timeout != 0:
                self._filled.wait(timeout)
            before = self._effort
            taken = deque(self._all()) if before <= effort else self._some(effort)
            self.taken = before - self._effort
            if self.empty():
                self._hurry = False
            waiters = self._with_room()
        for waiter in waiters:
            waiter.set_result(None)
        return taken

    def _some(self, effort: int) -> deque[T]:
        taken: deque[T] = deque()
        while effort > 0 and not self.empty():
            found = self._next(first=not taken)
            if found is None:
                break
            entry, heft, own = found
            taken.append(entry)
            effort -= own
            self._weight -= heft
            self._effort -= own
        return taken

    def _next(self, *, first: bool) -> tuple[T, int, int] | None:
        """Remove the entry whose turn it is; return it, its weight and its effort.

        None if it begins an entry that was cut and is not the ``first`` that is taken. Otherwise
        each ``take`` might end within one, and nothing could be decided for its RM.
        """
        if self._common and self._common[0][0] < self._oldest():
            return self._common.popleft()[1], 1, 1
        rm_id, queue = self._queue_in_turn()
        if queue.entries[0][4] and not first:
            return None
        _, entry, heft, effort, _ = queue.entries.popleft()
        queue.weight -= heft
        queue.credit -= effort
        if not queue.entries:
            del self._queues[rm_id]
            self._order.popleft()
        return entry, heft, effort

    def _queue_in_turn(self) -> tuple[str, _Queue[T]]:
        """Return the first queue that has credit left; each that has none gets some and waits.

        An entry may take more than the credit, and the debt is bounded. A queue on its own needs no
        credit.
        """
        while True:
            rm_id = self._order[0]
            queue = self._queues[rm_id]
            if len(self._order) == 1 or queue.credit > 0:
                return rm_id, queue
            queue.credit = max(queue.credit, -_DEBT) + _TURN
            self._order.rotate(-1)

    def _oldest(self) -> int:
        """Return the number of the oldest entry of all RMs."""
        return min(
            (queue.entries[0][0] for queue in self._queues.values()), default=self._number + 1
        )

    def _with_room(self) -> list[Future[None]]:
        """Return the waiters whose RMs have room now, and wake the threads that wait."""
        if self._weight < self._capacity:
            self._drained.notify_all()
        found = [each for each in self._waiters if self._closed or not self._full(each[0])]
        if found:
            self._waiters = [each for each in self._waiters if each not in found]
        return [waiter for _, waiter in found]

    def empty(self) -> bool:
        """Whether no entry waits."""
        return not self._order and not self._common

    def close(self, reason: str) -> None:
        """Refuse further entries with ``reason``, and wake all waiting threads."""
        with self._lock:
            self._closed = self._closed or reason
            self._filled.notify_all()
            self._drained.notify_all()
            waiters = self._with_room()
        for waiter in waiters:
            waiter.set_result(None)

    def leftovers(self) -> list[T]:
        """Remove and return all entries, oldest first, when the loop ends."""
        with self._lock:
            return self._all()

    def _all(self) -> list[T]:
        """Remove and return all entries, oldest first."""
        found = list(self._common)
        for queue in self._queues.values():
            found += [(number, entry) for number, entry, *_ in queue.entries]
        self._queues.clear()
        self._order.clear()
        self._common.clear()
        self._weight = self._effort = 0
        if len(found) > 1:
            found.sort(key=itemgetter(0))
        return [entry for _, entry in found]
