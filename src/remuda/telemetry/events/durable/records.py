"""A numbered event record as a line of text, and back.

A line has the form that REST calls ``v2`` (EVT-130), so a reader with other tools finds the names
of the specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from remuda.core.messages.effects import EventRecord
from remuda.telemetry.events.forms import Envelope, Record

# Takes the place of a lost record, so that the IDs of the others stay the same. Consumers skip a
# record without type and object (EVT-116).
LOST: Final = EventRecord(
    rm_id="",
    partition="",
    kind=0,
    object_id="",
    reference_id="",
    change=0,
    detail=0,
    timestamp_ns=0,
    message="this record was lost: the event store could not be written",
)


class _Quantity(msgspec.Struct, omit_defaults=True, gc=False):
    value: int = 0


class _Resource(msgspec.Struct, omit_defaults=True, gc=False):
    resources: dict[str, _Quantity] = {}


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Envelope[_Resource])

_ID: Final = b'{"id":'


def encode(number: int, record: EventRecord) -> bytes:
    """Return a record as one line without its end.

    A record without such a form becomes a lost one.
    """
    try:
        return _encoder.encode(_line(number, record))
    except (OverflowError, UnicodeEncodeError):
        return _encoder.encode(_line(number, LOST))


def decode(line: bytes) -> tuple[int, EventRecord] | None:
    """Return ID and record of a line, None if it is none."""
    try:
        found = _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    record = found.record
    quantities = {} if record.resource is msgspec.UNSET else record.resource.resources
    amounts = {name: each.value for name, each in quantities.items()}
    return found.id, EventRecord(
        rm_id=found.rmID,
        partition=found.partition,
        kind=record.type,
        object_id=record.objectID,
        reference_id=record.referenceID,
        change=record.eventChangeType,
        detail=record.eventChangeDetail,
        timestamp_ns=record.timestampNano,
        resource=amounts or None,
        message=record.message,
        queue=found.queue,
    )


def id_of(line: bytes) -> int | None:
    """Return the ID of a line, None if it has none; looks at its beginning only."""
    digits = line[len(_ID) : line.find(b",", 0, 40)]
    return int(digits) if line.startswith(_ID) and digits.isdigit() else None


def _line(number: int, record: EventRecord) -> Envelope[_Resource]:
    return Envelope(
        number,
        record.partition,
        record.rm_id,
        record.queue,
        Record(
            type=record.kind,
            objectID=record.object_id,
            message=record.message,
            timestampNano=record.timestamp_ns,
            eventChangeType=record.change,
            eventChangeDetail=record.detail,
            referenceID=record.reference_id,
            resource=_resource(record.resource),
        ),
    )


def _resource(amounts: Mapping[str, int] | None) -> _Resource:
    if not amounts:
        return _Resource()
    return _Resource({name: _Quantity(amount) for name, amount in amounts.items()})
