"""Reads recordings: the lines of a file, grouped into inputs and segments.

Files come from users, and from processes that were killed, so everything is checked: a segment may
break off anywhere, but what is there has to be whole and in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.config.process_limits import NO_LIMITS, Limits
from remuda.core.messages.commands import (
    BindPredicates,
    ChangeObjectState,
    Command,
    LimitGrowth,
    MoveWallClock,
    PauseResourceManager,
    PredicateVerdicts,
    PreemptionVerdicts,
    RegisterResourceManager,
    ResumeResourceManager,
    UnregisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateConfiguration,
    UpdateNodes,
)
from remuda.runtime.journal import (
    HEADER_BYTES_LIMIT,
    READABLE,
    AnswerLine,
    CommandLine,
    EndLine,
    Header,
    Line,
    OutcomeLine,
    StepLine,
    VictimsLine,
    is_header_start,
)

# A gRPC message has at most 64 MiB (SI-105), and a byte of it at most six characters in JSON.
LINE_BYTES_LIMIT: Final = 512 * 1024 * 1024

# Before this format a complete segment had no last line.
_FIRST_WITH_END: Final = 7

# Before this format digests were over all effects.
_FIRST_OF_DECISIONS: Final = 8

_COMMANDS: Final[dict[str, type[Command]]] = {
    kind.__name__: kind
    for kind in (
        RegisterResourceManager,
        UnregisterResourceManager,
        PauseResourceManager,
        ResumeResourceManager,
        ChangeObjectState,
        UpdateConfiguration,
        UpdateApplications,
        UpdateAllocations,
        UpdateNodes,
        PredicateVerdicts,
        PreemptionVerdicts,
        BindPredicates,
        LimitGrowth,
        MoveWallClock,
    )
}


@message
class Input:
    """One recorded input with everything that belongs to it.

    ``outcome`` None: the recording breaks off during it.
    """

    cause: CommandLine | StepLine
    answers: deque[AnswerLine | VictimsLine]
    outcome: OutcomeLine | None


@message
class _Placed:
    """A line, with its number and its place; ``line`` None: it cannot be read, for the ``fault``.

    ``begins``: it is the first line of a segment, or the beginning of one. ``whole``: it has an
    end.
    """

    number: int
    where: str
    line: Line | None
    begins: bool
    whole: bool = True
    fault: UsageError | None = None


class Segment:
    """What one process recorded: ``inputs`` are read once, then ``torn`` says where it breaks off.

    ``line``: where it begins. ``first``: the number of its first input. ``goes_on``: it begins
    with a state, and not with an empty scheduler. ``all_effects``: its digests are over these.
    ``torn`` is "" if nothing is missing at the end. ``next``: where the next segment begins.
    """

    def __init__(self, first: _Placed, lines: Iterator[_Placed]) -> None:
        assert isinstance(first.line, Header)
        self.line: Final = first.number
        self.reservation_delay_ns: Final = first.line.reservation_delay_ns
        self.limits: Final[Limits] = {**NO_LIMITS, **first.line.limits}
        self.first: Final = first.line.first
        self.goes_on: Final = first.line.goes_on
        self.all_effects: Final = first.line.format < _FIRST_OF_DECISIONS
        self.torn = ""
        self.next: _Placed | None = None
        self._has_end = first.line.format >= _FIRST_WITH_END
        self._last = first.number
        self._lines = lines

    def inputs(self) -> Iterator[Input]:
        """Group lines into inputs; only the last one may lack its outcome.

        Raises: UsageError for lines that were lost, repeated or moved since they were written.
        """
        due = self.first
        current: Input | None = None
        for where, line in self._own_lines():
            if isinstance(line, CommandLine | StepLine):
                if current is not None or line.number != due:
                    raise _out_of_place(where, f"input {line.number}", due, current)
                current = Input(line, deque(), None)
            elif isinstance(line, EndLine):
                if current is not None or line.inputs != due - self.first:
                    raise _out_of_place(where, f"the end of {line.inputs} inputs", due, current)
            elif current is None:
                raise _out_of_place(where, line.__struct_config__.tag, due, current)
            elif isinstance(line, AnswerLine | VictimsLine):
                current.answers.append(line)
            elif isinstance(line, OutcomeLine):
                yield Input(current.cause, current.answers, line)
                current = None
                due += 1
        if current is not None:
            self.torn = self.torn or f"after line {self._last}"
            yield current

    def _own_lines(self) -> Iterator[tuple[str, Line]]:
        """Yield the lines up to the next segment, and see how they end."""
        ended = False
        for placed in self._lines:
            if isinstance(placed.line, Header):
                self.next = placed
                break
            if placed.line is None:
                self.torn = f"in the middle of line {placed.number}"
                continue
            if ended:
                raise UsageError(f"{placed.where}: a line after the end of a segment; it was added")
            yield placed.where, placed.line
            ended = isinstance(placed.line, EndLine)
            self._last = placed.number
        if self._has_end and not ended and not self.torn:
            self.torn = f"after line {self._last}"


def segments(path: Path) -> Iterator[Segment]:
    """Yield the segments of a file; the inputs of each are to be read before the next.

    Raises: UsageError if the file cannot be read or is no recording.
    """
    lines = _lines(_texts(path), path)
    first = next(lines, None)
    # A process that was killed at once left no more than the beginning of a segment.
    while first is not None and first.line is None:
        first = next(lines, None)
    if first is None:
        raise UsageError(f"{path}:1: torn in its first line, nothing was recorded")
    following: _Placed | None = first
    while following is not None:
        segment = Segment(following, lines)
        yield segment
        following = segment.next


def growing_segment(path: Path, over: Callable[[], bool]) -> Segment | None:
    """Return the recording in a file that may grow, None if its first line was cut off.

    ``over`` is called whenever all was read that is there; it may wait. True: nothing will come.
    Raises: UsageError, also while the inputs are read.
    """
    lines = _lines(_growing_texts(path, over), path)
    first = next(lines, None)
    return None if first is None or first.line is None else Segment(first, lines)


def command_of(line: CommandLine) -> Command:
    """Return the command that a line holds."""
    return msgspec.json.decode(line.fields, type=_COMMANDS[line.kind])


def _out_of_place(where: str, found: object, due: int, current: Input | None) -> UsageError:
    expected = f"input {due}" if current is None else f"the outcome of input {due}"
    return UsageError(f"{where}: {found} where {expected} was due; lines were lost, added or moved")


def _lines(texts: Iterator[tuple[int, bytes]], path: Path) -> Iterator[_Placed]:
    """Yield the lines of a file; the first one is a header.

    An unreadable line was cut off if the file ends within it, or if the next segment follows.
    Raises: UsageError if it was not.
    """
    held: _Placed | None = None
    for placed in _read(texts, path):
        if held is not None:
            if not placed.begins and held.fault is not None:
                raise held.fault
            yield held
            held = None
        if placed.line is None:
            held = placed
        else:
            yield placed
    if held is not None:
        if held.whole and held.fault is not None:
            raise held.fault
        yield held


def _read(texts: Iterator[tuple[int, bytes]], path: Path) -> Iterator[_Placed]:
    """Decode line by line; a line that cannot be read is yielded with the reason."""
    decoder = msgspec.json.Decoder(Line)
    for number, text in texts:
        where = f"{path}:{number}"
        try:
            line = _decode(decoder, text, where)
        except UsageError as error:
            begins = is_header_start(text.rstrip(b"\n"))
            if number == 1 and not begins:
                whole = text.endswith(b"\n")
                raise (
                    error if whole else UsageError(f"{where}: not a recording of remuda")
                ) from None
            yield _Placed(number, where, None, begins, text.endswith(b"\n"), error)
            continue
        if isinstance(line, Header):
            _require_readable(line, where)
        elif number == 1:
            raise UsageError(f"{where}: not a recording of remuda")
        yield _Placed(number, where, line, isinstance(line, Header))


def _texts(path: Path) -> Iterator[tuple[int, bytes]]:
    """Read a file line by line, from line 1. Raises: UsageError."""
    number = 0
    limit = HEADER_BYTES_LIMIT
    try:
        with path.open("rb") as file:
            while text := file.readline(limit + 1):
                number += 1
                if len(text) > limit:
                    why = f"{path}:{number}: not a recording of remuda, the line is too long"
                    raise UsageError(why)
                yield number, text
                limit = LINE_BYTES_LIMIT
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if number == 0:
        raise UsageError(f"{path}: empty, not a recording of remuda")


def _growing_texts(path: Path, over: Callable[[], bool]) -> Iterator[tuple[int, bytes]]:
    """Read whole lines as they come, and at the end the rest of one. Raises: UsageError."""
    number = 0
    text = b""
    try:
        with path.open("rb") as file:
            while True:
                limit = LINE_BYTES_LIMIT if number else HEADER_BYTES_LIMIT
                more = file.readline(limit + 1 - len(text))
                text += more
                if len(text) > limit:
                    why = f"{path}:{number + 1}: not a recording of remuda, the line is too long"
                    raise UsageError(why)
                if text.endswith(b"\n"):
                    number += 1
                    yield number, text
                    text = b""
                elif not more and over():
                    break
        if text:
            yield number + 1, text
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _decode(decoder: msgspec.json.Decoder[Line], text: bytes, where: str) -> Line:
    """Decode one line. Raises: UsageError."""
    try:
        line = decoder.decode(text)
        if isinstance(line, CommandLine):
            command_of(line)
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{where}: not a line of a recording: {error}") from None
    return line


def _require_readable(header: Header, where: str) -> None:
    """Raise UsageError for a segment of another version."""
    if header.format not in READABLE:
        *others, last = map(str, READABLE)
        readable = f"{', '.join(others)} and {last}"
        raise UsageError(
            f"{where}: a recording of format {header.format}; this version reads formats {readable}"
        )
    if header.reservation_delay_ns == -1:
        raise UsageError(f"{where}: not a recording of remuda, it has no reservation delay")
