"""Encodes event records as JSON in the forms of chapter 90: EVT-8, EVT-9, EVT-130.

The order of keys and the omitted fields are part of the format. Many records are encoded at a time,
because one answer may have a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from remuda.base.go_text import escape_json
from remuda.core.messages.effects import EventRecord
from remuda.core.messages.events import QUEUE, UG_GROUP_LIMIT, UG_USER_LIMIT, USERGROUP
from remuda.telemetry.events.forms import Envelope, Record

_EMPTY: Final = msgspec.Raw(b"{}")

_LIMITS: Final = (UG_USER_LIMIT, UG_GROUP_LIMIT)

_encoder = msgspec.json.Encoder(order="deterministic")


def encode(record: EventRecord) -> bytes:
    """Return one record as JSON, without newline. Implements: EVT-8, EVT-9."""
    return escape_json(_encoder.encode(_record(record, {})))


def encode_lines(
    ids: Sequence[int], records: Sequence[EventRecord], *, enveloped: bool = False
) -> bytes:
    r"""Return records as lines of JSON, each with ``\n`` at its end.

    Implements: EVT-130. Rules: EVT-114.
    """
    return escape_json(_encoder.encode_lines(_shapes(ids, records, enveloped=enveloped)))


def encode_elements(
    ids: Sequence[int], records: Sequence[EventRecord], *, enveloped: bool = False
) -> bytes:
    """Return records as the inside of a JSON array. Rules: EVT-111, EVT-130."""
    return escape_json(_encoder.encode(_shapes(ids, records, enveloped=enveloped))[1:-1])


def queue_of(record: EventRecord) -> str:
    """Return the queue of a record, "" without one. Rules: EVT-130."""
    if record.queue:
        return record.queue
    if record.kind == QUEUE:
        return record.object_id
    if record.kind == USERGROUP and record.detail in _LIMITS:
        return record.reference_id
    return ""


def _shapes(
    ids: Sequence[int], records: Sequence[EventRecord], *, enveloped: bool
) -> list[Record[msgspec.Raw]] | list[Envelope[msgspec.Raw]]:
    # Many records share the resource of one ask; those of a batch live as long as this.
    known: dict[int, msgspec.Raw] = {}
    if not enveloped:
        return [_record(each, known) for each in records]
    return [
        Envelope(number, each.partition, each.rm_id, queue_of(each), _record(each, known))
        for number, each in zip(ids, records, strict=True)
    ]


def _record(record: EventRecord, known: dict[int, msgspec.Raw]) -> Record[msgspec.Raw]:
    amounts = record.resource
    shown = known.get(id(amounts))
    if shown is None:
        shown = known[id(amounts)] = _resource(amounts)
    return Record(
        record.kind,
        record.object_id,
        record.message,
        record.timestamp_ns,
        record.change,
        record.detail,
        record.reference_id,
        shown,
    )


def _resource(amounts: Mapping[str, int] | None) -> msgspec.Raw:
    if not amounts:
        return _EMPTY
    quantities = {name: {"value": value} if value else {} for name, value in amounts.items()}
    return msgspec.Raw(_encoder.encode({"resources": quantities}))
