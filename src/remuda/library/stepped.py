"""The core on a time that the caller moves: no thread, no clock, the same outcomes every time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, final

from remuda.base.errors import ConfigError, Problem
from remuda.config.process_limits import Limits
from remuda.config.schema import RESOLVER_DEFAULT, Configuration
from remuda.core.messages.commands import RegisterResourceManager, UpdateConfiguration
from remuda.core.messages.queries import Query, View
from remuda.core.ports import Predicates, PreemptionPredicates
from remuda.core.scheduler import Scheduler
from remuda.library.engine import RM_ID, Tell, no_records
from remuda.library.errors import RequestError
from remuda.library.outcomes import rejections
from remuda.library.queues import partition_of
from remuda.library.records import Rejection
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.delivery import Delivery, Session
from remuda.runtime.driver import Driver, Question
from remuda.runtime.forks.forks import Forks
from remuda.runtime.journal import JournalWriter
from remuda.runtime.requests import Request

SECOND_NS: Final = 10**9

# Second 0 of the caller on the core's clock, where time 0 means "never".
EPOCH_NS: Final = SECOND_NS

# How often in a row callbacks may bring new work at one instant.
ROUNDS_LIMIT: Final = 10_000


@final
class HandClock:
    """A clock that stands where it was put; the wall shows the same."""

    def __init__(self) -> None:
        self.at_ns: int = EPOCH_NS

    def now_ns(self) -> int:
        """Return where it stands."""
        return self.at_ns

    @property
    def wall_ns(self) -> Callable[[], int]:
        """The same for the wall."""
        return self.now_ns


@final
class Stepped:
    """An engine that acts only when it is called, on the thread that calls.

    Args:
        configuration: of the one partition; no resolver of users, because that would need I/O.
        tell: is called with effects as they come.
        record: file to record all inputs to, for ``remuda replay``.
        reservation_delay_ns: how old an ask must be to reserve a node, None: never (RSV-3).

    Raises: ConfigError if the core refuses the configuration.
    """

    def __init__(
        self,
        configuration: Configuration,
        tell: Tell,
        *,
        record: Path | None,
        reservation_delay_ns: int | None,
    ) -> None:
        _refuse_resolver(configuration)
        self.configuration = configuration
        self._reservation_delay_ns = reservation_delay_ns
        self._core = Scheduler()
        self.clock = HandClock()
        self._driver = Driver(
            self._make_core,
            Delivery(),
            self.clock,
            None if record is None else JournalWriter(record),
            documents=StoredDocuments(configuration),
            reservation_delay_ns=reservation_delay_ns,
        )
        self._forks = Forks()
        self._stopped = False
        session = Session(tell, records=no_records)
        answer = self._driver.register(RegisterResourceManager(RM_ID, configuration), session)
        if answer.reason:
            self.stop()
            raise ConfigError([Problem("", answer.rule, answer.reason)], "config")

    @property
    def may_wait(self) -> bool:
        """Always: nothing here takes a thread of somebody else's."""
        return True

    def send(self, request: Request) -> Sequence[Rejection]:
        """Have a request handled at once, and return what was refused of it."""
        self._refuse_after_stop()
        effects = self._driver.handle(request)
        refused = list(rejections(effects))
        self._driver.hand_out()
        return refused

    def now_ns(self) -> int:
        """Return the time of the clock."""
        return self.clock.at_ns

    def view(self, query: Query) -> View:
        """Answer a read-only question."""
        self._refuse_after_stop()
        return self._driver.view(query)

    def answer_on_copy(self, question: Question) -> bytes:
        """Answer a question on a copy of the core, and wait for it. Raises: RemudaError."""
        self._refuse_after_stop()
        return self._forks.answer(self._driver, question)

    def configure(self, configuration: Configuration) -> None:
        """Replace the configuration. Raises: ConfigError, and nothing has changed."""
        self._refuse_after_stop()
        _refuse_resolver(configuration)
        command = UpdateConfiguration(RM_ID, configuration)
        change = self._driver.configurations.update(command, stored=False)
        change.raise_if_refused("config")
        self.configuration = configuration
        self._driver.hand_out()

    def fork(self, tell: Tell) -> Stepped:
        """Return an engine with the same state at the same time, without a recording.

        Implements: EXT-41.
        """
        self._refuse_after_stop()
        copy = Stepped(
            self.configuration, tell, record=None, reservation_delay_ns=self._reservation_delay_ns
        )
        copy.resume(self._core.snapshot(), self.clock.at_ns)
        return copy

    def resume(self, snapshot: bytes, at_ns: int) -> None:
        """Take over a state and its time. Raises: SnapshotError, and nothing has changed."""
        self._core.restore(snapshot)
        self.clock.at_ns = at_ns

    def _make_core(
        self,
        predicates: Predicates,
        *,
        preemption: PreemptionPredicates,
        reservation_delay_ns: int | None,
        limits: Limits,
    ) -> Scheduler:
        self._core = Scheduler(
            predicates,
            preemption=preemption,
            reservation_delay_ns=reservation_delay_ns,
            limits=limits,
        )
        return self._core

    def run_until(self, target_ns: int, pass_on: Callable[[], bool]) -> None:
        """Let time pass up to an instant, and decide all there is to decide on the way.

        Time stops at each instant at which the core has something to do, so that it does not matter
        in how many pieces it passes. ``pass_on`` tells the caller what happened, and says whether
        there was anything; what it brings is decided at the same instant.
        """
        self._refuse_after_stop()
        while True:
            self._settle(pass_on)
            rest_ns = self._driver.rest_ns()
            if self.clock.at_ns >= target_ns:
                return
            until_ns = target_ns if rest_ns is None else self.clock.at_ns + rest_ns
            self.clock.at_ns = min(target_ns, until_ns)

    def _settle(self, pass_on: Callable[[], bool]) -> None:
        """Decide and tell until nothing is left to do at this instant."""
        for _ in range(ROUNDS_LIMIT):
            while self._driver.advance() or self._driver.rest_ns() == 0:
                pass
            if not pass_on():
                return
        raise RequestError(
            f"callbacks brought new work {ROUNDS_LIMIT} times in a row at the same instant; "
            "let time pass in between, with another step"
        )

    def stop(self) -> None:
        """Finish the recording, if there is one."""
        if not self._stopped:
            self._stopped = True
            self._driver.close()

    def _refuse_after_stop(self) -> None:
        if self._stopped:
            raise RequestError("this scheduler was stopped; make another one")


def _refuse_resolver(configuration: Configuration) -> None:
    """Refuse a configuration with which groups of users would be looked up."""
    resolver = partition_of(configuration).user_group_resolver
    if resolver != RESOLVER_DEFAULT:
        raise RequestError(
            f"config asks for usergroupresolver {resolver!r}, but a stepped scheduler looks "
            "nothing up; leave it out and pass groups to submit, or use Scheduler(live=True)"
        )
