"""One session of one RM, over all the streams that carry it.

Effects and questions come in from the core thread in one order and leave in that order (SI-7, EXT-4).
What an RM does not take holds nobody else up: first scheduling for it stops (EXT-6), and what exceeds
the limit all the same makes the session unusable, so that only a new registration helps (RM-16).

Everything here runs on the event loop of the server, unless said otherwise.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import groupby
from typing import Final, Protocol, TypeAlias

from remuda.base.message import message
from remuda.core.messages.commands import PredicateVerdict
from remuda.core.messages.effects import ContainerStateUpdated, Effect, EventRecord
from remuda.edges.grpc.session.changes import changed_nodes
from remuda.edges.grpc.session.dump import Dump
from remuda.edges.grpc.session.notices import Notices
from remuda.edges.grpc.session.questions import Questions
from remuda.edges.grpc.session.requests import Requests
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime.answers import LaterPredicates, OpenQuestion
from remuda.runtime.driver import Removed
from remuda.runtime.errors import NotRegisteredError
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.ports import EffectSink
from remuda.si.codec_out import ResponseWriter, split_encoded
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.session import frames
from remuda.si.session.conversation import Conversation
from remuda.si.session.errors import SessionError, resync
from remuda.si.session.terms import (
    CONFIGURATION,
    CONTAINER_STATES,
    EVENTS,
    MILLISECOND_NS,
    PREDICATES,
    RESPONSES,
    STATE_DUMP,
    Terms,
)
from remuda.si.wire import Response

Configure: TypeAlias = Callable[
    [si.UpdateConfigurationRequest], Awaitable[ext.UpdateConfigurationResponse]
]

_KIND_OF: Final[dict[type[Response], str]] = {
    si.AllocationResponse: "allocation",
    si.ApplicationResponse: "application",
    si.NodeResponse: "node",
}

# What a frame has besides its body, at most.
_HEAD_BYTES: Final = 64


class Carrier(Protocol):
    """The stream that carries a session at the moment."""

    def dismiss(self, error: SessionError | None) -> None:
        """End the stream, with a Goodbye for the reason of ``error``."""
        ...


class Home(Protocol):
    """The registration a session belongs to, and who knows whether its RM is connected."""

    sink: EffectSink

    def connected(self) -> Awaitable[bool]:
        """A stream carries the session; False if the registration is over."""
        ...

    def disconnected(self, cause: str) -> None:
        """No stream carries the session any more. Rules: RM-14."""
        ...

    async def told(self) -> None:
        """Wait until the RM was told, elsewhere, what was decided before a question."""
        ...


@message
class Surroundings:
    """What a binding needs besides the core.

    ``unregister``: removes an RM. ``configure``: carries out a configuration update.
    ``kept_limit``: how many messages an RM wants kept while it is gone, None: what the server keeps.
    """

    settings: GrpcSettings
    unregister: Callable[[str], Awaitable[Removed]]
    configure: Configure
    kept_limit: Callable[[], int | None]


class Binding:
    """A session. ``delivers``: the responses of the RM go this way. Rules: EXT-3 to EXT-20."""

    def __init__(
        self,
        core: SchedulerLoop,
        rm_id: str,
        session_id: str,
        terms: Terms,
        surroundings: Surroundings,
        *,
        delivers: bool = True,
    ) -> None:
        self.rm_id = rm_id
        self.session_id = session_id
        self.terms = terms
        self.delivers = delivers and terms.has(RESPONSES)
        self.unusable = ""
        self.home: Home | None = None
        self._core = core
        self._around = surroundings
        settings = surroundings.settings
        self._loop = asyncio.get_running_loop()
        self.awake = asyncio.Event()
        self.conversation = Conversation(ext.RMFrame, frames.RM_FRAME, terms.limits)
        self._writer = ResponseWriter()
        self._carrier: Carrier | None = None
        self._held = False
        self._over = False
        self._leaving = False
        self.notices = Notices(
            self.conversation,
            settings.event_interval_ms * MILLISECOND_NS,
            events=terms.has(EVENTS),
            states=terms.has(CONTAINER_STATES),
        )
        self.questions = Questions(
            self.conversation,
            terms,
            budget_ms=settings.predicate_budget_ms,
            give=self._give,
            wake=self._wake_for_call,
        )
        self.dump = Dump(self.conversation, self.wake)
        self.requests = Requests(
            core,
            self,
            surroundings.configure if terms.has(CONFIGURATION) else None,
            settings.receive_bytes_limit,
        )
        self._asking: dict[asyncio.Future[None], None] = {}
        self._pump = asyncio.create_task(self.requests.run())
        self.port: LaterPredicates | None = None

    def make_port(self, hand_over: Callable[[Sequence[OpenQuestion]], None]) -> None:
        """Let the core ask this session, if that is agreed on. Rules: EXT-20."""
        if self.terms.has(PREDICATES):
            self.port = LaterPredicates(hand_over, self.terms.limits.max_nodes_per_call)

    @property
    def carried(self) -> bool:
        """Whether a stream carries the session."""
        return self._carrier is not None

    # ------------------------------------------------------------------ from the core

    def take(self, items: Sequence[Effect | OpenQuestion]) -> list[Effect]:
        """Send what the core decided and asked, in its order; return what is not for here.

        Rules: SI-7, EXT-4, EXT-5, EXT-12.
        """
        if self._over or self.unusable:
            return []
        left: list[Effect] = []
        for asked, run in groupby(items, _is_question):
            if asked:
                self._ask([each for each in run if isinstance(each, OpenQuestion)])
            else:
                left += self._take_effects([e for e in run if not isinstance(e, OpenQuestion)])
        self.notices.flush(now_ns())
        self._bound()
        self._watch_window()
        self.wake()
        return left

    def _ask(self, questions: list[OpenQuestion]) -> None:
        """Ask, but not before the RM was told what was decided. Rules: EXT-4, EXT-12."""
        if self.delivers:
            self.questions.ask(questions, now_ns())
            return
        task = asyncio.ensure_future(self._ask_when_told(questions))
        self._asking[task] = None
        task.add_done_callback(self._asking.pop)

    async def _ask_when_told(self, questions: list[OpenQuestion]) -> None:
        try:
            async with asyncio.timeout(self._around.settings.predicate_budget_ms / 1_000):
                if self.home is not None:
                    await self.home.told()
        except TimeoutError:
            self.questions.give_none(questions)
        else:
            self.questions.ask(questions, now_ns())

    def lose(self) -> None:
        """Effects were dropped on their way here: what the RM knows cannot be completed. RM-16."""
        self._give_up("too many responses waited")

    def _take_effects(self, effects: Sequence[Effect]) -> list[Effect]:
        if not effects:
            return []
        if self.delivers:
            limit = self.terms.limits.max_frame_bytes - _HEAD_BYTES
            for response in self._writer.responses(effects):
                for encoded in split_encoded(response, limit):
                    body = frames.body(ext.CoreFrame, _KIND_OF[type(response)], encoded)
                    self.conversation.send(body)
        changed, gone = changed_nodes(effects)
        self.questions.changes.note(changed, self.conversation.outgoing.last)
        for node_id in gone:
            self.questions.forget_node(node_id)
        self._take_notices(effects)
        return [] if self.delivers else list(effects)

    def _take_notices(self, effects: Sequence[Effect]) -> None:
        """Queue what nobody waits for. Rules: SI-82, SI-83, EXT-6."""
        records: list[EventRecord] = []
        for effect in effects:
            if isinstance(effect, EventRecord):
                records.append(effect)
            elif isinstance(effect, ContainerStateUpdated):
                self.notices.offer_state(effect)
        waiting = self.notices.due_ns() is not None
        self.notices.offer_events(records, now_ns())
        if not waiting and self.notices.due_ns() is not None:
            self._tick_after(self._around.settings.event_interval_ms)

    # ------------------------------------------------------------------ from the RM

    def receive(self, data: bytes) -> None:
        """Take a frame in. Raises: SessionError if the stream must end."""
        arrival = self.conversation.receive(data, now_ns())
        if arrival is not None:
            if arrival.frame is not None and arrival.frame.HasField("nodes_predicates"):
                self.questions.calls.arrived(arrival.frame.nodes_predicates.call_id)
            self.requests.put(arrival, len(data))
        self._watch_window()
        self.wake()

    def applied(self, number: int) -> None:
        """The effect of a frame is there. Rules: EXT-3."""
        self.conversation.applied(number, now_ns())
        self.wake()

    def reply(self, name: str, content: bytes) -> None:
        """Send a frame with this body."""
        self.conversation.send(frames.body(ext.CoreFrame, name, content))
        self._bound()
        self.wake()

    def answered(self, frame: ext.RMFrame) -> None:
        """Deal with an answer to a call. Rules: EXT-5, EXT-17, SI-84."""
        name = frame.WhichOneof("body")
        if name == "nodes_predicates":
            self.questions.answer(frame.nodes_predicates, now_ns())
        elif name == "state_dump":
            self.dump.part(frame.state_dump)

    def check_current(self) -> None:
        """Raise NotRegisteredError unless requests sent to this session may be taken. Any thread.

        Rules: RM-2, RM-9.
        """
        if self._over or not self._core.registered(self.rm_id):
            raise NotRegisteredError(self.rm_id)

    async def leave(self, goodbye: ext.Goodbye) -> None:
        """The RM said goodbye: it leaves for good, or only its stream ends. Rules: RM-19."""
        if goodbye.reason != ext.Goodbye.SHUTDOWN:
            name = (
                ext.Goodbye.Reason.Name(goodbye.reason) if goodbye.reason in _REASONS else "other"
            )
            self.dismiss(None, f"it said goodbye ({name})")
            return
        self._leaving = True
        try:
            removed = await self._around.unregister(self.rm_id)
        except NotRegisteredError as error:
            text = str(error)
        else:
            text = (
                f"removed {removed.partitions} partitions, {removed.applications} applications, "
                f"{removed.nodes} nodes"
            )
        self._leaving = False
        self.finish(SessionError(text, ext.Goodbye.SHUTDOWN))

    # ------------------------------------------------------------------ streams

    def carry(self, carrier: Carrier) -> None:
        """A stream carries the session from now on; an older one gives way. Rules: EXT-11."""
        self.dismiss(SessionError("another stream took over", ext.Goodbye.SUPERSEDED), "superseded")
        self._carrier = carrier

    def drop(self, carrier: Carrier, cause: str) -> None:
        """A stream is over; nothing happens if another took over before. Rules: RM-14, EXT-10."""
        if self._carrier is carrier:
            self._uncarry(cause)

    def dismiss(self, error: SessionError | None, cause: str) -> None:
        """End the stream that carries the session."""
        carrier = self._carrier
        if carrier is not None:
            self._uncarry(cause)
            carrier.dismiss(error)

    def _uncarry(self, cause: str) -> None:
        self._carrier = None
        self.conversation.end()
        self.questions.drop()
        self.dump.drop()
        if self.home is not None and not self._over:
            self.home.disconnected(cause)
        self._bound()

    def resume(self, terms: Terms, received: int) -> None:
        """Go on where the stream broke. Raises: SessionError (RESYNC_REQUIRED). Rules: EXT-9."""
        if self.unusable or self._over:
            raise resync(self.unusable or "the registration of this session is over")
        self.conversation.retune(terms.limits)
        self.conversation.resume(received, now_ns())
        self.questions.calls.limit = terms.limits.max_calls
        self._watch_window()
        if self.port is not None:
            self.port.nodes_limit = terms.limits.max_nodes_per_call

    def forbid(self) -> None:
        """Take no more requests: the registration has ended. Any thread."""
        self._over = True

    def finish(self, error: SessionError | None = None) -> None:
        """The registration is over. Repeating is harmless. Rules: RM-9, RM-17."""
        self._over = True
        if not self._leaving:
            self.dismiss(error or resync("the registration of this session has ended"), "ended")
            self._pump.cancel()

    # ------------------------------------------------------------------ time and bounds

    def tick(self) -> None:
        """Do what is due."""
        now = now_ns()
        self.questions.miss(now)
        self.dump.miss(now)
        self.notices.flush(now)
        if self.notices.due_ns() is not None:
            self._tick_after(self._around.settings.event_interval_ms)
        if self.questions.calls.deaf():
            self.questions.calls.overdue_in_a_row = 0
            text = "too many predicate calls in a row went unanswered"
            self.dismiss(SessionError(text, ext.Goodbye.OVERLOADED), "predicates")
        self.wake()

    def wake(self) -> None:
        """There may be something to write."""
        self.awake.set()

    @property
    def kept(self) -> int:
        """How many messages wait or are not acknowledged."""
        return len(self.conversation.outgoing)

    async def state_dump(self, budget_ms: int) -> bytes:
        """Return what the RM tells of its state. Raises: DumpError. Rules: SI-84."""
        if not self.terms.has(STATE_DUMP):
            return b""
        self._tick_after(budget_ms)
        return await self.dump.request(budget_ms, now_ns())

    def _wake_for_call(self) -> None:
        self._tick_after(self._around.settings.predicate_budget_ms)
        self.wake()

    def _tick_after(self, delay_ms: int) -> None:
        self._loop.call_later(delay_ms / 1_000 + 0.001, self.tick)

    def _watch_window(self) -> None:
        """Stop scheduling for an RM that acknowledges too little, and go on later. Rules: EXT-6."""
        outgoing = self.conversation.outgoing
        if not self._held and outgoing.counted >= outgoing.window:
            self._held = True
            if self.home is not None:
                self._core.connections.hold(self.rm_id, self.home.sink)
        elif self._held and outgoing.counted <= outgoing.window // 2:
            self._held = False
            self._release()

    def _release(self) -> None:
        if self.home is not None:
            self._core.connections.release(self.rm_id, self.home.sink)

    def _bound(self) -> None:
        """Give up if too much waits. Rules: RM-15, RM-16."""
        settings = self._around.settings
        most = settings.outbound_messages_limit
        own = self._around.kept_limit()
        if own is not None:
            most = max(own, most) if self.carried else own
        if self.kept > most or self.conversation.outgoing.bytes > settings.outbound_bytes_limit:
            self._give_up("too many responses waited")

    def _give_up(self, text: str) -> None:
        if not self.unusable:
            self.unusable = f"{text}; register again"
            self.dismiss(resync(self.unusable), text)

    def _give(self, verdicts: Sequence[PredicateVerdict]) -> None:
        if self.port is not None:
            self._core.answers.give(self.rm_id, self.port, verdicts)


_REASONS: Final = frozenset(ext.Goodbye.Reason.values())


def _is_question(item: Effect | OpenQuestion) -> bool:
    return isinstance(item, OpenQuestion)


def now_ns() -> int:
    """Return the time that sessions go by."""
    return time.monotonic_ns()
