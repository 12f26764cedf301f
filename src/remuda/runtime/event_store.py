"""Event records on their way to resource managers: a bounded store for each of them.

A receiver of events may be slow, and the core does not wait for it. So the core thread only stores
records, and the carrier to the RM takes all of them every two seconds. User-facing records have
their own room, so a flood of other records does not displace them (EVT-92, EVT-93).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from remuda.base.message import message
from remuda.config.schema import Configuration
from remuda.config.setting_table import BY_KEY
from remuda.config.settings import read_settings
from remuda.core.messages.effects import Effect, EventRecord
from remuda.core.messages.events import (
    ADD,
    DETAILS_NONE,
    NODE,
    NODE_DECOMISSION,
    REMOVE,
    REQUEST,
)

E = TypeVar("E", bound=Effect)

_log = logging.getLogger("remuda.events")

INTERVAL_SECONDS: Final = 2.0
CAPACITY: Final = int(BY_KEY["event.requestCapacity"].default)

# The upper bound of the setting, which bounds the memory.
CAPACITY_LIMIT: Final = 1_000_000


def by_rm(effects: Sequence[E]) -> dict[str, list[E]]:
    """Return the effects of each RM, in their order. Rules: SI-7."""
    found: dict[str, list[E]] = {}
    for effect in effects:
        own = found.get(effect.rm_id)
        if own is None:
            own = found[effect.rm_id] = []
        own.append(effect)
    return found


def user_facing(record: EventRecord) -> bool:
    """Whether a record is of a kind that RMs show to users. Implements: EVT-93.

    These are all records of requests, and of added and removed nodes (EVT-47, EVT-48).
    """
    if record.kind == REQUEST:
        return True
    come_or_gone = (record.change, record.detail) in (
        (ADD, DETAILS_NONE),
        (REMOVE, NODE_DECOMISSION),
    )
    return record.kind == NODE and come_or_gone


@message
class Taken:
    """The records of a store, in order, and how many had no room since the last time."""

    records: tuple[EventRecord, ...]
    lost: int


_NOTHING: Final = Taken((), 0)


class EventFeeds:
    """The stores of all RMs, and counters of all records for them.

    ``stored``, ``not_stored`` and ``collected`` only grow; any thread may read them. Every record
    is counted in exactly one of the first two. A record without a receiver counts as stored and
    collected at once: its RM is gone, has no receiver, or asked for fewer records. Read
    ``collected`` before ``stored``, so that it is never the larger one.

    ``capacity``: records of each kind that a store takes from its next emptying on.
    Rules: EVT-92, EVT-94, EVT-102, EVT-122, MET-39.
    """

    def __init__(self) -> None:
        self.stored = 0
        self.not_stored = 0
        self.collected = 0
        self.capacity = CAPACITY
        self._counting = threading.Lock()
        self._open: dict[str, EventStore] = {}

    def store(self, arrived: Callable[[], None] | None = None, *, read: bool = True) -> EventStore:
        """Return a new store for a registration. Any thread."""
        return EventStore(self, arrived, read=read)

    def open(self, rm_id: str, store: EventStore | None) -> None:
        """Put records of this RM into a store from now on; None: it has no receiver.

        Core thread.
        """
        if store is None:
            self.close(rm_id)
        else:
            self._open[rm_id] = store

    def close(self, rm_id: str) -> None:
        """Put nothing more into the store of this RM (RM-9). Core thread."""
        self._open.pop(rm_id, None)

    def offer(self, records: Sequence[EventRecord]) -> None:
        """Put each record into the store of its RM. Core thread.

        Implements: EVT-94. Rules: EVT-92.
        """
        names = {record.rm_id for record in records}
        if len(names) == 1:  # nearly always
            self._put(names.pop(), records)
            return
        for rm_id, own in by_rm(records).items():
            self._put(rm_id, own)

    def _put(self, rm_id: str, records: Sequence[EventRecord]) -> None:
        store = self._open.get(rm_id)
        if store is not None:
            store.add(records)
        else:
            self.count(stored=len(records), collected=len(records))

    def configure(
        self, rm_id: str, _configuration: Configuration, extra: Mapping[str, str] | None
    ) -> None:
        """Apply the settings of an RM; a watcher of configurations. Core thread.

        Implements: EVT-102. Rules: EVT-93.
        """
        if extra is None:
            return
        settings, _ = read_settings(extra)
        self.capacity = min(settings.event_request_capacity, CAPACITY_LIMIT)
        if settings.event_request_capacity > CAPACITY_LIMIT:
            text = "event.requestCapacity is above %d, which is used instead"
            _log.warning(text, CAPACITY_LIMIT)
        store = self._open.get(rm_id)
        if store is not None:
            store.user_facing_only = settings.rm_user_events_only

    def count(self, *, stored: int = 0, not_stored: int = 0, collected: int = 0) -> None:
        """Add to the counters. Any thread."""
        with self._counting:
            self.stored += stored
            self.not_stored += not_stored
            self.collected += collected


class EventStore:
    """The stored records of one RM: two kinds with equal room, in one order.

    Args: feeds: counts, and knows the capacity. arrived: called when there are records; on the core
        thread, must return at once. read: whether there is a reader; without one no records are
        kept.

    ``user_facing_only``: the RM wants only these. Rules: EVT-92, EVT-93.
    """

    def __init__(
        self, feeds: EventFeeds, arrived: Callable[[], None] | None = None, *, read: bool = True
    ) -> None:
        self.user_facing_only = False
        self._feeds = feeds
        self._arrived = arrived
        self._read = read
        self._lock = threading.Lock()
        self._records: list[EventRecord] = []
        self._lost = 0
        # Free room for other records, and for user-facing ones.
        self._room = [feeds.capacity, feeds.capacity]

    def add(self, records: Sequence[EventRecord]) -> None:
        """Store records as far as there is room; never waits. Core thread.

        Implements: EVT-92.
        """
        unwanted = lost = 0
        with self._lock:
            if not self._read:
                self._feeds.count(stored=len(records), collected=len(records))
                return
            for record in records:
                shown = user_facing(record)
                if self.user_facing_only and not shown:
                    unwanted += 1
                elif self._room[shown] > 0:
                    self._room[shown] -= 1
                    self._records.append(record)
                else:
                    lost += 1
            self._lost += lost
            # Counted before they can be taken, so that ``collected`` never exceeds ``stored``.
            self._feeds.count(stored=len(records) - lost, not_stored=lost, collected=unwanted)
        if self._arrived is not None and unwanted < len(records):
            self._arrived()

    def take(self) -> Taken:
        """Take all records, in their order. Any thread. Rules: EVT-92."""
        with self._lock:
            if not self._records and not self._lost:
                self._room = [self._feeds.capacity, self._feeds.capacity]
                return _NOTHING
            records, self._records = self._records, []
            lost, self._lost = self._lost, 0
            self._room = [self._feeds.capacity, self._feeds.capacity]
        self._feeds.count(collected=len(records))
        return Taken(tuple(records), lost)

    def listen(self) -> None:
        """Note that there is a reader from now on. Any thread."""
        with self._lock:
            self._read = True

    def leave(self) -> None:
        """Note that there is no reader any more; stored records are dropped. Any thread."""
        with self._lock:
            self._read = False
        self.take()
