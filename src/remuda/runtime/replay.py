"""Repeats a recording against a fresh scheduler and compares what comes out.

The core is deterministic: the same inputs, times and predicate answers give the same effects.
A difference therefore means that the code changed its decisions, or that something outside the
recorded inputs leaked into them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from remuda.base.errors import RemudaError, UsageError
from remuda.base.message import message
from remuda.core.messages.effects import Effect
from remuda.core.ports import (
    NodesAnswer,
    NodesQuestion,
    PreemptionAnswer,
    PreemptionItem,
    PreemptionQuestion,
)
from remuda.core.scheduler import Scheduler
from remuda.runtime.digest import EffectDigest, InputDigest
from remuda.runtime.journal import AnswerLine, CommandLine, StepLine, VictimsLine
from remuda.runtime.ports import Containing, SchedulerFactory
from remuda.runtime.recorded import Input, Segment, command_of, segments

AnyQuestion: TypeAlias = NodesQuestion | PreemptionQuestion

# Nodes or victims that are named.
_NAMED: Final = 8


@message
class SegmentResult:
    """What the replay of one segment found.

    ``line``: where it begins. ``inputs``: how many were repeated and compared. ``difference``: ""
    if all effects were the same, else where and how they first differ. ``torn``: "" if the segment
    has its end, else where it breaks off. ``unfinished``: it breaks off during one more input,
    which was therefore not compared. ``digest``: of the repeated effects.
    """

    line: int
    inputs: int
    difference: str
    torn: str
    unfinished: bool
    digest: str


@message
class ReplayResult:
    """What a replay found: of each segment, up to the first that differs."""

    segments: tuple[SegmentResult, ...]

    @property
    def same(self) -> bool:
        """Whether the scheduler decided the same again."""
        return not self.difference

    @property
    def inputs(self) -> int:
        """How many inputs were repeated and compared."""
        return sum(segment.inputs for segment in self.segments)

    @property
    def difference(self) -> str:
        """Where and how the effects first differ, "" if they do not."""
        last = self.segments[-1]
        if not last.difference or len(self.segments) == 1:
            return last.difference
        return f"segment {len(self.segments)} (line {last.line}), {last.difference}"

    @property
    def unfinished(self) -> bool:
        """Whether a segment breaks off during an input."""
        return any(segment.unfinished for segment in self.segments)

    @property
    def digest(self) -> str:
        """The digest of the repeated effects of the last segment."""
        return self.segments[-1].digest


class _DivergedError(Exception):
    """The scheduler asked a question that the recording does not answer."""


class _RecordedAnswers:
    """The predicate ports that answer from the recording: itself, and ``about_victims``."""

    def __init__(self) -> None:
        self.waiting: deque[AnswerLine | VictimsLine] = deque()

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Return the next recorded answer if it is one to this question."""
        line = self._next(question)
        assert isinstance(line, AnswerLine)
        return line.answer

    def about_victims(self, question: PreemptionQuestion) -> PreemptionAnswer:
        """Return the next recorded answer if it is one to this question."""
        line = self._next(question)
        assert isinstance(line, VictimsLine)
        return line.answer

    def _next(self, question: AnyQuestion) -> AnswerLine | VictimsLine:
        if not self.waiting:
            asked = named(question)
            raise _DivergedError(f"predicates were asked about {asked}, no answer is recorded")
        line = self.waiting.popleft()
        if line.question != question:
            asked, recorded = named(question, line.question), named(line.question, question)
            raise _DivergedError(f"predicates were asked about {asked}, recorded is {recorded}")
        return line


def replay(path: Path, make_scheduler: SchedulerFactory = Scheduler) -> ReplayResult:
    """Repeat the segments of the recording in ``path``, each against a fresh scheduler.

    Raises: UsageError, one line, if the file cannot be read or is no recording of a whole run.
    """
    results: list[SegmentResult] = []
    for segment in segments(path):
        _require_beginning(path, segment)
        results.append(repeat_segment(segment, Repeater(segment, make_scheduler)))
        if results[-1].difference:
            break
    return ReplayResult(tuple(results))


@message
class Reached:
    """A scheduler as it was after some inputs of a recording or a journal.

    ``inputs``: the number of the last of them, ``now_ns``: its time.
    """

    scheduler: Scheduler
    inputs: int
    now_ns: int


def state_after(path: Path, inputs: int | None) -> Reached:
    """Repeat the last segment of a recording up to an input, None: to its end.

    Raises: UsageError, one line, if the file is no recording or has fewer inputs; RemudaError if
    the decisions up to there are others than the recorded ones.
    """
    reached = Reached(Scheduler(), 0, 0)
    for segment in segments(path):
        _require_beginning(path, segment)
        reached = _state_after(segment, inputs, str(path))
    if inputs is not None and reached.inputs < inputs:
        raise UsageError(f"{path}: the last segment has {reached.inputs} inputs, not {inputs}")
    return reached


def _state_after(segment: Segment, inputs: int | None, where: str) -> Reached:
    repeater = Repeater(segment)
    assert isinstance(repeater.scheduler, Scheduler)
    done = 0
    for entry in segment.inputs():
        if done == inputs:
            continue  # the rest is only read, because the next segment comes after it
        difference = repeater.repeat(entry)
        if difference:
            raise RemudaError(f"{where}: different at {difference}")
        done += 1
    return Reached(repeater.scheduler, done, repeater.now_ns)


