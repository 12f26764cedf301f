"""The ports through which the core asks the RM of one session, and the way back of its verdicts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from remuda.core.messages.commands import PredicateVerdict
from remuda.core.ports import PreemptionVerdict
from remuda.edges.grpc.bindings.questions import nodes_limit
from remuda.runtime.answers import (
    LaterPredicates,
    LaterPreemption,
    OpenPreemptionQuestion,
    Question,
)
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.ports import EffectSink
from remuda.si.protocol.terms import PREDICATES, PREEMPTION_PREDICATES, SessionLimits, Terms


class Ports:
    """The ports of a session; ``nodes`` or ``victims`` None: the core does not ask about these.

    Rules: EXT-12, EXT-13, EXT-18, EXT-20.
    """

    def __init__(self, core: SchedulerLoop, rm_id: str) -> None:
        self._core = core
        self._rm_id = rm_id
        self.nodes: LaterPredicates | None = None
        self.victims: LaterPreemption | None = None

    def open(self, terms: Terms, hand_over: Callable[[Sequence[Question]], None]) -> None:
        """Have the session asked about what is agreed on. Rules: EXT-20.

        ``hand_over`` takes questions, after the effects before them, on the core thread.
        """
        if terms.has(PREDICATES):
            self.nodes = LaterPredicates(hand_over, nodes_limit(terms.limits))
        if terms.has(PREEMPTION_PREDICATES):
            self.victims = LaterPreemption(hand_over)

    def retune(self, limits: SessionLimits) -> None:
        """Keep to the limits that a resume agreed on. Rules: EXT-8, EXT-13."""
        if self.nodes is not None:
            self.nodes.nodes_limit = nodes_limit(limits)

    def own(self, question: Question) -> bool:
        """Whether a question was asked through these ports, and not those of a session before."""
        return question.port is not None and question.port in (self.nodes, self.victims)

    async def bind(self, sink: EffectSink) -> bool:
        """Have the core ask through these ports. False: there are none. Rules: EXT-12."""
        if self.nodes is None and self.victims is None:
            return False
        bound = self._core.answers.bind(self._rm_id, self.nodes, sink, self.victims)
        await asyncio.wrap_future(bound)
        return True

    async def unbind(self) -> None:
        """Do not have the core ask any more. Rules: EXT-12."""
        if self.nodes is not None or self.victims is not None:
            unbound = self._core.answers.unbind(self._rm_id, self.nodes, self.victims)
            await asyncio.wrap_future(unbound)

    def give(self, verdicts: Sequence[PredicateVerdict]) -> None:
        """Take verdicts on nodes to the core."""
        if self.nodes is not None:
            self._core.answers.give(self._rm_id, self.nodes, verdicts)

    def give_about_victims(
        self, question: OpenPreemptionQuestion, verdicts: Sequence[PreemptionVerdict]
    ) -> None:
        """Take verdicts on victims to the core; none: no answer came. Rules: EXT-18."""
        if self.victims is not None:
            ticket = question.ticket
            self._core.answers.give_about_victims(self._rm_id, self.victims, ticket, verdicts)
