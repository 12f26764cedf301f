"""The hand-over of effects to an asyncio loop keeps order, wakes rarely and is bounded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from remuda.core.messages import events
from remuda.core.messages.effects import ApplicationsAnswered, Effect, EventRecord
from remuda.runtime.delivery import Delivery, EdgeHandover, Session


def numbered(number: int) -> Effect:
    return ApplicationsAnswered("rm", (str(number),), ())


def record(rm_id: str) -> Effect:
    return EventRecord(rm_id, "default", events.APP, "a", "", events.ADD, events.APP_ALLOC, 5)


def names(effects: Sequence[Effect]) -> list[str]:
    return [effect.accepted[0] for effect in effects if isinstance(effect, ApplicationsAnswered)]


def test_effects_change_threads_in_order() -> None:
    async def receive_all() -> list[str]:
        received: list[str] = []
        all_there = asyncio.Event()

        def receive(effects: Sequence[Effect]) -> None:
            received.extend(names(effects))
            if len(received) == 100:
                all_there.set()

        handover = EdgeHandover[Effect](asyncio.get_running_loop(), receive, all_there.set)

        def produce() -> None:
            for number in range(0, 100, 2):
                handover([numbered(number), numbered(number + 1)])

        producer = threading.Thread(target=produce)
        producer.start()
        await asyncio.wait_for(all_there.wait(), 10)
        producer.join()
        return received

    assert asyncio.run(receive_all()) == [str(number) for number in range(100)]


def test_many_batches_before_the_edge_runs_are_one_wake_up() -> None:
    async def count_wake_ups() -> list[int]:
        batches: list[int] = []

        def receive(effects: Sequence[Effect]) -> None:
            batches.append(len(effects))

        handover = EdgeHandover[Effect](asyncio.get_running_loop(), receive, lambda: None)
        for number in range(10):
            handover([numbered(number)])
        await asyncio.sleep(0)
        return batches

    assert asyncio.run(count_wake_ups()) == [10]


def test_too_much_waiting_is_reported_once_and_ends_the_hand_over() -> None:
    async def overflow() -> list[str]:
        log: list[str] = []
        handover = EdgeHandover[Effect](
            asyncio.get_running_loop(),
            lambda effects: log.extend(names(effects)),
            lambda: log.append("overflowed"),
            limit=2,
        )
        handover([numbered(1), numbered(2), numbered(3)])
        handover([numbered(4)])
        await asyncio.sleep(0)
        handover([numbered(5)])
        await asyncio.sleep(0)
        return log

    assert asyncio.run(overflow()) == ["overflowed"]


def test_a_closed_edge_is_no_error() -> None:
    edge = asyncio.new_event_loop()
    received: list[str] = []
    handover = EdgeHandover[Effect](
        edge, lambda effects: received.extend(names(effects)), lambda: None
    )
    edge.close()
    handover([numbered(1)])
    assert received == []


@pytest.mark.parametrize("others", [(), ("other",), ("other", "third")])
@pytest.mark.parametrize("wanted", [False, True])
def test_event_records_reach_a_sink_as_long_as_it_wants_them(
    others: tuple[str, ...], wanted: bool
) -> None:
    delivery = Delivery()
    received: list[Effect] = []
    heard: dict[str, list[Effect]] = {name: [] for name in others}
    delivery.open("rm", Session(received.extend, records=lambda: wanted))
    for name in others:
        delivery.open(name, Session(heard[name].extend))
    effects = [record("rm"), numbered(1), *[record(name) for name in others], record("rm")]
    delivery.deliver(effects)
    own = [effect for effect in effects if effect.rm_id == "rm"]
    assert received == (own if wanted else [numbered(1)])
    assert heard == {name: [record(name)] for name in others}


def test_an_observer_may_be_spared_event_records() -> None:
    delivery = Delivery()
    everything: list[Effect] = []
    some: list[Effect] = []
    delivery.observe(everything.extend)
    forget = delivery.observe(some.extend, records=False)
    effects = [record("rm"), numbered(1), record("gone")]
    delivery.deliver(effects)
    forget()
    delivery.deliver(effects)
    assert everything == effects * 2
    assert some == [numbered(1)]
