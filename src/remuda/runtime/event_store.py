"""Event records on their way to resource managers: a bounded store for each of them.

A receiver of events may be slow, and nothing waits for it. So the core thread only puts records
down, and whoever carries them to the RM takes all of them away every two seconds. What people are
shown has room of its own: no flood of other records costs an RM those (EVT-92, EVT-93).
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

# More is not kept whatever is set, for it would be memory without bound.
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
    """Whether a record is of the kind that RMs show to people. Rules: EVT-93.

    These are all of requests, and the coming and going of nodes (EVT-47, EVT-48).
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
    """What was in a store, in order, and how many records had no room since the last time."""

    records: tuple[EventRecord, ...]
    lost: int


_NOTHING: Final = Taken((), 0)


class EventFeeds:
    """The stores of all RMs, and what became of all records towards them.

    ``stored``, ``not_stored`` and ``collected`` only grow, are plain numbers for any thread, and
    every record that is handed out is in exactly one of the first two. One nobody wants is stored
    and collected at once: of an RM that is gone or has no receiver, or asked for less. Read
    ``collected`` before ``stored`` to never see more taken away than put down.

    ``capacity``: records of either lane that a store takes after it was emptied the next time.
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
        """Put records of this RM there from now on; None: it has no receiver. Core thread."""
        if store is None:
            self.close(rm_id)
        else:
            self._open[rm_id] = store

    def close(self, rm_id: str) -> None:
        """Put nothing more into the store of this RM (RM-9). Core thread."""
        self._open.pop(rm_id, None)

    def offer(self, records: Sequence[EventRecord]) -> None:
        """Put each record into the store of its RM. Core thread. Rules: EVT-92, EVT-94."""
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
        """Take the settings of an RM over; a watcher of configurations. Core thread.

        Rules: EVT-93, EVT-102.
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
    """What waits for one RM: two lanes with as much room each, in one order.

    Args:
        feeds: counts, and knows the capacity.
        arrived: called when something is there; on the core thread, must return at once.
        read: whether somebody takes records away; if not, none are kept.

    ``user_facing_only``: the RM wants no others. Rules: EVT-92, EVT-93.
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
        # What is free in the lane of other records, and in that of user-facing ones.
        self._room = [feeds.capacity, feeds.capacity]

    def add(self, records: Sequence[EventRecord]) -> None:
        """Put records down as far as there is room; never waits. Core thread. Rules: EVT-92."""
        unwanted = lost = 0
        with self._lock:
            if not self._read:
                self._feeds.count(stored=len(records), collected=len(records))
                return
            for record in records:
                lane = user_facing(record)
                if self.user_facing_only and not lane:
                    unwanted += 1
                elif self._room[lane] > 0:
                    self._room[lane] -= 1
                    self._records.append(record)
                else:
                    lost += 1
            self._lost += lost
            # Before they can be taken, so that never more was collected than stored.
            self._feeds.count(stored=len(records) - lost, not_stored=lost, collected=unwanted)
        if self._arrived is not None and unwanted < len(records):
            self._arrived()

    def take(self) -> Taken:
        """Take all records away, in their order. Any thread. Rules: EVT-92."""
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
        """Somebody takes records away from now on. Any thread."""
        with self._lock:
            self._read = True

    def leave(self) -> None:
        """Nobody takes records away any more; those that wait are dropped. Any thread."""
        with self._lock:
            self._read = False
        self.take()
