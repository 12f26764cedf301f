"""Whose session it is: an RM that registered with it, or one that registered over the streams.

Either way there is one registration, whose effects come through one hand-over, and somebody who
knows whether the RM is connected at all (RM-14).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Protocol

from remuda.core.messages.effects import Effect
from remuda.edges.grpc.session.binding import Binding, Home
from remuda.runtime.answers import OpenQuestion
from remuda.runtime.delivery import EdgeHandover
from remuda.runtime.loop import SchedulerLoop


class OwnRegistration:
    """An RM that registered with ``Hello.register``: the session is all it has. Rules: EXT-2."""

    def __init__(self, core: SchedulerLoop, binding: Binding) -> None:
        self._core = core
        self._binding = binding
        loop = asyncio.get_running_loop()
        self.sink: EdgeHandover[Effect | OpenQuestion] = EdgeHandover(
            loop, binding.take, binding.lose
        )

    def hand_over(self, questions: Sequence[OpenQuestion]) -> None:
        """Take questions, after the effects before them. Core thread. Rules: EXT-4."""
        self.sink(questions)

    def connected(self) -> Awaitable[bool]:
        """The session has a stream: scheduling goes on. Rules: RM-15."""
        return asyncio.wrap_future(self._core.connections.back(self._binding.rm_id, self.sink))

    def disconnected(self, cause: str) -> None:
        """The session lost its stream: the RM is away. Rules: RM-14, RM-15."""
        self._core.connections.lost(self._binding.rm_id, cause, self.sink)

    async def told(self) -> None:
        """Whatever was decided is on the session already, before any question."""


class Host(Protocol):
    """The registration of an RM over the plain streams, to which a session can be attached."""

    def hand_over(self, questions: Sequence[OpenQuestion]) -> None:
        """Take questions, after the effects before them. Core thread."""
        ...

    async def host(self, binding: Binding) -> Home:
        """Let a session take part from now on, in the place of an older one."""
        ...


class Streams(Protocol):
    """What RMs have over the plain streams."""

    def find(self, rm_id: str) -> Host | None:
        """Return the registration of an RM, None if it has none there."""
        ...

    def end(self, rm_id: str) -> None:
        """End the streams of an RM that registers elsewhere."""
        ...
