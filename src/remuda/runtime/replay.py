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

from remuda.base.message import message
from remuda.core.ports import (
    NodesAnswer,
    NodesQuestion,
    PreemptionAnswer,
    PreemptionItem,
    PreemptionQuestion,
)
from remuda.core.scheduler import Scheduler
from remuda.runtime.digest import EffectDigest
from remuda.runtime.journal import AnswerLine, CommandLine, StepLine, VictimsLine
from remuda.runtime.ports import Containing, Door, SchedulerFactory
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

    Raises: UsageError, one line, if the file cannot be read or is no recording.
    """
    results: list[SegmentResult] = []
    for segment in segments(path):
        results.append(_replay(segment, make_scheduler))
        if results[-1].difference:
            break
    return ReplayResult(tuple(results))


def _replay(segment: Segment, make_scheduler: SchedulerFactory) -> SegmentResult:
    answers = _RecordedAnswers()
    digest = EffectDigest()
    compared = 0
    scheduler = make_scheduler(
        answers,
        preemption=answers.about_victims,
        reservation_delay_ns=segment.reservation_delay_ns,
        limits=segment.limits,
    )
    faults: list[str] = []
    if isinstance(scheduler, Containing):
        scheduler.contain_faults(partial(_note_fault, faults))
    difference, unfinished = "", False
    for entry in segment.inputs():
        difference = _repeat(scheduler, entry, answers, digest)
        if faults and entry.outcome is None and not difference:
            difference = f"the scheduler failed: {faults[-1]}"
        if difference:
            difference = f"input {entry.cause.number} ({_describe(entry.cause)}): {difference}"
            break
        if entry.outcome is None:
            unfinished = True
        else:
            compared += 1
    return SegmentResult(
        segment.line, compared, difference, segment.torn, unfinished, digest.hexdigest()
    )


def _note_fault(faults: list[str], rm_id: str, fault: Exception) -> None:
    """Contain a fault as the recorded process may have done (SI-15)."""
    if isinstance(fault, _DivergedError):
        raise fault
    faults.append(f"{type(fault).__name__}: {fault}")


def _repeat(scheduler: Door, entry: Input, answers: _RecordedAnswers, digest: EffectDigest) -> str:
    """Feed one input and return how the result differs from the recorded one, "" if it does not.

    An input without outcome is one during which the recorded process ended: it is repeated,
    because a fault may show again, but its missing answers are no difference.
    """
    answers.waiting = entry.answers
    try:
        if isinstance(entry.cause, StepLine):
            cause = entry.cause
            effects = scheduler.step(cause.now_ns, cause.limit, timers=cause.timers)
        else:
            effects = scheduler.handle(command_of(entry.cause), entry.cause.now_ns)
    except _DivergedError as error:
        return str(error) if entry.outcome is not None else ""
    except Exception as error:  # noqa: BLE001 - the core's fault is the finding
        return f"the scheduler failed: {type(error).__name__}: {error}"
    if entry.outcome is None:
        return ""
    digest.update(effects)
    if answers.waiting:
        return f"{len(answers.waiting)} recorded predicate answers were not asked for"
    if digest.hexdigest() != entry.outcome.digest:
        return f"its {len(effects)} effects differ from the recorded ones"
    return ""


def _describe(cause: CommandLine | StepLine) -> str:
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
