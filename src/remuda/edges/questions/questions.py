"""Answers questions that take a copy of the process.

A copy works an answer out and packs it for the edge that asked: the core thread only makes the
copy, and the event loop only passes bytes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Final, Protocol, TypeVar, final

from remuda.base.errors import ERROR, RemudaError
from remuda.config.schema import Configuration
from remuda.core.messages.application_queries import LiveIdsQuery
from remuda.core.messages.queries import (
    ConfigurationsQuery,
    ConfigurationView,
    Query,
    View,
)
from remuda.core.messages.rows import rows
from remuda.edges.questions import copies
from remuda.edges.questions.asking import viewed
from remuda.edges.questions.copies import NO_APPLICATION, NO_ASK, Pack, Reader
from remuda.edges.questions.forecasts import forecasts
from remuda.edges.questions.refusals import (
    APPLICATION_NOT_FOUND,
    ASK_NOT_FOUND,
    MANAGER_NOT_FOUND,
    NO_COPIES,
    SCARCE_MEMORY,
    Cause,
    UnansweredError,
)
from remuda.edges.questions.submission import Wanted
from remuda.edges.questions.turns import Turns
from remuda.insight.explanation import AskName
from remuda.insight.forecast import ForecastQuestion
from remuda.insight.impact import ImpactQuestion
from remuda.insight.surroundings import WaysOutQuestion
from remuda.runtime.configuration.text import judge
from remuda.runtime.driver import Question
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.forks.forecasts import Forecasts
from remuda.runtime.forks.fork import possible
from remuda.runtime.forks.limits import ForkFailedError, ForkFaultError, ForksBusyError
from remuda.runtime.operations import Operations

# How long both configurations are followed if the client does not say.
IMPACT_SECONDS: Final = 60

# Configurations that are read at a time, each on a thread.
_READINGS: Final = 4

# Characters of what a copy refuses.
_TEXT_LIMIT: Final = 4_000

T = TypeVar("T")


class Core(Protocol):
    """Answers questions, on copies or by itself; SchedulerLoop in production."""

    operations: Operations

    def query(self, query: Query) -> Future[View]:
        """Return the future answer to a question."""
        ...


def never() -> bool:
    """Return that memory is not scarce: the default."""
    return False


def anybody(rm_id: str) -> bool:
    """Return that a caller may know of an RM: the default."""
    del rm_id
    return True


@final
class Questions:
    """Questions of both edges that take a copy; one at a time for each caller. Event loop.

    ``scarce``: whether the process runs short of memory (EXT-39). All methods raise
    UnansweredError; LoopStoppedError; ForkFaultError for a fault of ours.
    Rules: EXT-62, EXT-63, EXT-64, EXT-66, EXT-70, EXT-124.
    """

    def __init__(self, core: Core, scarce: Callable[[], bool] = never) -> None:
        self._core = core
        self._scarce = scarce
        self._turns = Turns()
        self._readings = asyncio.Semaphore(_READINGS)
        self._promises = Forecasts()

    async def explain(self, reader: Reader, application_id: str, key: str, pack: Pack) -> bytes:
        """Return why an ask waits, or that it does not. Implements: EXT-62."""
        name = AskName(reader.partition, application_id, key, reader.rm_id)
        return await self._answer(reader.caller, partial(copies.explained, reader, name, pack))

    async def ways_out(
        self, reader: Reader, application_id: str, key: str, within_ns: int, pack: Pack
    ) -> bytes:
        """Return changes that would place an ask, each tried. Implements: EXT-63."""
        question = WaysOutQuestion(
            reader.partition, application_id, key, within_ns, reader.rm_id, reader.scope
        )
        return await self._answer(reader.caller, partial(copies.led_out, reader, question, pack))

    async def dry_run(self, reader: Reader, wanted: Wanted, pack: Pack) -> bytes:
        """Return what would happen if a submission came now. Rules: EXT-48, EXT-64."""
        return await self._answer(reader.caller, partial(copies.tried, reader, wanted, pack))

    async def impact(
        self, caller: str, rm_id: str, content: bytes, within_ns: int, pack: Pack
    ) -> bytes:
        """Return what would differ under a configuration. Implements: EXT-70."""
        async with self._turns.turn(caller):
            async with self._readings:
                configuration = await _whole(asyncio.to_thread(_read, content))
            self._require_copies()
            question = ImpactQuestion(rm_id, configuration, within_ns)
            return await self._content(partial(copies.compared, question, pack))

    async def forecast(self, reader: Reader, wanted: ForecastQuestion, pack: Pack) -> bytes:
        """Return when an application starts, or all that wait in a queue. Implements: EXT-124."""
        if wanted.queue:
            query = LiveIdsQuery(reader.partition, wanted.queue, reader.rm_id)
            await viewed(self._core.query, query)
        wanted = replace(wanted, rm_id=reader.rm_id)
        question = self._promises.question(wanted)
        work = partial(copies.foreseen, reader, wanted.application_id, question)
        content = await self._answer(reader.caller, work)
        found = self._promises.told(wanted, content)
        return pack(forecasts(found.forecasts, found.version, found.wall_ns))

    async def manager(self, rm_id: str, known: Callable[[str], bool] = anybody) -> str:
        """Return the RM that is meant: without an ID the first one that is known to the caller."""
        found = await viewed(self._core.query, ConfigurationsQuery())
        for view in rows(ConfigurationView, found):
            if rm_id in ("", view.rm_id) and known(view.rm_id):
                return view.rm_id
        raise UnansweredError(Cause.NOT_FOUND, MANAGER_NOT_FOUND)

    async def _answer(self, caller: str, question: Question) -> bytes:
        """Return what a copy answers."""
        self._require_copies()
        async with self._turns.turn(caller):
            content = await self._content(question)
        if content == NO_APPLICATION:
            raise UnansweredError(Cause.NOT_FOUND, APPLICATION_NOT_FOUND)
        if content == NO_ASK:
            raise UnansweredError(Cause.NOT_FOUND, ASK_NOT_FOUND)
        return content

    def _require_copies(self) -> None:
        """Raise UnansweredError if no copy can be made now."""
        if not possible():
            raise UnansweredError(Cause.IMPOSSIBLE, NO_COPIES)
        if self._scarce():
            raise UnansweredError(Cause.BUSY, SCARCE_MEMORY)

    async def _content(self, question: Question) -> bytes:
        """Return what a copy answers, which may be that it found nothing."""
        try:
            answer = self._core.operations.answer_on_copy(question)
            return await _whole(asyncio.wrap_future(answer))
        except ForksBusyError as error:
            raise UnansweredError(Cause.BUSY, _sentence(error)) from None
        except (ForkFaultError, LoopStoppedError):
            raise
        except ForkFailedError as error:
            raise UnansweredError(Cause.BUSY, _sentence(error)) from None
        except RemudaError as error:
            raise UnansweredError(Cause.WRONG, _sentence(error)) from None


async def _whole(work: Awaitable[T]) -> T:
    """Return the result of some work; whoever gives up has its turn until the work ends, too.

    Otherwise a caller with short deadlines could take all places. Rules: EXT-66.
    """
    result = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        await asyncio.wait([result])
        result.exception()  # nobody else looks at it
        raise


def _read(content: bytes) -> Configuration:
    """Return the configuration in a text. Raises: UnansweredError with what is wrong."""
    verdict = judge(content, "config")
    if verdict.configuration is None:
        faults = [each for each in verdict.problems if each.severity == ERROR]
        raise UnansweredError(Cause.WRONG, copies.reasons([each.text("config") for each in faults]))
    return verdict.configuration


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())[:_TEXT_LIMIT]
    return text[:1].upper() + text[1:]
