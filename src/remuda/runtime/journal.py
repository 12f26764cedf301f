"""Writes down what a scheduler was given and what came out, so that it can be repeated.

A recording is a text file of JSON lines. The first one says what the scheduler was made with.
Then, for each input, in order: the command or step with
its number, from 1, and its time; the questions predicates were asked while it ran, with their
answers; the digest of all effects up to its end. The numbers show when a line was lost, repeated
or moved afterwards.
Each line is handed to the operating system before the core goes on, so that a process that is
killed, or stopped by a fault of its own, leaves a file that replay.py can repeat up to there.

A recording holds what the resource managers sent; the file is readable by its owner only.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from remuda.base.errors import UsageError
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
from remuda.runtime.digest import EffectDigest
from remuda.runtime.errors import RecordingError

_log = logging.getLogger("remuda.runtime")

FORMAT: Final = 6

# The formats that can be repeated. In the older one nobody is asked about victims.
READABLE: Final = (5, FORMAT)


class Header(msgspec.Struct, array_like=True, tag="remuda-recording"):
    """The first line. ``reservation_delay_ns``: what the scheduler was made with (RSV-3).

    -1: the line does not say, as in older formats.
    """

    format: int
    reservation_delay_ns: int | None = -1


class CommandLine(msgspec.Struct, array_like=True, tag="command"):
    """A command is about to be handled; ``kind`` names its record type."""

    number: int
    now_ns: int
    kind: str
    fields: msgspec.Raw


class StepLine(msgspec.Struct, array_like=True, tag="step"):
    """A step is about to run."""

    number: int
    now_ns: int
    limit: int


class AnswerLine(msgspec.Struct, array_like=True, tag="answer"):
    """A predicate was asked and answered."""

    question: NodesQuestion
    answer: NodesAnswer


class VictimsLine(msgspec.Struct, array_like=True, tag="victims"):
    """A predicate was asked about victims and answered."""

    question: PreemptionQuestion
    answer: PreemptionAnswer


class OutcomeLine(msgspec.Struct, array_like=True, tag="outcome"):
    """The input before is done; ``digest`` covers all effects since the first input."""

    digest: str


Line: TypeAlias = Header | CommandLine | StepLine | AnswerLine | VictimsLine | OutcomeLine


class JournalWriter:
    """The recorder that writes a recording to a file.

    An error while writing ends the recording with one log line, not the scheduling; from then
    on ``failure`` says what happened.

    Raises: UsageError if the file cannot be created or holds something already.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._encoder = msgspec.json.Encoder()
        self._digest = EffectDigest()
        self._inputs = 0
        self.failure = ""
        self._file = _new_file(path)

    def begin(self, reservation_delay_ns: int | None) -> None:
        """Write the first line.

        Raises: RecordingError if not even that is possible.
        """
        try:
            self._append(Header(FORMAT, reservation_delay_ns))
        except OSError as error:
            self._file.close()
            raise RecordingError(f"cannot record to {self._path}: {error.strerror}") from None

    def listen(self, predicates: Predicates) -> Predicates:
        """Return a port that asks ``predicates`` and writes questions and answers down."""

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
        """Write down that ``command`` is about to be handled."""
        fields = msgspec.Raw(self._encoder.encode(command))
        self._inputs += 1
        self._write(CommandLine(self._inputs, now_ns, type(command).__name__, fields))

    def step(self, now_ns: int, limit: int) -> None:
        """Write down that a step is about to run."""
        self._inputs += 1
        self._write(StepLine(self._inputs, now_ns, limit))

    def effects(self, effects: Sequence[Effect]) -> None:
        """Write down the digest after the latest input."""
        self._digest.update(effects)
        self._write(OutcomeLine(self._digest.hexdigest()))

    def close(self) -> None:
        """Close the file; calling again is harmless."""
        self._file.close()

    def _write(self, line: Line) -> None:
        if self._file.closed:
            return
        try:
            self._append(line)
        except OSError as error:
            self.failure = f"recording to {self._path} failed: {error.strerror}"
            _log.error("%s; the scheduler goes on without it", self.failure)
            self._file.close()

    def _append(self, line: Line) -> None:
        """Write a whole line; the operating system may take it in pieces."""
        left = memoryview(self._encoder.encode(line) + b"\n")
        while left:
            left = left[self._file.write(left) :]


def _new_file(path: Path) -> FileIO:
    """Open a file for writing that is missing or empty; recordings are never overwritten.

    Raises: UsageError.
    """
    try:
        file = FileIO(path, "wb", opener=_private)
        size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise UsageError(f"cannot record to {path}: {error.strerror}") from None
    if size:
        file.close()
        raise UsageError(f"cannot record to {path}: it exists already; remove it or name another")
    return file


def _private(path: str, flags: int) -> int:
    """Open like the built-in, but readable by the owner only and with the content kept."""
    return os.open(path, flags & ~os.O_TRUNC, 0o600)
