"""Writes the lines of a journal to its files, on a thread of its own.

The core thread only puts lines into a queue. Twice a second this thread writes what is there and
has the operating system put it on the disk. After an error it drops lines until it can write again;
the scheduler never waits for it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import Final, final

from remuda.base.message import message
from remuda.runtime.journals.layout import (
    INPUTS,
    JournalBounds,
    remove_oldest,
    segment_files,
    synchronise_names,
)

_log = logging.getLogger("remuda.runtime")

# How often lines are written. With the time that the disk takes they are there within a second.
FLUSH_SECONDS: Final = 0.4

# How long after an error writing is tried again.
RETRY_SECONDS: Final = 5.0

# How often files are looked for that have become too old.
TRIM_SECONDS: Final = 600.0

_PROBE: Final = "journal.probe"
_CAUSES: Final = (b'["command"', b'["step"')


@message
class NewSegment:
    """From here on lines belong to another file. ``line``: its first one."""

    name: str
    line: bytes


@final
class Disk:
    """The files of a journal and the thread that writes them.

    ``failure``: why nothing is written at present, "" while all is well. ``failures``: how often
    that happened. ``mended``: after a failure, whether a new segment may begin. ``lost_inputs``:
    that were dropped here. ``taken``: bytes that left the queue. ``bytes``, ``segments``: of all
    files. Any thread may read them.
    """

    def __init__(self, directory: Path, bounds: JournalBounds) -> None:
        self._directory = directory
        self._bounds = bounds
        self._queue: deque[bytes | NewSegment] = deque()
        # Whether the thread will read the queue once more; to ask the event takes three times as
        # long, and it is asked for each line.
        self._will_read = False
        self._awake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remuda-journal", daemon=True)
        self._file = -1
        self._tries_at = 0.0
        self._trims_at = time.monotonic() + TRIM_SECONDS
        self.failure = ""
        self.failures = 0
        self.mended = False
        self.lost_inputs = 0
        self.taken = 0
        self.bytes = 0
        self.segments = 0

    def put(self, entry: bytes | NewSegment) -> None:
        """Add a line or a new segment; returns at once. One thread only."""
        self._queue.append(entry)
        if not self._will_read:
            self._will_read = True
            self._awake.set()

    def trim_soon(self) -> None:
        """Have what is beyond the bounds removed. Any thread."""
        self._trims_at = 0.0
        self._awake.set()

    def start(self) -> None:
        """Start the thread; once only."""
        self._thread.start()

    def close(self) -> None:
        """Write all that waits, and end the thread. Repeating is harmless."""
        self._closing.set()
        self._awake.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            # After a failure it looks from time to time whether there is room again.
            self._awake.wait(RETRY_SECONDS if self.failure else TRIM_SECONDS)
            self._closing.wait(FLUSH_SECONDS)
            self._awake.clear()
            self._will_read = False  # from here on a line sets the event
            self._write_queue()
        self._write_queue()
        self._close_file()

    def _write_queue(self) -> None:
        """Write what is in the queue. Implements: EXT-51."""
        try:
            if self.failure:
                self._look()
            elif time.monotonic() >= self._trims_at:
                self._trim()
            lines: list[bytes] = []
            for _ in range(len(self._queue)):
                entry = self._queue.popleft()
                if isinstance(entry, NewSegment):
                    self._take(lines)
                    lines = []
                    self._begin(entry)
                else:
                    lines.append(entry)
            self._take(lines)
        except OSError as error:
            self._fail(error)

    def _begin(self, segment: NewSegment) -> None:
        """Open the file of a segment and write its first line. Raises: OSError."""
        self._close_file()
        path = self._directory / (segment.name + INPUTS)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        synchronise_names(self._directory)
        failed, self.failure, self.mended = self.failure, "", False
        self._write([segment.line])
        if failed:
            _log.warning("the journal goes on with %s", path)
        self._trim()

    def _take(self, lines: list[bytes]) -> None:
        """Write lines that left the queue. Raises: OSError."""
        self.taken += sum(map(len, lines))
        self._write(lines)

    def _write(self, lines: list[bytes]) -> None:
        """Write lines and put them on the disk. Raises: OSError, with the lines counted as lost."""
        if not lines:
            return
        if self._file < 0:
            self._drop(lines)
            return
        left = memoryview(b"".join(lines))
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError:
            self._drop(lines)
            raise

    def _drop(self, lines: list[bytes]) -> None:
        self.lost_inputs += sum(line.startswith(_CAUSES) for line in lines)

    def _fail(self, error: OSError) -> None:
        """Note that nothing can be written. Rules: EXT-53."""
        self._close_file()
        self.mended = False
        self._tries_at = time.monotonic() + RETRY_SECONDS
        failed = self.failure
        self.failure = f"writing the journal in {self._directory} failed: {error.strerror}"
        self.failures += 1
        if self.failure != failed:
            _log.error("%s; the scheduler goes on without it", self.failure)

    def _look(self) -> None:
        """Try whether something can be written again. Raises: OSError."""
        if self.mended or time.monotonic() < self._tries_at:
            return
        self._trim()
        path = self._directory / _PROBE
        probe = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(probe, bytes(1 << 16))
            os.fsync(probe)
        finally:
            os.close(probe)
            path.unlink(missing_ok=True)
        self.mended = True

    def _trim(self) -> None:
        """Remove what is beyond the bounds, and count what is left. Raises: OSError."""
        self._trims_at = time.monotonic() + TRIM_SECONDS
        segments = segment_files(self._directory)
        self.bytes = remove_oldest(segments, self._bounds, time.time())
        self.segments = len(segment_files(self._directory))

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
