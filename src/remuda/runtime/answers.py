"""Predicates of resource managers that are elsewhere: questions go out, verdicts come back later.

The core asks through a port, about nodes or victims, and goes on at once with the number under
which the answer follows (EXT-14), so an RM that is slow delays nobody else. What is asked in a step
leaves after the effects of that step, so that the RM knows of every earlier allocation before it
judges (EXT-4). The verdicts come back as a command, so that a recording holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, Generic, TypeAlias, TypeVar

from remuda.base.message import message
from remuda.core.messages.commands import (
    BindPredicates,
    Command,
    PredicateVerdict,
    PredicateVerdicts,
    PreemptionVerdicts,
)
from remuda.core.messages.effects import Effect
from remuda.core.ports import (
    NodesAnswer,
    NodesQuestion,
    PreemptionAnswer,
    PreemptionQuestion,
    PreemptionVerdict,
)
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


@message
class OpenPreemptionQuestion:
    """A question about victims that left the core through ``port``."""

    ticket: int
    question: PreemptionQuestion
    port: LaterPreemption | None = None


Question: TypeAlias = OpenQuestion | OpenPreemptionQuestion

# The same for isinstance, which takes three times as long with an alias; it is asked of all that
# is handed out.
QUESTIONS: Final = (OpenQuestion, OpenPreemptionQuestion)
Q = TypeVar("Q", OpenQuestion, OpenPreemptionQuestion)


class _Later(Generic[Q]):
    """Questions that were asked and have not left yet, and the tickets given so far."""

    def __init__(self, ask: Callable[[Sequence[Q]], None]) -> None:
        self._ask: Final[Callable[[Sequence[Q]], None]] = ask
        self._tickets = 0
        self._waiting: list[Q] = []

    def flush(self) -> None:
        """Let what was asked leave, after the effects before it. Core thread. Rules: EXT-4."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._ask(waiting)


class LaterPredicates(_Later[OpenQuestion]):
    """The predicate port of an RM that answers later. Rules: EXT-13, EXT-14.

    Args:
        ask: takes questions on the core thread; must return at once.
        nodes_limit: candidates one question may have; may be changed between questions.
    """

    def __init__(self, ask: Callable[[Sequence[OpenQuestion]], None], nodes_limit: int) -> None:
        super().__init__(ask)
        self.nodes_limit = nodes_limit

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Note a question and say under which number its answer comes. Core thread."""
        self._tickets += 1
        asked = min(self.nodes_limit, len(question.node_ids))
        self._waiting.append(OpenQuestion(self._tickets, question, asked, self))
        return NodesAnswer(-1, ticket=self._tickets, asked=asked)


class LaterPreemption(_Later[OpenPreemptionQuestion]):
    """The port for victims of an RM that answers later. Rules: EXT-18.

    Args:
        ask: takes questions on the core thread; must return at once.
    """

    def __call__(self, question: PreemptionQuestion) -> PreemptionAnswer:
        """Note a question and say under which number its answer comes. Core thread."""
        self._tickets += 1
        self._waiting.append(OpenPreemptionQuestion(self._tickets, question, self))
        return PreemptionAnswer(ticket=self._tickets)


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

    def give_about_victims(
        self,
        rm_id: str,
        port: LaterPreemption,
        ticket: int,
        verdicts: Sequence[PreemptionVerdict],
    ) -> Future[bool]:
        """Tell the core what came of a question about victims; no verdicts: no answer came.

        False, and nothing happens, if the RM is not asked through that port any more.
        """
        told = tuple([(verdict.success, verdict.index) for verdict in verdicts])
        command = PreemptionVerdicts(rm_id, ticket, told)
        work = partial(self._take_about_victims, port, command)
        return self._send(Errand(work, touches_core=True))

    def bind(
        self,
        rm_id: str,
        port: LaterPredicates | None,
        sink: EffectSink,
        victims: LaterPreemption | None = None,
    ) -> Future[bool]:
        """Ask an RM through ``port`` from now on; what was asked before is over.

        ``sink``: of which registration the RM is. False, and nothing happens, if that is over.
        ``victims``: through which it is asked about victims. None: it is not asked about that.
        """
        work = partial(self._bind, rm_id, port, sink, victims)
        return self._send(Errand(work, touches_core=True))

    def unbind(
        self, rm_id: str, port: LaterPredicates | None, victims: LaterPreemption | None = None
    ) -> Future[bool]:
        """Do not ask an RM any more. False if it is not asked through these ports any more."""
        return self._send(Errand(partial(self._unbind, rm_id, port, victims), touches_core=True))

    def _take(
        self, rm_id: str, port: LaterPredicates, verdicts: tuple[PredicateVerdict, ...]
    ) -> bool:
        session = self._delivery.session(rm_id)
        if session is None or session.predicates is not port:
            return False
        self._handle(PredicateVerdicts(rm_id, verdicts))
        return True

    def _take_about_victims(self, port: LaterPreemption, command: PreemptionVerdicts) -> bool:
        session = self._delivery.session(command.rm_id)
        if session is None or session.preemption is not port:
            return False
        self._handle(command)
        return True

    def _bind(
        self,
        rm_id: str,
        port: LaterPredicates | None,
        sink: EffectSink,
        victims: LaterPreemption | None,
    ) -> bool:
        session = self._delivery.session(rm_id)
        if session is None or session.sink is not sink:
            return False
        # First nobody, so that what is open at another port is over.
        self._ask_through(rm_id, session, None, None)
        self._ask_through(rm_id, session, port, victims)
        return True

    def _unbind(
        self, rm_id: str, port: LaterPredicates | None, victims: LaterPreemption | None
    ) -> bool:
        session = self._delivery.session(rm_id)
        if session is None or (session.predicates, session.preemption) != (port, victims):
            return False
        self._ask_through(rm_id, session, None, None)
        return True

    def _ask_through(
        self,
        rm_id: str,
        session: Session,
        port: LaterPredicates | None,
        victims: LaterPreemption | None,
    ) -> None:
        session.predicates, session.preemption = port, victims
        self._delivery.open(rm_id, session)
        self._handle(
            BindPredicates(rm_id, predicates=port is not None, preemption=victims is not None)
        )
