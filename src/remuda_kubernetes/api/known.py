"""What a reflector knows of a kind, and the changes that follow from lists and events.

Pure: lists and events go in, changes come out. A list that follows on an interruption yields only
differences: objects that are missing in it were deleted, equal ones are not told again. Events
that come twice or in the wrong order change nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

from remuda_kubernetes.api.reading import DELETED
from remuda_kubernetes.objects.changes import Change
from remuda_kubernetes.objects.kinds import Kind
from remuda_kubernetes.objects.metadata import KubernetesObject

T = TypeVar("T", bound=KubernetesObject)

# How many deleted objects are remembered, so that a late event does not bring one back.
TOMBSTONES: Final = 4096


def key_of(value: KubernetesObject) -> str:
    """Return the name in the cluster: NAMESPACE/NAME, or NAME."""
    metadata = value.metadata
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def precedes(version: str, other: str) -> bool:
    """Whether a resourceVersion is certainly older than another, which only numbers can tell."""
    if version.isascii() and version.isdigit() and other.isascii() and other.isdigit():
        return int(version) < int(other)
    return False


class Known(Generic[T]):
    """The objects of one kind, by key."""

    def __init__(self, kind: Kind) -> None:
        self.kind: Final = kind
        self.objects: Final[dict[str, T]] = {}
        self._unlisted: set[str] = set()
        # By uid the resourceVersion of the deletion.
        self._tombstones: OrderedDict[str, str] = OrderedDict()

    def begin_list(self) -> None:
        """A list begins: until it ends, what it has not named yet may have been deleted."""
        self._unlisted = set(self.objects)

    def listed(self, items: list[T]) -> list[Change]:
        """Return what a part of the list changes."""
        changes: list[Change] = []
        for item in items:
            key = key_of(item)
            self._unlisted.discard(key)
            self._put(key, item, changes)
        return changes

    def unreadable(self, item: KubernetesObject) -> None:
        """The list names an object that cannot be read: the last that could be read stays."""
        self._unlisted.discard(key_of(item))

    def end_list(self) -> list[Change]:
        """Return the deletions of what the list did not name."""
        gone = [key for key in self.objects if key in self._unlisted]
        self._unlisted = set()
        return [self._remove(key, "") for key in gone]

    def event(self, event: str, item: T) -> list[Change]:
        """Return what an event changes. ``event`` is one of ADDED, MODIFIED, DELETED."""
        key = key_of(item)
        old = self.objects.get(key)
        version = item.metadata.resource_version
        if event == DELETED:
            if old is None:
                self._bury(item.metadata.uid, version)
                return []
            stale = precedes(version, old.metadata.resource_version)
            if old.metadata.uid != item.metadata.uid or stale:
                return []
            return [self._remove(key, version)]
        buried = self._tombstones.get(item.metadata.uid)
        if buried is not None and not precedes(buried, version):
            return []
        if old is not None and precedes(version, old.metadata.resource_version):
            return []
        changes: list[Change] = []
        self._put(key, item, changes)
        return changes

    def _put(self, key: str, item: T, changes: list[Change]) -> None:
        old = self.objects.get(key)
        if old is not None:
            if old.metadata.uid != item.metadata.uid:
                changes.append(self._remove(key, ""))
                old = None
            elif old.metadata.resource_version == item.metadata.resource_version:
                return
        self.objects[key] = item
        changes.append(Change(self.kind, old, item))

    def _remove(self, key: str, version: str) -> Change:
        old = self.objects.pop(key)
        self._bury(old.metadata.uid, version or old.metadata.resource_version)
        return Change(self.kind, old, None)

    def _bury(self, uid: str, version: str) -> None:
        self._tombstones[uid] = version
        self._tombstones.move_to_end(uid)
        if len(self._tombstones) > TOMBSTONES:
            self._tombstones.popitem(last=False)
