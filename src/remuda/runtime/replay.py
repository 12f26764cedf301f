"""Repeats a recording against a fresh scheduler and compares what comes out.

The core is deterministic: the same inputs, times and predicate answers give the same effects.
A difference therefore means that the code changed its decisions, or that something outside the
recorded inputs leaked into them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.core.messages.commands import (
    BindPredicates,
    ChangeObjectState,
    Command,
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
from remuda.core.ports import NodesAnswer, NodesQuestion, PreemptionAnswer, PreemptionQuestion
from remuda.core.scheduler import Scheduler
from remuda.runtime.digest import EffectDigest
from remuda.runtime.journal import (
    READABLE,
    AnswerLine,
    CommandLine,
    Header,
    Line,
    OutcomeLine,
    StepLine,
    VictimsLine,
)
from remuda.runtime.ports import Door, SchedulerFactory
from remuda.runtime.question_text import AnyQuestion, named

# The first line is short, so that a file of another kind is recognised by little of it.
_HEADER_BYTES_LIMIT: Final = 1_024

# A gRPC message has at most 64 MiB (SI-105), and a byte of it at most six characters in JSON.
LINE_BYTES_LIMIT: Final = 512 * 1024 * 1024

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
    )
}


@message
class ReplayResult:
    """What a replay found.

    ``inputs``: how many were repeated and compared. ``difference``: "" if all effects were the
    same, else where and how they first differ. ``unfinished``: the recording breaks off during
    its last input, which was therefore not compared. ``digest``: of the repeated effects.
    """

    inputs: int
    difference: str
    unfinished: bool
    digest: str

    @property
    def same(self) -> bool:
        """Whether the scheduler decided the same again."""
        return not self.difference


@message
class _Input:
    """One recorded input with everything that belongs to it."""

    cause: CommandLine | StepLine
    answers: deque[AnswerLine | VictimsLine]
    outcome: OutcomeLine | None


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
    """Repeat the recording in ``path`` against a fresh scheduler.

    Raises: UsageError, one line, if the file cannot be read or is no recording.
    """
    answers = _RecordedAnswers()
    digest = EffectDigest()
    compared = 0
    lines = _lines(path)
    _, header = next(lines)
    assert isinstance(header, Header)
    scheduler = make_scheduler(
        answers,
        preemption=answers.about_victims,
        reservation_delay_ns=header.reservation_delay_ns,
    )
    for entry in _inputs(lines):
        difference = _repeat(scheduler, entry, answers, digest)
        if difference:
            where = f"input {entry.cause.number} ({_describe(entry.cause)})"
            return ReplayResult(compared, f"{where}: {difference}", False, digest.hexdigest())
        if entry.outcome is None:
            return ReplayResult(compared, "", True, digest.hexdigest())
        compared += 1
    return ReplayResult(compared, "", False, digest.hexdigest())


def _repeat(scheduler: Door, entry: _Input, answers: _RecordedAnswers, digest: EffectDigest) -> str:
    """Feed one input and return how the result differs from the recorded one, "" if it does not.

    An input without outcome is one during which the recorded process ended: it is repeated,
    because a fault may show again, but its missing answers are no difference.
    """
    answers.waiting = entry.answers
    try:
        if isinstance(entry.cause, StepLine):
            effects = scheduler.step(entry.cause.now_ns, entry.cause.limit)
        else:
            effects = scheduler.handle(_command(entry.cause), entry.cause.now_ns)
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


def _command(line: CommandLine) -> Command:
    return msgspec.json.decode(line.fields, type=_COMMANDS[line.kind])


def _describe(cause: CommandLine | StepLine) -> str:
    return f"step of {cause.limit}" if isinstance(cause, StepLine) else cause.kind


def _inputs(lines: Iterator[tuple[str, Line]]) -> Iterator[_Input]:
    """Group lines into inputs; only the last one may lack its outcome.

    Raises: UsageError for lines that were lost, repeated or moved since they were written.
    """
    due = 1
    current: _Input | None = None
    for where, line in lines:
        if isinstance(line, CommandLine | StepLine):
            if current is not None or line.number != due:
                raise _out_of_place(where, f"input {line.number}", due, current)
            current = _Input(line, deque(), None)
        elif current is None:
            raise _out_of_place(where, line.__struct_config__.tag, due, current)
        elif isinstance(line, AnswerLine | VictimsLine):
            current.answers.append(line)
        elif isinstance(line, OutcomeLine):
            yield _Input(current.cause, current.answers, line)
            current = None
            due += 1
    if current is not None:
        yield current


def _out_of_place(where: str, found: object, due: int, current: _Input | None) -> UsageError:
    expected = f"input {due}" if current is None else f"the outcome of input {due}"
    return UsageError(f"{where}: {found} where {expected} was due; lines were lost, added or moved")


def _lines(path: Path) -> Iterator[tuple[str, Line]]:
    """Decode line by line, each with its place; the first one is the header.

    A last line that was cut off is left out.
    """
    decoder = msgspec.json.Decoder(Line)
    number = 0
    try:
        with path.open("rb") as file:
            limit = _HEADER_BYTES_LIMIT
            while text := file.readline(limit + 1):
                number += 1
                where = f"{path}:{number}"
                if len(text) > limit:
                    raise UsageError(f"{where}: not a recording of remuda, the line is too long")
                line = _decode(decoder, text, where)
                if line is None and number > 1:
                    return
                if line is None or (number == 1) != isinstance(line, Header):
                    raise UsageError(f"{where}: not a recording of remuda")
                yield where, line
                limit = LINE_BYTES_LIMIT
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if number == 0:
        raise UsageError(f"{path}: empty, not a recording of remuda")


def _decode(decoder: msgspec.json.Decoder[Line], text: bytes, where: str) -> Line | None:
    """Decode one line; None for one without its end."""
    try:
        line = decoder.decode(text)
        if isinstance(line, CommandLine):
            _command(line)
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError, RecursionError) as error:
        if not text.endswith(b"\n"):
            return None
        raise UsageError(f"{where}: not a line of a recording: {error}") from None
    if isinstance(line, Header) and line.format not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise UsageError(
            f"{where}: a recording of format {line.format}; this version reads formats {readable}"
        )
    if isinstance(line, Header) and line.reservation_delay_ns == -1:
        raise UsageError(f"{where}: not a recording of remuda, it has no reservation delay")
    return line
