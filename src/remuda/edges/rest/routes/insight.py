"""The routes that say why an ask waits, what would help, and what would happen.

They read requests and name the statuses; the package `questions` has the answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Final, final

from remuda.base.duration import SECOND, parse_decimal_seconds
from remuda.config.findings import one_line
from remuda.edges.questions.copies import Reader
from remuda.edges.questions.questions import IMPACT_SECONDS, Questions
from remuda.edges.questions.reach import Reach
from remuda.edges.questions.submission import SUBMISSION_LIMIT, WITHIN_LIMIT, json_submission
from remuda.edges.rest.requests.asking import Asked, Views, require_partition
from remuda.edges.rest.requests.endpoint import Body, Endpoint, Routes
from remuda.edges.rest.requests.numbers import wrong
from remuda.edges.rest.requests.unanswered import answering
from remuda.edges.rest.routes.table import VALIDATION_LIMIT
from remuda.edges.rest.shapes import dao
from remuda.insight.forecast import HORIZON_LIMIT_NS, HORIZON_NS, ForecastQuestion

# Dry runs that are read or wait for their turn at a time.
_SUBMISSIONS: Final = 16

# Configurations that are read or wait for their turn at a time.
_CONFIGURATIONS: Final = 4

_APPLICATION: Final = "/ws/v1/partition/{partition}/application/{application}"
_ASK: Final = f"{_APPLICATION}/ask/{{key}}"

# How many seconds a forecast looks ahead if the client does not say, and at most.
_HORIZONS: Final = (HORIZON_NS // SECOND, HORIZON_LIMIT_NS // SECOND)


@final
class InsightRoutes:
    """Questions over HTTP that take a copy. Event loop."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

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
        """Why an ask waits, or that it does not. Rules: EXT-62."""
        reader = await _reader(views, asked)
        ask = (asked.path["application"], asked.path["key"])
        return await _json(self._questions.explain(reader, *ask, dao.encode))

    async def ways_out(self, views: Views, asked: Asked) -> object:
        """Changes that would place an ask, each tried. Rules: EXT-63."""
        reader = await _reader(views, asked)
        ask = (asked.path["application"], asked.path["key"])
        within_ns = _within_ns(asked.options.get("within", ""))
        return await _json(self._questions.ways_out(reader, *ask, within_ns, dao.encode))

    async def dry_run(self, views: Views, asked: Asked) -> object:
        """What would happen if the submission in the body came now. Rules: EXT-48, EXT-64."""
        reader = await _reader(views, asked)
        with answering():
            wanted = await asyncio.to_thread(
                json_submission, asked.body, reader.partition, reader.rm_id, reader.scope
            )
        return await _json(self._questions.dry_run(reader, wanted, dao.encode))

    async def impact(self, views: Views, asked: Asked) -> object:
        """What would differ under the configuration in the body. Rules: EXT-70."""
        del views
        within_ns = _within_ns(asked.options.get("within", ""), IMPACT_SECONDS)
        with answering():
            rm_id = await self._questions.manager(asked.rm_id)
        found = self._questions.impact(asked.caller, rm_id, asked.body, within_ns, dao.encode)
        return await _json(found)

    async def forecast(self, views: Views, asked: Asked) -> object:
        """When an application starts, or all that wait in a queue. Rules: EXT-124."""
        wanted = ForecastQuestion(
            asked.partition,
            asked.path.get("application", ""),
            asked.path.get("queue", ""),
            within_ns=_within_ns(asked.options.get("within", ""), *_HORIZONS),
            arrivals=_flag(asked.options.get("arrivals", ""), "arrivals"),
        )
        reader = await _reader(views, asked)
        return await _json(self._questions.forecast(reader, wanted, dao.encode))


async def _json(answer: Awaitable[bytes]) -> Body:
    """Return an answer, which is JSON. Raises: ApiError."""
    with answering():
        return Body(await answer, dao.JSON_TYPE, by_accept=False)


async def _reader(views: Views, asked: Asked) -> Reader:
    """Return who asks. Raises: ApiError if the partition does not exist."""
    partition = await require_partition(views, asked)
    return Reader(partition.name, partition.rm_id, asked.scope, asked.caller)


def _flag(text: str, name: str) -> bool:
    """Return whether something is wanted, which is usual. Raises: ApiError 400."""
    if text not in ("", "true", "false"):
        raise wrong(one_line(text), name)
    return text != "false"


def _within_ns(text: str, usual_seconds: int = 0, most_seconds: int = WITHIN_LIMIT) -> int:
    """Return a number of seconds as nanoseconds. Raises: ApiError 400."""
    if not text:
        return usual_seconds * SECOND
    within_ns = parse_decimal_seconds(text)
    if within_ns is None or within_ns > most_seconds * SECOND:
        raise wrong(one_line(text), "within")
    return within_ns
