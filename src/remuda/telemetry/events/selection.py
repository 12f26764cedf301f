"""Selects event records: the filter of a reader, and the batch that a query names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.message import message
from remuda.base.scopes import Scope
from remuda.core.messages.effects import EventRecord
from remuda.core.messages.events import QUEUE, REQUEST
from remuda.telemetry.events.pipeline import EventSystem

# Records looked at between two looks at the ring.
_PAGE: Final = 1_000


@message
class Selection:
    """A filter of records; None and "" accept any value of a field. Implements: EVT-131.

    ``since_ns``: the earliest time of a record. ``scope``: records about other partitions and
    queues are not wanted; None: all are.
    """

    kind: int | None = None
    detail: int | None = None
    object_id: str = ""
    reference_id: str = ""
    since_ns: int = 0
    scope: Scope | None = None

    def takes_all(self) -> bool:
        """Whether every record is wanted."""
        return (
            self.kind is None
            and self.detail is None
            and not (self.object_id or self.reference_id or self.since_ns)
            and self.scope is None
        )

    def takes(self, record: EventRecord) -> bool:
        """Whether a record is wanted."""
        return (
            (self.kind is None or record.kind == self.kind)
            and (self.detail is None or record.detail == self.detail)
            and (not self.object_id or record.object_id == self.object_id)
            and (not self.reference_id or record.reference_id == self.reference_id)
            and record.timestamp_ns >= self.since_ns
            and (self.scope is None or _is_within(record, self.scope))
        )

    def of(
        self, first_id: int, records: Sequence[EventRecord]
    ) -> tuple[Sequence[int], Sequence[EventRecord]]:
        """Return the wanted records, of consecutive ones, with their IDs."""
        if self.takes_all():
            return range(first_id, first_id + len(records)), records
        chosen = [(i, each) for i, each in enumerate(records, first_id) if self.takes(each)]
        return [i for i, _ in chosen], [each for _, each in chosen]


EVERYTHING: Final = Selection()


def _is_within(record: EventRecord, scope: Scope) -> bool:
    """Whether a record is about something in a scope. Rules: EXT-32.

    One about a queue is about no application, so its object is the queue. A record without a
    partition, which stands for a lost one, is in no scope.
    """
    queue = record.object_id if record.kind == QUEUE else record.queue
    return bool(record.partition) and scope.includes(record.rm_id, record.partition, queue)


@message
class Batch:
    """Records from one ID on, and which IDs there are.

    ``records`` None: there is none of that ID.

    Rules: EVT-96, EVT-111.
    """

    lowest: int
    highest: int
    ids: Sequence[int]
    records: Sequence[EventRecord] | None


def batch_from(events: EventSystem, first_id: int, count: int, wanted: Selection) -> Batch:
    """Return up to ``count`` wanted records from an ID on.

    May take some time if many are not wanted. Rules: EVT-96, EVT-131.
    """
    known = events.range()
    ids: list[int] = []
    found: list[EventRecord] = []
    at = first_id
    while len(found) < count:
        records = events.read(at, _page(wanted, count - len(found)))
        if records is None:
            break
        some_ids, some = wanted.of(at, records)
        ids += some_ids
        found += some
        at += len(records)
    if at == first_id:
        return Batch(known.lowest, known.highest, (), None)
    return Batch(known.lowest, max(known.highest, at - 1), ids[:count], found[:count])


def newest_batch(events: EventSystem, count: int, wanted: Selection) -> Batch:
    """Return the newest ``count`` wanted records, oldest first. Rules: EVT-131."""
    known = events.range()
    ids: list[int] = []
    found: list[EventRecord] = []
    end = known.highest + 1
    while len(found) < count and end > known.lowest:
        size = min(end - known.lowest, _page(wanted, count - len(found)))
        records = events.read(end - size, size)
        if records is None or len(records) < size:
            break
        some_ids, some = wanted.of(end - size, records)
        ids[:0] = some_ids
        found[:0] = some
        end -= size
    if end > known.highest:
        return Batch(known.lowest, known.highest, (), None)
    return Batch(known.lowest, known.highest, ids[-count:], found[-count:])


def _page(wanted: Selection, missing: int) -> int:
    """Return how many records to read next: all at once if every record is wanted."""
    return missing if wanted.takes_all() else _PAGE


def newest_of_asks(
    events: EventSystem, partition: str, application_id: str
) -> dict[str, EventRecord]:
    """Return the last record about each ask of an application, by key, of those in memory.

    Rules: EVT-133, chapter 90 section 2.2.
    """
    return {
        record.object_id: record
        for record in events.in_memory()
        if record.kind == REQUEST
        and record.reference_id == application_id
        and record.partition == partition
    }
