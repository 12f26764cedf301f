"""Hands work to the core thread: a bounded queue that blocks its senders.

Bounded by elements (asks, nodes, releases), not by requests, because one request may carry a
hundred thousand of them. A sender waits while the queue is full (SI-6). The core thread never
waits, because a callback that sends a request would block the thread that drains the queue.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Generic, TypeVar

from remuda.runtime.errand import promise
from remuda.runtime.errors import LoopStoppedError

T = TypeVar("T")

# Elements waiting in the inbox before senders block: about 100 MB of asks.
CAPACITY: Final = 200_000


def anything() -> None:
    """Accept the entry: the default check."""


class Inbox(Generic[T]):
    """First in, first out; any number of senders, one receiver. Rules: SI-2, SI-6."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._entries: deque[tuple[T, int]] = deque()
        self._weight = 0
        self._closed = ""
        self._hurry = False
        self._enough = 0
        self._lock = threading.Lock()
        self._filled = threading.Condition(self._lock)
        self._drained = threading.Condition(self._lock)
        self._waiters: list[Future[None]] = []

    def put(self, entry: T, weight: int = 1, check: Callable[[], None] = anything) -> None:
        """Hand ``entry`` over, waiting while the inbox is full.

        ``check`` is called when there is room; no entry is added between it and this one.

        Raises: LoopStoppedError if the inbox is closed, also while waiting; what ``check`` raises.
        """
        with self._lock:
            while self._weight >= self._capacity and not self._closed:
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
            if self._weight >= self._capacity and not self._closed:
                return False
            check()
            self._append(entry, weight, hurry=False)
            return True

    def _append(self, entry: T, weight: int, *, hurry: bool) -> None:
        if self._closed:
            raise LoopStoppedError(self._closed)
        self._entries.append((entry, weight))
        self._weight += weight
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

    def room(self) -> Future[None] | None:
        """Return a future that completes when there is room or the inbox is closed.

        None if there is room.
        """
        with self._lock:
            if self._weight < self._capacity or self._closed:
                return None
            waiter: Future[None] = promise()
            self._waiters.append(waiter)
            return waiter

    def take(self, weight: int, timeout: float | None) -> deque[T]:
        """Remove entries up to ``weight`` elements in total, at least one if there is one.

        Waits at most ``timeout`` seconds for the first entry, for ever if it is None. The result is
        empty if no entry came in time or the inbox was closed.
        """
        with self._lock:
            if not self._entries and not self._closed and timeout != 0:
                self._filled.wait(timeout)
            taken: deque[T] = deque()
            while self._entries and weight > 0:
                entry, heft = self._entries.popleft()
                taken.append(entry)
                weight -= heft
                self._weight -= heft
            if not self._entries:
                self._hurry = False
            if self._weight < self._capacity:
                self._drained.notify_all()
                waiters, self._waiters = self._waiters, []
            else:
                waiters = []
        for waiter in waiters:
            waiter.set_result(None)
        return taken

    def empty(self) -> bool:
        """Whether no entry waits."""
        return not self._entries

    def close(self, reason: str) -> None:
        """Refuse further entries with ``reason``, and wake all waiting threads."""
        with self._lock:
            self._closed = self._closed or reason
            self._filled.notify_all()
            self._drained.notify_all()
            waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.set_result(None)

    def leftovers(self) -> list[T]:
        """Remove and return all entries, when the loop ends."""
        with self._lock:
            left = [entry for entry, _ in self._entries]
            self._entries.clear()
            self._weight = 0
            return left
