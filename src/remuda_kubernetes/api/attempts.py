"""Sends calls: so many in flight, in order for each object, again after errors that pass.

A call holds its object until it has ended, so that of two calls about one pod the second starts
when the first has its outcome. While it waits to be sent again it does not count as in flight.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

from remuda_kubernetes.api.connection import Answer
from remuda_kubernetes.api.errors import CONFLICT, NOT_FOUND, ApiError
from remuda_kubernetes.api.leadership import Fence
from remuda_kubernetes.api.pace import Backoff, Chance, Clock
from remuda_kubernetes.objects.outcomes import Outcome, Result


@dataclass(frozen=True, slots=True)
class CallSettings:
    """``in_flight`` requests at once, of them at most ``background`` ones that nobody waits for.

    At most ``creations`` create a pod, and at most ``deletions`` delete one: a gang may have
    thousands of placeholders, and the bindings of others do not wait for them.
    A call is given up after ``deadline`` seconds since it was first sent; one request may take
    ``timeout`` seconds. The wait after failures begins with ``first_wait`` seconds and doubles up
    to ``longest_wait``.
    """

    in_flight: int = 100
    background: int = 20
    creations: int = 40
    deletions: int = 20
    deadline: float = 30.0
    timeout: float = 10.0
    first_wait: float = 0.2
    longest_wait: float = 5.0


@dataclass
class CallFigures:
    """Counts for metrics.

    Ended calls by verb and result, calls that have not ended, requests in flight.
    """

    ended: dict[tuple[str, str], int] = field(default_factory=dict)
    retries: int = 0
    open: int = 0
    in_flight: int = 0


@dataclass
class Try:
    """What the attempts of one call know of each other.

    ``seconds``: how long this one may take. ``doubtful``: what is asked may have been done already
    without our knowing it.
    """

    seconds: float = 0.0
    doubtful: bool = False


Attempt = Callable[[Try], Awaitable[Answer | Outcome]]


class _Line:
    """A lock and how many hold it or wait for it."""

    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock: Final = asyncio.Lock()
        self.users = 0


class Attempts:
    """Carries out calls. ``fence`` says whether we may still act."""

    def __init__(
        self,
        fence: Fence,
        settings: CallSettings,
        *,
        clock: Clock,
        chance: Chance,
    ) -> None:
        self.figures: Final = CallFigures()
        self._fence: Final = fence
        self._settings: Final = settings
        self._clock: Final = clock
        self._chance: Final = chance
        self._all: Final = asyncio.Semaphore(settings.in_flight)
        # Calls of these kinds, of which there may be thousands at once, leave room for others.
        self.background: Final = asyncio.Semaphore(settings.background)
        self.creations: Final = asyncio.Semaphore(settings.creations)
        self.deletions: Final = asyncio.Semaphore(settings.deletions)
        self._lines: Final[dict[str, _Line]] = {}

    async def carry_out(
        self, verb: str, key: str, attempt: Attempt, *, within: asyncio.Semaphore | None = None
    ) -> Outcome:
        """Return the outcome of a call about the object ``key``. Never raises for an answer.

        ``within``: a bound besides that of all calls.
        """
        self.figures.open += 1
        line = self._lines.setdefault(key, _Line())
        line.users += 1
        try:
            async with line.lock:
                outcome = await self._until_ended(attempt, within)
        finally:
            line.users -= 1
            if line.users == 0:
                del self._lines[key]
            self.figures.open -= 1
        counted = (verb, outcome.result.value)
        self.figures.ended[counted] = self.figures.ended.get(counted, 0) + 1
        return outcome

    async def _until_ended(self, attempt: Attempt, within: asyncio.Semaphore | None) -> Outcome:
        waits = Backoff(self._chance, self._settings.first_wait, self._settings.longest_wait)
        give_up = 0.0
        sent = 0
        this = Try()
        while True:
            await self._take_slot(within)
            try:
                now = self._clock.now()
                give_up = give_up or now + self._settings.deadline
                allowed = self._fence.remaining()
                if allowed <= 0:
                    return _fenced(sent)
                this.seconds = min(self._settings.timeout, allowed, max(0.1, give_up - now))
                sent += 1
                return _ended(await attempt(this), sent)
            except ApiError as error:
                failure = error
            finally:
                self._give_slot(within)
            if not failure.transient or failure.blocked:
                return outcome_of(failure, sent)
            if not failure.unsent and failure.status not in {401, 429}:
                this.doubtful = True
            wait = max(waits.next(), failure.retry_after or 0.0)
            if self._clock.now() + wait >= give_up:
                return outcome_of(failure, sent)
            self.figures.retries += 1
            await self._clock.sleep(wait)

    async def _take_slot(self, within: asyncio.Semaphore | None) -> None:
        """Wait until one more request may be in flight."""
        if within is None:
            await self._all.acquire()
        else:
            await within.acquire()
            try:
                await self._all.acquire()
            except BaseException:
                within.release()
                raise
        self.figures.in_flight += 1

    def _give_slot(self, within: asyncio.Semaphore | None) -> None:
        self.figures.in_flight -= 1
        self._all.release()
        if within is not None:
            within.release()


def _fenced(sent: int) -> Outcome:
    return Outcome(
        Result.FENCED,
        "not sent: this replica is not the leader, or cannot renew its lease",
        attempts=sent,
    )


def _ended(found: Answer | Outcome, sent: int) -> Outcome:
    if isinstance(found, Answer):
        return Outcome(Result.DONE, attempts=sent)
    return replace(found, attempts=sent)


def outcome_of(error: ApiError, sent: int = 1) -> Outcome:
    """Return the outcome that a failed request means."""
    if error.blocked:
        result = Result.BLOCKED
    elif error.transient:
        result = Result.FAILED
    elif error.status == NOT_FOUND:
        result = Result.GONE
    elif error.status == CONFLICT:
        result = Result.CONFLICT
    else:
        result = Result.REFUSED
    return Outcome(result, str(error), sent, error.retry_after)
