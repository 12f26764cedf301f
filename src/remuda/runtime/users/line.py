"""The requests of one resource manager that wait until their users' groups are known.

Usually no request waits: the calling thread passes on a request without new applications, or whose
users need no lookup. While a lookup runs, later requests of the same resource manager queue behind
it, because its requests keep their order (SI-2). A request that is passed on has all groups, so the
core does no lookup.

Requests leave the line under its lock, by a call that never waits. So no request can overtake
another, and the core thread, whose callbacks also send requests, never waits here.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from remuda.config.schema import USER_NAME
from remuda.core.messages.commands import NewApplication, UpdateApplications
from remuda.runtime.errand import promise
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.requests import Request, weight
from remuda.runtime.users.cache import Answer, GroupCache
from remuda.runtime.users.lookups import PATIENCE_SECONDS, Lookups
from remuda.runtime.users.resolver import default_groups

_log = logging.getLogger("remuda.users")

# Elements that may wait in a line before its senders do (SI-6).
LINE_CAPACITY: Final = 100_000

# What an answer belongs to: plain name of the partition, and the user.
_Key: TypeAlias = tuple[str, str]

# Hands a request of a certain weight over without waiting; raises LoopStoppedError.
Put: TypeAlias = Callable[[Request, int], None]


@dataclass(slots=True, eq=False)
class _Waiting:
    """A request in line; it may go when ``missing`` is 0 and it is the first."""

    request: Request
    weight: int
    missing: int = 0
    answers: dict[_Key, Answer] = field(default_factory=dict)
    passed: list[Future[None]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Job:
    """A lookup for a request in line."""

    line: Line
    waiting: _Waiting
    key: _Key
    cache: GroupCache

    def look_up(self) -> None:
        """Find an answer, however, and let go what can go now. Lookup threads."""
        if self.key in self.waiting.answers:
            return
        try:
            answer = self.cache.resolve(self.key[1])
        except Exception as error:  # noqa: BLE001 - nobody may wait for ever
            _log.error("looking up a user failed: %r", error)
            answer = Answer(fault=f"user resolution failed: {type(error).__name__}: {error}")
        self.line.answer(self.waiting, self.key, answer)

    def be_late(self) -> None:
        """Go on with what is known from elsewhere, else with a fault."""
        fault = f"user resolution failed: no answer within {PATIENCE_SECONDS:g} s"
        self.line.answer(
            self.waiting, self.key, self.cache.recall(self.key[1]) or Answer(fault=fault)
        )


class Line:
    """The line of one RM. Any thread.

    Args:
        rm_id: the RM.
        put: takes what may go on.
        lookups: does the lookups of resolvers of a kind.
        capacity: elements that may wait.

    Rules: SI-2, SI-6, SI-24, UGR-2, UGR-5 (Ours), UGR-6.
    """

    def __init__(
        self,
        rm_id: str,
        put: Put,
        lookups: Callable[[str], Lookups],
        *,
        capacity: int = LINE_CAPACITY,
    ) -> None:
        self._rm_id = rm_id
        self._prefix = f"[{rm_id}]"
        self._put = put
        self._capacity = capacity
        self._caches: Mapping[str, GroupCache | None] = {}
        self._lookups = lookups
        self._lock = threading.Lock()
        self._weight = 0
        self._room: list[Future[None]] = []
        self._closed = False
        self.waiting: deque[_Waiting] = deque()

    @property
    def caches(self) -> Mapping[str, GroupCache | None]:
        """The resolver of each partition; None: the default one."""
        return self._caches

    def use(self, caches: Mapping[str, GroupCache | None]) -> None:
        """Use these resolvers for what comes from now on."""
        self._caches = caches

    @property
    def full(self) -> bool:
        """Whether senders should wait."""
        return self._weight >= self._capacity

    def empty(self) -> bool:
        """Whether no request waits, and none is being passed on."""
        with self._lock:
            return not self.waiting

    def admit(self, request: Request) -> Request | None:
        """Return the request, completed, if it can go on now; None: it waits and goes by itself.

        The call never waits, even when the line is full.
        """
        missing: dict[_Key, GroupCache] = {}
        if isinstance(request, UpdateApplications) and request.new:
            request = self._complete(request, missing)
        with self._lock:
            if self._closed:
                return None
            if not missing and not self.waiting:
                return request
            waiting = _Waiting(request, weight(request))
            waiting.missing = len(missing)
            self.waiting.append(waiting)
            self._weight += waiting.weight
        for key, cache in missing.items():
            self._lookups(cache.kind).add(self._rm_id, _Job(self, waiting, key, cache))
        return None

    def room(self) -> Future[None]:
        """Completes when there is room for one more request."""
        future: Future[None] = promise()
        with self._lock:
            if self.full and not self._closed:
                self._room.append(future)
                return future
        future.set_result(None)
        return future

    def passed(self) -> Future[None]:
        """Completes when all that waits now has been passed on."""
        future: Future[None] = promise()
        with self._lock:
            if self.waiting:
                self.waiting[-1].passed.append(future)
                return future
        future.set_result(None)
        return future

    def close(self) -> None:
        """Drop all that waits, and whatever comes later."""
        with self._lock:
            self._closed = True
            done = self._drop()
        _complete_all(done)

    def _complete(
        self, request: UpdateApplications, missing: dict[_Key, GroupCache]
    ) -> UpdateApplications:
        """Fill in the groups that need no lookup; put the others into ``missing``.

        Groups that are given stay, and nobody learns them; the core judges a missing or an
        illegal user. Implements: UGR-5, UGR-6, UGR-8, UGR-7.
        """
        new = [self._completed(application, missing) for application in request.new]
        return replace(request, new=tuple(new))

    def _completed(
        self, application: NewApplication, missing: dict[_Key, GroupCache]
    ) -> NewApplication:
        user = application.user
        if application.groups or not USER_NAME.fullmatch(user):
            return application
        key = self._key(application)
        cache = self._caches.get(key[0])
        if cache is None:
            return replace(application, groups=default_groups(user))
        known = cache.recall(user)
        if known is None:
            missing[key] = cache
            return application
        return replace(application, groups=known.groups, user_fault=known.fault)

    def _key(self, application: NewApplication) -> _Key:
        """Return what the answer for an application is filed under (RM-21, RM-22)."""
        return application.partition.removeprefix(self._prefix) or "default", application.user

    def answer(self, waiting: _Waiting, key: _Key, answer: Answer) -> None:
        """Note what was found out, unless it is known already; let go what can go now."""
        with self._lock:
            if key in waiting.answers:
                return
            waiting.answers[key] = answer
            waiting.missing -= 1
            done = self._pass_on()
        _complete_all(done)

    def _pass_on(self) -> list[Future[None]]:
        """Put what may go, in order; returns the futures that are due. Holds the lock."""
        done: list[Future[None]] = []
        while self.waiting and not self.waiting[0].missing:
            first = self.waiting[0]
            try:
                self._put(self._filled(first), first.weight)
            except LoopStoppedError:
                return done + self._drop()
            self.waiting.popleft()
            self._weight -= first.weight
            done += first.passed
        if not self.full:
            done += self._room
            self._room = []
        return done

    def _filled(self, waiting: _Waiting) -> Request:
        """Return a request with the answers of its lookups."""
        request = waiting.request
        if not (waiting.answers and isinstance(request, UpdateApplications)):
            return request
        new: list[NewApplication] = []
        for application in request.new:
            answer = waiting.answers.get(self._key(application))
            if answer is None or application.groups or application.user_fault:
                new.append(application)
            else:
                new.append(replace(application, groups=answer.groups, user_fault=answer.fault))
        return replace(request, new=tuple(new))

    def _drop(self) -> list[Future[None]]:
        done = [future for waiting in self.waiting for future in waiting.passed] + self._room
        self.waiting.clear()
        self._weight = 0
        self._room = []
        return done


def _complete_all(futures: list[Future[None]]) -> None:
    for future in futures:
        future.set_result(None)
