"""How time passes for a scheduler of the Python API, and how outcomes get to its callbacks."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from remuda.config.schema import Configuration
from remuda.core.messages.effects import Effect
from remuda.library import requests
from remuda.library.engine import Engine
from remuda.library.errors import RejectedError, RequestError
from remuda.library.listening import Listening
from remuda.library.live import Live
from remuda.library.outcomes import outcomes
from remuda.library.records import Outcome, Release
from remuda.library.stepped import EPOCH_NS, SECOND_NS, Stepped
from remuda.runtime.forks.forecasts import Forecasts
from remuda.runtime.requests import Request

_log = logging.getLogger("remuda.library")

# The latest second that ``step`` takes: some 270 years, which the core's time still holds.
SECONDS_LIMIT: Final = 2**33 - 1


class Running(Listening):
    """A scheduler that is stepped or works by itself; see ``remuda.library.scheduler``.

    A stepped one passes its outcomes on during ``step``, a live one as they come.
    """

    def __init__(
        self,
        configuration: Configuration,
        partition: str,
        *,
        live: bool,
        confirms: bool,
        record: Path | None,
        reservation_delay_seconds: float | None,
        origin: Stepped | None = None,
        unreported: Iterable[Outcome] = (),
    ) -> None:
        """Begin a scheduler, or go on from ``origin``, of which outcomes are not reported yet."""
        super().__init__()
        self._partition = partition
        self._confirms = confirms
        self._unreported: deque[Outcome] = deque(unreported)
        self._reported: list[Outcome] = []
        self._in_step = False
        self._promises: Final = Forecasts()
        delay = reservation_delay_seconds
        delay_ns = None if delay is None else nanoseconds(delay, "reservation_delay_seconds")
        self._engine: Engine
        if origin is not None:
            self._engine = origin.fork(self._keep)
        elif live:
            self._engine = Live(
                configuration, self._report_now, record=record, reservation_delay_ns=delay_ns
            )
        else:
            self._engine = Stepped(
                configuration, self._keep, record=record, reservation_delay_ns=delay_ns
            )

    @property
    def now(self) -> float:
        """The time of a stepped scheduler in seconds; it begins at 0.

        Raises: RequestError if the scheduler is live.
        """
        return (self._stepped("now").clock.at_ns - EPOCH_NS) / SECOND_NS

    def step(self, now: float | None = None) -> list[Outcome]:
        """Let time pass until ``now``, make all decisions, and return what happened.

        ``now``: seconds since the scheduler was made; None: no time passes. A timer that is due
        before ``now`` runs when it is due. Returns what happened since the last step, in order;
        callbacks have been called with it.

        Raises: RequestError, and what a callback raises: the next step goes on with the rest.
        """
        stepped = self._stepped("step")
        target_ns = stepped.clock.at_ns
        if now is not None:
            target_ns = EPOCH_NS + nanoseconds(now, "now")
        if target_ns < stepped.clock.at_ns:
            raise RequestError(f"now is {now}, but it is {self.now} already; time does not go back")
        if self._in_step:
            raise RequestError("step was called by a callback; the step under way goes on anyway")
        self._in_step = True
        try:
            stepped.run_until(target_ns, self._pass_on)
        finally:
            self._in_step = False
        reported, self._reported = self._reported, []
        return reported

    def wait(self, timeout_seconds: float = 10.0) -> None:
        """Wait until a live scheduler has handled all requests and can place nothing more.

        Raises: TimeoutError; RequestError from a callback, or if it is not live.
        """
        if not isinstance(self._engine, Live):
            raise RequestError("wait is for Scheduler(live=True); this one works in step()")
        self._engine.wait(nanoseconds(timeout_seconds, "timeout_seconds") / SECOND_NS)

    def stop(self) -> None:
        """End the scheduler; its state is lost. Repeating is harmless."""
        self._engine.stop()

    def __enter__(self) -> Self:
        """Return this scheduler, which is stopped at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop it."""
        self.stop()

    def _stepped(self, call: str) -> Stepped:
        if not isinstance(self._engine, Stepped):
            raise RequestError(f"{call} is for stepped schedulers; this one is live: call wait()")
        return self._engine

    def _send(self, request: Request) -> None:
        """Send a request. Raises: RejectedError with what was refused of it."""
        refused = self._engine.send(request)
        if refused:
            raise RejectedError(refused)

    def _keep(self, effects: Sequence[Effect]) -> None:
        """Keep what happened for the next step."""
        self._unreported.extend(outcomes(effects))

    def _pass_on(self) -> bool:
        """Tell what was kept; whether there was anything."""
        if not self._unreported:
            return False
        while self._unreported:
            outcome = self._unreported.popleft()
            self._reported.append(outcome)
            try:
                self._call(outcome)
            finally:
                self._confirm(outcome)
        return True

    def _report_now(self, effects: Sequence[Effect]) -> None:
        """Tell what happened, on the thread of a live scheduler (SI-8)."""
        for outcome in outcomes(effects):
            try:
                self._call(outcome)
            except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
                _log.error("a callback failed, ignored: %r", error)
                _log.debug("traceback of the callback", exc_info=True)
            self._confirm(outcome)

    def _confirm(self, outcome: Outcome) -> None:
        """Take what was ordered to end as ended, unless the caller says when it has."""
        if self._confirms and isinstance(outcome, Release) and outcome.ordered:
            self._engine.send(requests.confirmation(outcome, self._partition))


def nanoseconds(seconds: object, what: str) -> int:
    """Return a time in nanoseconds. Raises: RequestError."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise RequestError(f"{what} is {seconds!r:.80}; it has to be a number of seconds")
    if not 0 <= seconds <= SECONDS_LIMIT:  # so is what is no number
        raise RequestError(f"{what} is {seconds}; it has to be from 0 to {SECONDS_LIMIT} seconds")
    return round(seconds * SECOND_NS)
