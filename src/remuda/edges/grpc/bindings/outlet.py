"""Sends the responses, questions and notices of a session, in the order they were made.

Effects and questions come in from the core thread in one order and leave in that order (SI-7,
EXT-4). A slow RM delays no other RM: scheduling for it stops first (EXT-6); if the limit is
exceeded even so, its session ends (RM-16). Event loop of the server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, Protocol

from remuda.base.message import message
from remuda.core.messages.effects import ContainerStateUpdated, Effect, EventRecord
from remuda.edges.grpc.bindings.changes import changed_nodes
from remuda.edges.grpc.bindings.inquiries import Inquiries
from remuda.edges.grpc.bindings.notices import Notices
from remuda.edges.grpc.bindings.preemption import GiveAboutVictims
from remuda.edges.grpc.bindings.questions import Give
from remuda.edges.grpc.outbound import Kind
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime.answers import QUESTIONS, Question
from remuda.runtime.event_store import EventStore
from remuda.si.codec_out import ResponseWriter, split_encoded
from remuda.si.generation import Generation
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol import frames
from remuda.si.protocol.conversation import Conversation
from remuda.si.protocol.terms import (
    CONTAINER_STATES,
    EVENTS,
    MILLISECOND_NS,
    PREDICATES,
    PREEMPTION_PREDICATES,
    RESPONSES,
    Terms,
)
from remuda.si.wire import Response

# Responses by their streams, and their field in frames.
KINDS: Final = {
    Kind.ALLOCATION: "allocation",
    Kind.APPLICATION: "application",
    Kind.NODE: "node",
}

_TYPES: Final[dict[str, type[Response]]] = {
    "allocation": si.AllocationResponse,
    "application": si.ApplicationResponse,
    "node": si.NodeResponse,
}

_NAMES: Final = {kind: name for name, kind in _TYPES.items()}
_FIELDS: Final = {frames.field_number(ext.CoreFrame, name): name for name in _TYPES}


class Watcher(Protocol):
    """Learns how fast an RM acknowledges messages."""

    def hold(self) -> None:
        """Too much is not acknowledged: scheduling has to stop. Rules: EXT-6."""
        ...

    def release(self) -> None:
        """Scheduling may go on."""
        ...

    async def decisions_sent(self) -> None:
        """Wait until the other stream has sent all earlier decisions. Rules: EXT-12."""
        ...


@message
class Outfit:
    """The parts around an outlet.

    ``delivers``: the responses of the RM go this way. ``give``, ``give_about_victims``: take
    verdicts to the core. ``generation``: in which form the RM speaks (SI-111). ``events``: where
    event records for the RM gather.
    """

    conversation: Conversation[ext.RMFrame]
    terms: Terms
    settings: GrpcSettings
    delivers: bool
    give: Give
    give_about_victims: GiveAboutVictims
    generation: Generation
    events: EventStore


class Outlet:
    """The outgoing side of a session.

    Args:
        outfit: what it is built around.
        too_much: called when more waits than may (RM-16).
        due: has ``tick`` called after so many milliseconds.

    ``awake``: there may be something to write. ``kept_limit``: how many messages the RM wants kept
    while it is gone, None if it does not say. Rules: EXT-4, EXT-5, EXT-6, EXT-7, EXT-8, SI-7,
    RM-15, RM-16.
    """

    def __init__(
        self, outfit: Outfit, too_much: Callable[[], None], due: Callable[[int], None]
    ) -> None:
        terms, settings = outfit.terms, outfit.settings
        self.conversation = outfit.conversation
        self.delivers = outfit.delivers and terms.has(RESPONSES)
        self._judges = terms.has(PREDICATES) or terms.has(PREEMPTION_PREDICATES)
        self._informs = terms.has(EVENTS) or terms.has(CONTAINER_STATES)
        self.kept_limit: int | None = None
        self.awake = asyncio.Event()
        self._settings = settings
        self._too_much = too_much
        self._due = due
        self.watcher: Watcher | None = None
        self._writer = ResponseWriter(outfit.generation)
        self._held = False
        self._asking: dict[asyncio.Future[None], None] = {}
        self.notices = Notices(
            self.conversation,
            settings.event_interval_ms * MILLISECOND_NS,
            events=outfit.events if terms.has(EVENTS) else None,
            states=terms.has(CONTAINER_STATES),
        )
        self.inquiries = Inquiries(
            self.conversation,
            terms,
            budget_ms=settings.predicate_budget_ms,
            give=outfit.give,
            give_about_victims=outfit.give_about_victims,
            wake=self.wake_for_call,
        )

    @property
    def kept(self) -> int:
        """How many messages wait or are not acknowledged."""
        return len(self.conversation.outgoing)

    @property
    def unacknowledged(self) -> int:
        """How many messages the RM was sent and has not acknowledged."""
        return self.conversation.outgoing.sent - self.conversation.outgoing.acknowledged

    @property
    def queued(self) -> int:
        """How many messages wait to be sent."""
        return self.kept - self.unacknowledged

    def take(self, items: Sequence[Effect | Question]) -> list[Effect]:
        """Send the effects and questions of the core, in order; return those for other receivers.

        Rules: SI-7, EXT-4, EXT-5, EXT-12.
        """
        left: list[Effect] = []
        for asked, run in groupby(items, _is_question):
            if asked:
                self._ask([each for each in run if isinstance(each, QUESTIONS)])
            else:
                left += self._take_effects([e for e in run if not isinstance(e, QUESTIONS)])
        self.notices.flush(now_ns())
        self.settle()
        return left

    def reply(self, name: str, inside: bytes) -> None:
        """Send a frame with this body."""
        self.conversation.send(frames.body(ext.CoreFrame, name, inside))
        self.settle()

    def take_over(self, name: str, encoded: bytes) -> None:
        """Send a response that waited elsewhere. Rules: EXT-12."""
        whole = _TYPES[name].FromString(encoded)
        for part in split_encoded(whole, self.conversation.body_bytes_limit):
            self._respond(name, part)
        self.settle()

    def left_over(self) -> list[tuple[str, bytes]]:
        """Return the responses that were not acknowledged, in their order. Rules: EXT-12."""
        bodies = [frames.content(body) for body in self.conversation.outgoing.bodies()]
        return [(_FIELDS[field], encoded) for field, encoded in bodies if field in _FIELDS]

    def settle(self) -> None:
        """Act on the number of waiting items, and have them written."""
        self.bound()
        self._watch_window()
        self.awake.set()

    def tick(self) -> None:
        """Do what is due. Rules: EXT-17, SI-83."""
        now = now_ns()
        self.inquiries.miss(now)
        self.notices.flush(now)
        if self.notices.due_ns() is not None:
            self._due(self._settings.event_interval_ms)
        self.settle()

    def bound(self) -> None:
        """Say so if too much waits. Rules: RM-15, RM-16."""
        most = self._settings.outbound_messages_limit
        if self.kept_limit is not None:
            is_open = self.conversation.open
            most = max(self.kept_limit, most) if is_open else self.kept_limit
        if (
            self.kept > most
            or self.conversation.outgoing.bytes > self._settings.outbound_bytes_limit
        ):
            self._too_much()

    def _take_effects(self, effects: Sequence[Effect]) -> Sequence[Effect]:
        if self.delivers:
            # Cut to the frame limit. Rules: EXT-8, SI-75.
            limit = self.conversation.body_bytes_limit
            for kind, encoded in self._writer.encoded(effects, limit):
                self._respond(_NAMES[kind], encoded)
        if self._judges:
            changed, gone = changed_nodes(effects)
            questions = self.inquiries.questions
            questions.changes.note(changed, self.conversation.outgoing.last)
            for node_id in gone:
                questions.forget_node(node_id)
        if self._informs:
            self._take_notices(effects)
        return () if self.delivers else effects

    def _respond(self, name: str, encoded: bytes) -> None:
        self.conversation.send(frames.body(ext.CoreFrame, name, encoded))

    def _take_notices(self, effects: Sequence[Effect]) -> None:
        """Queue notices, which no task waits for. Rules: SI-82, SI-83, EXT-6."""
        waited = self.notices.due_ns() is not None
        for effect in effects:
            if isinstance(effect, ContainerStateUpdated):
                self.notices.offer_state(effect)
        if any(isinstance(effect, EventRecord) for effect in effects):
            self.notices.events_gather(now_ns())
        if not waited and self.notices.due_ns() is not None:
            self._due(self._settings.event_interval_ms)

    def _ask(self, questions: list[Question]) -> None:
        """Send questions, after all earlier decisions were sent to the RM. Rules: EXT-4, EXT-12."""
        if self.delivers:
            self.inquiries.ask(questions, now_ns())
            return
        task = asyncio.ensure_future(self._ask_when_told(questions))
        self._asking[task] = None
        task.add_done_callback(self._asking.pop)

    async def _ask_when_told(self, questions: list[Question]) -> None:
        try:
            async with asyncio.timeout(self._settings.predicate_budget_ms / 1_000):
                if self.watcher is not None:
                    await self.watcher.decisions_sent()
        except TimeoutError:
            self.inquiries.give_none(questions)
        else:
            self.inquiries.ask(questions, now_ns())

    def let_go(self) -> None:
        """Let scheduling go on: the session is over, its registration may continue."""
        if self._held and self.watcher is not None:
            self._held = False
            self.watcher.release()

    def wake_for_call(self) -> None:
        """A call leaves, and will be overdue."""
        self._due(self._settings.predicate_budget_ms)
        self.awake.set()

    def _watch_window(self) -> None:
        """Have scheduling stopped when too little is acknowledged, and go on later.

        Implements: EXT-6.
        """
        outgoing = self.conversation.outgoing
        if self.watcher is None:
            return
        if not self._held and outgoing.counted >= outgoing.window:
            self._held = True
            self.watcher.hold()
        elif self._held and outgoing.counted <= outgoing.window // 2:
            self._held = False
            self.watcher.release()


def _is_question(item: Effect | Question) -> bool:
    return isinstance(item, QUESTIONS)


def now_ns() -> int:
    """Return the time that sessions go by."""
    return time.monotonic_ns()
