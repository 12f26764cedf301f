"""Writes event records to files; no other thread waits for that.

Producers put new records into a bounded queue. A thread writes the collected records every half
second, so a killed process loses at most the last second. If files cannot be written, records wait
while there is room. Lost records leave a gap that readers see, because the IDs of all others must
not change (EVT-132).
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final
from uuid import uuid4

from remuda.core.messages.effects import EventRecord
from remuda.telemetry.events.durable.backend import Backend, Numbered
from remuda.telemetry.events.durable.records import LOST

_log = logging.getLogger("remuda.events")

# Seconds between two writes, and between two attempts while they fail.
INTERVAL_SECONDS: Final = 0.5
_RETRY_SECONDS_LIMIT: Final = 5.0

# Records that may wait to be written, and how many are written at a time.
WAITING_LIMIT: Final = 200_000
_WRITTEN_AT_ONCE: Final = 10_000

# How long a file that does not accept writes may delay the end of the process.
_CLOSING_SECONDS: Final = 5.0

_ERRORS: Final = (OSError, sqlite3.Error)


class DurableEvents:
    """Event records that survive the process.

    Args:
        backend: the files.
        now_ns: Unix time.
        interval_seconds: between two writes.
        waiting_limit: records that may wait to be written.
        release: called at the end, when the files are not used any more.

    ``instance``: the UUID of the count of IDs, that of the files (EVT-112). ``next_id``: the ID
    after the last record known. ``lost``: records that could not be kept so far. ``fault``: what is
    wrong at the moment, for operators, "" if nothing is. All are for any thread, as are the methods
    other than ``add``. Rules: EVT-132.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        now_ns: Callable[[], int] = time.time_ns,
        interval_seconds: float = INTERVAL_SECONDS,
        waiting_limit: int = WAITING_LIMIT,
        release: Callable[[], None] | None = None,
    ) -> None:
        self.instance = backend.instance
        self.next_id = backend.next_id
        self.lost = 0
        self.fault = ""
        self._backend = backend
        self._now_ns = now_ns
        self._interval = interval_seconds
        self._limit = waiting_limit
        self._release = release
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: deque[Numbered] = deque()
        self._something = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remuda-event-store", daemon=True)
        self._thread.start()

    @property
    def lag(self) -> int:
        """How many records wait to be written."""
        return len(self._waiting)

    def add(self, first_id: int, records: Sequence[EventRecord]) -> None:
        """Take records with IDs from ``first_id`` on; never waits. One thread.

        Records that do not fit are lost, and counted.
        """
        if not records:
            return
        with self._lock:
            room = max(0, self._limit - len(self._waiting))
            self._waiting.extend(enumerate(records[:room], first_id))
            self.lost += len(records) - min(room, len(records))
            self.next_id = first_id + len(records)
        if not self._something.is_set():
            self._something.set()

    def lowest(self) -> int | None:
        """Return the oldest ID that can be read, None if none can. Returns at once."""
        with self._lock:
            if self._backend.lowest < self._backend.next_id:
                return self._backend.lowest
            return self._waiting[0][0] if self._waiting else None

    def read(self, first_id: int, count: int) -> list[EventRecord]:
        """Return up to ``count`` records from this ID on, those that wait included.

        ``LOST`` takes the place of a lost record. The result is empty if the ID is below ``lowest``
        or not given yet, or if the files cannot be read. May wait for a file.
        """
        lowest = self.lowest()
        with self._lock:
            end_id = min(first_id + count, self.next_id)
            waiting = [entry for entry in self._waiting if first_id <= entry[0] < end_id]
        if lowest is None or not lowest <= first_id < end_id:
            return []
        written_end = waiting[0][0] if waiting else end_id
        try:
            written = self._backend.read(first_id, written_end, written_end - first_id)
        except _ERRORS as error:
            _log.error("the event store could not be read: %s", _reason(error))
            return []
        found = [LOST] * (end_id - first_id)
        for number, record in (*written, *waiting):
            found[number - first_id] = record
        return found

    def flush(self) -> bool:
        """Write the waiting records at once; return whether that succeeded."""
        with self._writing:
            self._something.clear()
            try:
                while self._waiting:
                    self._write()
                self._backend.prune(self._now_ns())
            except _ERRORS as error:
                self._failed(error)
                return False
            self._went_well()
            return True

    def close(self) -> None:
        """Write the waiting records, for a few seconds at most, and close the files."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._something.set()
        self._thread.join(_CLOSING_SECONDS)
        if self._thread.is_alive():
            _log.error("the event store does not take records; %d are lost", self.lag)

    # ------------------------------------------------------------------ own thread

    def _run(self) -> None:
        pause = self._interval
        while not self._closing.is_set():
            self._something.wait()
            self._closing.wait(pause)
            if self._flush_safely():
                pause = self._interval
            else:
                pause = min(2 * pause, _RETRY_SECONDS_LIMIT)
                self._something.set()
        self._end()

    def _flush_safely(self) -> bool:
        try:
            return self.flush()
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the thread
            with self._lock:
                self.lost += len(self._waiting)
                self._waiting.clear()
            self._failed(error)
            return False

    def _write(self) -> None:
        with self._lock:
            entries = list(islice(self._waiting, _WRITTEN_AT_ONCE))
        try:
            self._backend.append(entries)
        finally:
            with self._lock:
                while self._waiting and self._waiting[0][0] < self._backend.next_id:
                    self._waiting.popleft()

    def _end(self) -> None:
        self._flush_safely()
        if self._backend.next_id < self.next_id and not self._waiting:
            # The last records are lost: their IDs must not be given to others.
            lost = replace(LOST, timestamp_ns=self._now_ns())
            self._try(lambda: self._backend.append([(self.next_id - 1, lost)]))
        self._try(self._backend.close)
        if self._release is not None:
            self._release()

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - the end comes all the same
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        before = self.fault
        self.fault = (
            f"event.store: records cannot be written: {_reason(error)}; {self.lag} wait and "
            f"{self.lost} are lost so far; make room, or see to the rights of the directory"
        )
        if not before:
            _log.warning("%s", self.fault)
            _log.debug("traceback of the failure", exc_info=error)

    def _went_well(self) -> None:
        if self.fault:
            self.fault = ""
            _log.info("event.store: records are written again, %d were lost so far", self.lost)


class MemoryEvents:
    """A store without files, which keeps no records. ``fault``: why, if files were wanted.

    Rules: EVT-132.
    """

    def __init__(self, fault: str = "") -> None:
        self.instance = str(uuid4())
        self.next_id = 0
        self.lost = 0
        self.lag = 0
        self.fault = fault

    def add(self, first_id: int, records: Sequence[EventRecord]) -> None:
        """Let records go."""
        self.next_id = first_id + len(records)

    def lowest(self) -> int | None:
        """Return None: there are none."""
        return None

    def read(self, first_id: int, count: int) -> list[EventRecord]:
        """Return nothing."""
        return []

    def close(self) -> None:
        """Do nothing: no file is open."""


def _reason(error: Exception) -> str:
    """Return what happened without the name of the file, which may be secret (EXT-23)."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
