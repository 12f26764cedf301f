"""The newest event records, by ID.

A hundred thousand records are kept and as many may come within a second. So records are added in
batches, as slices of one list, and a read costs only the records it returns (chapter 90 section 3).
Not safe for threads by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from remuda.core.messages.effects import EventRecord


@final
class Ring:
    """At most ``capacity`` records with consecutive IDs, the newest ones.

    ``first_id``: the ID of the first record to come, where IDs continue those of an earlier run.
    """

    __slots__ = ("_base", "_capacity", "_next", "_slots")

    def __init__(self, capacity: int, first_id: int = 0) -> None:
        assert capacity > 0
        self._capacity = capacity
        self._slots: list[EventRecord] = []
        # The record with ID i is in slot (i - base) modulo the capacity.
        self._base = first_id
        self._next = first_id

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def capacity(self) -> int:
        """How many records are kept at most."""
        return self._capacity

    @property
    def next_id(self) -> int:
        """The ID that the next record will get."""
        return self._next

    @property
    def first_id(self) -> int:
        """The ID of the oldest stored record; of the next one if none is stored."""
        return self._next - len(self._slots)

    @property
    def lowest(self) -> int:
        """The ID of the oldest stored record, 0 if none is. Rules: EVT-95."""
        return self.first_id if self._slots else 0

    @property
    def highest(self) -> int:
        """The last ID given, 0 if no record is stored. Rules: EVT-95."""
        return self._next - 1 if self._slots else 0

    def add(self, records: Sequence[EventRecord]) -> int:
        """Give IDs to records in their order and store them; return the first of these IDs.

        The oldest records are dropped for them. Cost: O(new records). Implements: EVT-95.
        """
        first = self._next
        self._next += len(records)
        capacity, slots = self._capacity, self._slots
        if len(records) >= capacity:
            self._slots = list(records[-capacity:])
            self._base = self._next - capacity
            return first
        room = capacity - len(slots)
        if room:
            slots.extend(records[:room])
            records = records[room:]
        if records:
            at = (self._next - len(records) - self._base) % capacity
            to_end = capacity - at
            slots[at : at + len(records)] = records[:to_end]
            slots[: max(0, len(records) - to_end)] = records[to_end:]
        return first

    def query(self, first_id: int, count: int) -> list[EventRecord] | None:
        """Return up to ``count`` records from this ID on; None if there is none of this ID.

        Implements: EVT-96, EVT-97 (Ours).
        """
        if not self.first_id <= first_id < self._next:
            return None
        count = min(count, self._next - first_id)
        at = (first_id - self._base) % self._capacity
        found = self._slots[at : at + count]
        return found + self._slots[: count - len(found)]

    def recent(self, count: int) -> list[EventRecord]:
        """Return the newest records, oldest first. Implements: EVT-98 (Ours)."""
        count = min(count, len(self._slots))
        return self.query(self._next - count, count) or []

    def resize(self, capacity: int) -> None:
        """Keep up to so many records from now on; the newest stay. Implements: EVT-99."""
        assert capacity > 0
        if capacity != self._capacity:
            kept = self.recent(capacity)
            self._slots = kept
            self._base = self._next - len(kept)
            self._capacity = capacity
