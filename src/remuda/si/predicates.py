"""The items and results of a callback that judges many nodes at once.

A resource manager in the scheduler's process and one at the other end of a session have the same
callback (``nodes_predicates(items)``); what it returns may be anything, and is checked here.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from remuda.base.message import message

# NodesPredicatesItem.Mode of extension.proto: only the first node that passes is used; only the
# first ``want`` of them are.
FIRST_FIT: Final = 1
FIRST_N: Final = 2

# Characters of a reason that are kept; it is counted, logged and sent in events.
REASON_LIMIT: Final = 1_024

NO_REASON: Final = "refused by the resource manager without a reason"


@message
class NodesPredicatesItem:
    """One ask and the nodes it could go to, in order of preference.

    ``allocate``: to run there; False: to reserve one. ``mode``: FIRST_FIT, or FIRST_N if up to
    ``want`` nodes are of use.
    """

    application_id: str
    allocation_key: str
    allocate: bool
    node_ids: tuple[str, ...]
    mode: int = FIRST_FIT
    want: int = 1


@message
class PredicateFailure:
    """Why some nodes were refused. ``candidates``: their indexes in the item's ``node_ids``."""

    reason: str
    candidates: Sequence[int]


@message
class NodesPredicatesItemResult:
    """The verdict on one item.

    ``fit``: indexes of nodes that pass, ascending; after the first one, or the first ``want``, they
    do not matter. ``failures``: reasons for those before; a node without one counts as refused all
    the same. ``error``: the item could not be judged and why, so that no node of it is used.
    """

    fit: Sequence[int] = ()
    failures: Sequence[PredicateFailure] = ()
    error: str = ""


class NonsenseError(Exception):
    """An invalid answer of a callback; the text says why."""


def results_of(answer: object, count: int) -> Sequence[NodesPredicatesItemResult]:
    """Return the results of a callback for ``count`` items.

    Raises: NonsenseError if that is not one result for each. Rules: EXT-22.
    """
    if not isinstance(answer, list | tuple) or len(answer) != count:
        expected = "one result for one item" if count == 1 else f"{count} results"
        raise NonsenseError(f"not a list of {expected}: {shown(answer)}")
    for result in answer:
        if not isinstance(result, NodesPredicatesItemResult):
            raise NonsenseError(f"not a NodesPredicatesItemResult: {shown(result)}")
    return answer


def fit_of(result: NodesPredicatesItemResult, count: int) -> list[int]:
    """Return the indexes of the nodes that pass, of so many. Raises: NonsenseError."""
    fit = _indexes(result.fit, count, "fit")
    if any(after <= before for before, after in pairwise(fit)):
        raise NonsenseError(f"fit is not ascending: {shown(fit)}")
    return fit


def reasons_of(result: NodesPredicatesItemResult, count: int) -> dict[int, str]:
    """Return the reason for each index that has one; the first one given counts.

    Raises: NonsenseError.
    """
    reasons: dict[int, str] = {}
    for failure in result.failures:
        if not isinstance(failure, PredicateFailure):
            raise NonsenseError(f"not a PredicateFailure: {shown(failure)}")
        reason = clean(failure.reason) or NO_REASON
        for index in _indexes(failure.candidates, count, "candidates"):
            reasons.setdefault(index, reason)
    return reasons


def text_of(error: Exception) -> str:
    """Return the text of an error, or its kind if it has none."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - theirs, and it is about to be replaced anyway
        text = ""
    return clean(text) or type(error).__name__


def clean(text: object) -> str:
    """Return a text that can be recorded and sent: valid and of bounded length.

    Raises: NonsenseError if it is none.
    """
    if not isinstance(text, str):
        raise NonsenseError(f"not a text: {shown(text)}")
    return text[:REASON_LIMIT].encode("utf-8", "replace").decode()


def shown(given: object) -> str:
    """Return a short name of any object."""
    if given is None or isinstance(given, int | str | list | tuple):
        return reprlib.repr(given)
    return type(given).__name__


def _indexes(given: object, count: int, name: str) -> list[int]:
    """Return given indexes of nodes. Raises: NonsenseError if they are none."""
    if not isinstance(given, list | tuple | range):
        raise NonsenseError(f"{name} is not a list of indexes: {shown(given)}")
    for index in given:
        if type(index) is not int or not 0 <= index < count:
            raise NonsenseError(f"{name} has {shown(index)}, not an index of {count} nodes")
    return list(given)
