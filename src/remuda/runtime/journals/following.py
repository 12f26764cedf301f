"""Reads a journal while a scheduler writes it.

Whole lines are taken as they come. A segment is over when a newer one is there. Then the scheduler
of the segment before goes on, if no input is missing between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias, final

from remuda.base.errors import RemudaError, UsageError
from remuda.base.message import message
from remuda.core.messages.effects import Effect
from remuda.core.scheduler import Scheduler
from remuda.runtime.journals.layout import SegmentFile, after, begins_empty, listed
from remuda.runtime.journals.past import Until
from remuda.runtime.journals.repeating import NO_STATE, begin_segment, segment_list
from remuda.runtime.recorded import Input, Segment, growing_segment
from remuda.runtime.replay import Repeater

# Waits a moment for more; False: nothing more is wanted.
Wait: TypeAlias = Callable[[], bool]

# Gets one line about what is missing.
Tell: TypeAlias = Callable[[str], None]

# After so many waits it is told that a state is missing. Writing one takes less.
_WAITS: Final = 50


@message
class Followed:
    """An input that a scheduler gets next.

    ``segment``: has the settings of that scheduler. ``begins``: its state does not follow from the
    input before: it is the first one, a new process began, or inputs are missing.
    """

    path: Path
    segment: Segment
    repeater: Repeater
    entry: Input
    begins: bool

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler as it is before the input."""
        assert isinstance(self.repeater.scheduler, Scheduler)
        return self.repeater.scheduler

    def repeat(self) -> list[Effect]:
        """Give the input to the scheduler, and return what it did.

        Raises: RemudaError if it decides otherwise than the one that wrote the journal.
        """
        difference = self.repeater.repeat(self.entry)
        if difference:
            raise RemudaError(f"{self.path}: different at {difference}")
        return self.repeater.effects


@final
class Follower:
    """Follows a journal from a moment on; None: from its latest state on.

    ``wait`` is called whenever nothing new is there, ``tell`` if a state is missing. Implements:
    EXT-134. Raises: UsageError if there is no journal, or nothing leads to the moment.
    """

    def __init__(
        self, directory: Path, since: Until | None, wait: Wait, tell: Tell = lambda line: None
    ) -> None:
        self._directory: Final = directory
        self._tell: Final = tell
        self._since: Final = since or Until(0)
        self._wait: Final = wait
        self._file: SegmentFile | None = _first(directory, since, wait)

    def read(self) -> Iterator[Followed]:
        """Yield the inputs, each to be repeated before the next, until ``wait`` says so.

        Those up to the moment are repeated here. Raises: UsageError, RemudaError.
        """
        before: Repeater | None = None
        number, begins = -1, True
        while self._file is not None:
            file = self._file
            segment = growing_segment(file.inputs, _Over(self, file))
            if segment is not None:
                follows = before is not None and number == segment.first - 1
                begins = begins or not (follows and segment.goes_on)
                repeater = self._begun(file, segment, before if follows else None)
                if not isinstance(repeater, Repeater):
                    self._file, before = repeater, None
                    continue
                for entry in segment.inputs():
                    if entry.outcome is None:
                        break
                    number = entry.cause.number
                    found = Followed(file.inputs, segment, repeater, entry, begins)
                    if self._since.ends_before(entry.cause):
                        yield found
                        begins = False
                    else:
                        found.repeat()
                before = None if segment.torn else repeater
            self._file = self._after(file, wait=True)

    def newer(self, file: SegmentFile) -> bool:
        """Whether a segment after this one is there."""
        return self._after(file, wait=False) is not None

    def wait(self) -> bool:
        """Wait a moment; False: nothing more is wanted."""
        return self._wait()

    def _after(self, file: SegmentFile, *, wait: bool) -> SegmentFile | None:
        """Return the segment after one; None if there is none, or nothing more is wanted."""
        while True:
            newer = after(file, listed(self._directory))
            if newer is not None or not wait or not self._wait():
                return newer

    def _begun(
        self, file: SegmentFile, segment: Segment, before: Repeater | None
    ) -> Repeater | SegmentFile | None:
        """Return the scheduler of a segment; None if nothing more is wanted.

        A state is written while the segment grows already, so it may have to be waited for. If it
        is not there, a newer segment with a state is returned once there is one. Implements:
        EXT-125.
        """
        if before is not None and segment.goes_on:
            before.begin_digest(segment)
            return before
        waits = 0
        while True:
            files = listed(self._directory)
            same = [each for each in files if each.inputs == file.inputs]
            found = begin_segment((same or [file])[0], segment, None)
            if found is not None:
                return found
            newer = next_known(file, files)
            if newer is not None:
                self._tell(f"{file.inputs}: {NO_STATE}; going on with {newer.inputs.name}")
                return newer
            ends = not self._wait()
            waits += 1
            if ends or waits == _WAITS:
                self._tell(f"{file.inputs}: {NO_STATE}")
            if ends:
                return None


@final
class _Over:
    """Says whether a segment that has been read to its end is over."""

    def __init__(self, follower: Follower, file: SegmentFile) -> None:
        self._follower = follower
        self._file = file
        self._newer = False

    def __call__(self) -> bool:
        """Wait if it may grow. A newer one is seen twice: lines may have come before it did."""
        if self._newer:
            return True
        self._newer = self._follower.newer(self._file)
        return not self._newer and not self._follower.wait()


def _first(directory: Path, since: Until | None, wait: Wait) -> SegmentFile:
    """Return the segment from which a moment is reached. Raises: UsageError.

    A scheduler that has just begun may not have written the first line of its first segment.
    """
    while True:
        files = segment_list(directory)
        file = first_segment(files, since)
        if file is not None:
            return file
        if not wait():
            raise UsageError(f"{files[0].inputs}: {NO_STATE}")


def first_segment(files: Sequence[SegmentFile], since: Until | None) -> SegmentFile | None:
    """Return the segment from which a moment is reached, None if none is.

    ``since`` None: the latest one whose state is known.
    """
    index = len(files) - 1 if since is None else since.segment(files)
    for file in reversed(files[: index + 1]):
        if file.state is not None or begins_empty(file):
            return file
    return None


def next_known(file: SegmentFile, files: Sequence[SegmentFile]) -> SegmentFile | None:
    """Return the first segment after one that begins with a known state, None if there is none."""
    while (newer := after(file, files)) is not None:
        if newer.state is not None or begins_empty(newer):
            return newer
        file = newer
    return None
