"""Event records in a database file, by the standard library.

The journal is written ahead (WAL), so a process that is killed loses nothing that was committed,
and other programs may read the file meanwhile. The space of dropped records is used again.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

from remuda.telemetry.events.durable.backend import (
    SMALLEST_BYTES,
    Bounds,
    Numbered,
    StoreRefusedError,
)
from remuda.telemetry.events.durable.records import decode, encode

# Says whose file it is: "RmEv".
_APPLICATION_ID: Final = 0x526D4576

# Parts of the greatest size: the room for the journal and for records until the next pruning, the
# journal's part of it, and how much is freed at a time.
_RESERVED_PART: Final = 4
_JOURNAL_PART: Final = 16
_FREED_PART: Final = 16

# Rows deleted in one transaction; transactions are short because readers wait meanwhile.
_SLICE: Final = 5_000

_FOREIGN: Final = "the file of the event store has something else in it; name another one"


class SqliteBackend:
    """Records in a table, by ID. See Backend.

    Raises: StoreRefusedError for a file of another program, sqlite3.Error, OSError.
    Rules: EVT-132.
    """

    def __init__(self, path: Path, bounds: Bounds) -> None:
        self._age_ns = bounds.age_ns
        self._size_limit = max(bounds.size_bytes, SMALLEST_BYTES)
        self._page = 0
        self._lock = threading.Lock()
        path.touch(0o600)
        self._database = sqlite3.connect(
            path, timeout=1.0, isolation_level=None, check_same_thread=False
        )
        try:
            self.instance = self._prepare()
        except BaseException:
            self._database.close()
            raise
        # After all records were dropped the IDs go on as well.
        ask = "SELECT max(next_id, coalesce((SELECT max(id) + 1 FROM records), 0)) FROM store"
        (self.next_id,) = self._one(ask)
        self.lowest = self._lowest()

    def append(self, entries: Sequence[Numbered]) -> None:
        """Keep records, see Backend."""
        rows = [(number, each.timestamp_ns, encode(number, each)) for number, each in entries]
        with self._lock:
            empty = self.lowest == self.next_id
            with self._transaction():
                self._database.executemany("INSERT INTO records VALUES (?, ?, ?)", rows)
            self.next_id = entries[-1][0] + 1
            if empty:
                self.lowest = entries[0][0]

    def read(self, first_id: int, end_id: int, count: int) -> list[Numbered]:
        """Return records, see Backend."""
        ask = "SELECT line FROM records WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
        with self._lock:
            rows = self._database.execute(ask, (first_id, end_id, count)).fetchall()
        found = [decode(line) for (line,) in rows]
        return [entry for entry in found if entry is not None]

    def prune(self, now_ns: int) -> None:
        """Drop the oldest records beyond the bounds, see Backend."""
        with self._lock:
            if self._age_ns:
                ask = "SELECT id FROM records WHERE time >= ? ORDER BY id LIMIT 1"
                kept = self._database.execute(ask, (now_ns - self._age_ns,)).fetchone()
                self._drop_below(self.next_id if kept is None else kept[0])
            limit = self._size_limit - self._size_limit // _RESERVED_PART
            while self._size() > limit and self.lowest < self.next_id:
                part = max(1, (self.next_id - self.lowest) // _FREED_PART)
                self._drop_below(self.lowest + part)
            # Free space is used again; it is returned to the system only after the bound was
            # lowered.
            (pages,) = self._one("PRAGMA page_count")
            beyond = pages - self._size_limit // self._page
            if beyond > 0:
                ask = f"PRAGMA incremental_vacuum({min(beyond, _SLICE)})"
                self._database.execute(ask).fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    # ------------------------------------------------------------------ one thread at a time

    def _prepare(self) -> str:
        """Make the tables unless they are there; return the UUID."""
        try:
            (owner,) = self._one("PRAGMA application_id")
            (tables,) = self._one("SELECT count(*) FROM sqlite_master")
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
                raise StoreRefusedError(_FOREIGN) from None
            raise
        if tables and owner != _APPLICATION_ID:
            raise StoreRefusedError(_FOREIGN)
        if not tables:
            self._database.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        journal = self._size_limit // _JOURNAL_PART
        self._database.execute(f"PRAGMA journal_size_limit = {journal}")
        (self._page,) = self._one("PRAGMA page_size")
        checkpoint = max(16, journal // 2 // self._page)
        self._database.execute(f"PRAGMA wal_autocheckpoint = {checkpoint}")
        if not tables:
            self._make()
        (instance,) = self._one("SELECT instance FROM store")
        return str(instance)

    def _make(self) -> None:
        with self._transaction():
            self._database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            self._database.execute("CREATE TABLE store (instance TEXT NOT NULL, next_id INTEGER)")
            self._database.execute("INSERT INTO store VALUES (?, 0)", (str(uuid4()),))
            self._database.execute(
                "CREATE TABLE records "
                "(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, line BLOB NOT NULL)"
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    def _drop_below(self, kept_id: int) -> None:
        """Delete all records below an ID."""
        while self.lowest < kept_id:
            end = min(kept_id, self.lowest + _SLICE)
            with self._transaction():
                self._database.execute("DELETE FROM records WHERE id < ?", (end,))
                self._database.execute("UPDATE store SET next_id = ?", (self.next_id,))
            self.lowest = self._lowest()

    def _size(self) -> int:
        """Return the bytes that records take, without the journal."""
        (pages,) = self._one("PRAGMA page_count")
        (free,) = self._one("PRAGMA freelist_count")
        return (pages - free) * self._page

    def _lowest(self) -> int:
        (lowest,) = self._one("SELECT coalesce(min(id), -1) FROM records")
        return self.next_id if lowest < 0 else lowest

    def _one(self, ask: str) -> tuple[int, ...]:
        found: tuple[int, ...] = self._database.execute(ask).fetchone()
        return found
