"""Hands effects from the core thread to their receivers.

Each registered RM has one sink that gets that RM's effects in the order the core produced them
(SI-7); observers get every effect. Sinks run on the core thread. An edge with its own thread uses
``EdgeHandover`` as its sink; only there effects change threads.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar, runtime_checkable

from remuda.core.messages.effects import Effect, EventRecord
from remuda.core.ports import (
    NodesAnswer,
    NodesQuestion,
    Predicates,
    PreemptionAnswer,
    PreemptionPredicates,
    PreemptionQuestion,
    always_true,
    first_will_do,
)
from remuda.runtime.event_store import EventFeeds, EventStore, by_rm
from remuda.runtime.ports import EffectSink

_log = logging.getLogger("remuda.runtime")

T = TypeVar("T")

# The most effects that may wait for an edge; beyond it the edge loses all of them.
_HANDOVER_LIMIT: Final = 1_000_000


def no_sink(effects: Sequence[Effect]) -> None:
    """Ignore effects: the sink of an RM that wants no answers."""


def nobody() -> None:
    """Ignore the end of a registration."""


def always() -> bool:
    """Return True: the sink gets event records too."""
    return True


@dataclass(slots=True)
class Session:
    """The ports and receivers of one registered RM.

    ``predicates`` answers about nodes, ``preemption`` about victims. ``events`` stores the event
    records, if the RM reads them there. ``sink`` gets all effects; event records only while
    ``records`` returns True, because they are four of five effects and most sinks do not use them.

    ``ended`` is called once, on the core thread, when the registration ends for any cause: a newer
    one, a shutdown, a pause that lasted too long (RM-9, RM-17).
    """

    sink: EffectSink = no_sink
    predicates: Predicates | None = None
    ended: Callable[[], None] = nobody
    preemption: PreemptionPredicates | None = None
    events: EventStore | None = None
    records: Callable[[], bool] = always


@runtime_checkable
class Postponing(Protocol):
    """A predicate port that answers later, and sends its questions on request."""

    def flush(self) -> None:
        """Send the questions; the effects before them were handed out. Core thread."""
        ...


class Delivery:
    """Routes effects to RMs and observers, and predicate questions to the RM that owns them.

    ``asks_predicates``: some RM answers at once, so effects must be handed out before the next
    question. ``feeds``: the stores of event records.
    Implements: CYC-9, SI-9.
    """

    def __init__(self, feeds: EventFeeds | None = None) -> None:
        self._feeds = feeds or EventFeeds()
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._observers: tuple[tuple[EffectSink, bool], ...] = ()
        self.asks_predicates = False
        self._postponing: tuple[Postponing, ...] = ()

    def session(self, rm_id: str) -> Session | None:
        """Return the session of an RM. Core thread."""
        return self._sessions.get(rm_id)

    def open(self, rm_id: str, session: Session) -> None:
        """Route the effects of ``rm_id`` to ``session`` from now on. Core thread."""
        with self._lock:
            self._sessions[rm_id] = session
            self._feeds.open(rm_id, session.events)
            self._find_predicates()

    def close(self, rm_id: str) -> None:
        """Stop routing to this RM; its sink gets no further effects (RM-9). Core thread."""
        with self._lock:
            session = self._sessions.pop(rm_id, None)
            self._feeds.close(rm_id)
            self._find_predicates()
        if session is not None:
            try:
                session.ended()
            except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
                _log.error("a receiver failed at the end of its registration, ignored: %r", error)

    def _find_predicates(self) -> None:
        every = [port for s in self._sessions.values() for port in (s.predicates, s.preemption)]
        ports = [port for port in every if port is not None]
        self._postponing = tuple([port for port in ports if isinstance(port, Postponing)])
        self.asks_predicates = len(ports) > len(self._postponing)

    def flush(self) -> None:
        """Send the questions asked meanwhile. Core thread. Rules: EXT-4."""
        for port in self._postponing:
            port.flush()

    def observe(self, observer: EffectSink, *, records: bool = True) -> Callable[[], None]:
        """Send every effect batch to ``observer`` too, until the result is called.

        ``records``: with the event records.
        """
        entry = (observer, records)
        with self._lock:
            self._observers = (*self._observers, entry)

        def forget() -> None:
            with self._lock:
                self._observers = tuple(each for each in self._observers if each is not entry)

        return forget

    def deliver(self, effects: Sequence[Effect]) -> None:
        """Hand a batch out: each RM gets its own effects in order, observers get all.

        Core thread.

        Event records are in the store of the RM before its sink is called.

        Rules: SI-7, SI-8 (an error of a receiver is logged and otherwise ignored), EVT-92.
        """
        if not effects:
            return
        records = [effect for effect in effects if type(effect) is EventRecord]
        others = effects
        if records:
            self._feeds.offer(records)
            others = [effect for effect in effects if type(effect) is not EventRecord]
        if len(self._sessions) == 1:
            rm_id, session = next(iter(self._sessions.items()))
            some = effects if session.records() else others
            self._call(session.sink, [effect for effect in some if effect.rm_id == rm_id])
        elif self._sessions:
            self._split(effects, others)
        for observer, whole in self._observers:
            self._call(observer, effects if whole else others)

    def _split(self, effects: Sequence[Effect], others: Sequence[Effect]) -> None:
        """Hand effects out to several RMs; ``others``: the effects that are no event records."""
        whole = {rm_id for rm_id, session in self._sessions.items() if session.records()}
        for rm_id, own in by_rm(effects if whole else others).items():
            session = self._sessions.get(rm_id)
            if session is None:
                continue
            if not whole or rm_id in whole:
                self._call(session.sink, own)
            else:
                plain = [effect for effect in own if type(effect) is not EventRecord]
                self._call(session.sink, plain)

    @staticmethod
    def _call(sink: EffectSink, effects: Sequence[Effect]) -> None:
        if not effects:
            return
        try:
            sink(effects)
        except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
            _log.error("a receiver of scheduler effects failed, ignored: %r", error)
            _log.debug("traceback of the receiver's failure", exc_info=True)

    def predicates(self, question: NodesQuestion) -> NodesAnswer:
        """The predicate port of the core: asks the RM that owns the ask. Rules: SI-80, SI-106."""
        session = self._sessions.get(question.rm_id)
        if session is None or session.predicates is None:
            return always_true(question)
        return session.predicates(question)

    def preemption(self, question: PreemptionQuestion) -> PreemptionAnswer:
        """The port of the core for victims: asks the RM that owns the ask. Rules: SI-81, PRE-28."""
        session = self._sessions.get(question.rm_id)
        if session is None or session.preemption is None:
            return first_will_do(question)
        return session.preemption(question)


class EdgeHandover(Generic[T]):
    """A sink that hands effects over to an asyncio loop, in order and with few wake-ups.

    Other messages that must keep their place among the effects, such as questions, go the same way.
    At most ``limit`` effects wait for the asyncio loop. If more would wait, all are dropped and
    ``overflowed`` is called once in that loop, because the receiver's view is incomplete from then
    on.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        receive: Callable[[Sequence[T]], object],
        overflowed: Callable[[], None],
        limit: int = _HANDOVER_LIMIT,
    ) -> None:
        self._loop = loop
        self._receive = receive
        self._overflowed = overflowed
        self._limit = limit
        self._lock = threading.Lock()
        self._waiting: list[T] = []
        self._lost = False

    def __call__(self, effects: Sequence[T]) -> None:
        """Queue ``effects`` for the asyncio loop. Core thread."""
        with self._lock:
            if self._lost:
                return
            first = not self._waiting
            self._waiting.extend(effects)
            self._lost = len(self._waiting) > self._limit
        if first:
            try:
                self._loop.call_soon_threadsafe(self._drain)
            except RuntimeError:
                _log.debug("effects dropped: the edge has ended")

    def _drain(self) -> None:
        with self._lock:
            effects, self._waiting = self._waiting, []
            lost = self._lost
        if lost:
            self._overflowed()
        else:
            self._receive(effects)
