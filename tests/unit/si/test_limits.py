"""Elements of a message are counted before it is unpacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message

from remuda.base.errors import ProtocolError
from remuda.si import limits
from remuda.si.limits import MessageTooLargeError
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


def texts(number: int) -> dict[str, str]:
    return {f"name-{n:02}": "" for n in range(number)}


def amounts(number: int) -> si.Resource:
    return si.Resource(resources={name: si.Quantity(value=1) for name in texts(number)})


def ask_for(number: int) -> Message:
    ask = si.AllocationAsk(resourceAsk=amounts(number - 3), tags=texts(3))
    return si.AllocationRequest(asks=[ask])


def running(number: int) -> si.Allocation:
    return si.Allocation(resourcePerAlloc=amounts(number - 3), allocationTags=texts(3))


def allocation(number: int) -> Message:
    return si.AllocationRequest(allocations=[running(number)])


def application(number: int) -> Message:
    new = si.AddApplicationRequest(tags=texts(3), placeholderAsk=amounts(number - 3))
    return si.ApplicationRequest(new=[new])


def node(number: int) -> Message:
    capacity, occupied = amounts(number - 7), amounts(3)
    attributes, existing = texts(4), [si.Allocation()]
    info = si.NodeInfo(
        attributes=attributes,
        schedulableResource=capacity,
        occupiedResource=occupied,
        existingAllocations=existing,
    )
    return si.NodeRequest(nodes=[info])


def node_with_allocation(number: int) -> Message:
    return si.NodeRequest(nodes=[si.NodeInfo(existingAllocations=[running(number)])])


def registration(number: int) -> Message:
    return si.RegisterResourceManagerRequest(buildInfo=texts(number - 3), extraConfig=texts(3))


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize(
    "build, messages, countable",
    [
        (ask_for, 2, limits.ALLOCATION_REQUEST),
        (allocation, 2, limits.ALLOCATION_REQUEST),
        (application, 2, limits.APPLICATION_REQUEST),
        (node, 4, limits.NODE_REQUEST),
        (node_with_allocation, 3, limits.NODE_REQUEST),
        (registration, 0, limits.REGISTRATION),
    ],
)
def test_entries_of_maps_count_together_with_the_messages_around_them(
    build: Callable[[int], Message], messages: int, countable: limits.Countable, beyond: int
) -> None:
    data = build(12 - messages + beyond).SerializeToString()
    if beyond:
        with pytest.raises(MessageTooLargeError, match="more than 12 elements and entries of maps"):
            limits.refuse_too_many(data, countable, entries_limit=12)
    else:
        limits.refuse_too_many(data, countable, entries_limit=12)


def delimited(field: int, content: bytes) -> bytes:
    """A field of up to 256 MiB as the wire has it."""
    size = len(content)
    length = bytes([128 | size & 127, 128 | size >> 7 & 127, 128 | size >> 14 & 127, size >> 21])
    return bytes([field << 3 | 2]) + length + content


def test_a_resource_of_a_million_types_in_eleven_megabytes_is_refused_unpacked() -> None:
    entries = b"".join(b"\x0a\x09\x0a\x05%05x\x12\x00" % n for n in range(1_000_000))
    data = delimited(1, delimited(4, entries))
    with pytest.raises(MessageTooLargeError, match="more than 1000000 elements and entries"):
        limits.refuse_too_many(data, limits.ALLOCATION_REQUEST)


def entries(count: int) -> dict[str, str]:
    """A map of so many short entries."""
    return {f"{number:x}": "" for number in range(count)}


def node_of(**allocation: Any) -> si.NodeRequest:
    """A node with an allocation."""
    return si.NodeRequest(nodes=[si.NodeInfo(existingAllocations=[si.Allocation(**allocation)])])


@pytest.mark.remuda_rule("SI-105")
def test_an_element_with_far_too_many_entries_of_maps_is_refused_unpacked() -> None:
    most = limits.ELEMENT_ENTRIES_LIMIT
    many = entries(most + 1)
    held = si.Allocation(allocationTags=many)
    new = si.AddApplicationRequest(tags=many)
    requests: list[tuple[Message, limits.Countable]] = [
        (si.AllocationRequest(asks=[si.AllocationAsk(tags=many)]), limits.ALLOCATION_REQUEST),
        (si.AllocationRequest(allocations=[held]), limits.ALLOCATION_REQUEST),
        (si.ApplicationRequest(new=[new]), limits.APPLICATION_REQUEST),
        (si.NodeRequest(nodes=[si.NodeInfo(attributes=many)]), limits.NODE_REQUEST),
        (node_of(allocationTags=many), limits.NODE_REQUEST),
    ]
    for message, countable in requests:
        with pytest.raises(MessageTooLargeError, match=f"an element has more than {most} entries"):
            limits.refuse_too_many(message.SerializeToString(), countable)


@pytest.mark.remuda_rule("SI-105")
def test_an_element_may_be_long_and_a_message_may_have_more_entries_than_an_element() -> None:
    most = si.AllocationAsk(tags=entries(limits.ELEMENT_ENTRIES_LIMIT))
    data = si.AllocationRequest(asks=[most] * 2).SerializeToString()
    limits.refuse_too_many(data, limits.ALLOCATION_REQUEST)
    with pytest.raises(MessageTooLargeError, match="elements and entries of maps"):
        limits.refuse_too_many(data, limits.ALLOCATION_REQUEST, entries_limit=100_000)
    held = [si.Allocation(allocationTags=entries(700))] * 100
    node = si.NodeRequest(nodes=[si.NodeInfo(existingAllocations=held)])
    limits.refuse_too_many(node.SerializeToString(), limits.NODE_REQUEST)


@pytest.mark.remuda_rule("SI-105")
def test_entries_behind_fields_that_nobody_knows_are_refused_with_their_element(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reading stops after so many fields; what came behind them was not counted."""
    monkeypatch.setattr(limits, "FIELDS_LIMIT", 50_000)
    ask = b"\xf8\x01\x00" * 50_001 + b"\x42\x00" * 10_000
    with pytest.raises(MessageTooLargeError, match="an element has more than 50000 fields"):
        limits.refuse_too_many(delimited(1, ask), limits.ALLOCATION_REQUEST)


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


