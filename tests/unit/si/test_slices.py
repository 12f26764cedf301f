"""Slices of a request say together what the request says, in the order of its handling."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from remuda.base.errors import ProtocolError
from remuda.si import slices
from remuda.si.pb import si_pb2 as si

FIELD_WITH_GROUP = b"\x0b"
UNKNOWN_FIELD = b"\xf8\x07\x01"
CUT = b"\x0a\x05ab"


def allocations(count: int, text: str = "") -> si.AllocationRequest:
    """As many elements of each list."""
    request = si.AllocationRequest(rmID="rm")
    for number in range(count):
        request.asks.add(allocationKey=f"ask-{number}", applicationID=text)
        request.allocations.add(allocationKey=f"held-{number}")
        request.releases.allocationsToRelease.add(allocationKey=f"over-{number}")
        request.releases.allocationAsksToRelease.add(allocationKey=f"dropped-{number}")
    return request


def unpacked(data: bytes, lists: slices.Lists, kind: Any = si.AllocationRequest) -> list[Any]:
    return [kind.FromString(part) for part in slices.slices(data, lists)]


def keys(request: si.AllocationRequest) -> list[str]:
    """All keys of a request, in the order of its handling (SI-3)."""
    releases = request.releases
    lists: list[Any] = [
        request.allocations,
        request.asks,
        releases.allocationAsksToRelease,
        releases.allocationsToRelease,
    ]
    return [element.allocationKey for elements in lists for element in elements]


@pytest.mark.remuda_rule("SI-3")
def test_the_slices_of_a_request_have_its_elements_in_the_order_of_handling() -> None:
    whole = allocations(600)
    parts = unpacked(whole.SerializeToString(), slices.ALLOCATION_REQUEST)
    assert [key for part in parts for key in keys(part)] == keys(whole)
    assert [part.rmID for part in parts] == ["rm"] + [""] * (len(parts) - 1)
    assert max(len(keys(part)) for part in parts) == slices.ELEMENTS


def test_slices_of_long_elements_have_few_of_them() -> None:
    data = allocations(100, text="x" * 1_000).SerializeToString()
    parts = list(slices.slices(data, slices.ALLOCATION_REQUEST))
    assert max(map(len, parts)) <= slices.BYTES + 16
    huge = allocations(3, text="x" * slices.BYTES).SerializeToString()
    counts = [len(part.asks) for part in unpacked(huge, slices.ALLOCATION_REQUEST) if part.asks]
    assert counts == [1, 1, 1]


def test_other_requests_are_sliced_by_their_own_lists() -> None:
    applications = si.ApplicationRequest(rmID="rm")
    nodes = si.NodeRequest()
    for number in range(300):
        applications.remove.add(applicationID=f"old-{number}")
        applications.new.add(applicationID=f"new-{number}")
        nodes.nodes.add(nodeID=f"n{number}")
    parts = unpacked(
        applications.SerializeToString(), slices.APPLICATION_REQUEST, si.ApplicationRequest
    )
    merged = si.ApplicationRequest()
    for part in parts:
        merged.MergeFrom(part)
        assert not (part.new and part.remove)
    assert merged == applications
    assert parts[1].new[0].applicationID == "new-0"
    of_nodes = unpacked(nodes.SerializeToString(), slices.NODE_REQUEST, si.NodeRequest)
    assert [len(part.nodes) for part in of_nodes] == [256, 44]


def test_releases_in_several_messages_are_merged_as_protobuf_merges_them() -> None:
    first, second = si.AllocationRequest(), si.AllocationRequest()
    first.releases.allocationsToRelease.add(allocationKey="a")
    second.releases.allocationsToRelease.add(allocationKey="b")
    data = first.SerializeToString() + second.SerializeToString()
    (part,) = unpacked(data, slices.ALLOCATION_REQUEST)
    assert part == si.AllocationRequest.FromString(data)
    assert keys(part) == ["a", "b"]


def test_a_request_without_elements_is_one_slice_or_none() -> None:
    named = si.AllocationRequest(rmID="rm")
    assert unpacked(named.SerializeToString(), slices.ALLOCATION_REQUEST) == [named]
    assert unpacked(b"", slices.ALLOCATION_REQUEST) == []


@pytest.mark.remuda_rule("SI-105")
def test_many_unknown_fields_cost_no_more_than_a_few_messages() -> None:
    ask = si.AllocationRequest(asks=[si.AllocationAsk(allocationKey="a")]).SerializeToString()
    between = ask + UNKNOWN_FIELD + ask
    data = UNKNOWN_FIELD * 200_000 + between
    tracemalloc.start()
    try:
        parts = list(slices.slices(data, slices.ALLOCATION_REQUEST))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert parts == [UNKNOWN_FIELD * 200_001, ask + ask]
    assert peak < 4 * len(data)


@pytest.mark.remuda_rule("SI-105")
@pytest.mark.parametrize("broken", [CUT, FIELD_WITH_GROUP, b"\x12\x03\x0a\x05a"])
def test_what_is_no_message_is_refused_before_the_first_slice(broken: bytes) -> None:
    good = allocations(300).SerializeToString()
    with pytest.raises(ProtocolError):
        next(slices.slices(good + broken, slices.ALLOCATION_REQUEST))
