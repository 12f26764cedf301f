"""Responses to one RM leave in order over three streams, or wait for theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import pytest

from remuda.core.messages.effects import (
    AllocationsReleased,
    ApplicationUpdated,
    Effect,
    NodesAnswered,
    ReleasedAllocation,
)
from remuda.edges.grpc.outbound import Kind, Outbound
from remuda.edges.grpc.settings import GrpcSettings
from remuda.si.pb import si_pb2 as si

T = TypeVar("T")


def state(name: str) -> Effect:
    return ApplicationUpdated("rm", "a", name, 1, "")


def released(name: str) -> Effect:
    return AllocationsReleased("rm", (ReleasedAllocation("default", "a", name, name, 1, ""),))


def accepted(name: str) -> Effect:
    return NodesAnswered("rm", (name,), ())


async def soon(awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, 10)


async def waits(task: asyncio.Task[bytes]) -> bool:
    """Whether a task is still waiting after everything that can run has run."""
    for _ in range(5):
        await asyncio.sleep(0)
    return not task.done()


@pytest.mark.remuda_rule("SI-104", "SI-7")
def test_a_response_waits_for_earlier_ones_of_other_open_streams() -> None:
    async def scenario() -> None:
        outbound = Outbound(GrpcSettings())
        outbound.open(Kind.APPLICATION)
        outbound.open(Kind.ALLOCATION)
        outbound.add([state("Starting"), released("k")])
        later = asyncio.create_task(outbound.next(Kind.ALLOCATION))
        assert await waits(later)
        first = await soon(outbound.next(Kind.APPLICATION))
        assert si.ApplicationResponse.FromString(first).updated[0].state == "Starting"
        second = await soon(later)
        assert si.AllocationResponse.FromString(second).released[0].allocationID == "k"

    asyncio.run(scenario())


@pytest.mark.remuda_rule("SI-103")
def test_a_closed_stream_keeps_its_responses_and_holds_nobody_up() -> None:
    async def scenario() -> None:
        outbound = Outbound(GrpcSettings())
        outbound.open(Kind.NODE)
        outbound.add([state("Starting"), accepted("n")])
        given = await soon(outbound.next(Kind.NODE))
        assert si.NodeResponse.FromString(given).accepted[0].nodeID == "n"
        outbound.done(Kind.NODE)
        outbound.open(Kind.APPLICATION)
        kept = await soon(outbound.next(Kind.APPLICATION))
        assert si.ApplicationResponse.FromString(kept).updated[0].state == "Starting"

    asyncio.run(scenario())


@pytest.mark.remuda_rule("SI-104")
def test_a_stream_that_ends_or_is_slow_lets_the_others_pass() -> None:
    async def scenario() -> None:
        outbound = Outbound(GrpcSettings())
        outbound.open(Kind.APPLICATION)
        outbound.open(Kind.NODE)
        outbound.add([state("Starting"), accepted("n")])
        blocked = asyncio.create_task(outbound.next(Kind.NODE))
        assert await waits(blocked)
        await soon(outbound.next(Kind.APPLICATION))  # being written, and the peer does not read
        await soon(blocked)
        outbound.done(Kind.NODE)
        outbound.add([accepted("m")])
        blocked = asyncio.create_task(outbound.next(Kind.NODE))
        assert not await waits(blocked)

        outbound.close(Kind.APPLICATION)
        outbound.done(Kind.NODE)
        outbound.add([accepted("o")])
        assert b"o" in await soon(outbound.next(Kind.NODE))

    asyncio.run(scenario())


@pytest.mark.remuda_rule("SI-103")
def test_a_response_that_was_not_handed_over_is_given_to_the_next_stream() -> None:
    async def scenario() -> None:
        outbound = Outbound(GrpcSettings())
        outbound.open(Kind.NODE)
        outbound.add([accepted("n")])
        first = await soon(outbound.next(Kind.NODE))
        outbound.close(Kind.NODE)
        outbound.open(Kind.NODE)
        assert await soon(outbound.next(Kind.NODE)) == first
        outbound.done(Kind.NODE)
        await soon(outbound.drained(Kind.NODE))

    asyncio.run(scenario())


@pytest.mark.remuda_rule("RM-16")
@pytest.mark.parametrize(
    "settings", [GrpcSettings(outbound_messages_limit=2), GrpcSettings(outbound_bytes_limit=12)]
)
def test_beyond_the_limit_everything_is_dropped_for_good(settings: GrpcSettings) -> None:
    async def scenario() -> list[bool]:
        outbound = Outbound(settings)
        lost: list[bool] = []
        for name in ("n1", "n2", "n3", "n4"):  # 6 bytes each
            outbound.add([accepted(name)])
            lost.append(outbound.overflowed)
        await soon(outbound.drained(Kind.NODE))
        return lost

    assert asyncio.run(scenario()) == [False, False, True, True]


@pytest.mark.remuda_rule("RM-15")
def test_by_default_a_hundred_thousand_responses_are_kept() -> None:
    assert GrpcSettings().outbound_messages_limit == 100_000
