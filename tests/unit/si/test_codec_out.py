"""Effects of the core become responses to one resource manager, in their order."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping

import pytest

from remuda.core.messages import commands, events
from remuda.core.messages.commands import Ask
from remuda.core.messages.effects import (
    FAILED,
    AllocationNew,
    AllocationsRejected,
    AllocationsReleased,
    ApplicationsAnswered,
    ApplicationUpdated,
    AsksRejected,
    AsksReleased,
    ContainerStateUpdated,
    Effect,
    EventRecord,
    NodesAnswered,
    RegistrationAnswered,
    Rejection,
    ReleasedAllocation,
    ReleasedAsk,
    RequestRefused,
)
from remuda.si.codec_in import RequestReader
from remuda.si.codec_out import ResponseWriter, event_message, split_encoded
from remuda.si.pb import si_pb2 as si


def placed(number: int, amounts: Mapping[str, int] | None = None) -> AllocationNew:
    ask = Ask("a", f"k{number}", amounts or {"vcore": 1})
    return AllocationNew("rm", "default", f"k{number}-0", "n", ask)


def updated(state: str) -> ApplicationUpdated:
    return ApplicationUpdated("rm", "a", state, 17, "runApplication")


def event() -> EventRecord:
    return EventRecord("rm", "default", events.APP, "a", "k", events.ADD, events.APP_ALLOC, 5)


def write(
    *effects: Effect,
) -> list[si.AllocationResponse | si.ApplicationResponse | si.NodeResponse]:
    return ResponseWriter().responses(effects)


@pytest.mark.remuda_rule("SI-76", "SI-110", "RM-23")
def test_a_placement_carries_all_an_rm_needs_to_replay_it() -> None:
    ask = Ask(
        application_id="a",
        allocation_key="k",
        resource={"vcore": 1000, "gpu": 0},
        partition="[rm]default",
        priority=-3,
        tags={"yunikorn.apache.org/requiredNode": "n", "x": ""},
        task_group="g",
        placeholder=True,
        originator=True,
        allow_preempt_self=False,
        allow_preempt_other=True,
    )
    assert write(AllocationNew("rm", "default", "k-0", "n", ask)) == [
        si.AllocationResponse(
            new=[
                si.Allocation(
                    allocationKey="k",
                    allocationTags={"yunikorn.apache.org/requiredNode": "n", "x": ""},
                    UUID="k-0",
                    allocationID="k-0",
                    resourcePerAlloc=si.Resource(
                        resources={"vcore": si.Quantity(value=1000), "gpu": si.Quantity()}
                    ),
                    priority=-3,
                    nodeID="n",
                    applicationID="a",
                    partitionName="default",
                    taskGroupName="g",
                    placeholder=True,
                    originator=True,
                    preemptionPolicy=si.PreemptionPolicy(allowPreemptOther=True),
                )
            ]
        )
    ]


@pytest.mark.remuda_rule("SI-76", "SI-36")
def test_what_was_sent_can_be_read_back_as_a_running_allocation() -> None:
    original = placed(1, {"vcore": 5, "memory": 2**62})
    response = write(original)[0]
    assert isinstance(response, si.AllocationResponse)
    wire = si.AllocationRequest(allocations=response.new).SerializeToString()
    reader = RequestReader("rm")
    again = reader.allocations(si.AllocationRequest.FromString(wire)).allocations[0]
    assert again.allocation_id == original.allocation_id
    assert again.node_id == original.node_id
    assert again.ask == Ask("a", "k1", {"vcore": 5, "memory": 2**62}, partition="default")


def test_the_same_shape_with_another_resource_is_not_mixed_up() -> None:
    writer = ResponseWriter()
    responses = writer.responses([placed(1, {"vcore": 1}), placed(2, {"vcore": 2}), placed(3)])
    response = responses[0]
    assert isinstance(response, si.AllocationResponse)
    amounts = [entry.resourcePerAlloc.resources["vcore"].value for entry in response.new]
    assert amounts == [1, 2, 1]


@pytest.mark.remuda_rule("SI-75")
def test_neighbouring_placements_share_a_response_of_bounded_size() -> None:
    responses = write(*[placed(number) for number in range(2_500)])
    sizes = [len(r.new) for r in responses if isinstance(r, si.AllocationResponse)]
    keys = [
        entry.allocationKey
        for r in responses
        if isinstance(r, si.AllocationResponse)
        for entry in r.new
    ]
    assert sizes == [1_000, 1_000, 500]
    assert keys == [f"k{number}" for number in range(2_500)]


@pytest.mark.remuda_rule("SI-7", "SI-75", "SI-79")
def test_no_response_passes_one_of_another_kind() -> None:
    released = ReleasedAllocation("default", "a", "k0-0", "k0", commands.STOPPED_BY_RM, "")
    responses = write(
        updated("Starting"),
        placed(0),
        event(),
        placed(1),
        updated("Running"),
        AllocationsReleased("rm", (released,)),
        placed(2),
        event(),
    )
    shapes = [[field.name for field, _ in response.ListFields()] for response in responses]
    assert shapes == [["updated"], ["new"], ["updated"], ["released"], ["new"]]
    second, last = responses[1], responses[-1]
    assert isinstance(second, si.AllocationResponse)
    assert isinstance(last, si.AllocationResponse)
    assert [entry.allocationKey for entry in second.new] == ["k0", "k1"]
    assert [entry.allocationKey for entry in last.new] == ["k2"]


def test_neighbouring_state_changes_share_a_response_in_order() -> None:
    responses = write(updated("Accepted"), updated("Starting"))
    assert responses == [
        si.ApplicationResponse(
            updated=[
                si.UpdatedApplication(
                    applicationID="a",
                    state=state,
                    stateTransitionTimestamp=17,
                    message="runApplication",
                )
                for state in ("Accepted", "Starting")
            ]
        )
    ]


@pytest.mark.remuda_rule("SI-77", "SI-110")
def test_a_release_names_everything_about_the_allocation() -> None:
    released = (
        ReleasedAllocation("default", "a", "k-0", "k", commands.STOPPED_BY_RM, "on request"),
        ReleasedAllocation("default", "a", "k-1", "k", commands.PREEMPTED_BY_SCHEDULER, ""),
    )
    assert write(AllocationsReleased("rm", released)) == [
        si.AllocationResponse(
            released=[
                si.AllocationRelease(
                    partitionName="default",
                    applicationID="a",
                    UUID="k-0",
                    allocationID="k-0",
                    allocationKey="k",
                    terminationType=si.STOPPED_BY_RM,
                    message="on request",
                ),
                si.AllocationRelease(
                    partitionName="default",
                    applicationID="a",
                    UUID="k-1",
                    allocationID="k-1",
                    allocationKey="k",
                    terminationType=si.PREEMPTED_BY_SCHEDULER,
                ),
            ]
        )
    ]


@pytest.mark.remuda_rule("SEED-32", "SI-70", "SI-75")
def test_each_list_about_allocations_has_a_response_of_its_own() -> None:
    ended = ReleasedAllocation("default", "a", "k-0", "k", commands.TIMEOUT, "")
    dropped = ReleasedAsk("default", "a", "p", commands.TIMEOUT, "placeholder timeout")
    refused = (Rejection("k", "zero", "SI-31", "a"),)
    responses = write(
        placed(0),
        AllocationsReleased("rm", (ended,)),
        AsksReleased("rm", (dropped,)),
        AsksRejected("rm", refused),
        AllocationsRejected("rm", refused),
    )
    lists = [[field.name for field, _ in response.ListFields()] for response in responses]
    assert lists == [["new"], ["released"], ["releasedAsks"], ["rejected"], ["rejectedAllocations"]]
    assert responses[2] == si.AllocationResponse(
        releasedAsks=[
            si.AllocationAskRelease(
                partitionName="default",
                applicationID="a",
                allocationKey="p",
                terminationType=si.TIMEOUT,
                message="placeholder timeout",
            )
        ]
    )


@pytest.mark.remuda_rule("SI-4")
def test_both_verdicts_of_one_request_are_one_response() -> None:
    refused = (Rejection("bad", "because", "SI-20"),)
    assert write(ApplicationsAnswered("rm", ("good",), refused)) == [
        si.ApplicationResponse(
            accepted=[si.AcceptedApplication(applicationID="good")],
            rejected=[si.RejectedApplication(applicationID="bad", reason="because")],
        )
    ]
    assert write(NodesAnswered("rm", ("good",), refused)) == [
        si.NodeResponse(
            accepted=[si.AcceptedNode(nodeID="good")],
            rejected=[si.RejectedNode(nodeID="bad", reason="because")],
        )
    ]


@pytest.mark.remuda_rule("SI-4")
def test_rejected_asks_and_allocations_name_key_application_and_reason() -> None:
    refused = (Rejection("k", "zero", "SI-31", "a"), Rejection("l", "negative", "SI-31", "a"))
    assert write(AsksRejected("rm", refused), AllocationsRejected("rm", refused[:1])) == [
        si.AllocationResponse(
            rejected=[
                si.RejectedAllocationAsk(allocationKey="k", applicationID="a", reason="zero"),
                si.RejectedAllocationAsk(allocationKey="l", applicationID="a", reason="negative"),
            ]
        ),
        si.AllocationResponse(
            rejectedAllocations=[
                si.RejectedAllocation(allocationKey="k", applicationID="a", reason="zero")
            ]
        ),
    ]


def test_states_of_asks_have_no_place_on_the_streams_and_separate_no_placements() -> None:
    between = ContainerStateUpdated("rm", "a", "big", FAILED, "no room")
    (response,) = write(placed(1), between, placed(2))
    assert isinstance(response, si.AllocationResponse)
    assert [entry.allocationKey for entry in response.new] == ["k1", "k2"]


def test_answers_given_elsewhere_and_events_make_no_response() -> None:
    assert (
        write(RegistrationAnswered("rm", ""), RequestRefused("rm", "gone", "SI-1"), event()) == []
    )


@pytest.mark.remuda_rule("EVT-1", "RES-11")
def test_an_event_keeps_its_numbers_and_has_a_resource_even_if_empty() -> None:
    message = event_message(event())
    assert message == si.EventRecord(
        type=si.EventRecord.APP,
        objectID="a",
        timestampNano=5,
        eventChangeType=si.EventRecord.ADD,
        eventChangeDetail=si.EventRecord.APP_ALLOC,
        referenceID="k",
        resource=si.Resource(),
    )
    assert message.HasField("resource")


@pytest.mark.remuda_rule("SI-75")
def test_a_long_response_is_cut_into_shorter_ones_without_losing_or_moving_anything() -> None:
    whole = write(*[placed(number) for number in range(100)])[0]
    pieces = split_encoded(whole, 700)
    assert len(pieces) > 1
    assert all(len(piece) <= 700 for piece in pieces)
    keys = [
        entry.allocationKey
        for piece in pieces
        for entry in si.AllocationResponse.FromString(piece).new
    ]
    assert keys == [f"k{number}" for number in range(100)]


def test_a_single_element_is_never_cut() -> None:
    whole = write(placed(1))[0]
    assert split_encoded(whole, 1) == [whole.SerializeToString()]


def test_two_lists_of_one_response_are_cut_apart() -> None:
    refused = tuple(Rejection(f"bad{n}", "no", "NODE-1") for n in range(3))
    whole = write(NodesAnswered("rm", ("n1", "n2"), refused))[0]
    together = si.NodeResponse()
    for piece in split_encoded(whole, 8):
        together.MergeFromString(piece)
    assert together == whole


def test_placements_of_large_resources_leave_nothing_behind() -> None:
    writer = ResponseWriter()

    def place(turn: int) -> None:
        amounts = {f"type-{turn}-{n}": n for n in range(1_000)}
        (response,) = writer.responses([placed(turn, amounts)])
        assert isinstance(response, si.AllocationResponse)
        assert len(response.new[0].resourcePerAlloc.resources) == 1_000

    place(0)
    tracemalloc.start()
    for turn in range(1, 21):
        place(turn)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 100_000
