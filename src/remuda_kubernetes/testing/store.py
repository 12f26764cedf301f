"""The objects of a server: one counter of versions, and per kind what changed since when.

An object is kept as a plain dictionary that is never changed, beside its JSON, which lists, answers
and watches share. The changes of a kind are kept, so that watches can begin in the past and lists
can be continued as of the version that they began with.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from remuda_kubernetes.testing.owners import Owners
from remuda_kubernetes.testing.statuses import Json

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
_SNAPSHOTS: Final = 4
_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True, eq=False)
class Record:
    """An object as it was at a version. ``body``: its JSON, without kind and apiVersion."""

    key: str
    item: Json
    version: int
    body: bytes
    owners: Owners


@dataclass(slots=True, eq=False)
class Change:
    """What happened to an object. ``before`` None: it is new. ``lines``: for watches, by form."""

    type: str
    record: Record
    before: Record | None
    lines: dict[str, bytes] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """The version that the change made."""
        return self.record.version


class Expired(Exception):  # noqa: N818 - an answer, not a fault of the program
    """A version is so old that the changes since then are not known any more."""


@dataclass(slots=True, frozen=True)
class Snapshot:
    """The objects of a kind as of a version; ``keys`` are sorted."""

    keys: list[str]
    records: dict[str, Record]

    def range(self, prefix: str, start: str = "") -> tuple[int, int]:
        """Return from where to where the keys with a prefix are, those before ``start`` not."""
        first = bisect_left(self.keys, max(prefix, start))
        last = bisect_left(self.keys, prefix[:-1] + chr(ord(prefix[-1]) + 1)) if prefix else None
        return first, len(self.keys) if last is None else max(first, last)


class Collection:
    """The objects of one kind. Positions count its changes since the server began."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._now = Snapshot([], {})
        self._changes: list[Change] = []
        self._first = 0
        self._snapshots: dict[int, Snapshot] = {}
        # Changes up to this version are not known any more.
        self.compacted = 0
        self.last_version = 0
        self.listeners: set[Callable[[], None]] = set()

    def __len__(self) -> int:
        """Return how many objects there are."""
        return len(self._now.records)

    def get(self, key: str) -> Record | None:
        """Return an object."""
        return self._now.records.get(key)

    @property
    def now(self) -> Snapshot:
        """The objects as they are; changes with them."""
        return self._now

    @property
    def end(self) -> int:
        """The position after the last change."""
        return self._first + len(self._changes)

    def put(self, change: Change) -> None:
        """Carry out a change and tell the listeners."""
        key = change.record.key
        if change.type == DELETED:
            del self._now.records[key]
            del self._now.keys[bisect_left(self._now.keys, key)]
        else:
            if change.before is None:
                insort(self._now.keys, key)
            self._now.records[key] = change.record
        self._changes.append(change)
        self.last_version = change.version
        if len(self._changes) > 2 * self._limit:
            self._forget(len(self._changes) - self._limit)
        for listener in self.listeners:
            listener()

    def load(self, records: Iterable[Record]) -> None:
        """Take objects in bulk. If nobody watches, nothing older can be continued afterwards."""
        if self.listeners:
            for record in records:
                before = self.get(record.key)
                self.put(Change(MODIFIED if before else ADDED, record, before))
            return
        for record in records:
            self._now.records[record.key] = record
            self.last_version = max(self.last_version, record.version)
        self._now.keys[:] = sorted(self._now.records)
        self._forget(len(self._changes))
        self.compacted = max(self.compacted, self.last_version)

    def since(self, position: int, limit: int) -> list[Change]:
        """Return so many changes from a position on. Raises: Expired."""
        if position < self._first:
            raise Expired
        start = position - self._first
        return self._changes[start : start + limit]

    def position(self, version: int) -> int:
        """Return the position after a version. Raises: Expired."""
        if version < self.compacted:
            raise Expired
        return self._first + bisect_right(self._changes, version, key=lambda each: each.version)

    def at(self, version: int) -> Snapshot:
        """Return the objects as of a version; not to be changed. Raises: Expired."""
        position = self.position(version)
        if position == self.end:
            return self._now
        found = self._snapshots.get(version)
        if found is None:
            found = self._undone(position)
            if len(self._snapshots) >= _SNAPSHOTS:
                del self._snapshots[next(iter(self._snapshots))]
            self._snapshots[version] = found
        return found

    def compact(self, version: int) -> None:
        """Forget the changes up to a version."""
        count = bisect_right(self._changes, version, key=lambda each: each.version)
        self._forget(count)
        self.compacted = max(self.compacted, version)

    def _undone(self, position: int) -> Snapshot:
        records = dict(self._now.records)
        for change in reversed(self._changes[position - self._first :]):
            if change.before is None:
                del records[change.record.key]
            else:
                records[change.record.key] = change.before
        return Snapshot(sorted(records), records)

    def _forget(self, count: int) -> None:
        if count:
            self.compacted = max(self.compacted, self._changes[count - 1].version)
            del self._changes[:count]
            self._first += count
        self._snapshots = {
            version: each for version, each in self._snapshots.items() if version >= self.compacted
        }


class Store:
    """All objects. Kinds are named by group and plural."""

    def __init__(self, history: int) -> None:
        self._history = history
        self._collections: dict[tuple[str, str], Collection] = {}
        self.version = 1

    def collection(self, name: tuple[str, str]) -> Collection:
        """Return the objects of a kind."""
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(self._history)
        return found

    def collections(self) -> list[Collection]:
        """Return all kinds that have, or had, objects."""
        return list(self._collections.values())

    def write(self, name: tuple[str, str], key: str, item: Json, owners: Owners) -> Record:
        """Create or replace an object, at a new version; what did not change is not written."""
        collection = self.collection(name)
        before = collection.get(key)
        if before is not None and before.item == item:
            return before
        self.version += 1
        record = versioned(key, item, self.version, owners)
        collection.put(Change(MODIFIED if before else ADDED, record, before))
        return record

    def delete(self, name: tuple[str, str], key: str) -> Record:
        """Remove an object; the last change has its last content at a new version."""
        collection = self.collection(name)
        before = collection.now.records[key]
        self.version += 1
        record = versioned(key, before.item, self.version, before.owners)
        collection.put(Change(DELETED, record, before))
        return record

    def compact(self) -> None:
        """Forget all changes: watches and lists as of older versions end with 410."""
        for collection in self._collections.values():
            collection.compact(self.version)


def versioned(key: str, item: Json, version: int, owners: Owners) -> Record:
    """Return a record of an object at a version."""
    stamped = {**item, "metadata": {**item["metadata"], "resourceVersion": str(version)}}
    return Record(key, stamped, version, _encode(stamped), owners)
