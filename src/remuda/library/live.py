"""The core on a thread of its own, like in a service: time passes by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import final

from remuda.base.errors import ConfigError, Problem
from remuda.config.schema import Configuration
from remuda.core.messages.commands import (
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateConfiguration,
)
from remuda.core.messages.effects import Effect
from remuda.core.messages.queries import Query, View
from remuda.library.engine import RM_ID, Tell, no_records
from remuda.library.errors import RequestError
from remuda.library.outcomes import rejections
from remuda.library.records import Rejection
from remuda.runtime.configuration.documents import StoredDocuments
from remuda.runtime.configuration.process_settings import ProcessSettings
from remuda.runtime.driver import Question
from remuda.runtime.journal import JournalWriter
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.requests import Request
from remuda.runtime.users.choice import Resolvers


@final
class Live:
    """An engine around the loop of a served scheduler. Any thread.

    A call from outside waits until its request was handled. A call from a callback, which runs on
    the core thread, never waits, so it cannot raise refusals.

    Args:
        configuration: of the one partition.
        tell: is called with effects as they come, on the core thread.
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
        resolvers = Resolvers()
        resolvers.require(configuration, "config")
        self._tell = tell
        self._calling = threading.Lock()
        self._refused: list[Rejection] | None = None
        self._loop = SchedulerLoop(
            recorder=None if record is None else JournalWriter(record),
            documents=StoredDocuments(configuration),
            resolvers=resolvers,
            reservation_delay_ns=reservation_delay_ns,
        )
        self._loop.configurations.watch(ProcessSettings())
        self._loop.start()
        command = RegisterResourceManager(RM_ID, configuration)
        answer = self._loop.register(command, self._receive, records=no_records).result()
        if answer.reason:
            self.stop()
            raise ConfigError([Problem("", answer.rule, answer.reason)], "config")

    @property
    def may_wait(self) -> bool:
        """Whether this is not the core thread, where waiting for the core would never end."""
        return not self._loop.on_core_thread()

    def send(self, request: Request) -> Sequence[Rejection]:
        """Queue a request; outside of callbacks wait, and return what was refused meanwhile."""
        if not self.may_wait:
            self._loop.submit(request)
            return ()
        with self._calling:
            refused = self._refused = []
            try:
                self._loop.submit(request)
                self._loop.barrier(RM_ID).result()
            finally:
                self._refused = None
        return [each for each in refused if _concerns(request, each)]

    def now_ns(self) -> int:
        """Return the time that views show, which is wall-clock time."""
        return time.time_ns()

    def view(self, query: Query) -> View:
        """Answer a read-only question."""
        self._refuse_in_callback()
        return self._loop.query(query).result()

    def answer_on_copy(self, question: Question) -> bytes:
        """Answer a question on a copy of the core, and wait for it. Raises: RemudaError."""
        self._refuse_in_callback()
        return self._loop.operations.answer_on_copy(question).result()

    def configure(self, configuration: Configuration) -> None:
        """Replace the configuration. Raises: ConfigError, and nothing has changed."""
        self._refuse_in_callback()
        ready = self._loop.configurations.ready(configuration, "config")
        change = self._loop.configurations.update(UpdateConfiguration(RM_ID, ready)).result()
        change.raise_if_refused("config")

    def wait(self, seconds: float) -> None:
        """Wait until the scheduler has nothing left to do and all outcomes were passed on.

        It has something to do while a request is not handled or an ask can be placed.

        Raises: TimeoutError.
        """
        self._refuse_in_callback()
        try:
            self._loop.idle().result(seconds)
        except TimeoutError:
            raise TimeoutError(f"the scheduler did not come to rest within {seconds} s") from None

    def stop(self) -> None:
        """End the core thread."""
        self._loop.stop()

    def _receive(self, effects: Sequence[Effect]) -> None:
        """Note refusals for the call that waits, and pass all on. Core thread."""
        refused = self._refused
        if refused is not None:
            refused.extend(rejections(effects))
        self._tell(effects)

    def _refuse_in_callback(self) -> None:
        if not self.may_wait:
            raise RequestError(
                "this call waits for the scheduler and cannot be made from a callback; "
                "make it on a thread of yours"
            )


def _concerns(request: Request, refused: Rejection) -> bool:
    """Whether it is this request that was refused, and not one that a callback sent meanwhile."""
    if isinstance(request, UpdateApplications):
        named = [("application", new.application_id, "") for new in request.new]
    elif isinstance(request, UpdateAllocations):
        named = [("ask", ask.allocation_key, ask.application_id) for ask in request.asks]
        named += [("release", "", "")] * len(request.releases)
    else:
        named = [("node", node.node_id, "") for node in request.nodes]
    return (refused.kind, refused.subject, refused.application_id) in named
