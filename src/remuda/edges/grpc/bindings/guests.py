"""A session attached to an RM that registered over the plain streams (EXT-12).

The registration and the order of requests stay those of the streams. The session takes over the
callbacks and, if agreed on, the responses. When it ends for good, the streams get the responses
that were not acknowledged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from remuda.core.messages.effects import Effect
from remuda.edges.grpc.bindings.binding import Binding, superseded
from remuda.edges.grpc.bindings.outlet import KINDS
from remuda.edges.grpc.outbound import Kind
from remuda.edges.grpc.registrations import Registration
from remuda.runtime.answers import Question
from remuda.runtime.loop import SchedulerLoop
from remuda.si.protocol.errors import SessionError, resync
from remuda.si.protocol.terms import EVENTS

_KIND_OF: Final = {name: kind for kind, name in KINDS.items()}


class Guest:
    """The place of a session at the registration of an RM. Rules: EXT-6, EXT-11, EXT-12, RM-14.

    Args:
        core: the running loop.
        host: the registration.
        binding: the session.
        forget: called when the session is over for good.
    """

    def __init__(
        self, core: SchedulerLoop, host: Registration, binding: Binding, forget: Callable[[], None]
    ) -> None:
        self._core = core
        self._host = host
        self._binding = binding
        self._forget = forget
        self._outlet = binding.outlet
        self._expiry: asyncio.TimerHandle | None = None
        self._unbinding: asyncio.Future[None] | None = None

    @property
    def carried(self) -> bool:
        """Whether a stream carries the session."""
        return self._binding.carried

    def hand_over(self, questions: Sequence[Question]) -> None:
        """Take questions, after the effects before them. Core thread. Rules: EXT-4."""
        self._host.sink(questions)

    def take(self, items: Sequence[Effect | Question]) -> list[Effect]:
        """Take the items for the session and return those for the streams. Rules: EXT-12."""
        return self._binding.take(items)

    def lose(self) -> None:
        """Note that effects for the session were dropped. Rules: RM-16."""
        self._binding.too_much()

    def finish(self) -> None:
        """End the session, because the registration has ended."""
        self._stay()
        self._binding.finish()
        self._forget()

    async def come(self) -> None:
        """Take the place, with what waits for the streams if responses are for the session.

        Rules: EXT-11, EXT-12.
        """
        older = self._host.guest
        self._host.guest = self
        if isinstance(older, Guest):
            older.leave(superseded())
        if self._outlet.delivers:
            for kind, encoded in self._host.outbound.take_all():
                self._outlet.take_over(KINDS[kind], encoded)
        if self._binding.terms.has(EVENTS):
            self._host.events.listen()
        else:
            self._host.events.leave()
        bound = await self._binding.ports.bind(self._host.sink)
        if not bound and isinstance(older, Guest):
            await older.unbind()

    def leave(self, error: SessionError) -> None:
        """End the session for good; what was not acknowledged waits for the streams again.

        Events do not: the streams have none (SI-106).
        """
        if self._host.guest is None:
            self._host.events.leave()
        self._stay()
        self._binding.finish(error)
        self._forget()
        self._outlet.let_go()
        for kind, encoded in self._outlet.left_over():
            self._host.outbound.put(_KIND_OF[kind], encoded)

    async def unbind(self) -> None:
        """Do not have the session asked any more."""
        await self._binding.ports.unbind()

    async def connected(self) -> bool:
        """The session has a stream: the RM is there. Rules: RM-15, EXT-12."""
        self._stay()
        back = self._core.connections.back(self._binding.rm_id, self._host.sink)
        return await asyncio.wrap_future(back)

    def disconnected(self, cause: str) -> None:
        """The session lost its stream; the RM is away if it has no other. Rules: RM-14, EXT-9."""
        self._host.guest_left(cause)
        window_ns = self._binding.pause_ns
        if window_ns >= 0:
            loop = asyncio.get_running_loop()
            self._expiry = loop.call_later(window_ns / 1e9, self._expire)

    def given_up(self) -> None:
        """End the session; if it lost responses, the registration ends, too. Rules: RM-16."""
        if self._outlet.delivers:
            self._host.lose()
        else:
            self._go(resync("too much waited for this session"))

    def hold(self) -> None:
        """Stop scheduling: too much is not acknowledged. Rules: EXT-6."""
        self._core.connections.hold(self._binding.rm_id, self._host.sink)

    def release(self) -> None:
        """Enough was acknowledged. Rules: EXT-6."""
        self._core.connections.release(self._binding.rm_id, self._host.sink)

    async def decisions_sent(self) -> None:
        """Wait until what was decided about allocations is on its stream. Implements: EXT-12."""
        if not self._outlet.delivers:
            await self._host.outbound.drained(Kind.ALLOCATION)

    def _stay(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def _expire(self) -> None:
        """End a session that was not resumed in time. Rules: EXT-9, RM-18."""
        self._go(SessionError("nobody resumed the session in time"))

    def _go(self, error: SessionError) -> None:
        """Leave the RM to its streams. Rules: EXT-12."""
        if self._host.guest is self:
            self._host.guest = None
        self.leave(error)
        self._unbinding = asyncio.ensure_future(self.unbind())
