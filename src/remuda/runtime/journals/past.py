"""The scheduler at a moment of the past, from its journal.

A segment begins with a state, so no more than a segment is repeated to reach a moment, unless
states are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from remuda.base.duration import SECOND
from remuda.base.errors import RemudaError, UsageError
from remuda.base.message import message
from remuda.core.scheduler import Scheduler
from remuda.runtime.journal import CommandLine, StepLine
from remuda.runtime.journals.layout import SegmentFile, begins_empty
from remuda.runtime.journals.repeating import NO_STATE, begin_segment, read_segment, segment_list
from remuda.runtime.recorded import Input
from remuda.runtime.replay import Reached, Repeater, kind_of

# Answers a question about a scheduler after an input; it changes nothing.
Question: TypeAlias = Callable[[Reached], object]

# A segment is looked at in so many places first, then each input between two of them.
_PLACES: Final = 256


@message
class Until:
    """The last input that counts, by its number or by its time; None: all that there are."""

    number: int | None = None
    now_ns: int | None = None

    def ends_before(self, cause: CommandLine | StepLine) -> bool:
        """Whether an input is later."""
        if self.number is not None and cause.number > self.number:
            return True
        return self.now_ns is not None and cause.now_ns > self.now_ns

    def segment(self, files: Sequence[SegmentFile]) -> int:
        """Return the index of the last segment that begins before the end; 0 if none does."""
        found = 0
        for index, file in enumerate(files):
            if self.number is not None and file.first > self.number:
                continue
            if self.now_ns is not None and file.began_seconds * SECOND > self.now_ns:
                continue
            found = index
        return found


@message
class _Due:
    """An input that comes next. ``restart``: a new process begins with it."""

    path: Path
    repeater: Repeater
    entry: Input
    restart: bool


class Walk:
    """A scheduler that gets the inputs of a journal again, forwards only.

    It begins with the state of segment ``index``, or further back if that one has no state.
    ``number``, ``now_ns``: its latest input, and the time of that. ``what``: the kind of the latest
    input, "" before the first; ``restart``: whether a new process began with it.

    Raises: UsageError if nothing leads to the segment, or a file cannot be read.
    """

    def __init__(self, files: Sequence[SegmentFile], index: int) -> None:
        while files[index].state is None and not begins_empty(files[index]):
            if index == 0:
                read_segment(files[index])  # a file that nobody may read has another reason
                raise UsageError(f"{files[index].inputs}: {NO_STATE}")
            index -= 1
        self.number = files[index].first - 1
        self.now_ns = files[index].began_seconds * SECOND
        self.what = ""
        self.restart = False
        self._repeater: Repeater | None = None
        self._entries = self._all(files[index:])
        self._due = next(self._entries, None)

    def reached(self) -> Reached:
        """Return the scheduler as it is after the latest input."""
        assert self._repeater is not None
        assert isinstance(self._repeater.scheduler, Scheduler)
        return Reached(self._repeater.scheduler, self.number, self.now_ns)

    def go(self, until: Until) -> None:
        """Repeat up to a moment. Raises: as ``step``."""
        while self._due is not None and not until.ends_before(self._due.entry.cause):
            self.step()

    def step(self) -> bool:
        """Repeat one input; return whether there was one.

        Raises: UsageError if a file is damaged or leads no further; RemudaError if the decisions
        are others than the recorded ones, because another version of Remuda wrote the journal.
        """
        due = self._due
        if due is None:
            return False
        self._repeater = due.repeater
        difference = due.repeater.repeat(due.entry)
        if difference:
            raise RemudaError(f"{due.path}: different at {difference}")
        cause = due.entry.cause
        self.number, self.now_ns, self.what = cause.number, cause.now_ns, kind_of(cause)
        self.restart = due.restart
        self._due = next(self._entries, None)
        return True

    def _all(self, files: Sequence[SegmentFile]) -> Iterator[_Due]:
        """Yield all inputs, each with the scheduler that gets it."""
        before: Repeater | None = None
        for file in files:
            segment = read_segment(file)
            if segment is None:
                continue
            follows = self.number == segment.first - 1
            repeater = begin_segment(file, segment, before if follows else None)
            if repeater is None:
                raise UsageError(f"{file.inputs}: {NO_STATE}")
            self._repeater = self._repeater or repeater
            for entry in segment.inputs():
                first = entry.cause.number == segment.first
                yield _Due(file.inputs, repeater, entry, first and not segment.goes_on)
            before = None if segment.torn else repeater


def state_at(directory: Path, until: Until) -> Reached:
    """Return the scheduler as it was after the last input that counts.

    Raises: UsageError, one line, if the journal has no such moment or is damaged; RemudaError if
    another version wrote it. Implements: EXT-49.
    """
    return _walk_to(directory, segment_list(directory), until).reached()


@message
class Change:
    """The input after which the answer to a question is another one.

    ``number``, ``now_ns``, ``what``: the input, its time and its kind. ``restart``: a new process
    began with it, so the scheduler was empty before. ``before``, ``after``: the answers.
    """

    number: int
    now_ns: int
    what: str
    restart: bool
    before: object
    after: object


def first_change(
    directory: Path, question: Question, since: Until | None, until: Until
) -> tuple[Change | None, object]:
    """Return where the answer to a question changes between two moments, and the first answer.

    ``since`` None: the first input of the journal. The change is None if the answers at both ends
    are the same. If it changes several times, one of the places is returned at which it is no
    longer the first one. Cost: a state for each doubling of the number of segments, and the inputs
    of one segment twice.

    Raises: UsageError, RemudaError, and what the question raises. Implements: EXT-100.
    """
    files = segment_list(directory)
    since = since or Until(files[0].first)
    low, high = since.segment(files), until.segment(files)
    walk = _walk_to(directory, files, since)
    begin, first = walk.number, question(walk.reached())
    walk = _walk_to(directory, files, until)
    end = walk.number
    if end < begin:
        raise UsageError(f"the end (input {end}) comes before the beginning (input {begin})")
    if question(walk.reached()) == first:
        return None, first
    while high - low > 1:
        middle = (low + high) // 2
        walk = Walk(files, middle)
        walk.go(Until(files[middle].first))
        if question(walk.reached()) == first:
            low, begin = middle, max(begin, walk.number)
        else:
            high, end = middle, min(end, walk.number)
    low = min(low, Until(begin).segment(files))
    begin = _near(Walk(files, low), question, begin, end)
    walk = Walk(files, low)
    walk.go(Until(begin))
    while walk.step():
        answer = question(walk.reached())
        if answer != first:
            change = Change(
                walk.number, walk.now_ns, walk.what, walk.restart, before=first, after=answer
            )
            return change, first
    raise RemudaError("the question has different answers about the same state; it must not")


def _walk_to(directory: Path, files: Sequence[SegmentFile], until: Until) -> Walk:
    """Return a walk that is at a moment. Raises: UsageError if there is none."""
    index = until.segment(files)
    walk = Walk(files, index)
    walk.go(until)
    while not walk.what and index:
        # The name of a segment has only the second in which it began.
        index -= 1
        walk = Walk(files, index)
        walk.go(until)
    if walk.number < files[0].first:
        raise UsageError(f"{directory}: the journal begins later, with input {files[0].first}")
    if until.number is not None and walk.number < until.number:
        raise UsageError(f"{directory}: the journal has inputs up to {walk.number} only")
    return walk


def _near(walk: Walk, question: Question, begin: int, end: int) -> int:
    """Return an input after which the answer is the first one, shortly before it changes."""
    walk.go(Until(begin))
    first = question(walk.reached())
    step = max(1, (end - begin) // _PLACES)
    for place in range(begin + step, end, step):
        walk.go(Until(place))
        if question(walk.reached()) != first:
            break
        begin = walk.number
    return begin
