"""What operators ask of a running scheduler, apart from its configurations.

Asked by any thread and carried out on the core thread, between two inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial

from remuda.core.messages.commands import ChangeObjectState
from remuda.core.messages.effects import ObjectStateAnswered
from remuda.core.messages.queries import Query, View
from remuda.runtime.driver import Driver, Question
from remuda.runtime.errand import Errand, Send
from remuda.runtime.forks.forks import Forks


class Operations:
    """The calls of operators. Any thread.

    Args:
        driver: does them on the core thread.
        send: brings an errand there.
        forks: makes copies of the process, for questions that need one.
    """

    def __init__(self, driver: Driver, send: Send, forks: Forks | None = None) -> None:
        self._driver = driver
        self._send = send
        self._forks = forks or Forks()

    def change_object_state(self, command: ChangeObjectState) -> Future[ObjectStateAnswered]:
        """Start or stop a queue, a partition or a node.

        The future fails with ProtocolError if the RM is unknown.
        Rules: OBJ-4, OBJ-8, EXT-25, EXT-176.
        """
        work = partial(self._driver.change_object_state, command)
        return self._send(Errand(work, touches_core=True))

    def snapshot(self, queries: Sequence[Query]) -> Future[tuple[View, ...]]:
        """Answer several questions about one moment. Rules: DMP-15."""
        return self._send(Errand(partial(self._driver.views, tuple(queries))))

    def answer_on_copy(self, question: Question) -> Future[bytes]:
        """Answer a question on a copy of the scheduler, which it may use up.

        The future fails with RemudaError: what the question raised, or there was no answer.
        Raises: ForksBusyError if there is no room for another copy, ForkFailedError if none can be
        made here. Rules: EXT-42, EXT-43.
        """
        return self._forks.answer_later(self._send, self._driver, question)
