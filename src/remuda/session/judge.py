"""Answers questions about nodes and victims with the predicates of a callback (SI-80, SI-81)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import (
    FIRST_FIT,
    NO_REASON,
    NodesPredicatesItem,
    NodesPredicatesItemResult,
    NonsenseError,
    clean,
    fit_of,
    reasons_of,
    results_of,
    text_of,
)

_log = logging.getLogger("remuda.session")

Result = ext.NodesPredicatesItemResult


class UnknownAllocationError(Exception):
    """Raised by a callback for an ask it no longer has: it is left alone for a second (EXT-17)."""


class Judge:
    """Asks a callback about nodes and victims; without predicates every node passes.

    ``nodes_predicates(items)`` is asked about all asks of a call at once, ``predicates(args)``
    about one node after another. Raising is how either says no. ``preemption_predicates(args)`` is
    asked whether a node would do without some of what is there.

    Rules: EXT-5, EXT-13, EXT-16, EXT-18, SI-80, SI-81.
    """

    def __init__(self, callback: object) -> None:
        self._many: Callable[[list[NodesPredicatesItem]], Any] | None = getattr(
            callback, "nodes_predicates", None
        )
        self._single: Callable[[si.PredicatesArgs], object] | None = getattr(
            callback, "predicates", None
        )
        self._victims: Callable[[si.PreemptionPredicatesArgs], object] | None = getattr(
            callback, "preemption_predicates", None
        )

    def verdicts(
        self, items: Iterable[ext.NodesPredicatesItem], nodes: Mapping[int, str]
    ) -> list[Result]:
        """Return a verdict for each item; ``nodes``: names by handle."""
        asked: list[NodesPredicatesItem] = []
        for item in items:
            try:
                asked.append(_item(item, nodes))
            except KeyError as error:
                text = f"node handle {error} is not known"
                return [Result(status=Result.ERROR, error=text) for _ in items]
        if self._many is not None:
            return self._ask_for_all(self._many, asked)
        if self._single is None:
            return [_passing(len(item.node_ids), range(len(item.node_ids)), ()) for item in asked]
        return [_one_by_one(self._single, item) for item in asked]

    def about_victims(self, call: ext.PreemptionPredicates) -> ext.PreemptionPredicatesResult:
        """Return a verdict for each item, best first, if wanted up to the first success.

        If no victim is needed, the predicates for nodes answer. Rules: EXT-18, SI-81.
        """
        result = ext.PreemptionPredicatesResult(call_id=call.call_id)
        for item in call.items:
            verdict = self._victim(item) if item.preemptAllocationKeys else self._nobody(item)
            result.items.append(verdict)
            if call.first_success and verdict.success:
                break
        return result

    def _victim(self, item: si.PreemptionPredicatesArgs) -> si.PreemptionPredicatesResponse:
        """Ask about one node; an error or an invalid response is a failure of that node."""
        if self._victims is None:
            return si.PreemptionPredicatesResponse(success=True, index=item.startIndex)
        try:
            found = self._victims(item)
            if isinstance(found, si.PreemptionPredicatesResponse):
                return found
            text = f"it returned {type(found).__name__}"
        except Exception as error:  # noqa: BLE001 - theirs, not ours (SI-8)
            text = f"it raised {text_of(error)}"
        _log.error("preemption_predicates gave no answer for node %s: %s", item.nodeID, text)
        return si.PreemptionPredicatesResponse(success=False, index=-1)

    def _nobody(self, item: si.PreemptionPredicatesArgs) -> si.PreemptionPredicatesResponse:
        asked = ext.NodesPredicatesItem(
            allocation_key=item.allocationKey, node_ids=[item.nodeID], allocate=True
        )
        (verdict,) = self.verdicts([asked], {})
        return si.PreemptionPredicatesResponse(success=bool(verdict.fit), index=-1)

    def _ask_for_all(
        self,
        ask: Callable[[list[NodesPredicatesItem]], Any],
        items: list[NodesPredicatesItem],
    ) -> list[Result]:
        try:
            results = results_of(ask(items), len(items))
        except UnknownAllocationError:
            return [Result(status=Result.UNKNOWN_ALLOCATION) for _ in items]
        except Exception as error:  # noqa: BLE001 - raising is how a predicate says no
            return [_refusing(item, text_of(error)) for item in items]
        return [_checked(item, result) for item, result in zip(items, results, strict=True)]


def _item(item: ext.NodesPredicatesItem, nodes: Mapping[int, str]) -> NodesPredicatesItem:
    """Return an item in the form of callbacks. Raises: KeyError for an unknown handle."""
    named = tuple(item.node_ids) or tuple([nodes[handle] for handle in item.handles])
    several = item.mode != ext.NodesPredicatesItem.FIRST_FIT
    return NodesPredicatesItem(
        item.application_id,
        item.allocation_key,
        item.allocate,
        named,
        int(item.mode),
        (item.want or len(named)) if several else 1,
    )


def _one_by_one(ask: Callable[[si.PredicatesArgs], object], item: NodesPredicatesItem) -> Result:
    """Ask about one node after another until enough pass. Rules: EXT-13."""
    fit: list[int] = []
    reasons: dict[int, str] = {}
    for index, node_id in enumerate(item.node_ids):
        args = si.PredicatesArgs(
            allocationKey=item.allocation_key, nodeID=node_id, allocate=item.allocate
        )
        try:
            ask(args)
        except UnknownAllocationError:
            return Result(status=Result.UNKNOWN_ALLOCATION)
        except Exception as error:  # noqa: BLE001 - raising is how a predicate says no
            reasons[index] = text_of(error)
            continue
        fit.append(index)
        if len(fit) == item.want:
            break
    return _verdict(item, fit, reasons)


def _checked(item: NodesPredicatesItem, result: NodesPredicatesItemResult) -> Result:
    """Translate what a callback returned for one item; nonsense refuses its nodes."""
    count = len(item.node_ids)
    try:
        if result.error:
            return _refusing(item, clean(result.error))
        return _verdict(item, fit_of(result, count), reasons_of(result, count))
    except Exception as error:  # noqa: BLE001 - theirs may be any object
        text = error if isinstance(error, NonsenseError) else text_of(error)
        return _refusing(item, f"nodes_predicates gave no usable answer: {text}")


def _verdict(item: NodesPredicatesItem, fit: Sequence[int], reasons: Mapping[int, str]) -> Result:
    """Return the nodes that pass and why those before them fail; later nodes are ignored."""
    wanted = fit[:1] if item.mode == FIRST_FIT else fit[: item.want]
    evaluated = len(item.node_ids)
    if wanted and item.mode != ext.NodesPredicatesItem.ALL:
        evaluated = wanted[-1] + 1
    passing = dict.fromkeys(wanted)
    refused = [index for index in range(evaluated) if index not in passing]
    return _passing(
        evaluated, wanted, [(index, reasons.get(index, NO_REASON)) for index in refused]
    )


def _refusing(item: NodesPredicatesItem, reason: str) -> Result:
    count = len(item.node_ids)
    return _passing(count, (), [(index, reason) for index in range(count)])


def _passing(evaluated: int, fit: Sequence[int], refused: Iterable[tuple[int, str]]) -> Result:
    """Build a result; failures are grouped by reason. Rules: EXT-16."""
    groups: dict[str, list[int]] = {}
    for index, reason in refused:
        groups.setdefault(reason, []).append(index)
    return Result(
        status=Result.EVALUATED,
        fit=fit,
        evaluated=evaluated,
        failures=[
            ext.PredicateFailure(reason=reason, candidates=candidates, count=len(candidates))
            for reason, candidates in groups.items()
        ],
    )
