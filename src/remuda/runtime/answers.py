"""Predicates of remote resource managers: questions are sent, verdicts come back later.

The core asks through a port, about nodes or victims, and goes on at once with the number under
which the answer follows (EXT-14), so an RM that is slow delays nobody else. Questions of a step are
sent after the effects of that step, so the RM knows every earlier allocation before it judges
(EXT-4). The verdicts come back as a command, so that a recording holds them.
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
from remuda.runtime.timings import Timings


@message
class OpenQuestion:
    """A question that left the core; it asks only about the first ``asked`` of its nodes.

    ``port``: the port through which it left; each port numbers its own tickets.
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

# The same for isinstance, which takes three times as long with an alias; it runs for every effect.
QUESTIONS: Final = (OpenQuestion, OpenPreemptionQuestion)
Q = TypeVar("Q", OpenQuestion, OpenPreemptionQuestion)


class _Later(Generic[Q]):
    """Questions that were asked and not sent yet, and the tickets given so far."""

    def __init__(self, ask: Callable[[Sequence[Q]], None]) -> None:
        self._ask: Final[Callable[[Sequence[Q]], None]] = ask
        self._tickets = 0
        self._waiting: list[Q] = []

    def flush(self) -> None:
        """Send the questions asked so far, after the effects before them. Core thread.

        Rules: EXT-4.
        """
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._ask(waiting)


class LaterPredicates(_Later[OpenQuestion]):
    """The predicate port of an RM that answers later. Rules: EXT-13, EXT-14.

    Args: ask: takes questions on the core thread; must return at once. nodes_limit: the most
        candidates of one question; may be changed between questions.
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
    """Brings the answers of remote RMs from the edges to the core. Any thread.

    Args:
        delivery: knows which RM is asked through which port.
        handle: applies a command on the core thread.
        send: brings an errand there.
        timings: measures how long the answers take.

    Rules: EXT-5, EXT-12, EXT-17.
    """

    def __init__(
        self,
        delivery: Delivery,
        handle: Callable[[Command], Sequence[Effect]],
        send: Send,
        timings: Timings,
    ) -> None:
        self._delivery = delivery
        self._timings = timings
        self._handle = handle
        self._send = send

    def give(
        self, rm_id: str, port: LaterPredicates, verdicts: Sequence[PredicateVerdict]
    ) -> Future[bool]:
        """Hand the core the verdicts on questions sent through ``port``.

        False, and nothing happens, if the RM is not asked through that port any more.
        """
        work = partial(self._take, rm_id, port, tuple(verdicts))
        return self._send(Errand(work, rm_id, touches_core=True))

    def give_about_victims(
        self,
        rm_id: str,
        port: LaterPreemption,
        ticket: int,
        verdicts: Sequence[PreemptionVerdict],
    ) -> Future[bool]:
        """Hand the core the verdicts on a question about victims; none: no answer came.

        False, and nothing happens, if the RM is not asked through that port any more.
        """
        told = tuple([(verdict.success, verdict.index) for verdict in verdicts])
        command = PreemptionVerdicts(rm_id, ticket, told)
        work = partial(self._take_about_victims, port, command)
        return self._send(Errand(work, rm_id, touches_core=True))

    def bind(
        self,
        rm_id: str,
        port: LaterPredicates | None,
        sink: EffectSink,
        victims: LaterPreemption | None = None,
    ) -> Future[bool]:
        """Ask an RM through ``port`` from now on; earlier questions end.

        ``sink``: the registration of the RM; if it has ended, the call does nothing and returns
        False. ``victims``: the port for questions about victims, None if the RM gets no such
        questions.
        """
        work = partial(self._bind, rm_id, port, sink, victims)
        return self._send(Errand(work, rm_id, touches_core=True))

    def unbind(
        self, rm_id: str, port: LaterPredicates | None, victims: LaterPreemption | None = None
    ) -> Future[bool]:
        """Ask an RM no longer. False if it was not asked through these ports."""
        work = partial(self._unbind, rm_id, port, victims)
        return self._send(Errand(work, rm_id, touches_core=True))

    def _take(
        self, rm_id: str, port: LaterPredicates, verdicts: tuple[PredicateVerdict, ...]
    ) -> bool:
        session = self._delivery.session(rm_id)
        if session is None or session.predicates is not port:
            return False
        self._timings.answered(rm_id, verdicts)
        self._handle(PredicateVerdicts(rm_id, verdicts))
        return True

    def _take_about_victims(self, port: LaterPreemption, command: PreemptionVerdicts) -> bool:
        session = self._delivery.session(command.rm_id)
        if session is None or session.preemption is not port:
            return False
        self._timings.answered_about_victims(command.rm_id, command.ticket)
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
        # Unbound first, so that the open questions at another port end.
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
        self._timings.forget(rm_id)
        self._delivery.open(rm_id, session)
        self._handle(
            BindPredicates(rm_id, predicates=port is not None, preemption=victims is not None)
        )
