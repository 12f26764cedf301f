"""Passes requests on with the groups of their users, or lets them wait until these are known.

One line per registered resource manager (users/line.py). The configuration in force names the
resolver of each partition; the core thread reports it when it takes effect.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future

from remuda.config.schema import Configuration
from remuda.core.messages.commands import UpdateApplications
from remuda.runtime.errand import promise
from remuda.runtime.inbox import anything
from remuda.runtime.requests import Request
from remuda.runtime.users.cache import GroupCache
from remuda.runtime.users.choice import Resolvers
from remuda.runtime.users.line import LINE_CAPACITY, Line, Put
from remuda.runtime.users.lookups import Lookups


class Intake:
    """The lines of all RMs. Any thread, unless said otherwise.

    Args:
        put: takes a request that may go on, and its weight, without waiting.
        resolvers: makes the resolvers of partitions.
        capacity: elements that may wait in one line.

    Rules: SI-2, SI-6, UGR-21 (Ours).
    """

    def __init__(self, put: Put, resolvers: Resolvers, capacity: int = LINE_CAPACITY) -> None:
        self._put = put
        self._resolvers = resolvers
        self._capacity = capacity
        self._lock = threading.Lock()
        self._lines: dict[str, Line] = {}
        self._lookups: dict[str, Lookups] = {}

    def configure(
        self, rm_id: str, configuration: Configuration, _extra: Mapping[str, str] | None
    ) -> None:
        """A configuration is in force: use its resolvers, keep those that stay. Core thread."""
        with self._lock:
            line = self._lines.get(rm_id)
            if line is None:
                line = self._lines[rm_id] = Line(
                    rm_id, self._put, self._lookups_of, capacity=self._capacity
                )
        old = line.caches
        line.use(
            {
                partition.name: self._resolvers.make(
                    partition.user_group_resolver, old.get(partition.name)
                )
                for partition in configuration.partitions
            }
        )
        kept = [id(cache) for cache in line.caches.values()]
        left = [cache for cache in old.values() if id(cache) not in kept]
        line.passed().add_done_callback(lambda _: _close_later(left))

    def close(self, rm_id: str) -> None:
        """The RM leaves, or starts anew: what waits belongs to its old life and is dropped."""
        with self._lock:
            line = self._lines.pop(rm_id, None)
            lookups = list(self._lookups.values())
        for each in lookups:
            each.forget(rm_id)
        if line is not None:
            line.close()
            _close_later(line.caches.values())

    def stop(self) -> None:
        """Drop everything; afterwards nothing is held any more."""
        with self._lock:
            lines, self._lines = self._lines, {}
            lookups, self._lookups = self._lookups, {}
        for each in lookups.values():
            each.close()
        for line in lines.values():
            line.close()
            _close(line.caches.values())

    def _lookups_of(self, kind: str) -> Lookups:
        """Return what does the lookups of resolvers of a kind, for all RMs."""
        with self._lock:
            return self._lookups.setdefault(kind, Lookups(kind))

    def admit(
        self, request: Request, check: Callable[[], None] = anything, *, wait: bool
    ) -> Request | None:
        """Return the request, completed, if it can go on now; None: it goes by itself, later.

        ``check`` keeps it out of the line of a later registration, see ``SchedulerLoop.submit``.
        ``wait``: the caller may be kept waiting while too much is in line (SI-6).
        """
        line = self._lines.get(request.rm_id)
        if line is None or not (line.waiting or isinstance(request, UpdateApplications)):
            return request
        if wait and line.full:
            line.room().result()
        # After the line was looked up: should it be closed now, it drops whatever comes.
        check()
        return line.admit(request)

    def room(self, rm_id: str) -> Future[None] | None:
        """Return what completes when requests of an RM have room; None if they have it now."""
        line = self._lines.get(rm_id)
        return line.room() if line is not None and line.full else None

    def passed(self, rm_id: str) -> Future[None]:
        """Completes when all that waits for an RM now has been passed on."""
        line = self._lines.get(rm_id)
        if line is not None:
            return line.passed()
        future: Future[None] = promise()
        future.set_result(None)
        return future

    def empty(self) -> bool:
        """Whether nothing waits in any line."""
        return all(line.empty() for line in list(self._lines.values()))


def _close_later(caches: Iterable[GroupCache | None]) -> None:
    """Close resolvers on another thread, because that may take a moment."""
    left = [cache for cache in caches if cache is not None]
    if left:
        threading.Thread(
            target=_close, args=(left,), name="remuda-users-close", daemon=True
        ).start()


def _close(caches: Iterable[GroupCache | None]) -> None:
    for cache in caches:
        if cache is not None:
            cache.resolver.close()
