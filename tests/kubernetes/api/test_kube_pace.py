"""Waiting times and rates in turned time."""

from __future__ import annotations

import asyncio

import pytest

from remuda_kubernetes.api.pace import Backoff, SystemClock, TokenBucket
from tests.kubernetes.api.scripted import TurnedClock, run, settle


@pytest.mark.parametrize(
    "chance, waits", [(0.0, [0.25, 0.5, 1.0, 2.0, 2.0]), (1.0, [0.5, 1.0, 2.0, 4.0, 4.0])]
)
def test_waits_double_up_to_the_longest_and_half_of_each_is_random(
    chance: float, waits: list[float]
) -> None:
    backoff = Backoff(lambda: chance, first=0.5, longest=4.0)
    assert [backoff.next() for _ in range(5)] == waits
    backoff.reset()
    assert backoff.next() == waits[0]


def test_many_failures_do_not_overflow() -> None:
    backoff = Backoff(lambda: 1.0, longest=30.0, failures=10**6)
    assert backoff.next() == 30.0


def test_a_bucket_gives_a_burst_and_then_its_rate_in_order() -> None:
    async def test() -> None:
        clock = TurnedClock()
        bucket = TokenBucket(10.0, 3, clock)
        taken: list[tuple[int, float]] = []

        async def take(number: int) -> None:
            await bucket.take()
            taken.append((number, round(clock.now() - 1000.0, 6)))

        tasks = [asyncio.create_task(take(number)) for number in range(6)]
        await settle()
        await clock.advance(1.0)
        await asyncio.gather(*tasks)
        assert taken == [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.1), (4, 0.2), (5, 0.3)]
        assert bucket.waited == 3

    run(test())


def test_a_request_that_was_given_up_returns_its_token() -> None:
    async def test() -> None:
        clock = TurnedClock()
        bucket = TokenBucket(1.0, 1, clock)
        await bucket.take()
        waiting = asyncio.create_task(bucket.take())
        await settle()
        waiting.cancel()
        await settle()
        await clock.advance(1.0)
        await bucket.take()
        another = asyncio.create_task(bucket.take())
        await settle()
        assert not another.done()
        another.cancel()

    run(test())


def test_a_rate_of_zero_has_no_limit() -> None:
    async def test() -> None:
        bucket = TokenBucket(0.0, 1, TurnedClock())
        for _ in range(1000):
            await bucket.take()

    run(test())


def test_the_clock_of_the_machine_goes_on() -> None:
    clock = SystemClock()
    first = clock.now()
    asyncio.run(clock.sleep(0.01))
    assert clock.now() > first
