"""What a callback may do when it is asked about nodes, and what becomes of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from remuda.core.ports import NodesAnswer, NodesQuestion, Predicates
from remuda.edges.predicates import port_of
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import (
    FIRST_FIT,
    NodesPredicatesItem,
    NodesPredicatesItemResult,
    PredicateFailure,
)

QUESTION = NodesQuestion("rm", "app", "k", True, ("n0", "n1", "n2", "n3"))
NO_REASON = "refused by the resource manager without a reason"


class Many:
    """A callback that answers about many nodes with whatever it is given."""

    def __init__(self, answer: Callable[[list[NodesPredicatesItem]], object]) -> None:
        self._answer = answer
        self.items: list[NodesPredicatesItem] = []

    def nodes_predicates(self, items: list[NodesPredicatesItem]) -> object:
        self.items += items
        return self._answer(items)


def port(callback: object) -> Predicates:
    found = port_of(callback)
    assert found is not None
    return found


def answer(result: object, question: NodesQuestion = QUESTION) -> NodesAnswer:
    """What the core hears when a callback returns this."""
    return port(Many(lambda items: result))(question)


def test_a_callback_without_predicates_has_no_port() -> None:
    assert port_of(None) is None
    assert port_of(object()) is None


@pytest.mark.remuda_rule("SI-80", "EXT-22")
def test_single_predicates_are_asked_until_a_node_passes() -> None:
    asked: list[tuple[str, str, bool]] = []

    class Single:
        def predicates(self, args: si.PredicatesArgs) -> None:
            asked.append((args.allocationKey, args.nodeID, args.allocate))
            if args.nodeID < "n2":
                raise ValueError(f"not {args.nodeID}")

    assert port(Single())(QUESTION) == NodesAnswer(2, ("not n0", "not n1"))
    assert asked == [("k", "n0", True), ("k", "n1", True), ("k", "n2", True)]
    asked.clear()
    reserving = NodesQuestion("rm", "app", "k", False, ("n0", "n1"))
    assert port(Single())(reserving) == NodesAnswer(-1, ("not n0", "not n1"))
    assert asked == [("k", "n0", False), ("k", "n1", False)]


@pytest.mark.remuda_rule("EXT-22", "EXT-13")
def test_many_nodes_are_asked_about_in_one_item_in_their_order() -> None:
    callback = Many(lambda items: [NodesPredicatesItemResult(fit=[0])])
    assert port(callback)(QUESTION) == NodesAnswer(0)
    assert callback.items == [
        NodesPredicatesItem("app", "k", True, ("n0", "n1", "n2", "n3"), FIRST_FIT)
    ]


@pytest.mark.remuda_rule("EXT-22")
def test_a_callback_with_both_members_is_asked_about_many() -> None:
    class Both(Many):
        def predicates(self, args: si.PredicatesArgs) -> None:
            raise AssertionError("asked one by one")

    assert port(Both(lambda items: [NodesPredicatesItemResult(fit=(3,))]))(QUESTION) == (
        NodesAnswer(3, (NO_REASON,) * 3)
    )


@pytest.mark.remuda_rule("EXT-16", "SI-80")
def test_reasons_are_given_in_the_order_of_the_nodes_up_to_the_first_that_passes() -> None:
    failures = (PredicateFailure("taint", [2, 0]), PredicateFailure("late", (3,)))
    result = NodesPredicatesItemResult(fit=[3], failures=failures)
    assert answer([result]) == NodesAnswer(3, ("taint", NO_REASON, "taint"))
    none = NodesPredicatesItemResult(failures=(PredicateFailure("zone", range(4)),))
    assert answer((none,)) == NodesAnswer(-1, ("zone",) * 4)
    assert answer([NodesPredicatesItemResult(fit=[1, 2, 3])]) == NodesAnswer(1, (NO_REASON,))


@pytest.mark.remuda_rule("SI-80", "NOD-13")
def test_an_error_refuses_all_nodes_it_was_asked_about() -> None:
    def broken(items: list[NodesPredicatesItem]) -> object:
        raise OSError("no connection")

    def silent(items: list[NodesPredicatesItem]) -> object:
        raise OSError

    assert port(Many(broken))(QUESTION) == NodesAnswer(-1, ("no connection",) * 4)
    assert port(Many(silent))(QUESTION) == NodesAnswer(-1, ("OSError",) * 4)
    assert answer([NodesPredicatesItemResult(error="unknown key")]) == (
        NodesAnswer(-1, ("unknown key",) * 4)
    )


def result(**fields: Any) -> list[NodesPredicatesItemResult]:
    return [NodesPredicatesItemResult(**fields)]


@pytest.mark.remuda_rule("EXT-22")
@pytest.mark.parametrize(
    "given, complaint",
    [
        (None, "not a list of one result for one item: None"),
        ([], "not a list of one result for one item: []"),
        (0, "not a list of one result for one item: 0"),
        ("x" * 200, "not a list of one result for one item: 'xxx"),
        ({}, "not a list of one result for one item: dict"),
        ([True], "not a NodesPredicatesItemResult: True"),
        (result() * 2, "not a list of one result for one item: ["),
        (result(fit=[4]), "fit has 4, not an index of 4 nodes"),
        (result(fit=[-1]), "fit has -1, not an index of 4 nodes"),
        (result(fit=[True]), "fit has True, not an index of 4 nodes"),
        (result(fit=["n0"]), "fit has 'n0', not an index of 4 nodes"),
        (result(fit=[1.0]), "fit has float, not an index of 4 nodes"),
        (result(fit=1), "fit is not a list of indexes: 1"),
        (result(fit=None), "fit is not a list of indexes: None"),
        (result(fit=[2, 1]), "fit is not ascending: [2, 1]"),
        (result(fit=[1, 1]), "fit is not ascending: [1, 1]"),
        (result(failures=["no"]), "not a PredicateFailure: 'no'"),
        (result(failures=[PredicateFailure("no", [9])]), "candidates has 9, not an index of 4"),
        (result(failures=[PredicateFailure(7, [0])]), "not a text: 7"),  # type: ignore[arg-type]
        (result(failures=3), "'int' object is not iterable"),
        (result(error=7), "not a text: 7"),
    ],
)
def test_an_answer_that_makes_no_sense_refuses_all_and_is_told(
    given: object, complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked = port(Many(lambda items: given))
    with caplog.at_level(logging.ERROR, "remuda.si"):
        (passed, refusals) = (asked(QUESTION).passed, asked(QUESTION).refusals)
    assert passed == -1
    assert len(refusals) == 4
    assert set(refusals) == {refusals[0]}
    assert refusals[0].startswith(f"nodes_predicates gave no usable answer: {complaint}")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(
        "nodes_predicates of resource manager 'rm' gave an answer that makes no sense, "
        f"its nodes are not used: {complaint}"
    )
    assert len(line) < 300


class UnspeakableError(Exception):
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.remuda_rule("SI-8", "SI-80")
@pytest.mark.parametrize(
    "error, reason",
    [
        (UnspeakableError(), "UnspeakableError"),
        (ValueError("x" * 5_000), "x" * 1_024),
        (ValueError("half \ud800 a pair"), "half ? a pair"),
    ],
)
def test_whatever_an_error_says_becomes_a_text_that_can_be_sent(
    error: Exception, reason: str
) -> None:
    class Single:
        def predicates(self, args: si.PredicatesArgs) -> None:
            raise error

    def raising(items: list[NodesPredicatesItem]) -> object:
        raise error

    assert port(Single())(QUESTION) == NodesAnswer(-1, (reason,) * 4)
    assert port(Many(raising))(QUESTION) == NodesAnswer(-1, (reason,) * 4)
