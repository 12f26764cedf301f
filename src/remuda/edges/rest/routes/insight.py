"""The routes that say why an ask waits, what would help, and what would happen.

Each question is answered by a copy of the process, which makes the JSON too: the core thread only
makes the copy, and the event loop only passes bytes on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, final

from remuda.base.duration import SECOND
from remuda.base.errors import ERROR, RemudaError
from remuda.base.message import message
from remuda.base.scopes import Scope
from remuda.config.findings import one_line
from remuda.core.messages.application_queries import ApplicationQuery, LiveIdsQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import ConfigurationsQuery, ConfigurationView, View
from remuda.core.messages.rows import ApplicationRowsQuery, Rows
from remuda.core.messages.trace_queries import AskTraceQuery, AskTraceView
from remuda.core.scheduler import Scheduler
from remuda.edges.rest.requests.asking import Asked, Views, ask, ask_rows, require_partition
from remuda.edges.rest.requests.endpoint import Body, Endpoint, Routes
from remuda.edges.rest.requests.errors import (
    APPLICATION_NOT_FOUND,
    ASK_NOT_FOUND,
    MANAGER_NOT_FOUND,
    NO_COPIES,
    ApiError,
)
from remuda.edges.rest.requests.numbers import wrong
from remuda.edges.rest.requests.reach import Reach
from remuda.edges.rest.requests.submission import (
    SUBMISSION_LIMIT,
    WITHIN_LIMIT,
    Wanted,
    submission_of,
)
from remuda.edges.rest.requests.turns import RETRY, Turns
from remuda.edges.rest.routes.table import VALIDATION_LIMIT
from remuda.edges.rest.shapes import dao, dry_runs, explanations
from remuda.edges.rest.shapes.answers import ConfigImpactAnswer
from remuda.edges.rest.shapes.forecasts import forecasts
from remuda.edges.rest.shapes.ways_out import ways_out as ways_out_shape
from remuda.insight.dry_run import Submission, dry_run
from remuda.insight.explanation import AskName, explain
from remuda.insight.forecast import HORIZON_LIMIT_NS, HORIZON_NS, ForecastQuestion
from remuda.insight.impact import ImpactQuestion, config_impact
from remuda.insight.ways_out import WaysOutQuestion, ways_out
from remuda.runtime.configuration.text import judge
from remuda.runtime.driver import AskedAt, Question
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.forks.forecasts import Forecasts
from remuda.runtime.forks.fork import on_copies, possible
from remuda.runtime.forks.limits import ForkFailedError, ForkFaultError, ForksBusyError
from remuda.runtime.operations import Operations

# Dry runs that are read or wait for their turn at a time.
_SUBMISSIONS: Final = 16

# Configurations that are read or wait for their turn at a time.
_CONFIGURATIONS: Final = 4

# How long both configurations are followed if the client does not say.
_IMPACT_SECONDS: Final = 60

# Reasons that a refusal of a configuration shows.
_REASONS: Final = 10

# A number of seconds, with up to nine digits after the point.
_SECONDS: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?")

# Characters of what a copy refuses.
_TEXT_LIMIT: Final = 4_000

# What a copy answers if it does not find what the question is about.
_NO_APPLICATION: Final = b""
_NO_ASK: Final = b"-"

_APPLICATION: Final = "/ws/v1/partition/{partition}/application/{application}"
_ASK: Final = f"{_APPLICATION}/ask/{{key}}"

# How many seconds a forecast looks ahead if the client does not say, and at most.
_HORIZONS: Final = (HORIZON_NS // SECOND, HORIZON_LIMIT_NS // SECOND)


@message
class Reader:
    """Who asks about a partition, as far as the answer depends on it."""

    partition: str
    rm_id: str
    scope: Scope | None

    def sees(self, queue: str) -> bool:
        """Whether the reader may read about a queue; "": about the partition. Rules: EXT-32."""
        return self.scope is None or self.scope.includes(self.rm_id, self.partition, queue)


@final
class InsightRoutes:
    """Questions that take a copy; one at a time for each caller. Event loop."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._turns = Turns()
        self._promises = Forecasts()

    def routes(self) -> Routes:
        """Return the routes."""
        of_application = partial(Endpoint, reach=Reach.APPLICATION, large=True)
        return {
            f"{_ASK}/explain": of_application(self.explain),
            f"{_ASK}/ways-out": of_application(self.ways_out),
            "/ws/v1/partition/{partition}/dry-run": of_application(
                self.dry_run, body_limit=SUBMISSION_LIMIT, at_once=_SUBMISSIONS
            ),
            f"{_APPLICATION}/forecast": of_application(self.forecast),
            "/ws/v1/partition/{partition}/queue/{queue}/forecast": Endpoint(
                self.forecast, reach=Reach.QUEUE, large=True
            ),
            "/ws/v1/config/impact": Endpoint(
                self.impact, body_limit=VALIDATION_LIMIT, at_once=_CONFIGURATIONS, large=True
            ),
        }

    async def explain(self, views: Views, asked: Asked) -> object:
        """Why an ask waits, or that it does not. Implements: EXT-62."""
        reader = await _reader(views, asked)
        name = AskName(reader.partition, asked.path["application"], asked.path["key"], reader.rm_id)
        return await self._answer(asked, partial(_explanation, reader, name))

    async def ways_out(self, views: Views, asked: Asked) -> object:
        """Changes that would place an ask, each tried. Implements: EXT-63."""
        reader = await _reader(views, asked)
        question = WaysOutQuestion(
            reader.partition,
            asked.path["application"],
            asked.path["key"],
            _within_ns(asked.options.get("within", "")),
            reader.rm_id,
            reader.scope,
        )
        return await self._answer(asked, partial(_ways_out, reader, question))

    async def dry_run(self, views: Views, asked: Asked) -> object:
        """What would happen if the submission in the body came now. Rules: EXT-48, EXT-64."""
        reader = await _reader(views, asked)
        wanted = await asyncio.to_thread(
            submission_of, asked.body, reader.partition, reader.rm_id, reader.scope
        )
        return await self._answer(asked, partial(_dry_run, reader, wanted))

    async def impact(self, views: Views, asked: Asked) -> object:
        """What would differ under the configuration in the body. Implements: EXT-70."""
        within_ns = _within_ns(asked.options.get("within", ""), _IMPACT_SECONDS)
        rm_id = await _manager(views, asked.rm_id)
        verdict = await asyncio.to_thread(judge, asked.body, "config")
        if verdict.configuration is None:
            faults = [each for each in verdict.problems if each.severity == ERROR]
            raise ApiError(400, _reasons([each.text("config") for each in faults]))
        question = ImpactQuestion(rm_id, verdict.configuration, within_ns)
        return await self._answer(asked, partial(_impact, question))

    async def forecast(self, views: Views, asked: Asked) -> object:
        """When an application starts, or all that wait in a queue. Implements: EXT-124."""
        wanted = ForecastQuestion(
            asked.partition,
            asked.path.get("application", ""),
            asked.path.get("queue", ""),
            within_ns=_within_ns(asked.options.get("within", ""), *_HORIZONS),
            arrivals=_flag(asked.options.get("arrivals", ""), "arrivals"),
        )
        reader = await _reader(views, asked)
        if wanted.queue:
            await ask(views, LiveIdsQuery(reader.partition, wanted.queue, reader.rm_id))
        wanted = replace(wanted, rm_id=reader.rm_id)
        question = self._promises.question(wanted)
        body = await self._answer(
            asked, partial(_forecast, reader, wanted.application_id, question)
        )
        found = self._promises.told(wanted, body.content)
        shape = forecasts(found.forecasts, found.version, found.wall_ns)
        return Body(dao.encode(shape), dao.JSON_TYPE, by_accept=False)

    async def _answer(self, asked: Asked, question: Question) -> Body:
        """Return what a copy answers, which is JSON. Raises: ApiError."""
        if not possible():
            raise ApiError(501, NO_COPIES)
        async with self._turns.turn(asked.caller):
            content = await self._content(question)
        if content == _NO_APPLICATION:
            raise ApiError(404, APPLICATION_NOT_FOUND)
        if content == _NO_ASK:
            raise ApiError(404, ASK_NOT_FOUND)
        return Body(content, dao.JSON_TYPE, by_accept=False)

    async def _content(self, question: Question) -> bytes:
        """Return what a copy answers. Raises: ApiError, LoopStoppedError, ForkFaultError."""
        try:
            return await asyncio.wrap_future(self._operations.answer_on_copy(question))
        except ForksBusyError as error:
            raise ApiError(503, _sentence(error), headers=RETRY) from None
        except (ForkFaultError, LoopStoppedError):
            raise
        except ForkFailedError as error:
            raise ApiError(503, _sentence(error), headers=RETRY) from None
        except RemudaError as error:
            raise ApiError(400, _sentence(error)) from None


