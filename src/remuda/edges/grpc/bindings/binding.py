"""One session of one RM, over all the streams that carry it.

It lasts as long as the registration, or until another session takes its place; streams come and go.
If it loses a message for good, it is unusable and the RM has to register again (RM-16).

Everything here runs on the event loop of the server, unless said otherwise.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Protocol, TypeAlias

from remuda.base.message import message
from remuda.core.messages.effects import Effect
from remuda.edges.grpc.access import act_as, caller
from remuda.edges.grpc.bindings.dump import Dump
from remuda.edges.grpc.bindings.outlet import Outfit, Outlet, Watcher, now_ns
from remuda.edges.grpc.bindings.ports import Ports
from remuda.edges.grpc.bindings.requests import Requests
from remuda.edges.grpc.long_messages import UnpackThread
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime.answers import QUESTIONS, Question
from remuda.runtime.driver import Removed
from remuda.runtime.errors import LoopStoppedError, NotRegisteredError
from remuda.runtime.event_store import EventStore
from remuda.runtime.loop import SchedulerLoop
from remuda.si.codec_in import RequestReader
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol import frames
from remuda.si.protocol.conversation import Conversation, Unpacked
from remuda.si.protocol.errors import SessionError, resync
from remuda.si.protocol.terms import CONFIGURATION, STATE_DUMP, Terms

_log = logging.getLogger("remuda.si")

Configure: TypeAlias = Callable[
    [si.UpdateConfigurationRequest], Awaitable[ext.UpdateConfigurationResponse]
]


class Carrier(Protocol):
    """The stream that carries a session at the moment."""

    def dismiss(self, error: SessionError | None) -> None:
        """End the stream, with a Goodbye for the reason of ``error``."""
        ...


class Home(Watcher, Protocol):
    """The registration of a session; it knows whether its RM is connected."""

    def hand_over(self, questions: Sequence[Question]) -> None:
        """Take questions, after the effects before them. Core thread. Implements: EXT-4."""
        ...

    def disconnected(self, cause: str) -> None:
        """Note that no stream carries the session any more. Rules: RM-14."""
        ...

    def given_up(self) -> None:
        """Note that the session lost a message for good. Rules: RM-16."""
        ...

    async def connected(self) -> bool:
        """A stream carries the session; False if the registration is over. Rules: RM-15."""
        ...


@message
class Surroundings:
    """The surroundings of a binding besides the core.

    ``unregister``: removes an RM, unless a check at the last moment raises. ``configure``: carries
    out a configuration update. ``unpack_thread``: unpacks long requests.
    """

    settings: GrpcSettings
    unregister: Callable[[str, Callable[[], None]], Awaitable[Removed]]
    configure: Configure
    unpack_thread: UnpackThread


class Binding:
    """A session. ``delivers``: the responses of the RM go this way.

    ``home``: the registration. ``parting``: the goodbye of the RM is being carried out.
    ``pause_ns``: how long its RM may be away. ``unusable``: why it cannot be resumed, "" if it can.
    ``ports``: through which the core asks it. ``events``: where event records for the RM gather.
    Rules: chapter 70 section 11, RM-14, RM-15, RM-16.
    """

    def __init__(
        self,
        core: SchedulerLoop,
        reader: RequestReader,
        session_id: str,
        terms: Terms,
        surroundings: Surroundings,
        *,
        events: EventStore,
        delivers: bool = True,
    ) -> None:
        self.rm_id = reader.rm_id
        self.session_id = session_id
        self.terms = terms
        self.pause_ns = 0
        self.unusable = ""
        self.ports = Ports(core, reader.rm_id)
        self.events = events
        self._core = core
        self._around = surroundings
        self._loop = asyncio.get_running_loop()
        # Frames are handled by a task that outlives the stream, so it must not act for the first.
        self._caller = caller()
        self._carrier: Carrier | None = None
        self._leaver: Carrier | None = None
        self._over = False
        self._leaving = False
        self.parting = False
        settings = surroundings.settings
        self.conversation = Conversation(ext.RMFrame, frames.RM_FRAME, terms.limits)
        outfit = Outfit(
            self.conversation,
            terms,
            settings,
            delivers,
            self.ports.give,
            self.ports.give_about_victims,
            reader.generation,
            events,
        )
        self.outlet = Outlet(outfit, self.too_much, self._tick_after)
        self.home: Home | None = None
        self.reply = self.outlet.reply
        self.dump = Dump(self.conversation, self.outlet.awake.set)
        configure = self._configure if terms.has(CONFIGURATION) else None
        limit = settings.receive_bytes_limit
        self.requests = Requests(
            core, self, reader, configure, limit, unpack_thread=surroundings.unpack_thread
        )
        self.requests.scope = self._caller.places
        self._pump = asyncio.create_task(self.requests.run())
        self._pump.add_done_callback(partial(_mourn, self))

    def settle_at(self, home: Home) -> None:
        """Belong to a registration; the core asks this session, if that is agreed on. EXT-20."""
        self.home = home
        self.outlet.watcher = home
        if self.terms.has(STATE_DUMP):
            self._core.dumps.offer(self.rm_id, self.dump_source)
        self.ports.open(self.terms, home.hand_over)

    @property
    def carried(self) -> bool:
        """Whether a stream carries the session."""
        return self._carrier is not None

    def take(self, items: Sequence[Effect | Question]) -> list[Effect]:
        """Send the effects and questions of the core; return those for other receivers.

        Questions of an earlier session are dropped (EXT-12).

        Rules: SI-7.
        """
        if self._over or self.unusable:
            return []
        own = self.ports.own
        return self.outlet.take(
            [each for each in items if not isinstance(each, QUESTIONS) or own(each)]
        )

    def dump_source(self, budget_seconds: float) -> Future[str]:
        """Ask the RM for its part of a dump. Any thread. Rules: SI-84."""
        return asyncio.run_coroutine_threadsafe(self._dump(budget_seconds), self._loop)

    async def _dump(self, budget_seconds: float) -> str:
        budget_ms = int(budget_seconds * 1_000)
        self._tick_after(budget_ms)
        return (await self.dump.request(budget_ms, now_ns())).decode()

    # ------------------------------------------------------------------ from the RM

    def receive(self, data: bytes, unpacked: Unpacked[ext.RMFrame] | None = None) -> None:
        """Take a frame in. Raises: SessionError if the stream must end."""
        outgoing = self.conversation.outgoing
        acknowledged = outgoing.acknowledged
        arrival = self.conversation.receive(data, now_ns(), unpacked)
        if arrival is not None:
            self.parting = self.parting or arrival.number == 0
            if arrival.frame is not None and arrival.field in frames.ANSWERS:
                self.outlet.inquiries.arrived(arrival.frame)
            if arrival.number == 0:
                self._leaver = self._carrier
            self.requests.put(arrival, len(data))
        if outgoing.acknowledged != acknowledged:
            self.outlet.notices.flush(now_ns())
            self.outlet.settle()

    def applied(self, number: int) -> None:
        """Note that a frame had its effect, so the writer can acknowledge it. Rules: EXT-3."""
        incoming = self.conversation.incoming
        due_ns = incoming.due_ns()
        self.conversation.applied(number, now_ns())
        if incoming.due_ns() != due_ns:
            self.outlet.awake.set()

    def answered(self, frame: ext.RMFrame) -> None:
        """Deal with an answer to a call. Rules: EXT-5, EXT-17, SI-84."""
        if frame.HasField("state_dump"):
            self.dump.part(frame.state_dump)
        else:
            self.outlet.inquiries.answer(frame, now_ns())

    def check_current(self) -> None:
        """Raise NotRegisteredError unless requests sent to this session may be taken.

        Any thread.

        Rules: RM-2, RM-9.
        """
        if self._over or not self._core.registered(self.rm_id):
            raise NotRegisteredError(self.rm_id)

    async def _configure(
        self, request: si.UpdateConfigurationRequest
    ) -> ext.UpdateConfigurationResponse:
        """Carry out a configuration update for the caller of the latest stream."""
        act_as(self._caller)
        return await self._around.configure(request)

    async def leave(self, goodbye: ext.Goodbye) -> None:
        """The RM said goodbye: it leaves for good, or only its stream ends. Rules: RM-19."""
        if goodbye.reason != ext.Goodbye.SHUTDOWN:
            if self._carrier is self._leaver:  # else it came back meanwhile
                self.dismiss(None, "it said goodbye")
            return
        self._leaving = True
        act_as(self._caller)
        try:
            # Not what registered meanwhile in the place of this session (RM-9).
            removed = await self._around.unregister(self.rm_id, self.check_current)
        except (NotRegisteredError, LoopStoppedError) as error:
            text = str(error)
        else:
            text = (
                f"removed {removed.partitions} partitions, {removed.applications} applications, "
                f"{removed.nodes} nodes"
            )
        self._leaving = False
        self.finish(SessionError(text, ext.Goodbye.SHUTDOWN))

    # ------------------------------------------------------------------ streams

    def begin(self, carrier: Carrier) -> None:
        """Begin the session with its first stream."""
        self._carrier = carrier
        self.conversation.begin(now_ns())

    def resume(self, carrier: Carrier, terms: Terms, received: int) -> None:
        """Go on with another stream where the last one broke, or in its place.

        Raises: SessionError (RESYNC_REQUIRED). Rules: EXT-9, EXT-11.
        """
        if self.unusable or self._over:
            raise resync(
                self.unusable or "the registration of this session has ended; register again"
            )
        self.dismiss(superseded(), None)
        self._carrier = carrier
        self._caller = caller()
        self.requests.scope = self._caller.places
        self.parting = False
        self.conversation.retune(terms.limits)
        self.conversation.resume(received, now_ns())
        self.outlet.inquiries.retune(terms.limits)
        self.ports.retune(terms.limits)
        self.outlet.settle()

    def dismiss(self, error: SessionError | None, cause: str | None) -> None:
        """End the stream that carries the session; without a cause another one follows at once."""
        carrier = self._carrier
        if carrier is not None:
            self.drop(carrier, cause)
            carrier.dismiss(error)

    def drop(self, carrier: Carrier, cause: str | None) -> None:
        """A stream is over; nothing happens if another took over before. Rules: RM-14, EXT-10."""
        if self._carrier is not carrier:
            return
        self._carrier = None
        self.conversation.end()
        self.outlet.inquiries.drop()
        self.dump.drop()
        if self.home is not None and cause is not None and not self._over:
            self.home.disconnected(cause)
        self.outlet.bound()

    def forbid(self) -> None:
        """Take no more requests: the registration has ended. Any thread."""
        self._over = True

    def finish(self, error: SessionError | None = None) -> None:
        """End the session for good; it may be repeated. Rules: RM-9, RM-17."""
        self._over = True
        self._core.dumps.withdraw(self.rm_id, self.dump_source)
        if not self._leaving:
            self.dismiss(
                error or resync("the registration of this session has ended; register again"),
                "ended",
            )
            self._pump.cancel()

    def too_much(self) -> None:
        """End the session: too many messages wait, so the RM cannot get all of them.

        Implements: RM-16.
        """
        if not self.unusable:
            self.unusable = "too many responses waited; register again"
            self.dismiss(resync(self.unusable), "too many responses waited")
            if self.home is not None:
                self.home.given_up()

    # ------------------------------------------------------------------ time

    def _tick_after(self, delay_ms: int) -> None:
        self._loop.call_later(delay_ms / 1_000 + 0.001, self._tick)

    def _tick(self) -> None:
        """Run due timers; an RM that does not answer is paused. Rules: EXT-17."""
        if self._over:
            return  # the waiting items have no receiver, and no timer may keep them
        self.outlet.tick()
        self.dump.miss(now_ns())
        if self.outlet.inquiries.load.deaf():
            text = "too many predicate calls in a row went unanswered"
            self.dismiss(SessionError(text, ext.Goodbye.OVERLOADED), "predicates")


def superseded() -> SessionError:
    """Return the error for a stream that another one replaces. Implements: EXT-11."""
    return SessionError("another stream took over", ext.Goodbye.SUPERSEDED)


def _mourn(binding: Binding, pump: asyncio.Task[None]) -> None:
    """End the session after a fault of ours, because nothing handles its frames any more."""
    error = None if pump.cancelled() else pump.exception()
    if error is not None:
        _log.error("a session of %r ended by a fault of its own: %r", binding.rm_id, error)
        binding.finish(resync("a fault of the scheduler; register again"))
