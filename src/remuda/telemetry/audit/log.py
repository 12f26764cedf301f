"""Keeps audit records: counts them, and writes them to files on a separate thread.

A caller of ``record`` never waits for the disk: records wait in a queue of a fixed length. If it is
full, they are lost, and the next line says how many. A stranger can cause as many refusals as it
likes, so only some of each kind become lines. Otherwise the stranger could fill the files until
older lines are gone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from remuda.base.duration import SECOND
from remuda.base.message import message
from remuda.telemetry.audit.files import AuditFiles
from remuda.telemetry.audit.records import (
    DEEDS,
    REFUSED,
    START,
    STOP,
    Line,
    Record,
    bounded,
)
from remuda.telemetry.audit.syslog import Syslog
from remuda.telemetry.metrics.families import Families

_log = logging.getLogger("remuda.security")

# Records that wait to be written; with texts of full length they take 8 MB.
QUEUE_LIMIT: Final = 4_096

# Refusals of a kind that become lines: so many at once, then one a second.
REFUSALS_AT_ONCE: Final = 100

# How long to wait after an error of the disk, and at the end for what is still to be written.
_RETRY_SECONDS: Final = 1.0
_END_SECONDS: Final = 5.0


@message
class AuditSettings:
    """Where the audit log is kept. ``path`` None: nowhere, records are only counted.

    ``size_bytes``: of one file. ``older``: how many full files are kept. ``syslog``: where lines
    are sent as well, see syslog.py; "": nowhere.
    """

    path: Path | None = None
    size_bytes: int = 10 * 2**20
    older: int = 10
    syslog: str = ""

    def sender(self) -> Syslog | None:
        """Return what sends lines to the syslog. Raises: UsageError, one line."""
        return Syslog(self.syslog) if self.syslog else None

    def files(self) -> AuditFiles | None:
        """Open the file. Raises: UsageError, one line, if it cannot be written."""
        return None if self.path is None else AuditFiles(self.path, self.size_bytes, self.older)


class AuditLog:
    """Counts records and writes them. Call ``start`` before the first record has to be written.

    Args:
        files: where lines go; None: nowhere.
        syslog: where they are sent as well; a line that cannot be sent is only counted.
        now_ns: the wall clock.
        queue_limit: how many records may wait.
        retry_seconds: how long to wait after an error of the disk.

    Rules: EXT-26, MET-50.
    """

    def __init__(
        self,
        files: AuditFiles | None,
        *,
        syslog: Syslog | None = None,
        now_ns: Callable[[], int] = time.time_ns,
        queue_limit: int = QUEUE_LIMIT,
        retry_seconds: float = _RETRY_SECONDS,
    ) -> None:
        self._files = files
        self._syslog = syslog
        self._writes = files is not None or syslog is not None
        self._now_ns = now_ns
        self._limit = queue_limit
        self._retry_seconds = retry_seconds
        self._changed = threading.Condition()
        self._waiting: deque[Line] = deque()
        self._ending = False
        self._counts: dict[tuple[str, str], int] = {}
        self._refusals: dict[str, _Allowance] = {what: _Allowance() for what in DEEDS}
        self._untold_lost = self._untold_omitted = 0
        self._lost = self._omitted = self._errors = self._unsent = 0
        self._broken = self._deaf = False
        self._thread = threading.Thread(target=self._run, name="remuda-audit", daemon=True)

    @contextmanager
    def kept(self, version: str) -> Iterator[None]:
        """Write records while the scheduler serves, the first and the last about start and stop."""
        self.start()
        self.record(Record(START, target=version))
        try:
            yield
        finally:
            self.record(Record(STOP, target=version))
            self.close()

    def start(self) -> None:
        """Begin to write."""
        if self._writes:
            self._thread.start()

    def record(self, record: Record) -> None:
        """Count a record and have it written. Any thread; never waits for the disk."""
        assert record.what in DEEDS, record.what
        now_ns = self._now_ns()
        key = (record.what, record.outcome)
        with self._changed:
            self._counts[key] = self._counts.get(key, 0) + 1
            if not self._writes:
                return
            if record.outcome == REFUSED and not self._refusals[record.what].take(now_ns):
                self._omitted += 1
                self._untold_omitted += 1
            elif self._ending or len(self._waiting) >= self._limit:
                self._lost += 1
                self._untold_lost += 1
            else:
                line = Line(now_ns, bounded(record), self._untold_lost, self._untold_omitted)
                self._untold_lost = self._untold_omitted = 0
                self._waiting.append(line)
                self._changed.notify_all()

    def close(self) -> None:
        """Write what waits, for some seconds at most, and end."""
        with self._changed:
            self._ending = True
            self._changed.notify_all()
        if not self._writes:
            return
        if self._thread.is_alive():
            self._thread.join(_END_SECONDS)
        with self._changed:
            left = len(self._waiting)
        if left:
            _log.error("the audit log ends without its last %d records", left)

    def add(self, families: Families) -> None:
        """Add what was counted. Any thread. Implements: MET-50."""
        with self._changed:
            counts = sorted(self._counts.items())
            lost, omitted, errors = self._lost, self._omitted, self._errors
            broken, unsent = self._broken, self._unsent
        text = "Deeds that matter for security, by their outcome."
        records = families.counter("audit_records_total", text)
        for (what, outcome), count in counts:
            records.add(count, what=what, outcome=outcome)
        if self._syslog is not None:
            text = "Audit records that could not be sent to the syslog."
            families.counter("audit_unsent_records_total", text).add(unsent)
        if not self._writes:
            return
        text = "Audit records without a line because too many waited for the disk."
        families.counter("audit_lost_records_total", text).add(lost)
        text = "Refusals without a line because there were too many in a short time."
        families.counter("audit_omitted_records_total", text).add(omitted)
        text = "Failed attempts to write to the audit log."
        families.counter("audit_write_errors_total", text).add(errors)
        text = "1 if the audit log cannot be written at the moment, else 0."
        families.gauge("audit_broken", text).add(broken)

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        """Write one line after the other until the end."""
        while (line := self._next()) is not None:
            content = line.encoded()
            try:
                if self._files is not None:
                    self._files.append(content)
            except OSError as error:
                if not self._wait_after(error):
                    break
            else:
                self._written()
                self._send(line.time(), content)
        if self._files is not None:
            self._files.close()
        if self._syslog is not None:
            self._syslog.close()

    def _send(self, moment: str, content: bytes) -> None:
        """Send a line to the syslog, if there is one."""
        if self._syslog is None:
            return
        try:
            self._syslog.send(moment, content)
        except OSError as error:
            if not self._deaf:
                _log.error("the syslog takes no lines of the audit log: %s", error)
            with self._changed:
                self._unsent += 1
                self._deaf = True
        else:
            self._deaf = False

    def _next(self) -> Line | None:
        """Return the oldest line as soon as there is one; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ending)
            return self._waiting[0] if self._waiting else None

    def _written(self) -> None:
        """Remove the oldest line from the queue: it is written."""
        with self._changed:
            self._waiting.popleft()
            recovered, self._broken = self._broken, False
        if recovered:
            _log.warning("the audit log is written again")

    def _wait_after(self, error: OSError) -> bool:
        """Wait before another attempt; False if there is none because the process ends."""
        with self._changed:
            self._errors += 1
            new, self._broken = not self._broken, True
        if new:
            _log.error("the audit log cannot be written: %s; it is tried again", error)
        with self._changed:
            if self._ending:
                return False
            self._changed.wait_for(lambda: self._ending, self._retry_seconds)
            return True


class _Allowance:
    """How many refusals of a kind may still become lines."""

    def __init__(self) -> None:
        self._left = float(REFUSALS_AT_ONCE)
        self._at_ns = 0

    def take(self, now_ns: int) -> bool:
        """Take one; False if none is left."""
        gained = max(0, now_ns - self._at_ns) / SECOND
        self._left = min(float(REFUSALS_AT_ONCE), self._left + gained)
        self._at_ns = now_ns
        if self._left < 1:
            return False
        self._left -= 1
        return True
