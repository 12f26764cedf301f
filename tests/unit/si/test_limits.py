"""Elements of a message are counted before it is unpacked."""

from __future__ import annotations

import pytest

from remuda.base.errors import ProtocolError
from remuda.si import limits
from remuda.si.errors import MessageTooLargeError
from remuda.si.pb import si_pb2 as si


def asks(count: int) -> bytes:
    return si.AllocationRequest(asks=[si.AllocationAsk()] * count).SerializeToString()


def test_a_million_empty_asks_in_two_megabytes_are_refused_unpacked() -> None:
    data = asks(1_000) * 1_000  # concatenating protobuf messages appends their lists
    assert len(data) == 2_000_000
    with pytest.raises(MessageTooLargeError, match="more than 100000 elements; split"):
        limits.refuse_too_many(data, limits.ALLOCATION_REQUEST)


@pytest.mark.parametrize("count, allowed", [(10, True), (11, False)])
def test_the_limit_itself_is_allowed(count: int, allowed: bool) -> None:
    if allowed:
        limits.refuse_too_many(asks(count), limits.ALLOCATION_REQUEST, limit=10)
        assert len(si.AllocationRequest.FromString(asks(count)).asks) == 10
    else:
        with pytest.raises(MessageTooLargeError):
            limits.refuse_too_many(asks(count), limits.ALLOCATION_REQUEST, limit=10)


@pytest.mark.parametrize(
    "request_, countable",
    [
        (
            si.AllocationRequest(
                releases=si.AllocationReleasesRequest(
                    allocationsToRelease=[si.AllocationRelease(UUID="1")] * 6,
                    allocationAsksToRelease=[si.AllocationAskRelease()] * 6,
                ),
            ),
            limits.ALLOCATION_REQUEST,
        ),
        (
            si.NodeRequest(
                nodes=[si.NodeInfo(nodeID="n", existingAllocations=[si.Allocation()] * 5)] * 2
            ),
            limits.NODE_REQUEST,
        ),
        (
            si.ApplicationRequest(
                new=[
                    si.AddApplicationRequest(
                        applicationID="a",
                        executionTimeoutMilliSeconds=-1,
                        ugi=si.UserGroupInformation(user="u", groups=[""] * 11),
                    )
                ]
            ),
            limits.APPLICATION_REQUEST,
        ),
    ],
)
def test_nested_elements_count_too(
    request_: si.AllocationRequest | si.NodeRequest | si.ApplicationRequest,
    countable: limits.Countable,
) -> None:
    with pytest.raises(MessageTooLargeError):
        limits.refuse_too_many(request_.SerializeToString(), countable, limit=10)


@pytest.mark.parametrize(
    "data",
    [
        b"\x08\x01" * 15 + b"\x08",
        b"\xff" * 30,
        b"\x0f" * 30,
        b"\x08" + b"\xff" * 29,
        b"\xff\xff\xff\xff\x7f" * 6,
    ],
)
def test_bytes_that_are_no_message_are_refused_not_crashed_on(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        limits.refuse_too_many(data, limits.ALLOCATION_REQUEST, limit=10)


def test_unknown_fields_of_every_wire_type_are_stepped_over() -> None:
    # Field 15 as a varint, 64 bits, bytes and 32 bits, then eleven asks.
    unknown = b"\x78\x81\x01" + b"\x79" + bytes(8) + b"\x7a\x02ab" + b"\x7d" + bytes(4)
    with pytest.raises(MessageTooLargeError):
        limits.refuse_too_many(unknown + asks(11), limits.ALLOCATION_REQUEST, limit=10)
    limits.refuse_too_many(unknown + asks(10), limits.ALLOCATION_REQUEST, limit=10)
    assert len(si.AllocationRequest.FromString(unknown + asks(10)).asks) == 10
