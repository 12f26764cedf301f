"""What a response says, element by element, and how it is compared with what was expected."""

from __future__ import annotations

import pytest

from remuda.conformance.elements import Expected, Filled, Heard, OneOf, What, elements
from remuda.conformance.expectations import placed, released, updated
from remuda.conformance.requests import resource
from remuda.conformance.wording import counted, cut, words
from remuda.si.pb import si_pb2 as si


def heard(what: What, element: object) -> Heard:
    return Heard(what, element, 1, 0.0)  # type: ignore[arg-type]


@pytest.mark.remuda_rule("SI-75")
def test_lists_of_one_response_are_heard_in_the_order_of_a_receiver() -> None:
    response = si.AllocationResponse(
        new=[si.Allocation(allocationKey="n")],
        released=[si.AllocationRelease(allocationKey="r"), si.AllocationRelease()],
        releasedAsks=[si.AllocationAskRelease()],
        rejected=[si.RejectedAllocationAsk()],
        rejectedAllocations=[si.RejectedAllocation()],
    )
    assert [(each.what, each.response, each.at) for each in elements(response, 7, 1.5)] == [
        (What.RELEASED_ASK, 7, 1.5),
        (What.RELEASED, 7, 1.5),
        (What.RELEASED, 7, 1.5),
        (What.NEW, 7, 1.5),
        (What.REJECTED_ASK, 7, 1.5),
        (What.REJECTED_ALLOCATION, 7, 1.5),
    ]


def test_an_empty_response_says_nothing() -> None:
    for response in (si.AllocationResponse(), si.ApplicationResponse(), si.NodeResponse()):
        assert list(elements(response, 1, 0.0)) == []


def allocation(**fields: object) -> si.Allocation:
    known: dict[str, object] = {
        "applicationID": "app",
        "allocationKey": "k",
        "UUID": "k-0",
        "allocationID": "k-0",
        "nodeID": "n",
        "resourcePerAlloc": resource({"vcore": 5}),
    }
    return si.Allocation(**{**known, **fields})  # type: ignore[arg-type]


@pytest.mark.remuda_rule("SI-35", "RES-11")
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"UUID": "k", "allocationID": "k"},
        {"resourcePerAlloc": resource({"vcore": 5, "memory": 0})},
        {"priority": 9},
    ],
)
def test_forms_that_the_rules_allow_are_equal(fields: dict[str, object]) -> None:
    wanted = placed("app", "k", {"vcore": 5}, "n")
    assert wanted.difference(heard(What.NEW, allocation(**fields))) == ""


@pytest.mark.parametrize(
    "fields,told",
    [
        ({"UUID": "k-1"}, "UUID is k-1"),
        ({"allocationID": ""}, "allocationID is ''"),
        ({"placeholder": True}, "placeholder is true"),
        ({"taskGroupName": "g"}, "taskGroupName is g"),
        ({"resourcePerAlloc": resource({"vcore": 6})}, "resourcePerAlloc is {vcore: 6}"),
        ({"nodeID": "m"}, "nodeID is m"),
    ],
)
def test_a_difference_is_told(fields: dict[str, object], told: str) -> None:
    wanted = placed("app", "k", {"vcore": 5}, "n")
    assert wanted.difference(heard(What.NEW, allocation(**fields))) == told


def test_another_kind_of_element_is_a_difference() -> None:
    wanted = placed("app", "k", {"vcore": 5})
    assert wanted.difference(heard(What.REJECTED_ASK, si.RejectedAllocationAsk())) != ""


def test_an_expected_text_that_is_missing_is_a_difference() -> None:
    state = si.UpdatedApplication(applicationID="app", state="Running")
    assert updated("app", "Running").difference(heard(What.UPDATED, state)) == "message is ''"
    state.message = "because"
    assert updated("app", "Running").difference(heard(What.UPDATED, state)) == ""
    assert updated("app", "Running", "x").difference(heard(What.UPDATED, state)) != ""


def test_what_is_expected_reads_like_what_came() -> None:
    assert released("app", "k", si.TIMEOUT, identity="u").text() == (
        "released allocation {applicationID: app, allocationKey: k, UUID: u, allocationID: u, "
        "terminationType: TIMEOUT, partitionName: default}"
    )
    wanted = Expected(What.NEW, {"a": OneOf(("x", 1)), "b": Filled(), "c": {"v": 2}, "d": False})
    assert wanted.text() == "new allocation {a: x or 1, b: any text, c: {v: 2}, d: false}"


def test_messages_are_told_in_one_line() -> None:
    request = si.AllocationRequest(
        asks=[
            si.AllocationAsk(
                allocationKey="a b",
                resourceAsk=resource({"vcore": 1, "memory": 0}),
                tags={"k": "", "j": "x\ny"},
                placeholder=True,
            ),
            si.AllocationAsk(),
        ],
        releases=si.AllocationReleasesRequest(
            allocationsToRelease=[si.AllocationRelease(terminationType=si.TIMEOUT)]
        ),
    )
    assert words(request) == (
        "{asks: [{allocationKey: 'a b', resourceAsk: {memory: 0, vcore: 1}, "
        "tags: {j: 'x\\ny', k: ''}, placeholder: true}, {}], "
        "releases: {allocationsToRelease: [{terminationType: TIMEOUT}]}}"
    )


def test_what_is_unknown_of_an_enumeration_is_a_number() -> None:
    release = si.AllocationRelease()
    release.ParseFromString(b"\x20\x63")
    assert words(release) == "{terminationType: 99}"


def test_long_messages_are_cut() -> None:
    node = si.NodeInfo(attributes={f"key-{number}": "v" * 500 for number in range(50)})
    assert len(words(node)) == 600
    assert words(node).endswith("...")
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abc..."
    assert (counted(1, "check"), counted(2, "check")) == ("1 check", "2 checks")
