"""Predicates of resource managers that are elsewhere: questions go out, verdicts come back later.

The core asks through a port and goes on at once with the number under which the answer follows
(EXT-14), so an RM that is slow delays nobody else. What is asked during a step leaves after the
effects of that step, so that the RM knows of every earlier allocation before it judges (EXT-4). The
verdicts come back as a command, so that a recording holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TypeAlias

from remuda.base.message import message
from remuda.core.messages.commands import (
    BindPredicates,
    Command,
    PredicateVerdict,
    PredicateVerdicts,
)
from remuda.core.messages.effects import Effect
from remuda.core.ports import NodesAnswer, NodesQuestion
from remuda.runtime.delivery import Delivery, Session
from remuda.runtime.errand import Errand, Send
from remuda.runtime.ports import EffectSink


@message
class OpenQuestion:
    """A question that left the core. Of its nodes only the first ``asked`` are meant.

    ``port``: through which it left. Each counts its tickets for itself.
    """

    ticket: int
    question: NodesQuestion
    asked: int
    port: LaterPredicates | None = None


Asker: TypeAlias = Callable[[Sequence[OpenQuestion]], None]


class LaterPredicates:
    """The predicate port of an RM that answers later. Rules: EXT-13, EXT-14.

    Args:
        ask: takes questions on the core thread; must return at once.
        nodes_limit: candidates one question may have; may be changed between questions.
    """

    def __init__(self, ask: Asker, nodes_limit: int) -> None:
        self._ask = ask
        self._tickets = 0
        self._waiting: list[OpenQuestion] = []
        self.nodes_limit = nodes_limit

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Note a question and say under which number its answer comes. Core thread."""
        self._tickets += 1
        asked = min(self.nodes_limit, len(question.node_ids))
        self._waiting.append(OpenQuestion(self._tickets, question, asked, self))
        return NodesAnswer(-1, ticket=self._tickets, asked=asked)

    def flush(self) -> None:
        """Let what was asked leave, after the effects before it. Core thread. Rules: EXT-4."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._ask(waiting)


class Answers:
    """What edges bring back from RMs that are asked over a distance. Any thread.

    Args:
        delivery: knows which RM is asked through which port.
        handle: applies a command on the core thread.
        send: brings an errand there.

    Rules: EXT-5, EXT-12, EXT-17.
    """

    def __init__(
        self, delivery: Delivery, handle: Callable[[Command], Sequence[Effect]], send: Send
    ) -> None:
        self._delivery = delivery
        self._handle = handle
        self._send = send

    def give(
        self, rm_id: str, port: LaterPredicates, verdicts: Sequence[PredicateVerdict]
    ) -> Future[bool]:
        """Tell the core what came of questions that went out through ``port``.

        False, and nothing happens, if the RM is not asked through that port any more.
        """
        work = partial(self._take, rm_id, port, tuple(verdicts))
        return self._send(Errand(work, touches_core=True))

    def bind(self, rm_id: str, port: LaterPredicates, sink: EffectSink) -> Future[bool]:
        """Ask an RM through ``port`` from now on; what was asked before is over.

        ``sink``: of which registration the RM is. False, and nothing happens, if that is over.
        """
        return self._send(Errand(partial(self._bind, rm_id, port, sink), touches_core=True))

    def unbind(self, rm_id: str, port: LaterPredicates) -> Future[bool]:
        """Do not ask an RM any more. False if it is not asked through ``port`` any more."""
        return self._send(Errand(partial(self._unbind, rm_id, port), touches_core=True))

    def _take(
        self, rm_id: str, port: LaterPredicates, verdicts: tuple[PredicateVerdict, ...]
    ) -> bool:
        session = self._delivery.session(rm_id)
        if session is None or session.predicates is not port:
            return False
        self._handle(PredicateVerdicts(rm_id, verdicts))
        return True

    def _bind(self, rm_id: str, port: LaterPredicates, sink: EffectSink) -> bool:
        session = self._delivery.session(rm_id)
        if session is None or session.sink is not sink:
            return False
        # First nobody, so that what is open at another port is over.
        self._ask_through(rm_id, session, None)
        self._ask_through(rm_id, session, port)
        return True

    def _unbind(self, rm_id: str, port: LaterPredicates) -> bool:
        session = self._delivery.session(rm_id)
        if session is None or session.predicates is not port:
            return False
        self._ask_through(rm_id, session, None)
        return True

    def _ask_through(self, rm_id: str, session: Session, port: LaterPredicates | None) -> None:
        session.predicates = port
        self._delivery.open(rm_id, session)
        self._handle(BindPredicates(rm_id, predicates=port is not None))