async def _reader(views: Views, asked: Asked) -> Reader:
    """Return who asks. Raises: ApiError if the partition does not exist."""
    partition = await require_partition(views, asked)
    return Reader(partition.name, partition.rm_id, asked.scope)


async def _manager(views: Views, rm_id: str) -> str:
    """Return the RM that is meant: without an ID the first one. Raises: ApiError 404."""
    for view in await ask_rows(views, ConfigurationsQuery(), ConfigurationView):
        if rm_id in ("", view.rm_id):
            return view.rm_id
    raise ApiError(404, MANAGER_NOT_FOUND)


def _reasons(texts: Sequence[str]) -> str:
    """Return why a configuration is refused, the first reasons in full."""
    more = len(texts) - _REASONS
    shown = "; ".join([one_line(text) for text in texts[:_REASONS]])
    return f"{shown}; and {more} more" if more > 0 else shown


def _flag(text: str, name: str) -> bool:
    """Return whether something is wanted, which is usual. Raises: ApiError 400."""
    if text not in ("", "true", "false"):
        raise wrong(one_line(text), name)
    return text != "false"


def _within_ns(text: str, usual_seconds: int = 0, most_seconds: int = WITHIN_LIMIT) -> int:
    """Return a number of seconds as nanoseconds. Raises: ApiError 400."""
    if not text:
        return usual_seconds * SECOND
    found = _SECONDS.fullmatch(text)
    if found is None:
        raise wrong(one_line(text), "within")
    within_ns = int(found[1]) * SECOND + int((found[2] or "").ljust(9, "0"))
    if within_ns > most_seconds * SECOND:
        raise wrong(one_line(text), "within")
    return within_ns


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())[:_TEXT_LIMIT]
    return text[:1].upper() + text[1:]


