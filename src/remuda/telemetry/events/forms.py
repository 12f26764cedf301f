"""The JSON forms of an event record and its envelope (rules: EVT-9, EVT-130).

Both are written by ``encoding``, for answers and streams, and by ``durable/records``, for the
lines of the event store. The form of the amounts is a parameter: answers put in JSON that was
encoded before, the event store reads them back.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

Amounts = TypeVar("Amounts")


class Record(msgspec.Struct, Generic[Amounts], omit_defaults=True, gc=False):
    """A record as it is sent; the names are those of the wire."""

    type: int = 0
    objectID: str = ""  # noqa: N815
    message: str = ""
    timestampNano: int = 0  # noqa: N815
    eventChangeType: int = 0  # noqa: N815
    eventChangeDetail: int = 0  # noqa: N815
    referenceID: str = ""  # noqa: N815
    resource: Amounts | msgspec.UnsetType = msgspec.UNSET


class Envelope(msgspec.Struct, Generic[Amounts], gc=False):
    """A record with the fields it lacks; ``id`` comes first, so it is found quickly."""

    id: int
    partition: str
    rmID: str  # noqa: N815
    queue: str
    record: Record[Amounts]