def _require_beginning(path: Path, segment: Segment) -> None:
    """Raise UsageError for a segment that begins with a state."""
    if segment.goes_on:
        text = "this segment of a journal begins with a state; name its directory"
        raise UsageError(f"{path}: {text}")


class Repeater:
    """A scheduler that gets recorded inputs again.

    ``scheduler``: as it is after the latest input, ``now_ns`` the time of that, ``effects`` what it
    did then. ``digest``: of what it did since the segment began.
    """

    def __init__(self, segment: Segment, make_scheduler: SchedulerFactory = Scheduler) -> None:
        self._answers = _RecordedAnswers()
        self._faults: list[str] = []
        self.begin_digest(segment)
        self.now_ns = 0
        self.effects: list[Effect] = []
        self.scheduler = make_scheduler(
            self._answers,
            preemption=self._answers.about_victims,
            reservation_delay_ns=segment.reservation_delay_ns,
            limits=segment.limits,
        )
        if isinstance(self.scheduler, Containing):
            self.scheduler.contain_faults(partial(_note_fault, self._faults))

    def begin_digest(self, segment: Segment) -> None:
        """Begin a segment, the first one or a further one of the same scheduler."""
        self.digest: EffectDigest | InputDigest = (
            EffectDigest() if segment.all_effects else InputDigest()
        )

    def repeat(self, entry: Input) -> str:
        """Feed one input; return how the result differs from the recorded one, "" if it does not.

        The text names the input.
        """
        difference = self._repeat(entry)
        if self._faults and entry.outcome is None and not difference:
            difference = f"the scheduler failed: {self._faults[-1]}"
        if difference:
            return f"input {entry.cause.number} ({kind_of(entry.cause)}): {difference}"
        self.now_ns = entry.cause.now_ns
        return ""

    def _repeat(self, entry: Input) -> str:
        """Feed one input and compare.

        An input without outcome is one during which the recorded process ended: it is repeated,
        because a fault may show again, but its missing answers are no difference.
        """
        self._answers.waiting = entry.answers
        try:
            if isinstance(entry.cause, StepLine):
                cause = entry.cause
                effects = self.scheduler.step(cause.now_ns, cause.limit, timers=cause.timers)
            else:
                effects = self.scheduler.handle(command_of(entry.cause), entry.cause.now_ns)
        except _DivergedError as error:
            return str(error) if entry.outcome is not None else ""
        except Exception as error:  # noqa: BLE001 - the core's fault is the finding
            return f"the scheduler failed: {type(error).__name__}: {error}"
        if entry.outcome is None:
            return ""
        self.effects = effects
        digest = self.digest.add(entry.cause.number, effects)
        if self._answers.waiting:
            return f"{len(self._answers.waiting)} recorded predicate answers were not asked for"
        recorded = entry.outcome
        if digest != recorded.digest or recorded.effects not in {len(effects), -1}:
            return f"its {len(effects)} effects differ from the recorded ones"
        return ""


def repeat_segment(segment: Segment, repeater: Repeater) -> SegmentResult:
    """Repeat all inputs of a segment, up to the first that differs."""
    compared = 0
    difference, unfinished = "", False
    for entry in segment.inputs():
        difference = repeater.repeat(entry)
        if difference:
            break
        if entry.outcome is None:
            unfinished = True
        else:
            compared += 1
    return SegmentResult(
        segment.line, compared, difference, segment.torn, unfinished, repeater.digest.hexdigest()
    )


def _note_fault(faults: list[str], rm_id: str, fault: Exception) -> None:
    """Contain a fault as the recorded process may have done (SI-15)."""
    if isinstance(fault, _DivergedError):
        raise fault
    faults.append(f"{type(fault).__name__}: {fault}")


def kind_of(cause: CommandLine | StepLine) -> str:
    """Return what an input is, in a word or three."""
    return f"step of {cause.limit}" if isinstance(cause, StepLine) else cause.kind


def named(question: AnyQuestion, other: AnyQuestion | None = None) -> str:
    """Return a question in a few words.

    If it is about several nodes with victims, the text names the first one that the ``other``
    question does not have at the same place.
    """
    if isinstance(question, NodesQuestion):
        purpose = "to run" if question.allocate else "to reserve"
        ask = f"'{question.allocation_key}' of '{question.application_id}' ('{question.rm_id}')"
        return f"{ask} {purpose} on {_listed(question.node_ids)}"
    count = len(question.items)
    place = _first_difference(question, other) if isinstance(other, PreemptionQuestion) else 0
    item = _item(question.items[place]) if place < count else "nothing"
    until = ", up to the first success" if question.first_success else ""
    return f"{item} ('{question.rm_id}', node {place + 1} of {count}{until})"


def _item(item: PreemptionItem) -> str:
    victims = _listed(item.victims) if item.victims else "nobody"
    return f"'{item.allocation_key}' on {item.node_id} without {victims} from {item.start_index} on"


def _first_difference(question: PreemptionQuestion, other: PreemptionQuestion) -> int:
    """Return at which place two questions differ first, 0 if the items are the same."""
    pairs = enumerate(zip(question.items, other.items, strict=False))
    shorter = min(len(question.items), len(other.items))
    rest = 0 if len(question.items) == len(other.items) else shorter
    return next((place for place, (one, two) in pairs if one != two), rest)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
