"""Answers the shadow's questions about nodes and victims from what resource managers said.

Nobody asks an RM for the shadow. The answers that the primary got are repeated; to a question that
it did not ask, each node is answered as the RM answered about it last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, final

from remuda.core.messages.commands import PredicateVerdicts
from remuda.core.ports import (
    NodesAnswer,
    NodesQuestion,
    PreemptionAnswer,
    PreemptionQuestion,
    first_will_do,
    one_by_one,
)

_Answer: TypeAlias = NodesAnswer | PreemptionAnswer
Answered: TypeAlias = tuple[NodesQuestion | PreemptionQuestion, _Answer]

# RM, predicate class or else application and key, whether it is to run there, node.
_Subject: TypeAlias = tuple[str, str, str, bool, str]

# How many verdicts and open questions are kept, the latest ones.
_KEPT: Final = 200_000


@final
class Verdicts:
    """The predicate ports of the shadow: itself, and ``about_victims``. Implements: EXT-130."""

    def __init__(self) -> None:
        self._given: list[Answered] = []
        self._refusals: dict[_Subject, str] = {}
        self._open: dict[tuple[str, int], NodesQuestion] = {}

    def give(self, answered: Sequence[Answered]) -> None:
        """Learn the answers that the primary got during its latest input."""
        self._given = list(answered)
        for question, answer in answered:
            if isinstance(question, NodesQuestion) and isinstance(answer, NodesAnswer):
                self._learn(question, answer)

    def hear(self, command: PredicateVerdicts) -> None:
        """Learn from verdicts that came later."""
        for verdict in command.verdicts:
            question = self._open.pop((command.rm_id, verdict.ticket), None)
            if question is not None:
                for node in verdict.passed:
                    self._refusals.pop(_subject(question, node), None)
                for node, reason in verdict.refused:
                    self._keep(question, node, reason)

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Return the answer that the primary got, or one from what is known of each node."""
        answer = self._given_to(question)
        if isinstance(answer, NodesAnswer):
            return answer
        return one_by_one(question, lambda node: self._refusals.get(_subject(question, node), ""))

    def about_victims(self, question: PreemptionQuestion) -> PreemptionAnswer:
        """Return the answer that the primary got, or that the first node will do."""
        answer = self._given_to(question)
        if isinstance(answer, PreemptionAnswer):
            return answer
        return first_will_do(question)

    def _given_to(self, question: NodesQuestion | PreemptionQuestion) -> _Answer | None:
        """Return what the primary got, None if it did not ask this.

        A ticket is for one question: the primary may ask the same again during one input.
        """
        for index, (asked, answer) in enumerate(self._given):
            if asked == question:
                if answer.ticket:
                    del self._given[index]
                return answer
        return None

    def _learn(self, question: NodesQuestion, answer: NodesAnswer) -> None:
        if answer.ticket:
            self._open[question.rm_id, answer.ticket] = question
            if len(self._open) > _KEPT:
                del self._open[next(iter(self._open))]
            return
        for node, reason in zip(question.node_ids, answer.refusals, strict=False):
            self._keep(question, node, reason)
        if answer.passed >= 0:
            self._refusals.pop(_subject(question, question.node_ids[answer.passed]), None)

    def _keep(self, question: NodesQuestion, node: str, reason: str) -> None:
        self._refusals[_subject(question, node)] = reason or "refused"
        if len(self._refusals) > _KEPT:
            del self._refusals[next(iter(self._refusals))]


def _subject(question: NodesQuestion, node: str) -> _Subject:
    """Return what a verdict is about: equal asks share it (EXT-15)."""
    named = question.equivalence
    application, key = ("", named) if named else (question.application_id, question.allocation_key)
    return question.rm_id, application, key, question.allocate, node
