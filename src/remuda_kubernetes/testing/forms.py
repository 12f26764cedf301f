"""How objects look on the wire: with kind and apiVersion, as events of both APIs, as a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from remuda_kubernetes.testing.resources import Resource
from remuda_kubernetes.testing.statuses import Json
from remuda_kubernetes.testing.store import Change, Record

_encode: Final = msgspec.json.Encoder().encode

# Fields of events.k8s.io, and what the core API calls them.
_EVENT_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES: Final = {core: new for new, core in _EVENT_NAMES.items()}


def renamed(item: Json, names: Mapping[str, str]) -> Json:
    """Return an object whose outermost fields have other names."""
    return {names.get(name, name): value for name, value in item.items()}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a verb answers. ``body``: JSON."""

    body: bytes
    code: int = 200


@dataclass(frozen=True, slots=True)
class Form:
    """One kind in one version of its group. ``names``: what the stored fields are called in it."""

    resource: Resource
    version: str
    head: bytes
    names: Mapping[str, str] | None = None

    @property
    def api_version(self) -> str:
        """The group and version, as objects say it."""
        group = self.resource.group
        return f"{group}/{self.version}" if group else self.version

    def item(self, record: Record) -> bytes:
        """Return an object as a member of a list."""
        return record.body if self.names is None else _encode(renamed(record.item, self.names))

    def whole(self, record: Record) -> bytes:
        """Return an object by itself."""
        return self.head + self.item(record)[1:]

    def shown(self, item: Json) -> bytes:
        """Return an object that is not stored."""
        plain = item if self.names is None else renamed(item, self.names)
        return self.head + _encode(plain)[1:]

    def stored(self, item: Json) -> Json:
        """Return an object of this form as it is stored."""
        return item if self.names is None else renamed(item, _EVENT_NAMES)

    def line(self, change: Change) -> bytes:
        """Return the event of a watch; all watches of this form share it."""
        found = change.lines.get(self.api_version)
        if found is None:
            found = event_line(change.type, self.whole(change.record))
            change.lines[self.api_version] = found
        return found

    def list(self, metadata: Json, records: Iterable[Record]) -> bytes:
        """Return a list of objects."""
        head = _encode(
            {
                "kind": f"{self.resource.kind}List",
                "apiVersion": self.api_version,
                "metadata": metadata,
                "items": [],
            }
        )
        return head[:-2] + b",".join(map(self.item, records)) + b"]}"


def event_line(kind: str, body: bytes) -> bytes:
    """Return an event of a watch as one line."""
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), body)


def form(resource: Resource, version: str) -> Form:
    """Return the form of a kind in a version."""
    api_version = f"{resource.group}/{version}" if resource.group else version
    head = _encode({"kind": resource.kind, "apiVersion": api_version})[:-1] + b","
    names = _CORE_NAMES if resource.group == "events.k8s.io" else None
    return Form(resource, version, head, names)


def partial(item: Json) -> dict[str, Any]:
    """Return only the metadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": item["metadata"],
    }
