"""Where event records are kept: what a resource manager asks for, within what the operator allows.

An RM sends ``event.store`` with its registration, and must not be able to write to any file of this
process. So files are made only below a directory that the operator names when the process starts.
Without one, and for a name that leads out of it, records stay in memory and the health checks
report the reason. These texts contain no value of the RM, because it may be secret (EXT-23).
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.config.schema import Configuration
from remuda.config.settings import STORE_MEMORY, read_settings
from remuda.telemetry.events.durable.backend import Backend, Bounds, StoreRefusedError
from remuda.telemetry.events.durable.ndjson import NdjsonBackend
from remuda.telemetry.events.durable.sqlite import SqliteBackend
from remuda.telemetry.events.durable.store import DurableEvents, MemoryEvents
from remuda.telemetry.health.findings import Finding

_log = logging.getLogger("remuda.events")

_BACKENDS: Final[Mapping[str, Callable[[Path, Bounds], Backend]]] = {
    "sqlite": SqliteBackend,
    "ndjson": NdjsonBackend,
}

Store: TypeAlias = DurableEvents | MemoryEvents

_CHECK: Final = "Event store"
_CHECKED: Final = "Check whether event records get into the files that are to keep them"
_INSTEAD: Final = "records are kept in memory only"


@message
class Wanted:
    """The settings of an RM: ``event.store`` as written, and the bounds."""

    store: str
    bounds: Bounds


class StoreChoice:
    """The store of this process, chosen by the first extra map that comes into force.

    Another store has another series of IDs, so a change takes effect when the process starts again.

    Args: directory: files may be made below it; None: no files are made. now_ns: Unix time.

    Rules: EVT-132, EXT-23, RM-7.
    """

    def __init__(self, directory: Path | None, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._directory = directory
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self._wanted: Wanted | None = None
        self._store: Store = MemoryEvents()

    def configure(
        self, rm_id: str, _configuration: Configuration, extra: Mapping[str, str] | None
    ) -> None:
        """Note the settings of an RM; a watcher of configurations. Core thread."""
        if extra is None:
            return
        settings, _ = read_settings(extra)
        bounds = Bounds(settings.event_store_age_ns, settings.event_store_bytes)
        wanted = Wanted(settings.event_store, bounds)
        with self._lock:
            first = self._wanted is None
            if first:
                self._wanted = wanted
        if not first and wanted != self._wanted:
            text = "resource manager %r: another event.store takes effect after a restart"
            _log.warning(text, rm_id)

    def made(self) -> bool:
        """Whether any map has come into force, so that ``open`` has something to open."""
        return self._wanted is not None

    def open(self) -> Store:
        """Open the chosen store. Never fails; may wait for files. Any thread."""
        with self._lock:
            wanted = self._wanted
        if wanted is not None:
            self._store = open_store(wanted, self._directory, self._now_ns)
        return self._store

    def sink(self) -> DurableEvents | None:
        """Open the chosen store and return it; None: records are in memory only. Any thread."""
        store = self.open()
        return store if isinstance(store, DurableEvents) else None

    def findings(self) -> tuple[Finding, ...]:
        """Return what is wrong with the store at the moment, for the health checks. Any thread."""
        fault = self._store.fault
        return (Finding(_CHECK, _CHECKED, fault, succeeded=False),) if fault else ()


def open_store(
    wanted: Wanted, directory: Path | None, now_ns: Callable[[], int] = time.time_ns
) -> Store:
    """Open a store below a directory, or if that fails one in memory that has the reason.

    Implements: EVT-132.
    """
    if wanted.store == STORE_MEMORY:
        return MemoryEvents()
    kind, _, name = wanted.store.partition(":")
    try:
        path = _place(directory, name)
        release = _lock_file(path)
        try:
            backend = _BACKENDS[kind](path, wanted.bounds)
        except BaseException:
            release()
            raise
    except StoreRefusedError as error:
        return _refused(str(error))
    except OSError as error:
        return _refused(f"the files cannot be used: {error.strerror or type(error).__name__}")
    except sqlite3.Error as error:
        return _refused(f"the database cannot be used: {error}")
    return DurableEvents(backend, now_ns=now_ns, release=release)


def _refused(reason: str) -> MemoryEvents:
    fault = f"event.store: {reason}; {_INSTEAD}"
    _log.warning("%s", fault)
    return MemoryEvents(fault)


def _place(directory: Path | None, name: str) -> Path:
    """Return the file of a name, which is always below the directory."""
    if directory is None:
        raise StoreRefusedError(
            "no directory for event files is allowed; start with --event-dir DIRECTORY"
        )
    parts = PurePosixPath(name).parts
    if "\0" in name or not parts or parts[0] == "/" or ".." in parts:
        raise StoreRefusedError(
            "the name has to be one below the directory of --event-dir, without '..'"
        )
    root = directory.resolve(strict=True)
    parent = root.joinpath(*parts[:-1]).resolve(strict=True)
    path = parent / parts[-1]
    if not parent.is_relative_to(root) or path.is_symlink():
        raise StoreRefusedError("the name leads out of the directory of --event-dir")
    if path.exists() and not path.is_file():
        raise StoreRefusedError("the name is that of no ordinary file; name another one")
    return path


def _lock_file(path: Path) -> Callable[[], None]:
    """Lock the store for this process until the result is called, or the process ends."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(path.with_name(f"{path.name}.lock"), flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StoreRefusedError(
            "another process uses the same files; give each its own --event-dir or name"
        ) from None
    except BaseException:
        os.close(lock)
        raise
    return lambda: os.close(lock)
