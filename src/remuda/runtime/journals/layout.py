"""The files of a journal: their names, their order, and which of them are removed.

A segment is a recording of one scheduler, ``NUMBER-TIME.jsonl``: the number of its first input and
the time (UTC) at which it began. The state before that input is in ``NUMBER-TIME.state``, unless
the segment begins with an empty scheduler. Other files in the directory are never touched.
"""

from __future__ import annotations

import calendar
import os
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.runtime.journal import Header

INPUTS: Final = ".jsonl"
STATE: Final = ".state"
PART: Final = ".state.part"

# Locked while a scheduler writes the journal.
LOCK: Final = "journal.lock"

_TIME: Final = "%Y%m%dT%H%M%SZ"
_NAME: Final = re.compile(r"\d{15}-\d{8}T\d{6}Z")
# More than the first line of a segment has.
_HEADER_BYTES: Final = 1 << 16
_NUMBER: Final = re.compile(rb'^\["(?:command|step)",(\d+),', re.MULTILINE)


@message
class JournalBounds:
    """How much a journal keeps, and when a segment ends.

    ``total_bytes``, ``age_seconds``: of all files; the newest segment stays in any case.
    ``segment_bytes``, ``segment_inputs``, ``segment_seconds``: one of them ends a segment.
    """

    total_bytes: int = 1 << 30
    age_seconds: float = 86_400.0
    segment_bytes: int = 32 << 20
    segment_inputs: int = 100_000
    segment_seconds: float = 600.0


def room_for_one(bounds: JournalBounds) -> int:
    """Return how many bytes a segment may have before it ends."""
    return min(bounds.segment_bytes, bounds.total_bytes // 4)


@message
class SegmentFile:
    """A segment on disk.

    ``first``: the number of its first input. ``began_seconds``: when it began (Unix time).
    ``state``: the file with its first state, None if there is none.
    """

    inputs: Path
    first: int
    began_seconds: int
    state: Path | None


def name_of(first: int, began_ns: int) -> str:
    """Return the name of a segment without what its files end with."""
    began = time.strftime(_TIME, time.gmtime(began_ns // 10**9))
    return f"{first:015d}-{began}"


def after(file: SegmentFile, files: Iterable[SegmentFile]) -> SegmentFile | None:
    """Return the one of some segments, in their order, that follows a segment; None: none."""
    return next((each for each in files if each.inputs.name > file.inputs.name), None)


def ending(name: str) -> str:
    """Return what the name of a segment or of its state ends with, "" if it is neither."""
    for end in (INPUTS, STATE):
        if name.endswith(end) and _NAME.fullmatch(name.removesuffix(end)):
            return end
    return ""


def _seconds(text: str) -> int:
    """Return the Unix time of a name, 0 if that is none."""
    try:
        return calendar.timegm(time.strptime(text, _TIME))
    except ValueError:
        return 0


def listed(directory: Path) -> list[SegmentFile]:
    """Return the segments of a journal, oldest first. Raises: UsageError."""
    try:
        return segment_files(directory)
    except OSError as error:
        raise UsageError(f"cannot read {directory}: {error.strerror}") from None


def segment_files(directory: Path) -> list[SegmentFile]:
    """Return the segments of a journal, oldest first. Raises: OSError.

    A pipe or a device is no segment, whatever its name: reading it might never end.
    Implements: EXT-116.
    """
    names = sorted([each.name for each in directory.iterdir() if each.is_file() or each.is_dir()])
    states = {name for name in names if name.endswith(STATE)}
    found = []
    for name in names:
        stem = name.removesuffix(INPUTS)
        if stem != name and _NAME.fullmatch(stem):
            state = directory / (stem + STATE) if stem + STATE in states else None
            found.append(SegmentFile(directory / name, int(stem[:15]), _seconds(stem[16:]), state))
    return found


def last_number(segment: SegmentFile) -> int:
    """Return the number of the last input of a segment, one less than its first if it has none."""
    with segment.inputs.open("rb") as file:
        numbers = _NUMBER.findall(file.read())
    return int(numbers[-1]) if numbers else segment.first - 1


def synchronise_names(directory: Path) -> None:
    """Put the names of the files on the disk, as those of new files are not at once.

    Raises: OSError.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_remains(directory: Path) -> None:
    """Remove what says nothing: states without an end, and segments without an input.

    Raises: OSError.
    """
    for path in list(directory.iterdir()):
        if path.name.endswith(PART) and _NAME.fullmatch(path.name.removesuffix(PART)):
            path.unlink(missing_ok=True)
    for segment in segment_files(directory)[-1:]:
        if last_number(segment) < segment.first:
            segment.inputs.unlink()
            if segment.state is not None:
                segment.state.unlink()


def remove_oldest(segments: Sequence[SegmentFile], bounds: JournalBounds, now: float) -> int:
    """Remove whole segments, oldest first, until the others are within the bounds.

    The newest one stays, and so do those that it needs because its state is not written.
    ``now``: Unix seconds. Return how many bytes are left. Raises: OSError. Implements: EXT-52.
    """
    sizes = [_bytes(each) for each in segments]
    left = sum(sizes)
    most = bounds.total_bytes - room_for_one(bounds)
    for number in range(_removable(segments)):
        segment = segments[number]
        old = now - segment.inputs.stat().st_mtime > bounds.age_seconds
        if not old and left <= most:
            break
        segment.inputs.unlink()
        if segment.state is not None:
            segment.state.unlink(missing_ok=True)
        left -= sizes[number]
    return left


def _removable(segments: Sequence[SegmentFile]) -> int:
    """Return how many segments, from the oldest on, the newest one does not need."""
    for number in range(len(segments) - 1, -1, -1):
        if segments[number].state is not None or begins_empty(segments[number]):
            return number
    return 0


def begins_empty(segment: SegmentFile) -> bool:
    """Whether a segment begins with an empty scheduler, as the first one of a process does."""
    try:
        with segment.inputs.open("rb") as file:
            return not msgspec.json.decode(file.readline(_HEADER_BYTES), type=Header).goes_on
    except (OSError, msgspec.MsgspecError, RecursionError):
        return False


def _bytes(segment: SegmentFile) -> int:
    """Return the size of the files of a segment; one that is gone has none."""
    size = 0
    for path in (segment.inputs, segment.state):
        if path is not None:
            with suppress(FileNotFoundError):
                size += path.stat().st_size
    return size
