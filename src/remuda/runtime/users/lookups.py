"""A few threads that look users up, because a lookup may take seconds, or for ever.

The threads belong to the process: a resource manager that registers again gets no new ones, so
lookups that never come back cost a bounded number of threads. A resource manager may hold only a
part of them, and they serve the managers in turn, so that one with many users delays mostly itself.
Another thread reports late lookups, even when all the others hang.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from itertools import islice
from typing import Final, Protocol

_log = logging.getLogger("remuda.users")

# Lookups of one kind that run at the same time, and how many of them for one resource manager.
_THREADS: Final = 16
_THREADS_EACH: Final = 4

# How long after it was added a lookup has to be done.
PATIENCE_SECONDS: Final = 30.0


class Job(Protocol):
    """A lookup for somebody who waits for it."""

    def look_up(self) -> None:
        """Do it, however long it takes, unless it was late; raises nothing."""
        ...

    def be_late(self) -> None:
        """It takes too long: go on without it."""
        ...


class Lookups:
    """Does every job that is added, in no particular order; a late one need not begin.

    Any thread.

    Args:
        kind: what is asked, for the log.
        patience_seconds: how long after its arrival a job is late.
        now: seconds of a clock that only goes forward.

    Rules: UGR-6, UGR-28 (Ours).
    """

    def __init__(
        self,
        kind: str = "",
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kind = kind
        self._patience = patience_seconds
        self._now = now
        self._changed = threading.Condition()
        self._queues: dict[str, deque[Job]] = {}
        self._queued = 0
        self._running: Counter[str] = Counter()
        self._threads = self._idle = 0
        # By arrival, and so by the time when they are late: that time, and the resource manager.
        self._due: dict[Job, tuple[float, str]] = {}
        self._watched = self._reported = self._closed = False

    def add(self, rm_id: str, job: Job) -> None:
        """Have ``job`` done for a resource manager; never waits."""
        with self._changed:
            if self._closed:
                return
            self._queues.setdefault(rm_id, deque()).append(job)
            self._queued += 1
            self._due[job] = (self._now() + self._patience, rm_id)
            if not self._watched:
                self._watched = True
                self._start(self._watch, "remuda-users-watch")
            if self._threads < _THREADS and self._idle < self._queued:
                self._threads += 1
                self._idle += 1
                self._start(self._run, "remuda-users")
            self._changed.notify_all()

    def forget(self, rm_id: str) -> None:
        """Drop what was added for a resource manager and has not begun."""
        with self._changed:
            jobs = self._queues.pop(rm_id, ())
            self._queued -= len(jobs)
            for job in jobs:
                self._due.pop(job, None)

    def close(self) -> None:
        """End each thread after what it does now."""
        with self._changed:
            self._closed = True
            self._queues.clear()
            self._due.clear()
            self._changed.notify_all()

    def _start(self, work: Callable[[], None], name: str) -> None:
        threading.Thread(target=work, name=name, daemon=True).start()

    def _run(self) -> None:
        while (taken := self._take()) is not None:
            rm_id, job = taken
            job.look_up()
            with self._changed:
                self._due.pop(job, None)
                self._reported = self._reported and bool(self._due)
                self._idle += 1
                self._running[rm_id] -= 1
                if not self._running[rm_id]:
                    del self._running[rm_id]
                self._changed.notify_all()

    def _take(self) -> tuple[str, Job] | None:
        """Wait for the next job that may begin; None: there will be no more."""
        with self._changed:
            while not self._closed:
                for rm_id in self._queues:
                    if self._running[rm_id] < _THREADS_EACH:
                        self._idle -= 1
                        self._running[rm_id] += 1
                        return rm_id, self._next_of(rm_id)
                self._changed.wait()
            return None

    def _next_of(self, rm_id: str) -> Job:
        """Take the first job of a resource manager and put its others behind those of all."""
        queue = self._queues.pop(rm_id)
        self._queued -= 1
        job = queue.popleft()
        if queue:
            self._queues[rm_id] = queue
        return job

    def _watch(self) -> None:
        """Tell those who wait for a job that it is late."""
        while (job := self._late()) is not None:
            job.be_late()

    def _late(self) -> Job | None:
        """Wait for the next job that is late; None: there will be no more."""
        with self._changed:
            while not self._closed:
                first = next(iter(self._due), None)
                if first is None:
                    self._changed.wait()
                    continue
                due, rm_id = self._due[first]
                left = due - self._now()
                if left > 0:
                    self._changed.wait(left)
                    continue
                del self._due[first]
                self._report()
                if first in islice(self._queues.get(rm_id, ()), 1):
                    self._next_of(rm_id)
                return first
            return None

    def _report(self) -> None:
        if not self._reported:
            self._reported = True
            _log.error(
                "lookups of users (%s) take longer than %g s; %d of %d threads are at it",
                self._kind,
                self._patience,
                self._running.total(),
                _THREADS,
            )
