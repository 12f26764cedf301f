"""How a resource manager in this process is asked which nodes an ask may go to.

A callback has one of two members, or none. ``predicates(args)`` is asked about one node after
another, until one passes; raising is how it refuses a node. ``nodes_predicates(items)`` is asked
about many nodes in one call: it gets items like those of the message ``NodesPredicates`` of
extension.proto and returns one result for each, in the same order:

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
import reprlib
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

from remuda.base.message import message
from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates, one_by_one
from remuda.si.pb import si_pb2 as si

_log = logging.getLogger("remuda.si")

# NodesPredicatesItem.Mode of extension.proto: nothing after the first node that passes matters.
FIRST_FIT: Final = 1

# Characters of a reason that are kept; it is counted, logged and sent in events.
_REASON_LIMIT: Final = 1_024

_NO_REASON: Final = "refused by the resource manager without a reason"


@message
class NodesPredicatesItem:
    """One ask and the nodes it could go to, in order of preference.

    ``allocate``: to run there; False: to reserve one. ``mode``: FIRST_FIT, there is no other yet.
    """

    application_id: str
    allocation_key: str
    allocate: bool
    node_ids: tuple[str, ...]
    mode: int = FIRST_FIT


@message
class PredicateFailure:
    """Why some nodes were refused. ``candidates``: their indexes in the item's ``node_ids``."""

    reason: str
    candidates: Sequence[int]


@message
class NodesPredicatesItemResult:
    """The verdict on one item.

    ``fit``: indexes of nodes that pass, ascending; after the first one they do not matter.
    ``failures``: reasons for those before; a node without one counts as refused all the same.
    ``error``: the item could not be judged and why, so that no node of it is used.
    """

    fit: Sequence[int] = ()
    failures: Sequence[PredicateFailure] = ()
    error: str = ""


class _NonsenseError(Exception):
    """An answer of a callback that cannot be one; the text says why."""


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
            return _text_of(error)
        return ""


class _Batched:
    """Asks about all nodes of a question at once. Rules: SI-80, EXT-22.

    ``_complaint``: what was wrong with an answer last, so that the log is told once, not each time.
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
            return _refusing(question, _text_of(error))
        try:
            return _answer(question, results)
        except Exception as error:  # noqa: BLE001 - theirs may be any object
            complaint = _text_of(error)
        if complaint != self._complaint:
            self._complaint = complaint
            _log.error(
                "nodes_predicates of resource manager %r gave an answer that makes no sense, "
                "its nodes are not used: %s",
                question.rm_id,
                complaint,
            )
        return _refusing(question, f"nodes_predicates gave no usable answer: {complaint}")


def _answer(question: NodesQuestion, results: object) -> NodesAnswer:
    """Translate what a callback returned. Raises: _NonsenseError."""
    if not isinstance(results, list | tuple) or len(results) != 1:
        raise _NonsenseError(f"not a list of one result for one item: {_shown(results)}")
    result = results[0]
    if not isinstance(result, NodesPredicatesItemResult):
        raise _NonsenseError(f"not a NodesPredicatesItemResult: {_shown(result)}")
    if result.error:
        return _refusing(question, _clean(result.error))
    count = len(question.node_ids)
    fit = _indexes(result.fit, count, "fit")
    if any(after <= before for before, after in pairwise(fit)):
        raise _NonsenseError(f"fit is not ascending: {_shown(fit)}")
    passed = fit[0] if fit else -1
    reasons = _reasons(result.failures, count)
    before = count if passed < 0 else passed
    return NodesAnswer(passed, tuple(reasons.get(index, _NO_REASON) for index in range(before)))


def _reasons(failures: Sequence[PredicateFailure], count: int) -> dict[int, str]:
    """Return the reason for each index that has one; the first one given counts."""
    reasons: dict[int, str] = {}
    for failure in failures:
        if not isinstance(failure, PredicateFailure):
            raise _NonsenseError(f"not a PredicateFailure: {_shown(failure)}")
        reason = _clean(failure.reason) or _NO_REASON
        for index in _indexes(failure.candidates, count, "candidates"):
            reasons.setdefault(index, reason)
    return reasons


def _indexes(given: object, count: int, name: str) -> list[int]:
    """Return given indexes of nodes. Raises: _NonsenseError if they are none."""
    if not isinstance(given, list | tuple | range):
        raise _NonsenseError(f"{name} is not a list of indexes: {_shown(given)}")
    for index in given:
        if type(index) is not int or not 0 <= index < count:
            raise _NonsenseError(f"{name} has {_shown(index)}, not an index of {count} nodes")
    return list(given)


def _refusing(question: NodesQuestion, reason: str) -> NodesAnswer:
    """Return the answer that refuses each node for the same reason."""
    return NodesAnswer(-1, (reason,) * len(question.node_ids))


def _text_of(error: Exception) -> str:
    """Return what an error says, or its kind if it says nothing."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - theirs, and it is about to be replaced anyway
        text = ""
    return _clean(text) or type(error).__name__


def _clean(text: object) -> str:
    """Return a text that can be recorded and sent: valid, and not without end."""
    if not isinstance(text, str):
        raise _NonsenseError(f"not a text: {_shown(text)}")
    return text[:_REASON_LIMIT].encode("utf-8", "replace").decode()


def _shown(given: object) -> str:
    """Return a short name of an object, whatever it is."""
    if given is None or isinstance(given, int | str | list | tuple):
        return reprlib.repr(given)
    return type(given).__name__
