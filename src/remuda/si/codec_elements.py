"""Translates elements of a request, so that one that is too large is refused alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from remuda.base.errors import ProtocolError
from remuda.base.texts import shortened
from remuda.core.messages.commands import Unreadable
from remuda.si.limits import ID_LENGTH_LIMIT

E = TypeVar("E")
T = TypeVar("T")


def read(
    translate: Callable[[E], T], entries: Sequence[E], unreadable: list[Unreadable]
) -> list[T]:
    """Translate elements; those that cannot be go to ``unreadable``. Rules: SI-4, SI-105."""
    try:
        return [translate(entry) for entry in entries]
    except ProtocolError:
        pass
    found: list[T] = []
    for entry in entries:
        try:
            found.append(translate(entry))
        except ProtocolError as error:
            unreadable.append(_unreadable(entry, str(error)))
    return found


def _unreadable(entry: object, reason: str) -> Unreadable:
    """Return an element that cannot be read, by the name that it has."""
    application_id = str(getattr(entry, "applicationID", ""))
    subject = getattr(entry, "allocationKey", "") or getattr(entry, "nodeID", "") or application_id
    return Unreadable(
        shortened(str(subject), ID_LENGTH_LIMIT),
        f"{reason}; send less of it (SI-105)",
        shortened(application_id, ID_LENGTH_LIMIT),
    )
