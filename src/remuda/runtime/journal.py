"""Records the inputs and the effects of a scheduler, so that its run can be repeated.

A recording is a text file of JSON lines, in segments: each process that records to the file appends
one. The first line of a segment has the settings of the scheduler. Then there are lines for each
input, in order: the command or step with its number, from 1, and its time; the questions to
predicates during it, with their answers; the digest of all effects up to its end. The numbers show
if a line was lost, repeated or moved afterwards. The last line of a segment shows that the segment
is complete. Each line is handed to the operating system before the core goes on. So a process that
is killed, or stopped by its own fault, leaves a file that replay.py can repeat up to there.

A recording has everything the resource managers sent, so only its owner can read the file.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from io import FileIO
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from remuda.base.errors import UsageError
from remuda.config.process_limits import Limits
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import Effect
from remuda.core.ports import (
    NodesAnswer,
    NodesQuestion,
    Predicates,
    PreemptionAnswer,
    PreemptionPredicates,
    PreemptionQuestion,
)
from remuda.runtime.digest import InputDigest
from remuda.runtime.errors import RecordingError
from remuda.runtime.ports import Door
from remuda.runtime.private_files import private

_log = logging.getLogger("remuda.runtime")

FORMAT: Final = 8

# The formats that can be repeated. The oldest one has no questions about victims; before 7 there is
# no last line of a segment; before the present one digests are over all effects.
READABLE: Final = (5, 6, 7, FORMAT)

# How a segment begins, and how long its first line may be.
HEADER_START: Final = b'["remuda-recording",'
HEADER_BYTES_LIMIT: Final = 1_024


class Header(msgspec.Struct, array_like=True, tag="remuda-recording"):
    """The first line of a segment.

    ``reservation_delay_ns``: the setting of the scheduler (RSV-3). -1: not in the line, as in older
    formats. ``limits``: what each partition may keep (SI-14), by name. A limit that is not in the
    line did not exist. ``first``: the number of the first input. ``goes_on``: the scheduler had a
    state already; only the files of a journal begin so (EXT-50).
    """

    format: int
    reservation_delay_ns: int | None = -1
    limits: dict[str, int] = {}
    first: int = 1
    goes_on: bool = False


class CommandLine(msgspec.Struct, array_like=True, tag="command"):
    """A command is about to be handled; ``kind`` names its record type."""

    number: int
    now_ns: int
    kind: str
    fields: msgspec.Raw


class StepLine(msgspec.Struct, array_like=True, tag="step"):
    """A step is about to run. ``timers`` False: due timers are held."""

    number: int
    now_ns: int
    limit: int
    timers: bool = True


class AnswerLine(msgspec.Struct, array_like=True, tag="answer"):
    """A predicate was asked and answered."""

    question: NodesQuestion
    answer: NodesAnswer


class VictimsLine(msgspec.Struct, array_like=True, tag="victims"):
    """A predicate was asked about victims and answered."""

    question: PreemptionQuestion
    answer: PreemptionAnswer


class OutcomeLine(msgspec.Struct, array_like=True, tag="outcome"):
    """Marks the input before as processed; ``digest`` covers what was decided since the first one.

    ``digest`` "": it is the one before. ``effects``: how many the input had; -1: not in the line,
    as in older formats. Rules: EXT-185.
    """

    digest: str
    effects: int = -1


class EndLine(msgspec.Struct, array_like=True, tag="end"):
    """The last line of a complete segment, with its number of inputs."""

    inputs: int


Line: TypeAlias = Header | CommandLine | StepLine | AnswerLine | VictimsLine | OutcomeLine | EndLine


class InputLines(ABC):
    """Turns inputs, answers and effects of the core into lines; subclasses keep them."""

    def __init__(self) -> None:
        self._encode: Final[Callable[[object], bytes]] = msgspec.json.Encoder().encode
        self._digest = InputDigest()
        self._inputs = 0
        self._unfinished = False

    def listen(self, predicates: Predicates) -> Predicates:
        """Return a port that asks ``predicates`` and records questions and answers."""

        def ask(question: NodesQuestion) -> NodesAnswer:
            answer = predicates(question)
            self._write(AnswerLine(question, answer))
            return answer

        return ask

    def listen_about_victims(self, predicates: PreemptionPredicates) -> PreemptionPredicates:
        """The same for questions about victims."""

        def ask(question: PreemptionQuestion) -> PreemptionAnswer:
            answer = predicates(question)
            self._write(VictimsLine(question, answer))
            return answer

        return ask

    def command(self, now_ns: int, command: Command) -> None:
        """Record that ``command`` is about to be handled."""
        self._begin_input(now_ns)
        fields = msgspec.Raw(self._encode(command))
        self._write(CommandLine(self._inputs, now_ns, type(command).__name__, fields))

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> None:
        """Record that a step is about to run."""
        self._begin_input(now_ns)
        self._write(StepLine(self._inputs, now_ns, limit, timers))

    def effects(self, effects: Sequence[Effect]) -> None:
        """Record the digest after the latest input."""
        self._write(OutcomeLine(self._digest.add(self._inputs, effects), len(effects)))
        self._unfinished = False

    @abstractmethod
    def write_states_of(self, scheduler: Door) -> None:
        """Learn whose states to write, if any are; comes before all inputs."""

    @abstractmethod
    def _begin_input(self, now_ns: int) -> None:
        """Count an input that is about to be given to the core."""

    @abstractmethod
    def _write(self, line: Line) -> None:
        """Keep a line."""


class JournalWriter(InputLines):
    """The recorder that appends a recording to a file.

    An error while writing ends the recording with one log line; scheduling goes on. From then on
    ``failure`` has the reason, and ``lost_inputs`` the number of missing inputs.

    Raises: UsageError if the file cannot be created, has other content than recordings, or is being
    written by another process.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._begun = False
        self.failure = ""
        self.lost_inputs = 0
        self._file, self._before = _open(path)

    def begin(self, reservation_delay_ns: int | None, limits: Limits) -> None:
        """Write the first line of the segment.

        Raises: RecordingError if that fails and the file is empty. If the file has recordings, the
        scheduler was started again and goes on without a new one.
        """
        line = self._encode(Header(FORMAT, reservation_delay_ns, dict(limits)))
        self._begun = True
        try:
            self._append((b"\n" if self._before == TORN else b"") + line)
        except OSError as error:
            if self._before == NOTHING:
                self._file.close()
                raise RecordingError(f"cannot record to {self._path}: {error.strerror}") from None
            self._give_up(error)

    def write_states_of(self, scheduler: Door) -> None:
        """Do nothing: a recording has no states."""

    def close(self) -> None:
        """Write the last line of the segment and close the file; calling again is harmless."""
        if self._begun and not self._unfinished:
            self._write(EndLine(self._inputs))
        self._file.close()

    def _begin_input(self, now_ns: int) -> None:
        self._inputs += 1
        self._unfinished = True
        if self.failure:
            self.lost_inputs += 1

    def _write(self, line: Line) -> None:
        if self._file.closed:
            return
        try:
            self._append(self._encode(line))
        except OSError as error:
            if self._unfinished:
                self.lost_inputs += 1
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """End the recording, and log the reason."""
        self.failure = f"recording to {self._path} failed: {error.strerror}"
        _log.error("%s; the scheduler goes on without it", self.failure)
        self._file.close()

    def _append(self, line: bytes) -> None:
        """Write a whole line; the operating system may take it in pieces."""
        left = memoryview(line + b"\n")
        while left:
            left = left[self._file.write(left) :]


