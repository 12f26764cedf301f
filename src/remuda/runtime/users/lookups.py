"""A few threads that look users up, because a lookup may take seconds.

Each resource manager has its own, so that one whose directory server is slow delays only itself.
The threads start when they are first needed; a lookup that never comes back costs one of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

T = TypeVar("T")

# Lookups of one resource manager that run at the same time.
_THREADS: Final = 4


class Lookups(Generic[T]):
    """Does ``work`` for every job that is added, in no particular order. Any thread."""

    def __init__(self, work: Callable[[T], None], threads_limit: int = _THREADS) -> None:
        self._work = work
        self._limit = threads_limit
        self._jobs: SimpleQueue[T | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._unfinished = 0

    def add(self, job: T) -> None:
        """Have ``job`` done; never waits."""
        with self._lock:
            self._unfinished += 1
            if self._unfinished > self._threads and self._threads < self._limit:
                self._threads += 1
                threading.Thread(target=self._run, name="remuda-users", daemon=True).start()
        self._jobs.put(job)

    def close(self) -> None:
        """End each thread after what it does now; nothing may be added any more."""
        with self._lock:
            for _ in range(self._threads):
                self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._work(job)
            with self._lock:
                self._unfinished -= 1
