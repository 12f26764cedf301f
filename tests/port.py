"""The predicate port of tests that care for one node at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates
from remuda.core.ports import one_by_one as judge

# RM, allocation key, node, allocate -> why the node is refused, "" if it is not.
Verdict: TypeAlias = Callable[[str, str, str, bool], str]


def one_by_one(verdict: Verdict) -> Predicates:
    """A port that looks at one node after another and stops at the first that passes."""

    def ask(question: NodesQuestion) -> NodesAnswer:
        key, allocate = question.allocation_key, question.allocate
        return judge(question, lambda node_id: verdict(question.rm_id, key, node_id, allocate))

    return ask