# The content of a file before a segment is appended: empty, complete recordings, or recordings
# whose last line was cut off.
NOTHING: Final = "nothing"
WHOLE: Final = "whole"
TORN: Final = "torn"


def _open(path: Path) -> tuple[FileIO, str]:
    """Open a file to append a segment; return also the state of its content.

    Raises: UsageError.
    """
    try:
        file = FileIO(path, "ab", opener=private)
    except OSError as error:
        raise UsageError(f"cannot record to {path}: {error.strerror}") from None
    try:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            return file, NOTHING
        _lock(file, path)
        return file, _content(path) if os.fstat(file.fileno()).st_size else NOTHING
    except OSError as error:
        file.close()
        raise UsageError(f"cannot record to {path}: {error.strerror}") from None
    except UsageError:
        file.close()
        raise


def _lock(file: FileIO, path: Path) -> None:
    """Lock a file against other recorders, if its file system supports locks.

    Raises: UsageError if another process has the lock.
    """
    with contextlib.suppress(OSError):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = f"cannot record to {path}: another scheduler records to it; name another file"
            raise UsageError(text) from None


def _content(path: Path) -> str:
    """Return the state of the recordings in a file that is not empty.

    Raises: UsageError if it has other content; OSError.
    """
    with path.open("rb") as file:
        first = file.readline(HEADER_BYTES_LIMIT)
        file.seek(-1, os.SEEK_END)
        shape = WHOLE if file.read() == b"\n" else TORN
    try:
        if msgspec.json.decode(first, type=Header).format in READABLE:
            return shape
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        if is_header_start(first.rstrip(b"\n")):
            return shape
    text = f"cannot record to {path}: it exists already and is no recording that can go on"
    raise UsageError(f"{text}; remove it or name another")


def is_header_start(text: bytes) -> bool:
    """Whether a text may be the beginning of a first line."""
    return len(text) < HEADER_BYTES_LIMIT and (
        text.startswith(HEADER_START) or HEADER_START.startswith(text)
    )
