"""How a resource manager in this process is asked which nodes an ask may go to.

A callback has one of two members, or none. ``predicates(args)`` is asked about one node after
another, until one passes; raising is how it refuses a node. ``nodes_predicates(items)`` is asked
about many nodes in one call: it gets items like those of the message ``NodesPredicates`` of
extension.proto and returns one result for each, in the same order (``remuda.si.predicates``):

    def nodes_predicates(self, items):
        return [
            NodesPredicatesItemResult(
                fit=[at for at, node_id in enumerate(item.node_ids) if self.likes(node_id)][:1]
            )
            for item in items
        ]

A callback that has both is asked through the second. Whatever it does, the scheduler goes on: an
error refuses what it was asked about, and so does an answer that makes no sense.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates, one_by_one
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import (
    NO_REASON,
    NodesPredicatesItem,
    clean,
    fit_of,
    reasons_of,
    results_of,
    text_of,
)

_log = logging.getLogger("remuda.si")


def port_of(callback: object) -> Predicates | None:
    """Return the predicate port that asks a callback, None if it has no member for it.

    The port never raises. Rules: SI-80, SI-106, NOD-13, EXT-22.
    """
    many = getattr(callback, "nodes_predicates", None)
    if many is not None:
        return _Batched(many)
    single = getattr(callback, "predicates", None)
    return None if single is None else _OneByOne(single)


class _OneByOne:
    """Asks about one node at a time and stops at the first that passes. Rules: SI-80, EXT-22."""

    def __init__(self, ask: Callable[[si.PredicatesArgs], object]) -> None:
        self._ask = ask

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Return the first node for which the callback does not raise."""
        return one_by_one(question, partial(self._refusal, question))

    def _refusal(self, question: NodesQuestion, node_id: str) -> str:
        args = si.PredicatesArgs(
            allocationKey=question.allocation_key, nodeID=node_id, allocate=question.allocate
        )
        try:
            self._ask(args)
        except Exception as error:  # noqa: BLE001 - raising is how a predicate says no
            return text_of(error)
        return ""


class _Batched:
    """Asks about all nodes of a question at once. Rules: SI-80, EXT-22.

    ``_complaint``: the latest fault of an answer, so it is logged once, not each time.
    """

    def __init__(self, ask: Callable[[list[NodesPredicatesItem]], Any]) -> None:
        self._ask = ask
        self._complaint = ""

    def __call__(self, question: NodesQuestion) -> NodesAnswer:
        """Return the callback's verdict; all nodes are refused if it has none."""
        item = NodesPredicatesItem(
            question.application_id, question.allocation_key, question.allocate, question.node_ids
        )
        try:
            results = self._ask([item])
        except Exception as error:  # noqa: BLE001 - raising is how a predicate says no
            return _refusing(question, text_of(error))
        try:
            return _answer(question, results)
        except Exception as error:  # noqa: BLE001 - theirs may be any object
            complaint = text_of(error)
        if complaint != self._complaint:
            self._complaint = complaint
            _log.error(
                "nodes_predicates of resource manager %r gave an answer that makes no sense, "
                "its nodes are not used: %s",
                question.rm_id,
                complaint,
            )
        return _refusing(question, f"nodes_predicates gave no usable answer: {complaint}")


def _answer(question: NodesQuestion, answer: object) -> NodesAnswer:
    """Translate what a callback returned. Raises: NonsenseError."""
    count = len(question.node_ids)
    (result,) = results_of(answer, 1)
    if result.error:
        return _refusing(question, clean(result.error))
    fit = fit_of(result, count)
    passed = fit[0] if fit else -1
    reasons = reasons_of(result, count)
    before = count if passed < 0 else passed
    return NodesAnswer(passed, tuple(reasons.get(index, NO_REASON) for index in range(before)))


def _refusing(question: NodesQuestion, reason: str) -> NodesAnswer:
    """Return the answer that refuses each node for the same reason."""
    return NodesAnswer(-1, (reason,) * len(question.node_ids))
