"""Reads the files that a report is about: a snapshot, a journal or a segment of it, a recording.

Files come from users and from processes that were killed. So a journal that breaks off or is
damaged is read as far as it goes, and the rest is told.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.core.scheduler import Scheduler
from remuda.runtime import snapshots
from remuda.runtime.journal import HEADER_BYTES_LIMIT, HEADER_START, Header
from remuda.runtime.journals.layout import SegmentFile, begins_empty, listed
from remuda.runtime.journals.repeating import NO_STATE, begin_segment, read_segment, segment_list
from remuda.runtime.journals.states import read_state
from remuda.runtime.recorded import Segment, segments
from remuda.runtime.replay import Repeater, kind_of

SNAPSHOT: Final = "snapshot"
JOURNAL: Final = "journal"
SEGMENT: Final = "segment of a journal"
STATE: Final = "state of a journal"
RECORDING: Final = "recording"

_SNAPSHOT_START: Final = b"remuda-snapshot "
_STATE_START: Final = b"remuda-state "
_START_BYTES: Final = 32

# How often, in inputs, the clock is read while inputs are repeated.
_LOOK: Final = 64

_BY_WORDS: Final = re.compile(r"its \d{1,20} effects differ from the recorded ones")
_FAILED: Final = re.compile(r"the scheduler failed: (\w{1,80}):.*", re.DOTALL)
_LINE: Final = re.compile(r".*?:(\d{1,20}): .*", re.DOTALL)

# Is told the number of the input that was repeated last, now and then.
Told: TypeAlias = Callable[[int], None]


@message
class ReplayBounds:
    """How long inputs are repeated, in seconds, and who is told about it."""

    seconds: float
    told: Told
    clock: Callable[[], float] = time.monotonic


@dataclass
class Found:
    """What was read of one file.

    ``scheduler``: the state, None if nothing leads to one; ``now_ns``: its time. ``facts``: what
    the file says of itself. ``replay``: what repeating the inputs gave, None for a state.
    """

    path: Path
    kind: str
    scheduler: Scheduler | None = None
    now_ns: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    replay: Replay | None = None


@dataclass
class Replay:
    """What repeating inputs gave.

    ``first``, ``last``: the numbers of the inputs that were repeated, ``inputs`` how many were
    compared. ``differs_at``: the number of the first input that differs, 0 if none does, ``kind``
    what it is, and ``difference`` how. ``torn``: where the file breaks off, "" if it does not.
    ``damaged``: why the rest cannot be read. ``whole``: whether all inputs were repeated.
    """

    first: int = 0
    last: int = 0
    inputs: int = 0
    first_ns: int = 0
    last_ns: int = 0
    differs_at: int = 0
    kind: str = ""
    difference: str = ""
    torn: str = ""
    damaged: str = ""
    whole: bool = True

    def sound(self) -> bool:
        """Whether nothing differs and nothing is damaged; a torn end is no damage."""
        return not self.differs_at and not self.damaged


def read_source(path: Path, bounds: ReplayBounds) -> Found:
    """Read a file, whatever it is of those that a report can be about.

    A journal is repeated from its latest state on, so the state is the one at its end.
    Raises: UsageError, one line, if the file is none of them, cannot be read, or is of a version
    that cannot be read. Implements: EXT-147.
    """
    start = _start(path)
    if start is None:
        return _read_journal(path, JOURNAL, segment_list(path), bounds)
    if start.startswith(_SNAPSHOT_START):
        return _read_snapshot(path)
    if start.startswith(_STATE_START):
        return _read_state(path)
    if HEADER_START.startswith(start[: len(HEADER_START)]) and start:
        return _read_inputs(path, bounds)
    raise UsageError(f"{path}: neither a snapshot nor a journal nor a recording of remuda")


def hidden_difference(difference: str) -> str:
    """Return how an input differs without the names that the words may hold."""
    if _BY_WORDS.fullmatch(difference):
        return difference
    failed = _FAILED.fullmatch(difference)
    if failed is not None:
        return f"the scheduler failed: {failed[1]}"
    return "its words may hold names and are left out"


def hidden_damage(text: str) -> str:
    """Return where a file is damaged without its name and the words of the line."""
    line = _LINE.fullmatch(text)
    return f"line {line[1]} cannot be used" if line is not None else "a file cannot be read"


def _start(path: Path) -> bytes | None:
    """Return the first bytes of a file, None for a directory; a pipe might never end.

    Raises: UsageError.
    """
    try:
        if path.is_dir():
            return None
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: neither a file nor a directory")
        with path.open("rb") as file:
            return file.read(_START_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def _read_snapshot(path: Path) -> Found:
    header, scheduler = snapshots.read_unchecked(path)
    facts = {
        "written by": f"remuda {header.version} ({header.build})",
        "state bytes": header.state_bytes,
    }
    return Found(path, SNAPSHOT, scheduler, header.at_ns, facts)


def _read_state(path: Path) -> Found:
    scheduler = Scheduler()
    read_state(path, scheduler)
    own = [each for each in listed(path.absolute().parent) if each.state == path.absolute()]
    return Found(path, STATE, scheduler, own[0].began_seconds * 10**9 if own else 0)


def _read_inputs(path: Path, bounds: ReplayBounds) -> Found:
    """Read a segment of a journal, which has others beside it, or a recording."""
    beside = [each for each in listed(path.absolute().parent) if each.inputs.name == path.name]
    if not beside:
        found = Found(path, RECORDING, facts=_header_facts(path))
        _repeat(found, ((each, Repeater(each)) for each in segments(path)), bounds)
        return found
    files = listed(path.absolute().parent)
    until = [each for each in files if each.first <= beside[0].first]
    return _read_journal(path, SEGMENT, until, bounds)


def _read_journal(path: Path, kind: str, files: list[SegmentFile], bounds: ReplayBounds) -> Found:
    """Repeat the last segment of some, from its state or that of one before it."""
    found = Found(path, kind)
    index = len(files) - 1
    while index and read_segment(files[index]) is None:
        index -= 1
    found.facts = {
        **_header_facts(files[index].inputs),
        "segments": len(files),
        "bytes": sum([each.inputs.stat().st_size for each in files]),
        "first input": files[0].first,
        "began ns": files[0].began_seconds * 10**9,
        "cut off": "" if index == len(files) - 1 else "the last segment has no whole first line",
    }
    begin = index
    while begin and files[begin].state is None and not begins_empty(files[begin]):
        begin -= 1
    found.facts["repeated segments"] = index - begin + 1
    _repeat(found, _segments(files[begin : index + 1]), bounds)
    return found


def _segments(files: Iterable[SegmentFile]) -> Iterator[tuple[Segment, Repeater]]:
    """Yield segments that follow one another, each with the scheduler that gets it."""
    before: Repeater | None = None
    for file in files:
        segment = read_segment(file)
        if segment is None:
            continue
        repeater = begin_segment(file, segment, before)
        if repeater is None:
            raise UsageError(f"{file.inputs}: {NO_STATE}")
        yield segment, repeater
        before = None if segment.torn else repeater


def _header_facts(path: Path) -> dict[str, Any]:
    """Return what the first line of a recording says."""
    try:
        with path.open("rb") as file:
            line = file.readline(HEADER_BYTES_LIMIT)
        header = msgspec.json.decode(line, type=Header)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return {"format": header.format}


def _repeat(found: Found, parts: Iterator[tuple[Segment, Repeater]], bounds: ReplayBounds) -> None:
    """Repeat inputs up to the end, the first difference, damage, or the end of the time."""
    replay = found.replay = Replay()
    end = bounds.clock() + bounds.seconds
    try:
        for segment, repeater in parts:
            scheduler = repeater.scheduler
            assert isinstance(scheduler, Scheduler)
            found.scheduler = scheduler
            if not _repeat_segment(replay, segment, repeater, bounds, end):
                break
            replay.torn = segment.torn
    except UsageError as error:
        if found.scheduler is None:
            raise
        replay.damaged = str(error)
        replay.whole = False
    found.now_ns = replay.last_ns or found.facts.get("began ns", 0)


def _repeat_segment(
    replay: Replay, segment: Segment, repeater: Repeater, bounds: ReplayBounds, end: float
) -> bool:
    """Repeat a segment; return whether the next one may follow."""
    for number, entry in enumerate(segment.inputs()):
        if number % _LOOK == 0:
            bounds.told(entry.cause.number)
            if bounds.clock() >= end:
                replay.whole = False
                return False
        cause = entry.cause
        replay.first = replay.first or cause.number
        replay.first_ns = replay.first_ns or cause.now_ns
        difference = repeater.repeat(entry)
        replay.last, replay.last_ns = cause.number, cause.now_ns
        if difference:
            replay.differs_at, replay.kind = cause.number, kind_of(cause)
            replay.difference = difference.partition("): ")[2]
            replay.whole = False
            return False
        replay.inputs += entry.outcome is not None
    return True
