"""What the self-audit leaves when it finds a violation: a snapshot, the journal, and a report.

They show developers the state in which the fault is, and the inputs that led to it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from remuda import __version__
from remuda.base.errors import RemudaError
from remuda.core.scheduler import Scheduler
from remuda.runtime import snapshots
from remuda.runtime.build import core_build
from remuda.runtime.driver import AskedAt, Question
from remuda.runtime.fault_reports import KEPT
from remuda.runtime.journals.disk import FLUSH_SECONDS
from remuda.runtime.journals.layout import SegmentFile, begins_empty, segment_files
from remuda.runtime.journals.states import packed_pieces, write_state
from remuda.runtime.private_files import private

_log = logging.getLogger("remuda.runtime.health")

# Between two reports are at least so many seconds.
EVERY_SECONDS: Final = 600.0

# More bytes of the journal are not copied.
JOURNAL_BYTES: Final = 64 << 20

# Bytes of all folders; the latest one stays in any case.
TOTAL_BYTES: Final = 512 << 20

_PREFIX: Final = "audit-"
# What is named otherwise is somebody else's and is never removed.
_FOLDER: Final = re.compile(r"audit-\d{8}T\d{6}Z-\d{6}-\d+-\d{4,}")
_REPORT: Final = "report.json"
_SNAPSHOT: Final = "state.snapshot"
_JOURNAL: Final = "journal"
_STEM: Final = "state"

# How long the copy of the scheduler may take; it has a limit of its own, which is shorter.
_COPY_SECONDS: Final = 120.0

# After so long the inputs that led to the state are in the files of the journal.
_JOURNAL_SECONDS: Final = 2 * FLUSH_SECONDS

# Answers a question on a copy of the scheduler.
OnCopy: TypeAlias = Callable[[Question], Future[bytes]]


class AuditReports:
    """Writes a folder for a violation into a directory: ``audit-TIME-PROCESS-NUMBER``.

    Args:
        directory: where the folders are.
        on_copy: makes a copy of the scheduler, which writes its state. Scheduling goes on.
        journal: the directory of the journal, None if there is none.
        clock: seconds that only grow.

    Implements: EXT-148.
    """

    def __init__(
        self,
        directory: Path,
        on_copy: OnCopy,
        journal: Path | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._on_copy = on_copy
        self._journal = journal
        self._clock = clock
        self._due: float | None = None
        self._number = 0

    def __call__(self, violations: Sequence[str]) -> None:
        """Write a folder about violations, unless the last one is recent. Not the core thread.

        An error, such as a full disk, is told in the log and costs the report only. One folder is
        begun in ten minutes at most, and the latest 20 are kept, fewer if they are large.
        Implements: EXT-149.
        """
        now = self._clock()
        if self._due is not None and now < self._due:
            return
        self._due = now + EVERY_SECONDS
        self._number += 1
        moment = datetime.now(UTC)
        stamp = f"{moment:%Y%m%dT%H%M%SZ}-{moment.microsecond:06}"
        folder = self._directory / f"{_PREFIX}{stamp}-{os.getpid()}-{self._number:04}"
        try:
            folder.mkdir(mode=0o700)
            try:
                self._write(folder, moment, violations)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            _remove_oldest(self._directory)
        except OSError as error:
            _log.warning("self-audit: no report was written to %s: %s", folder, error.strerror)
            return
        _log.error("self-audit: %s has a report; 'remuda doctor' reads its files", folder)

    def _write(self, folder: Path, moment: datetime, violations: Sequence[str]) -> None:
        """Write all parts of a folder, and at last the report that names them. Raises: OSError."""
        state = self._write_snapshot(folder)
        journal = "there is no journal"
        if self._journal is not None:
            time.sleep(_JOURNAL_SECONDS)
            journal = _copied(self._journal, folder)
        files = [folder / name for name in (_SNAPSHOT, _JOURNAL) if (folder / name).exists()]
        report: dict[str, Any] = {
            "version": __version__,
            "build": core_build(),
            "time": moment.isoformat(),
            "violations": list(violations),
            "snapshot": state or _SNAPSHOT,
            "journal": journal or _JOURNAL,
            "next": shlex.join(["remuda", "doctor", *map(str, files), "--pseudonymise"]),
        }
        with open(folder / _REPORT, "x", opener=private) as file:
            json.dump(report, file, indent=2)

    def _write_snapshot(self, folder: Path) -> str:
        """Write the state of this moment; return why there is none, "" if there is."""

        def written(scheduler: Scheduler, asked: AskedAt) -> bytes:
            write_state(scheduler, folder / _STEM)
            return json.dumps([asked.now_ns, _counts(scheduler)]).encode()

        try:
            at_ns, counts = json.loads(self._on_copy(written).result(_COPY_SECONDS))
            packed = partial(packed_pieces, folder / f"{_STEM}.state")
            snapshots.write_packed(folder / _SNAPSHOT, packed, at_ns, counts)
        except RemudaError as error:
            return f"none was written: {error}"
        except TimeoutError:
            return "none was written: the copy of the scheduler took too long"
        finally:
            for rest in folder.glob(f"{_STEM}.state*"):
                rest.unlink(missing_ok=True)
        return ""


def _counts(scheduler: Scheduler) -> dict[str, int]:
    """Return what a snapshot counts, nothing if the state is too wrong for that."""
    try:
        return dict(snapshots.counts(scheduler))
    except Exception:  # noqa: BLE001 - the state may be wrong in any way
        return {}


def _remove_oldest(directory: Path) -> None:
    """Remove the oldest folders, until the others are within their number and their bytes."""
    folders = [each for each in directory.iterdir() if _FOLDER.fullmatch(each.name)]
    total = 0
    for number, folder in enumerate(sorted(folders, reverse=True)):
        with suppress(OSError):  # another process may remove it, too
            total += sum([each.lstat().st_size for each in folder.rglob("*")])
        if number and (number >= KEPT or total > TOTAL_BYTES):
            shutil.rmtree(folder, ignore_errors=True)


def _copied(journal: Path, folder: Path) -> str:
    """Copy the last segment of a journal, with those before it that lead to its state.

    Return why nothing was copied, "" if all was. The journal is written meanwhile, so the copy may
    break off anywhere, and a segment may be gone. Raises: OSError if the copy cannot be written.
    """
    try:
        needed = _leading(segment_files(journal))
        files = [path for each in needed for path in (each.inputs, each.state) if path is not None]
        size = sum([path.stat().st_size for path in files])
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if not needed:
        return "it has no segment that leads to a state"
    if size > JOURNAL_BYTES:
        return f"not copied: {size:,} bytes are too many; look in {journal}"
    target = folder / _JOURNAL
    target.mkdir(mode=0o700)
    for path in files:
        try:
            source = path.open("rb")
        except OSError as error:
            shutil.rmtree(target)
            return f"it cannot be read: {error.strerror}"
        with source, open(target / path.name, "xb", opener=private) as copy:
            shutil.copyfileobj(source, copy)
    return ""


def _leading(files: Sequence[SegmentFile]) -> Sequence[SegmentFile]:
    """Return the last segments, from the latest one that begins with a known state."""
    for place in range(len(files) - 1, -1, -1):
        if files[place].state is not None or begins_empty(files[place]):
            return files[place:]
    return ()
