"""The registration of an RM that registered through its session (EXT-2).

It receives the effects of the core and knows whether the RM is connected (RM-14). For RMs of the
plain streams, guests.py does this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from remuda.core.messages.effects import Effect
from remuda.edges.grpc.bindings.binding import Binding
from remuda.runtime.answers import Question
from remuda.runtime.delivery import EdgeHandover
from remuda.runtime.loop import SchedulerLoop


class OwnRegistration:
    """An RM that registered with ``Hello.register``: the session is all it has.

    Rules: EXT-2, EXT-6, RM-14, RM-15.
    """

    def __init__(self, core: SchedulerLoop, binding: Binding) -> None:
        self._core = core
        self._rm_id = binding.rm_id
        loop = asyncio.get_running_loop()
        self.sink: EdgeHandover[Effect | Question] = EdgeHandover(
            loop, binding.take, binding.too_much
        )

    def hand_over(self, questions: Sequence[Question]) -> None:
        """Take questions, after the effects before them. Core thread. Rules: EXT-4."""
        self.sink(questions)

    async def connected(self) -> bool:
        """The session has a stream: scheduling goes on. Rules: RM-15."""
        return await asyncio.wrap_future(self._core.connections.back(self._rm_id, self.sink))

    def disconnected(self, cause: str) -> None:
        """The session lost its stream: the RM is away. Rules: RM-14, RM-15."""
        self._core.connections.lost(self._rm_id, cause, self.sink)

    def given_up(self) -> None:
        """End the session, which cannot be resumed; only it knows what was lost. Rules: RM-16."""

    def hold(self) -> None:
        """Too much is not acknowledged. Rules: EXT-6."""
        self._core.connections.hold(self._rm_id, self.sink)

    def release(self) -> None:
        """Enough was acknowledged. Rules: EXT-6."""
        self._core.connections.release(self._rm_id, self.sink)

    async def decisions_sent(self) -> None:
        """All earlier decisions are on the session already, before any question. Rules: EXT-4."""