# ------------------------------------------------------------------------- run in a copy


def _explanation(reader: Reader, name: AskName, core: Scheduler, at: AskedAt) -> bytes:
    if _application(reader, name.application_id, core) is None:
        return _NO_APPLICATION
    why = explain(core.view, name, at.wall_ns)
    trace = core.view(
        AskTraceQuery(name.partition, name.application_id, name.allocation_key, name.rm_id)
    )
    assert isinstance(trace, AskTraceView | None)
    if trace is None and not (why.pending or why.placed):
        return _NO_ASK
    shape = explanations.explanation(why, trace, reader.sees, at.version, at.wall_ns)
    return dao.encode(shape)


def _ways_out(reader: Reader, question: WaysOutQuestion, core: Scheduler, at: AskedAt) -> bytes:
    if _application(reader, question.application_id, core) is None:
        return _NO_APPLICATION
    name = AskName(
        question.partition, question.application_id, question.allocation_key, question.rm_id
    )
    why = explain(core.view, name, at.wall_ns)
    if not (why.pending or why.placed):
        return _NO_ASK
    ways = ways_out(core, at.now_ns, question, on_copies) if why.pending else None
    ask = (question.application_id, question.allocation_key)
    shape = ways_out_shape(ask, ways, question.within_ns, version=at.version, wall_ns=at.wall_ns)
    return dao.encode(shape)


def _dry_run(reader: Reader, wanted: Wanted, core: Scheduler, at: AskedAt) -> bytes:
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
    return dao.encode(
        dry_runs.dry_run(found, queues, reader.sees, version=at.version, wall_ns=at.wall_ns)
    )


def _forecast(
    reader: Reader, application_id: str, question: Question, core: Scheduler, at: AskedAt
) -> bytes:
    if application_id and _application(reader, application_id, core) is None:
        return _NO_APPLICATION
    return question(core, at)


def _impact(question: ImpactQuestion, core: Scheduler, at: AskedAt) -> bytes:
    answer = config_impact(core, at.now_ns, question, on_copies)
    if answer.impact is None:
        raise RemudaError(_reasons([reason for reason, _ in answer.refusals]))
    shape = ConfigImpactAnswer(
        state_version=at.version,
        timestamp=at.wall_ns,
        text=str(answer.impact).split("\n"),
        impact=answer.impact,
    )
    return dao.encode(shape)


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
