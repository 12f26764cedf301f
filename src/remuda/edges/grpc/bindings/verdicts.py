"""Translates any answer of an RM about one ask into a verdict for the core.

An invalid answer counts as none: its nodes are not used this time, and the log has the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from remuda.core.messages.commands import PredicateVerdict
from remuda.si.pb import extension_pb2 as ext
from remuda.si.predicates import NO_REASON, REASON_LIMIT

_log = logging.getLogger("remuda.si")

_Result = ext.NodesPredicatesItemResult


def verdict_of(
    ticket: int,
    node_ids: Sequence[str],
    result: ext.NodesPredicatesItemResult,
    void: Sequence[str],
) -> PredicateVerdict:
    """Return the verdict on the nodes of one question.

    Evaluated nodes that are not among the fitting ones are refused. Nodes that were not evaluated
    are left out. Rules: EXT-5, EXT-13, EXT-16, EXT-17.
    """
    if result.status == _Result.UNKNOWN_ALLOCATION:
        return PredicateVerdict(ticket, unknown=True)
    if result.status != _Result.EVALUATED:
        return PredicateVerdict(ticket)
    fault = _fault(result, len(node_ids))
    if fault:
        _log.warning("an answer to predicates makes no sense, its nodes are not used: %s", fault)
        return PredicateVerdict(ticket)
    fit = dict.fromkeys(result.fit)
    reasons = _reasons(result)
    return PredicateVerdict(
        ticket,
        passed=tuple([node_ids[index] for index in fit]),
        refused=tuple(
            [
                (node_ids[index], reasons.get(index, NO_REASON))
                for index in range(result.evaluated)
                if index not in fit
            ]
        ),
        void=tuple(void),
    )


def _fault(result: ext.NodesPredicatesItemResult, count: int) -> str:
    """Return why an answer cannot be one, "" if it can. Rules: EXT-13."""
    evaluated = result.evaluated
    if evaluated > count:
        return f"{evaluated} of {count} nodes are said to be evaluated"
    before = -1
    for index in result.fit:
        if not before < index < evaluated:
            return f"fit has {index} after {before} with {evaluated} nodes evaluated"
        before = index
    for failure in result.failures:
        for index in failure.candidates:
            if index >= count:
                return f"candidates has {index}, not an index of {count} nodes"
    return ""


def _reasons(result: ext.NodesPredicatesItemResult) -> dict[int, str]:
    """Return the reason for each node that has one; the first reason counts. Implements: EXT-16.

    The list of candidates may be cut: a single reason is that of all nodes.
    """
    reasons: dict[int, str] = {}
    for failure in result.failures:
        reason = failure.reason[:REASON_LIMIT] or NO_REASON
        for index in failure.candidates:
            reasons.setdefault(index, reason)
    if len(result.failures) == 1:
        reason = result.failures[0].reason[:REASON_LIMIT] or NO_REASON
        for index in range(result.evaluated):
            reasons.setdefault(index, reason)
    return reasons
