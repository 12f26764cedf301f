"""Watches: the changes of a kind as lines of JSON, from a version on.

A watch has no queue of its own: it reads the changes that the kind keeps. One that falls so far
behind that they are gone ends with 410, like one that asked for a version that is gone.
Source of bookmarks' times: those of recorded watches; a server looks once a second whether a
bookmark is due, which is once a minute and 2 s before the watch ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from math import floor
from typing import Final

import msgspec

from remuda_kubernetes.testing.faults import Faults
from remuda_kubernetes.testing.forms import Form, event_line
from remuda_kubernetes.testing.selectors import Matcher
from remuda_kubernetes.testing.settings import Clock
from remuda_kubernetes.testing.statuses import Json, failure
from remuda_kubernetes.testing.store import (
    ADDED,
    DELETED,
    MODIFIED,
    Change,
    Collection,
    Expired,
    Record,
    versioned,
)

_BATCH: Final = 256
_BOOKMARK_SECONDS: Final = 60.0
_BEFORE_END_SECONDS: Final = 2.0
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a watch is about. ``prefix``: of keys; ``matches`` None: everything."""

    form: Form
    prefix: str = ""
    matches: Matcher | None = None
    version: str = ""
    bookmarks: bool = False
    seconds: float = 1800.0
    # Everything that exists comes first, and a bookmark that says where it ends.
    initial_events: bool = False
    # Makes a line of the type and the record, where objects themselves are not wanted.
    render: Callable[[str, Record], bytes] | None = None


@dataclass(eq=False)
class Watch:
    """One running watch."""

    wanted: Wanted
    collection: Collection
    clock: Clock
    faults: Faults
    current: Callable[[], int]
    _ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines until the time is over or the history is gone."""
        self.collection.listeners.add(self._ready.set)
        self.faults.watches.add(self)
        try:
            async for chunk in self._chunks():
                yield chunk
        except Expired:
            yield self._expired()
        finally:
            self.collection.listeners.discard(self._ready.set)
            self.faults.watches.discard(self)

    def wake(self) -> None:
        """Look at once whether something is to be sent, or whether the watch was cut."""
        self._ready.set()

    async def _chunks(self) -> AsyncIterator[bytes]:
        position, initial = self._begin()
        for first in range(0, len(initial), _BATCH):
            yield b"".join(initial[first : first + _BATCH])
        if self.wanted.initial_events:
            yield self._bookmark({"k8s.io/initial-events-end": "true"})
        deadline = self.clock.now() + self.wanted.seconds
        bookmark = self._next_bookmark(deadline)
        while not self.faults.is_cut(self):
            self._ready.clear()
            changes = [] if self.faults.stale else self.collection.since(position, _BATCH)
            position += len(changes)
            if chunk := b"".join([self._line(change) for change in changes]):
                yield chunk
            if changes:
                continue
            if self.clock.now() >= deadline:
                return
            if bookmark is not None and self.clock.now() >= bookmark:
                yield self._bookmark()
                bookmark = self._next_bookmark(deadline)
            await self._pause(deadline if bookmark is None else min(deadline, bookmark))

    def _begin(self) -> tuple[int, list[bytes]]:
        """Return the position to go on from, and the events that come before."""
        if self.wanted.version not in {"", "0"} and not self.wanted.initial_events:
            return self.collection.position(int(self.wanted.version)), []
        snapshot = self.collection.now
        first, last = snapshot.range(self.wanted.prefix)
        matches = self.wanted.matches
        records = [snapshot.records[key] for key in snapshot.keys[first:last]]
        lines = [
            self._rendered(ADDED, record)
            for record in records
            if matches is None or matches(record.item)
        ]
        return self.collection.end, lines

    async def _pause(self, moment: float) -> None:
        cancel = self.clock.call_at(moment, self._ready.set)
        try:
            await self._ready.wait()
        finally:
            cancel()

    def _line(self, change: Change) -> bytes:
        """Return what a change is to this watch; nothing, if it is about others."""
        wanted = self.wanted
        if wanted.prefix and not change.record.key.startswith(wanted.prefix):
            return b""
        matches = wanted.matches
        if matches is None:
            if wanted.render is None:
                return wanted.form.line(change)
            return wanted.render(change.type, change.record)
        before = change.before
        was = before is not None and matches(before.item)
        if change.type != DELETED and matches(change.record.item):
            return self._rendered(MODIFIED if was else ADDED, change.record)
        if not was or before is None:
            return b""
        last = versioned(before.key, before.item, change.version, before.owners)
        return self._rendered(DELETED, last)

    def _rendered(self, kind: str, record: Record) -> bytes:
        if self.wanted.render is not None:
            return self.wanted.render(kind, record)
        return event_line(kind, self.wanted.form.whole(record))

    def _next_bookmark(self, deadline: float) -> float | None:
        """Return the moment of the next bookmark: the server looks at whole seconds only."""
        if not self.wanted.bookmarks:
            return None
        now = self.clock.now()
        due = now + _BOOKMARK_SECONDS
        before_end = deadline - _BEFORE_END_SECONDS
        if now < before_end < due:
            due = before_end
        return max(float(floor(due)), floor(now) + 1.0)

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        begun = int(self.wanted.version or 0)
        version = max(self.collection.last_version, self.collection.compacted, begun)
        metadata: Json = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations is not None:
            metadata["annotations"] = annotations
        return event_line("BOOKMARK", self.wanted.form.shown({"metadata": metadata}))

    def _expired(self) -> bytes:
        message = f"too old resource version: {self.wanted.version} ({self.current()})"
        return event_line("ERROR", _encode(failure(410, message)))
