"""The questions to an RM over its session, about nodes and about victims.

Both kinds count together for the limit of calls in flight and for the overdue calls in a row
(EXT-6, EXT-17). Event loop of the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from remuda.core.messages.commands import PredicateVerdict
from remuda.edges.grpc.bindings.preemption import GiveAboutVictims, Preemption
from remuda.edges.grpc.bindings.questions import Give, Questions
from remuda.runtime.answers import OpenPreemptionQuestion, OpenQuestion, Question
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol.calls import CallLoad
from remuda.si.protocol.conversation import Conversation
from remuda.si.protocol.terms import SessionLimits, Terms


class Inquiries:
    """The predicate calls of one session, of both kinds.

    Args:
        conversation: what sends them.
        terms: what was agreed on.
        budget_ms: how long an RM has for an answer.
        give: takes verdicts on nodes to the core.
        give_about_victims: takes verdicts on victims there.
        wake: called when there is something to send.

    Rules: EXT-5, EXT-6, EXT-10, EXT-13, EXT-17, EXT-18.
    """

    def __init__(
        self,
        conversation: Conversation[ext.RMFrame],
        terms: Terms,
        *,
        budget_ms: int,
        give: Give,
        give_about_victims: GiveAboutVictims,
        wake: Callable[[], None],
    ) -> None:
        self.load: Final = CallLoad(terms.limits.max_calls)
        self._give_to_core = give
        self.questions: Final = Questions(
            conversation, terms, budget_ms=budget_ms, give=self._give, load=self.load, wake=wake
        )
        self.preemption: Final = Preemption(
            conversation,
            terms,
            budget_ms=budget_ms,
            give=give_about_victims,
            load=self.load,
            changes=self.questions.changes,
            ask_nodes=self.questions.ask,
            wake=wake,
        )

    def ask(self, questions: Sequence[Question], now_ns: int) -> None:
        """Take questions in, and send what may be in flight. Rules: EXT-6, EXT-14, EXT-18."""
        self.preemption.ask(
            [each for each in questions if isinstance(each, OpenPreemptionQuestion)]
        )
        self.questions.ask([each for each in questions if isinstance(each, OpenQuestion)])
        self._send(now_ns)

    def give_none(self, questions: Sequence[Question]) -> None:
        """Tell the core that some questions were not answered. Rules: EXT-17."""
        self.preemption.give_none([e for e in questions if isinstance(e, OpenPreemptionQuestion)])
        self.questions.give_none([each for each in questions if isinstance(each, OpenQuestion)])

    def arrived(self, frame: ext.RMFrame) -> None:
        """An answer is there and will be dealt with in its turn. Rules: EXT-17."""
        if frame.HasField("nodes_predicates"):
            self.questions.calls.arrived(frame.nodes_predicates.call_id)
        elif frame.HasField("preemption_predicates"):
            self.preemption.calls.arrived(frame.preemption_predicates.call_id)

    def answer(self, frame: ext.RMFrame, now_ns: int) -> None:
        """Deal with an answer. Rules: EXT-5, EXT-17."""
        if frame.HasField("nodes_predicates"):
            self.questions.answer(frame.nodes_predicates)
        elif frame.HasField("preemption_predicates"):
            self.preemption.answer(frame.preemption_predicates)
        self._send(now_ns)

    def miss(self, now_ns: int) -> None:
        """End what is overdue. Rules: EXT-17."""
        self.preemption.miss(now_ns)
        self.questions.miss(now_ns)
        self._send(now_ns)

    def drop(self) -> None:
        """The stream is over, and with it all calls. Rules: EXT-10."""
        self.preemption.drop()
        self.questions.drop()

    def retune(self, limits: SessionLimits) -> None:
        """Keep to the limits that a resume agreed on. Rules: EXT-6, EXT-8."""
        self.load.limit = limits.max_calls
        self.preemption.retune(limits)

    def _give(self, verdicts: Sequence[PredicateVerdict]) -> None:
        """Take verdicts on nodes to the core, or to a question about victims that wants them."""
        for verdict in verdicts:
            if verdict.ticket < 0:
                self.preemption.answer_about_nodes(verdict)
        asked_by_core = [verdict for verdict in verdicts if verdict.ticket > 0]
        if asked_by_core:
            self._give_to_core(asked_by_core)

    def _send(self, now_ns: int) -> None:
        # Questions about victims are few, and must not wait for the end of the others.
        self.preemption.send(now_ns)
        self.questions.send(now_ns)
