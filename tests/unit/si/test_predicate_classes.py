"""An ask names its predicate class in a tag, or a session does beside the request (EXT-15)."""

from __future__ import annotations

import pytest

from remuda.base.errors import ProtocolError
from remuda.core.messages.ask import Ask
from remuda.si.codec_in import RequestReader
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si

TAG = "remuda/predicateClass"


def wanted(key: str, kind: str = "") -> si.AllocationAsk:
    tags = {TAG: kind} if kind else {}
    return si.AllocationAsk(allocationKey=key, applicationID="app", tags=tags)


def unified(key: str, kind: str = "", node: str = "") -> si.Allocation:
    tags = {TAG: kind} if kind else {}
    return si.Allocation(
        allocationKey=key, applicationID="app", allocationTags=tags, nodeID=node, UUID=node
    )


def classes_of(asks: tuple[Ask, ...]) -> dict[str, str]:
    return {ask.allocation_key: ask.equivalence for ask in asks}


@pytest.fixture
def reader() -> RequestReader:
    return RequestReader("rm")


@pytest.mark.remuda_rule("EXT-15")
def test_the_tag_of_an_ask_names_its_class_in_both_forms(reader: RequestReader) -> None:
    request = si.AllocationRequest(
        asks=[wanted("a", "web"), wanted("b")], allocations=[unified("c", "db"), unified("d")]
    )
    found = reader.allocations(request)
    assert classes_of(found.asks) == {"a": "web", "b": "", "c": "db", "d": ""}
    assert found.asks[2].tags == {TAG: "web"}


@pytest.mark.remuda_rule("EXT-15")
def test_what_a_session_names_beside_the_request_wins(reader: RequestReader) -> None:
    request = si.AllocationRequest(
        asks=[wanted("a", "web"), wanted("b"), wanted("c", "web")],
        allocations=[unified("r", "x", "n1"), unified("d")],
    )
    named = [
        ext.PredicateClass(name="one", asks=[0], allocations=[1]),
        ext.PredicateClass(name="two", asks=[1]),
    ]
    found = reader.allocations(request, named)
    assert classes_of(found.asks) == {"d": "one", "a": "one", "b": "two", "c": "web"}


@pytest.mark.remuda_rule("EXT-15", "SI-105")
@pytest.mark.parametrize(
    "named, text",
    [
        ([ext.PredicateClass(name="x", asks=[2])], "predicate class 'x': there is no ask 2"),
        ([ext.PredicateClass(name="x", allocations=[0])], "allocation 0 is no ask"),
        ([ext.PredicateClass(name="x", asks=[1, 1])], "ask 'b' is in two predicate classes"),
        ([ext.PredicateClass(name="y" * 1025)], "a predicate class has more than 1024 characters"),
    ],
)
def test_classes_that_make_no_sense_refuse_the_request(
    reader: RequestReader, named: list[ext.PredicateClass], text: str
) -> None:
    request = si.AllocationRequest(
        asks=[wanted("a"), wanted("b")], allocations=[unified("r", "", "n1")]
    )
    with pytest.raises(ProtocolError) as caught:
        reader.allocations(request, named)
    assert text in str(caught.value)


@pytest.mark.remuda_rule("EXT-15", "SI-105")
def test_a_tag_that_is_too_long_refuses_its_ask(reader: RequestReader) -> None:
    request = si.AllocationRequest(asks=[wanted("a", "y" * 1025), wanted("b")])
    command = reader.allocations(request)
    assert [each.allocation_key for each in command.asks] == ["b"]
    (found,) = command.unreadable
    assert found.reason.startswith("an identifier has more than 1024 characters")
    # Beside classes that count asks by their places, the whole request is refused.
    with pytest.raises(ProtocolError, match="an identifier has more than 1024 characters"):
        reader.allocations(request, [ext.PredicateClass(name="c", asks=[1])])
