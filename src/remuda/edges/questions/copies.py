"""What copies of the process do to answer questions, the packing of the answer included.

The functions run in a copy, so they may take as long as its limits allow (EXT-43).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from remuda.base.errors import RemudaError
from remuda.base.message import message
from remuda.base.scopes import Scope
from remuda.config.findings import one_line
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import View
from remuda.core.messages.rows import ApplicationRowsQuery, Rows
from remuda.core.messages.trace_queries import AskTraceQuery, AskTraceView
from remuda.core.scheduler import Scheduler
from remuda.edges.questions import dry_runs, explanations
from remuda.edges.questions.answers import ConfigImpactAnswer
from remuda.edges.questions.submission import Wanted
from remuda.edges.questions.ways_out import ways_out as ways_out_shape
from remuda.insight.dry_run import Submission, dry_run
from remuda.insight.explanation import AskName, explain
from remuda.insight.impact import ImpactQuestion, config_impact
from remuda.insight.surroundings import WaysOutQuestion
from remuda.insight.ways_out import ways_out
from remuda.runtime.driver import AskedAt, Question
from remuda.runtime.forks.fork import on_copies

# Turns the shape of an answer into what an edge sends.
Pack: TypeAlias = Callable[[object], bytes]

# What a copy answers if it does not find what the question is about.
NO_APPLICATION: Final = b""
NO_ASK: Final = b"-"

# Reasons that a refusal of a configuration shows.
_REASONS: Final = 10


@message
class Reader:
    """Who asks about a partition, as far as the answer depends on it. ``caller``: its name."""

    partition: str
    rm_id: str
    scope: Scope | None
    caller: str

    def sees(self, queue: str) -> bool:
        """Whether the reader may read about a queue; "": about the partition. Rules: EXT-32."""
        return self.scope is None or self.scope.includes(self.rm_id, self.partition, queue)


def explained(reader: Reader, name: AskName, pack: Pack, core: Scheduler, at: AskedAt) -> bytes:
    """Return why an ask waits. Rules: EXT-62."""
    if _application(reader, name.application_id, core) is None:
        return NO_APPLICATION
    why = explain(core.view, name, at.wall_ns)
    trace = core.view(
        AskTraceQuery(name.partition, name.application_id, name.allocation_key, name.rm_id)
    )
    assert isinstance(trace, AskTraceView | None)
    if trace is None and not (why.pending or why.placed):
        return NO_ASK
    return pack(explanations.explanation(why, trace, reader.sees, at.version, at.wall_ns))


def led_out(
    reader: Reader, question: WaysOutQuestion, pack: Pack, core: Scheduler, at: AskedAt
) -> bytes:
    """Return what would place an ask. Rules: EXT-63."""
    if _application(reader, question.application_id, core) is None:
        return NO_APPLICATION
    name = AskName(
        question.partition, question.application_id, question.allocation_key, question.rm_id
    )
    why = explain(core.view, name, at.wall_ns)
    if not (why.pending or why.placed):
        return NO_ASK
    ways = ways_out(core, at.now_ns, question, on_copies) if why.pending else None
    ask = (question.application_id, question.allocation_key)
    return pack(
        ways_out_shape(ask, ways, question.within_ns, version=at.version, wall_ns=at.wall_ns)
    )


def tried(reader: Reader, wanted: Wanted, pack: Pack, core: Scheduler, at: AskedAt) -> bytes:
    """Return what would happen to a submission. Rules: EXT-64, EXT-65."""
    name = wanted.application.application_id
    known = _application(reader, name, core) is not None
    submission = Submission(
        wanted.commands(known=known), name, reader.partition, wanted.within_ns, reader.rm_id
    )
    found = dry_run(core, at.now_ns, submission)
    queues: dict[str, str] = {}
    if not reader.sees(""):
        # After the trial: its own application is among them.
        query = ApplicationRowsQuery(reader.partition, rm_id=reader.rm_id)
        queues = {view.application_id: view.queue for view in _applications(core.view(query))}
    return pack(
        dry_runs.dry_run(found, queues, reader.sees, version=at.version, wall_ns=at.wall_ns)
    )


def foreseen(
    reader: Reader, application_id: str, question: Question, core: Scheduler, at: AskedAt
) -> bytes:
    """Return when applications start, not packed yet. Rules: EXT-124."""
    if application_id and _application(reader, application_id, core) is None:
        return NO_APPLICATION
    return question(core, at)


def compared(question: ImpactQuestion, pack: Pack, core: Scheduler, at: AskedAt) -> bytes:
    """Return what a configuration would change. Rules: EXT-70."""
    answer = config_impact(core, at.now_ns, question, on_copies)
    if answer.impact is None:
        raise RemudaError(reasons([reason for reason, _ in answer.refusals]))
    shape = ConfigImpactAnswer(
        state_version=at.version,
        timestamp=at.wall_ns,
        text=str(answer.impact).split("\n"),
        impact=answer.impact,
    )
    return pack(shape)


def reasons(texts: Sequence[str]) -> str:
    """Return why a configuration is refused, the first reasons in full."""
    more = len(texts) - _REASONS
    shown = "; ".join([one_line(text) for text in texts[:_REASONS]])
    return f"{shown}; and {more} more" if more > 0 else shown


def _application(reader: Reader, application_id: str, core: Scheduler) -> ApplicationView | None:
    """Return a live application that the reader may see. Rules: EXT-32."""
    query = ApplicationQuery(reader.partition, application_id, rm_id=reader.rm_id)
    for view in _applications(core.view(query)):
        if reader.sees(view.queue):
            return view
    return None


def _applications(found: View) -> Iterable[ApplicationView]:
    if found is not None:
        assert isinstance(found, tuple | Rows)
        for view in found:
            if isinstance(view, ApplicationView):
                yield view
