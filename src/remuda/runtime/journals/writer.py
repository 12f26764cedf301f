"""The recorder that writes a journal: what the core thread does for it.

It turns inputs, answers and digests into lines, as a recording does, and begins a new segment from
time to time. The lines go to a thread of their own (see disk.py). The state at the beginning of a
segment is written by a copy of the process, so the core thread stands still only while the copy is
made.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, final

from remuda.base.errors import RemudaError, UsageError
from remuda.config.process_limits import Limits
from remuda.core.scheduler import Scheduler
from remuda.runtime.digest import InputDigest
from remuda.runtime.forks.fork import Copy, fork, possible
from remuda.runtime.forks.forks import available_mib
from remuda.runtime.forks.limits import ForkLimits
from remuda.runtime.journal import FORMAT, EndLine, Header, InputLines, Line
from remuda.runtime.journals.disk import Disk, NewSegment
from remuda.runtime.journals.layout import (
    LOCK,
    JournalBounds,
    last_number,
    name_of,
    remove_remains,
    room_for_one,
    segment_files,
)
from remuda.runtime.journals.states import write_state
from remuda.runtime.ports import Door

_log = logging.getLogger("remuda.runtime")

# What a copy that writes a state may use.
STATE_LIMITS: Final = ForkLimits(copies=1, seconds=300.0, memory_mib=2_048, answer_mib=1)

# No copy is made if the machine has less memory available.
_MEMORY_MIB: Final = 256

# How many bytes may wait for the disk, and how long after a copy could not be made the next one is.
_QUEUE_BYTES: Final = 64 << 20
_AGAIN_NS: Final = 30 * 10**9

# How long the end of the scheduler waits for a state.
_END_SECONDS: Final = 5.0

_BEHIND: Final = "the disk of the journal does not keep up"
_NO_COPY: Final = "no new segment of the journal can begin: no copy of the process can be made"


@final
class Journal(InputLines):
    """A recorder that writes segments to a directory, bounded in size and age.

    An error costs inputs in the journal and nothing else: scheduling goes on, and a new segment
    begins with the state of that moment when it can. ``directory``: where it is.
    ``states_failed``: how many states could not be written.

    Raises: UsageError if the directory cannot be used, or another process writes a journal there.
    Implements: EXT-50. Rules: EXT-53.
    """

    def __init__(self, directory: Path, bounds: JournalBounds | None = None) -> None:
        super().__init__()
        self._bounds = bounds or JournalBounds()
        self.directory: Final = directory
        self._lock, self._inputs = _entered(directory)
        self._disk = Disk(directory, self._bounds)
        self._scheduler: Scheduler | None = None
        self._header = Header(FORMAT)
        self._first = self._inputs + 1
        self._put_bytes = 0
        self._begun_bytes = 0
        self._due_bytes = 0
        self._due_inputs = 0
        self._due_ns = 0
        self._again_ns = 0
        self._failures = 0
        self._broken = ""
        self._lost = 0
        self._writing: _StateInWork | None = None
        self._state_bytes = 0
        self.states_failed = 0

    @property
    def failure(self) -> str:
        """Why nothing is written at present, "" while all is well. Any thread."""
        return self._broken or self._disk.failure

    @property
    def lost_inputs(self) -> int:
        """How many inputs are missing. Any thread."""
        return self._lost + self._disk.lost_inputs

    @property
    def size(self) -> int:
        """How large the files were when they were counted last. Any thread."""
        return self._disk.bytes

    @property
    def segments(self) -> int:
        """How many segments there were then. Any thread."""
        return self._disk.segments

    def writes_state(self) -> bool:
        """Whether a state is being written. Any thread."""
        return self._writing is not None and self._writing.busy()

    def write_states_of(self, scheduler: Door) -> None:
        """Write the states of this scheduler, if it is the core itself."""
        self._scheduler = scheduler if isinstance(scheduler, Scheduler) else None

    def begin(self, reservation_delay_ns: int | None, limits: Limits) -> None:
        """Begin the first segment, of an empty scheduler."""
        self._header = Header(FORMAT, reservation_delay_ns, dict(limits))
        self._disk.start()
        self._begin_segment(time.time_ns(), goes_on=False)

    def close(self) -> None:
        """Write what waits and close the files; calling again is harmless."""
        if self._lock < 0:
            return
        if not self._unfinished:
            self._write(EndLine(self._inputs + 1 - self._first))
        self._disk.close()
        if self._writing is not None:
            self._writing.end()
        os.close(self._lock)
        self._lock = -1

    def _begin_input(self, now_ns: int) -> None:
        """Count an input; begin a new segment before it if one is due."""
        disk = self._disk
        if (
            self._broken
            or disk.failures != self._failures
            or self._put_bytes >= self._due_bytes
            or self._inputs >= self._due_inputs
            or now_ns >= self._due_ns
        ):
            self._turn(now_ns)
        self._inputs += 1
        self._unfinished = True
        if self._broken:
            self._lost += 1

    def _segment_bytes(self) -> int:
        """Return how large a segment becomes; a large state is not written often."""
        return max(
            room_for_one(self._bounds),
            min(2 * self._state_bytes, self._bounds.total_bytes // 4),
        )

    def _write(self, line: Line) -> None:
        if self._broken:
            return
        text = self._encode(line) + b"\n"
        self._put_bytes += len(text)
        self._disk.put(text)
        if self._put_bytes - self._disk.taken > _QUEUE_BYTES:
            self._break(_BEHIND)

    def _turn(self, now_ns: int) -> None:
        """Begin a new segment if that is possible now."""
        disk = self._disk
        if disk.failures != self._failures:
            self._failures = disk.failures
            if disk.failure:
                self._broken = disk.failure
        empty = self._inputs < self._first and not self._broken
        if empty or now_ns < self._again_ns or not self._ready():
            return
        state = self._copy(name_of(self._inputs + 1, now_ns))
        if state is None:
            self._again_ns = now_ns + _AGAIN_NS
            if self._put_bytes - self._begun_bytes >= self._bounds.total_bytes:
                self._break(_NO_COPY)
            return
        if not self._broken:
            self._write(EndLine(self._inputs + 1 - self._first))
        self._broken = ""
        self._begin_segment(now_ns, goes_on=True)
        self._writing = _StateInWork(state, self._written)

    def _ready(self) -> bool:
        """Whether the disk takes a new segment, and the latest state is written."""
        if self.writes_state():
            return False
        if not self._broken:
            return True
        if self._disk.failure:
            return self._disk.mended
        return self._disk.taken == self._put_bytes

    def _copy(self, name: str) -> Copy | None:
        """Let a copy of the process write the present state; None if there can be no copy."""
        if self._scheduler is None or available_mib() < _MEMORY_MIB:
            return None
        try:
            return fork(partial(write_state, self._scheduler, self.directory / name), STATE_LIMITS)
        except OSError:
            return None

    def _written(self, failure: str) -> None:
        """Note that a state is written, or why it is not. Runs on another thread."""
        if failure:
            self.states_failed += 1
            _log.warning("a state of the journal was not written: %s", failure)
        else:
            self._state_bytes = _newest_state_bytes(self.directory)
        self._disk.trim_soon()

    def _begin_segment(self, now_ns: int, *, goes_on: bool) -> None:
        self._first = self._inputs + 1
        self._begun_bytes = self._put_bytes
        self._due_bytes = self._put_bytes + self._segment_bytes()
        self._due_inputs = self._inputs + self._bounds.segment_inputs
        self._due_ns = now_ns + int(self._bounds.segment_seconds * 1e9)
        self._digest = InputDigest()
        header = self._header
        line = self._encode(
            Header(FORMAT, header.reservation_delay_ns, header.limits, self._first, goes_on)
        )
        self._disk.put(NewSegment(name_of(self._first, now_ns), line + b"\n"))

    def _break(self, why: str) -> None:
        """Write nothing more into this segment. Implements: EXT-53."""
        if not self._broken:
            self._broken = why
            _log.error("%s; the scheduler goes on without it", why)


@final
class _StateInWork:
    """A copy of the process that writes a state, and the thread that waits for it.

    ``written`` is called at the end with the reason for which there is no state, "" if there is.
    """

    def __init__(self, copy: Copy, written: Callable[[str], None]) -> None:
        self._copy = copy
        self._written = written
        self._thread = threading.Thread(target=self._wait, name="remuda-journal-state", daemon=True)
        self._thread.start()
        self.busy: Final[Callable[[], bool]] = self._thread.is_alive

    def end(self) -> None:
        """Wait a moment for the state, then do without it."""
        self._thread.join(_END_SECONDS)
        if self._thread.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self._copy.pid, signal.SIGKILL)
            self._thread.join()

    def _wait(self) -> None:
        failure = ""
        try:
            self._copy.result()
        except RemudaError as error:
            failure = str(error)
        self._written(failure)


def _newest_state_bytes(directory: Path) -> int:
    """Return the size of the newest state, 0 if none is there."""
    try:
        states = [each.state for each in segment_files(directory) if each.state is not None]
        return states[-1].stat().st_size if states else 0
    except OSError:
        return 0


def _entered(directory: Path) -> tuple[int, int]:
    """Lock a directory; return the lock and the number of the last input that is there.

    Raises: UsageError.
    """
    if not possible():
        raise UsageError(
            "--journal: takes Linux with /proc, and GRPC_ENABLE_FORK_SUPPORT has to be 0"
        )
    if not directory.is_dir():
        raise UsageError(f"--journal {directory}: is no directory; make it first")
    try:
        lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_remains(directory)
            segments = segment_files(directory)
            return lock, last_number(segments[-1]) if segments else 0
        except BlockingIOError:
            os.close(lock)
            raise UsageError(
                f"--journal {directory}: another scheduler writes there; name another directory"
            ) from None
    except OSError as error:
        raise UsageError(f"--journal {directory}: {error.strerror}") from None
