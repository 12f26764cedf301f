"""Repeats a journal.

The state with which a segment begins is in a file, or it is the empty scheduler, or it is the one
with which the segment before ended. So a state that was not written costs time and no moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.core.scheduler import Scheduler
from remuda.runtime.journal import HEADER_BYTES_LIMIT, is_header_start
from remuda.runtime.journals.layout import SegmentFile, listed
from remuda.runtime.journals.states import read_state
from remuda.runtime.recorded import Segment, segments
from remuda.runtime.replay import Repeater, SegmentResult, repeat_segment

NO_STATE = "its first state is missing, and the segment before it does not lead to it"


@message
class FileResult:
    """What the replay of a segment found. ``skipped``: why it was not repeated, "" if it was."""

    path: Path
    first: int
    result: SegmentResult | None
    skipped: str = ""


def replay_journal(directory: Path) -> Iterator[FileResult]:
    """Repeat the segments of a journal, and yield what is found, up to the first difference.

    Raises: UsageError. Implements: EXT-54.
    """
    repeater: Repeater | None = None
    due = 0
    for file in segment_list(directory):
        segment = read_segment(file)
        if segment is None:
            continue
        repeater = begin_segment(file, segment, repeater if due == segment.first else None)
        if repeater is None:
            yield FileResult(file.inputs, file.first, None, NO_STATE)
            continue
        result = repeat_segment(segment, repeater)
        yield FileResult(file.inputs, file.first, result)
        if result.difference:
            return
        due = 0 if result.torn else segment.first + result.inputs


def begin_segment(file: SegmentFile, segment: Segment, before: Repeater | None) -> Repeater | None:
    """Return a scheduler as it was at the beginning of a segment; None if that is not known.

    ``before``: one that has repeated all up to there, if there is one. Raises: UsageError.
    """
    if not segment.goes_on:
        return Repeater(segment)
    if file.state is None:
        if before is not None:
            before.begin_digest(segment)
        return before
    repeater = Repeater(segment)
    assert isinstance(repeater.scheduler, Scheduler)
    read_state(file.state, repeater.scheduler)
    return repeater


def segment_list(directory: Path) -> list[SegmentFile]:
    """Return the segments of a journal. Raises: UsageError if there are none."""
    files = listed(directory)
    if not files:
        raise UsageError(f"{directory}: no journal of remuda, there is no segment in it")
    return files


def read_segment(file: SegmentFile) -> Segment | None:
    """Return the recording in a file, None if its first line was cut off. Raises: UsageError."""
    try:
        with file.inputs.open("rb") as content:
            text = content.readline(HEADER_BYTES_LIMIT)
    except OSError as error:
        raise UsageError(f"cannot read {file.inputs}: {error.strerror}") from None
    if not text.endswith(b"\n") and is_header_start(text):
        return None
    segment = next(segments(file.inputs))
    if segment.first != file.first:
        raise UsageError(f"{file.inputs}: begins with input {segment.first}; it was renamed")
    return segment
