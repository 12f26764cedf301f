"""The predicate port of tests that care for one node at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates

# RM, allocation key, node, allocate -> why the node is refused, "" if it is not.
Verdict: TypeAlias = Callable[[str, str, str, bool], str]


def one_by_one(verdict: Verdict) -> Predicates:
    """A port that looks at one node after another and stops at the first that passes."""

    def ask(question: NodesQuestion) -> NodesAnswer:
        refusals: list[str] = []
        for index, node_id in enumerate(question.node_ids):
            reason = verdict(question.rm_id, question.allocation_key, node_id, question.allocate)
            if not reason:
                return NodesAnswer(index, tuple(refusals))
            refusals.append(reason)
        return NodesAnswer(-1, tuple(refusals))

    return ask
