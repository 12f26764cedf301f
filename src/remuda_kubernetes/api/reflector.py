"""A reflector: keeps up with all objects of one kind and delivers their changes.

It reads a list in pages, then a watch from the list's version, and goes on from the last version
whenever the watch ends. When the server no longer keeps that version, it reads the list again and
delivers the differences. Nothing that the server sends raises out of it: it logs a failure and
tries again after a while. Source: the documentation of Kubernetes, "Kubernetes API Concepts".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from remuda_kubernetes.api.connection import BODY_LIMIT, Requests
from remuda_kubernetes.api.errors import NOT_FOUND, ApiError, Status
from remuda_kubernetes.api.known import Known, key_of
from remuda_kubernetes.api.pace import Backoff, Chance, Clock
from remuda_kubernetes.api.reading import (
    ADDED,
    BOOKMARK,
    DELETED,
    ERROR,
    MODIFIED,
    Event,
    Page,
    Reader,
    ReadingError,
    Unreadable,
)
from remuda_kubernetes.api.telling import Telling
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import Kind
from remuda_kubernetes.objects.metadata import KubernetesObject

_LOG: Final = logging.getLogger("remuda.kubernetes")
T = TypeVar("T", bound=KubernetesObject)
# Takes the changes in order, on the loop. It must not raise for what is in the objects.
Deliver = Callable[[Sequence[Change]], None]

_PAGE_LIMIT: Final = 64 << 20
# So many times in a row a list may expire between two of its pages before it is read at once.
_EXPIRED_LISTS: Final = 2
# So many times in a row a watch may fail before the list is read again.
_WATCH_FAILURES: Final = 3
# A watch that ends sooner than this and without an event has failed, whatever it says.
_SHORT_SECONDS: Final = 1.0
_TOO_LARGE: Final = 413
# So many events of a watch are delivered as one batch at most.
_BATCH: Final = 64


@dataclass(frozen=True, slots=True)
class ReflectorSettings:
    """Sizes and times.

    ``page`` objects are asked for at once. The server ends a watch after ``watch_seconds`` up to
    twice that. A watch on which nothing came for ``idle_seconds`` is stale: servers send a bookmark
    about every minute. The wait after failures begins with ``first_wait`` and ends with
    ``longest_wait`` seconds.
    """

    page: int = 500
    list_timeout: float = 60.0
    watch_seconds: float = 300.0
    idle_seconds: float = 150.0
    first_wait: float = 0.5
    longest_wait: float = 30.0


@dataclass
class ReflectorFigures:
    """Counts since the start, for metrics."""

    events: int = 0
    bookmarks: int = 0
    lists: int = 0
    watches: int = 0
    failures: int = 0
    unreadable: int = 0


class _Relist(Exception):  # noqa: N818 - not an error: the way on
    """The watch cannot go on from the known version."""


class Reflector(Generic[T]):
    """Keeps up with one kind.

    ``selectors`` are the query parameters ``fieldSelector`` and ``labelSelector``. ``synced`` is
    set once the first list was delivered. ``problem`` says why it fails at the moment, "" if it
    does not.
    """

    def __init__(
        self,
        requests: Requests,
        kind: Kind,
        path: str,
        deliver: Deliver,
        *,
        clock: Clock,
        chance: Chance,
        selectors: Mapping[str, str] | None = None,
        settings: ReflectorSettings | None = None,
        telling: Telling | None = None,
    ) -> None:
        self.kind: Final = kind
        self.figures: Final = ReflectorFigures()
        self.synced: Final = asyncio.Event()
        # A list was delivered, or the server has begun to answer a watch; others may clear it.
        self.heard: Final = asyncio.Event()
        self.problem = ""
        self._requests: Final = requests
        self._path: Final = path
        self._deliver: Final = deliver
        self._clock: Final = clock
        self._chance: Final = chance
        self._selectors: Final = dict(selectors or {})
        self._settings: Final = settings or ReflectorSettings()
        self._page_size = self._settings.page
        self._reader: Final[Reader[KubernetesObject]] = Reader(kind.type)
        self._known: Final[Known[KubernetesObject]] = Known(kind)
        self._backoff: Final = Backoff(
            chance, self._settings.first_wait, self._settings.longest_wait
        )
        self._telling: Final = telling or Telling(clock)
        self._outage = False
        self._version = ""
        self._relist = True
        self._watch_failures = 0
        self._expired_lists = 0

    @property
    def objects(self) -> Mapping[str, KubernetesObject]:
        """The objects that were delivered, by NAMESPACE/NAME or NAME; not to be changed."""
        return self._known.objects

    async def run(self) -> None:
        """Work until cancelled. Run again, it goes on with what it knows."""
        while True:
            try:
                if self._relist:
                    await self._list()
                await self._watch()
            except _Relist:
                self._relist = True
                wait = 0.0 if self._backoff.failures == 0 else self._backoff.next()
                # The next one in a row waits, should the server say so for ever.
                self._backoff.failures = max(1, self._backoff.failures)
            except (ApiError, ReadingError) as error:
                wait = self._failed(error)
            else:
                continue
            await self._clock.sleep(wait)

    def _failed(self, error: ApiError | ReadingError) -> float:
        """Note a failure; return the seconds to wait."""
        self.problem = f"{self.kind.name}: {error}"
        outage = error.outage if isinstance(error, ApiError) else ""
        self._telling.warn(outage or self.problem)
        self._outage = bool(outage)
        self.figures.failures += 1
        wait = self._backoff.next()
        if not self._relist and not (isinstance(error, ApiError) and error.unsent):
            # A server that is away says nothing about the version; it may be known afterwards.
            self._watch_failures += 1
            self._relist = self._watch_failures >= _WATCH_FAILURES
        if isinstance(error, ApiError):
            if error.expired or error.ahead or error.status == NOT_FOUND:
                self._relist = True
            wait = max(wait, error.retry_after or 0.0)
        return wait

    def _answers(self) -> None:
        """Note that the server answers."""
        if self._outage:
            self._telling.note("the API server answers again")
        self._outage = False
        self.problem = ""

    def _well(self) -> None:
        """Note that watches work."""
        self._watch_failures = 0
        self._backoff.reset()

    # ---------------------------------------------------------------- lists

    async def _list(self) -> None:
        """Read the whole list, page by page, and deliver the differences.

        Without a version in the query the server answers with the newest state, in pages.
        """
        self._known.begin_list()
        version, token = "", ""
        while True:
            page = await self._page(token)
            self._answers()
            version = version or page.version
            for each in page.unreadable:
                self._known.unreadable(each.object)
                self._tell_unreadable(each)
            self._pass_on(self._known.listed(page.items))
            token = page.next
            if not token:
                break
        if not version:
            raise ReadingError("a list without a resourceVersion")
        self._pass_on(self._known.end_list())
        self._version = version
        self._relist = False
        self._page_size = self._settings.page
        self._expired_lists = 0
        self.figures.lists += 1
        self.synced.set()
        self.heard.set()

    async def _page(self, token: str) -> Page[KubernetesObject]:
        """Read one page; half as many objects if they are too large for one answer."""
        while True:
            query = {**self._selectors, "limit": str(self._page_size)}
            if token:
                query["continue"] = token
            elif self._expired_lists >= _EXPIRED_LISTS:
                # The server forgets faster than pages can be read: all objects at once then.
                del query["limit"]
            try:
                answer = await self._requests.request(
                    "GET",
                    self._path,
                    query=query,
                    timeout=self._settings.list_timeout,
                    paced=False,
                    limit=_PAGE_LIMIT if "limit" in query else BODY_LIMIT,
                )
            except ApiError as error:
                self._expired_lists += error.expired
                if error.status != _TOO_LARGE or self._page_size == 1:
                    raise
                self._page_size = max(1, self._page_size // 2)
            else:
                return self._reader.page(answer.body)

    # ---------------------------------------------------------------- watches

    async def _watch(self) -> None:
        """Deliver events until the watch ends."""
        started = self._clock.now()
        seconds = self._settings.watch_seconds * (1.0 + self._chance())
        query = {
            **self._selectors,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(max(1, int(seconds))),
        }
        self.figures.watches += 1
        heard = 0
        stream = self._requests.stream(self._path, query, idle=self._settings.idle_seconds)
        async with aclosing(stream) as batches:
            async for lines in batches:
                self._answers()
                self.heard.set()
                heard += len(lines)
                for start in range(0, len(lines), _BATCH):
                    if start:
                        # Others on the loop get their turn while much comes at once.
                        await asyncio.sleep(0)
                    self._take(lines[start : start + _BATCH])
        if not heard and self._clock.now() - started < _SHORT_SECONDS:
            raise ReadingError("the server ended the watch at once")
        self._well()

    def _take(self, lines: list[bytes]) -> None:
        """Deliver what came at once as one batch, also if the last of it is an error."""
        changes: list[Change] = []
        try:
            for line in lines:
                self._take_event(self._reader.event(line), changes)
        finally:
            self._pass_on(changes)
        self._well()

    def _take_event(self, event: Event[KubernetesObject], changes: list[Change]) -> None:
        if event.type == ERROR:
            _raise_error(event.error)
        found = event.object
        if event.unreadable is not None:
            self._tell_unreadable(event.unreadable)
            if event.type == DELETED:
                found = event.unreadable.object
        if event.type == BOOKMARK:
            self.figures.bookmarks += 1
        elif event.type in {ADDED, MODIFIED, DELETED}:
            self.figures.events += 1
            if found is not None:
                changes += self._known.event(event.type, found)
        else:
            raise ReadingError(f"an event of the unknown type {event.type[:40]!r}")
        seen = found if event.unreadable is None else event.unreadable.object
        if seen is not None and seen.metadata.resource_version:
            self._version = seen.metadata.resource_version

    # ---------------------------------------------------------------- results

    def _pass_on(self, changes: list[Change]) -> None:
        if changes:
            self._deliver(changes)

    def _tell_unreadable(self, found: Unreadable) -> None:
        self.figures.unreadable += 1
        name = key_of(found.object) or "without a name"
        _LOG.warning("%s %s is left as it was known: %s", self.kind.name, name, found.reason)


def _raise_error(status: Status | None) -> None:
    found = status or Status()
    error = ApiError(
        f"the server ended the watch: {found.code} {found.reason}: {found.message[:300]}",
        status=found.code,
        explanation=found,
    )
    if error.expired or error.ahead:
        raise _Relist
    raise error
