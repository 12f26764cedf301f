"""Reads pages of lists and events of watches straight into the records of objects.

A page is decoded at once. Only if that fails are its items decoded one by one, so that an object
with a field of an unexpected form is left out and told, and the others are not lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from remuda.base.errors import RemudaError
from remuda_kubernetes.api.errors import Status
from remuda_kubernetes.api.sharing import Sharing
from remuda_kubernetes.objects.metadata import KubernetesObject
from remuda_kubernetes.objects.values import UNDECODABLE

T = TypeVar("T", bound=KubernetesObject)

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"


class ReadingError(RemudaError):
    """The server sent what is no list and no event."""


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    next: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, Generic[T], frozen=True):
    metadata: _ListMeta
    items: list[T] | None = None


class _Event(msgspec.Struct, Generic[T], frozen=True):
    type: str
    object: T


class _RawPage(msgspec.Struct, frozen=True):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _RawEvent(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class Unreadable(NamedTuple):
    """An object that the records cannot hold: its metadata, as far as known, and why."""

    object: KubernetesObject
    reason: str


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list; ``next`` asks for the next part, "" after the last."""

    version: str
    next: str
    items: list[T]
    unreadable: list[Unreadable]


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """One event of a watch: with an object, with an unreadable one, or with an error."""

    type: str
    object: T | None = None
    unreadable: Unreadable | None = None
    error: Status | None = None


class Reader(Generic[T]):
    """Reads lists and watches of one kind."""

    def __init__(self, record: type[T]) -> None:
        # The records are chosen when the program runs, which the types cannot say.
        page: Any = _Page
        event: Any = _Event
        self._page: Final[msgspec.json.Decoder[_Page[T]]] = msgspec.json.Decoder(page[record])
        self._event: Final[msgspec.json.Decoder[_Event[T]]] = msgspec.json.Decoder(event[record])
        self._item: Final = msgspec.json.Decoder(record)
        self._sharing: Final = Sharing()

    def page(self, body: bytes) -> Page[T]:
        """Return a part of a list. Raises: ReadingError."""
        try:
            found = self._page.decode(body)
        except UNDECODABLE:
            return self._page_by_items(body)
        items = found.items or []
        for each in items:
            self._sharing.share(each)
        return Page(found.metadata.resource_version, found.metadata.next, items, [])

    def _page_by_items(self, body: bytes) -> Page[T]:
        try:
            raw = _RAW_PAGE.decode(body)
        except UNDECODABLE as error:
            raise ReadingError(f"not a list of objects: {_short(error)}") from None
        items: list[T] = []
        unreadable = []
        for each in raw.items or []:
            try:
                items.append(self._item.decode(each))
            except UNDECODABLE as error:
                unreadable.append(_unreadable(each, error))
        return Page(raw.metadata.resource_version, raw.metadata.next, items, unreadable)

    def event(self, line: bytes) -> Event[T]:
        """Return one event. Raises: ReadingError."""
        try:
            found = self._event.decode(line)
        except UNDECODABLE:
            return self._event_by_parts(line)
        if found.type == ERROR:
            return self._event_by_parts(line)
        self._sharing.share(found.object)
        return Event(found.type, found.object)

    def _event_by_parts(self, line: bytes) -> Event[T]:
        try:
            raw = _RAW_EVENT.decode(line)
            if raw.type == ERROR:
                return Event(ERROR, error=_STATUS.decode(raw.object))
        except UNDECODABLE as error:
            raise ReadingError(f"not an event of a watch: {_short(error)}") from None
        try:
            return Event(raw.type, self._item.decode(raw.object))
        except UNDECODABLE as error:
            return Event(raw.type, unreadable=_unreadable(raw.object, error))


class _NameOnly(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _NameOnly = _NameOnly()


_RAW_PAGE: Final = msgspec.json.Decoder(_RawPage)
_RAW_EVENT: Final = msgspec.json.Decoder(_RawEvent)
_STATUS: Final = msgspec.json.Decoder(Status)
_NAMED: Final = msgspec.json.Decoder(_Named)


def _unreadable(raw: msgspec.Raw, error: Exception) -> Unreadable:
    try:
        found = _NAMED.decode(raw).metadata
    except UNDECODABLE:
        found = _NameOnly()
    known = {name: getattr(found, name) for name in found.__struct_fields__}
    stand_in = msgspec.convert({"metadata": known}, _Bare)
    return Unreadable(stand_in, _short(error))


class _Bare(KubernetesObject, frozen=True):
    """Stands for an object with readable metadata and an unreadable rest."""


def _short(error: Exception) -> str:
    return str(error)[:300] or type(error).__name__