@pytest.mark.remuda_rule("SI-105")
def test_what_nobody_knows_is_not_looked_at_without_end() -> None:
    """Field 15 is in no request. 16 MiB of it took eleven seconds, in which nothing else ran."""
    unknown = b"\x78\x00"
    limits.refuse_too_many(unknown * 1_000_000, limits.ALLOCATION_REQUEST)
    with pytest.raises(MessageTooLargeError, match="more than 2000000 fields"):
        limits.refuse_too_many(unknown * 2_000_001, limits.ALLOCATION_REQUEST)
    # The same inside something that is counted, which has no budget of its own.
    size = si.Quantity(value=len(unknown) * 1_000_001).SerializeToString()[1:]
    releases = b"\x12" + size + unknown * 1_000_001
    with pytest.raises(MessageTooLargeError, match="more than 2000000 fields"):
        limits.refuse_too_many(releases * 2, limits.ALLOCATION_REQUEST)


@pytest.mark.remuda_rule("SI-105")
def test_the_message_of_a_call_has_few_fields() -> None:
    names = {f"name-{n:04}": "" for n in range(limits.TEXTS_LIMIT)}
    legal = si.RegisterResourceManagerRequest(rmID="rm", buildInfo=names, extraConfig=names)
    limits.refuse_many_fields(legal.SerializeToString(), limits.REGISTRATION)
    unknown = b"\x78\x00"
    limits.refuse_many_fields(unknown * 10_000, limits.REGISTRATION)
    with pytest.raises(MessageTooLargeError, match="the message has more than 10000 fields"):
        limits.refuse_many_fields(unknown * 10_001, limits.REGISTRATION)
    # The same inside of a document.
    with pytest.raises(MessageTooLargeError, match="the message has more than 10000 fields"):
        limits.refuse_many_fields(delimited(1, unknown * 10_000), limits.NEW_DOCUMENT)


@pytest.mark.parametrize("size, allowed", [(10, True), (11, False)])
def test_a_number_has_at_most_ten_bytes(size: int, allowed: bool) -> None:
    # Field 15, which nobody knows; ten bytes of seven bits hold 64 bits, as -1 needs them.
    data = b"\x78" + b"\xff" * (size - 1) + b"\x01"
    if allowed:
        limits.refuse_too_many(data, limits.ALLOCATION_REQUEST, limit=1)
    else:
        with pytest.raises(ProtocolError, match="more than 64 bits"):
            limits.refuse_too_many(data, limits.ALLOCATION_REQUEST, limit=1)
