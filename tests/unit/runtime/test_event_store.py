"""The stores of event records towards RMs: two kinds, one order, nothing lost without a count."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.config.schema import built_in
from remuda.core.messages.effects import EventRecord
from remuda.core.messages.events import (
    ADD,
    APP,
    APP_REQUEST,
    DETAILS_NONE,
    NODE,
    NODE_ALLOC,
    NODE_CAPACITY,
    NODE_DECOMISSION,
    NONE,
    QUEUE,
    REMOVE,
    REQUEST,
    SET,
    USERGROUP,
)
from remuda.runtime.event_feed import EventFeed
from remuda.runtime.event_store import (
    CAPACITY_LIMIT,
    INTERVAL_SECONDS,
    EventFeeds,
    EventStore,
    user_facing,
)
from tests.waiting import wait


def plain(number: int, rm_id: str = "rm") -> EventRecord:
    return EventRecord(rm_id, "default", APP, str(number), "", ADD, APP_REQUEST, number)


def shown(number: int, rm_id: str = "rm") -> EventRecord:
    return EventRecord(rm_id, "default", REQUEST, str(number), "app", NONE, DETAILS_NONE, number)


def ids(records: Sequence[EventRecord]) -> list[int]:
    return [int(record.object_id) for record in records]


def opened(feeds: EventFeeds, rm_id: str = "rm") -> EventStore:
    store = feeds.store()
    feeds.open(rm_id, store)
    return store


def configure(feeds: EventFeeds, extra: Mapping[str, str] | None, rm_id: str = "rm") -> None:
    feeds.configure(rm_id, built_in(), extra)


def counts(feeds: EventFeeds) -> tuple[int, int, int]:
    return feeds.stored, feeds.not_stored, feeds.collected


# ------------------------------------------------------------------------------------ kinds


@pytest.mark.remuda_rule("EVT-93")
@pytest.mark.parametrize(
    "kind, change, detail, expected",
    [
        (REQUEST, NONE, DETAILS_NONE, True),
        (NODE, ADD, DETAILS_NONE, True),  # EVT-47
        (NODE, REMOVE, NODE_DECOMISSION, True),  # EVT-48
        (NODE, ADD, NODE_ALLOC, False),
        (NODE, REMOVE, NODE_ALLOC, False),
        (NODE, SET, NODE_CAPACITY, False),
        (APP, ADD, DETAILS_NONE, False),
        (QUEUE, ADD, DETAILS_NONE, False),
        (USERGROUP, ADD, 603, False),
    ],
)
def test_people_are_shown_requests_and_the_coming_and_going_of_nodes(
    kind: int, change: int, detail: int, expected: bool
) -> None:
    record = EventRecord("rm", "default", kind, "x", "", change, detail, 1)
    assert user_facing(record) is expected


@pytest.mark.remuda_rule("EVT-92", "EVT-122")
def test_of_1001_records_between_two_deliveries_1000_are_delivered() -> None:
    feeds = EventFeeds()
    store = opened(feeds)
    feeds.offer([plain(number) for number in range(1_001)])
    taken = store.take()
    assert ids(taken.records) == list(range(1_000))
    assert taken.lost == 1
    assert counts(feeds) == (1_000, 1, 1_000)


@pytest.mark.remuda_rule("EVT-92")
def test_records_of_several_rms_that_take_turns_reach_the_store_of_each_in_order() -> None:
    feeds = EventFeeds()
    arrivals: list[str] = []
    stores = {}
    for rm_id in ("one", "two"):
        stores[rm_id] = feeds.store(partial(arrivals.append, rm_id))
        feeds.open(rm_id, stores[rm_id])
    turns = [plain(number, rm_id) for number in range(3) for rm_id in ("one", "gone", "two")]
    feeds.offer(turns)
    assert [ids(stores[rm_id].take().records) for rm_id in ("one", "two")] == [[0, 1, 2], [0, 1, 2]]
    assert arrivals == ["one", "two"], "once each"
    assert counts(feeds) == (9, 0, 9)


@pytest.mark.remuda_rule("EVT-93", "UPD-8")
def test_what_people_are_shown_survives_a_flood_of_other_records() -> None:
    feeds = EventFeeds()
    store = opened(feeds)
    flood = [plain(number) for number in range(5_000)]
    feeds.offer([*flood[:2_500], shown(9_001), *flood[2_500:], shown(9_002)])
    taken = store.take()
    assert ids(taken.records) == [*range(1_000), 9_001, 9_002]
    assert counts(feeds) == (1_002, 4_000, 1_002)


@pytest.mark.remuda_rule("EVT-92", "EVT-93")
def test_the_records_of_one_delivery_keep_their_order_over_both_kinds() -> None:
    feeds = EventFeeds()
    store = opened(feeds)
    feeds.offer([plain(1), shown(2), plain(3), plain(4), shown(5), plain(6)])
    assert ids(store.take().records) == [1, 2, 3, 4, 5, 6]
    assert store.take().records == ()


# ------------------------------------------------------------------------------------ settings


@pytest.mark.remuda_rule("EVT-102", "EVT-100", "UPD-12")
@pytest.mark.parametrize(
    "text, capacity", [("3", 3), ("0", 1_000), ("many", 1_000), (str(2**64 - 1), CAPACITY_LIMIT)]
)
def test_another_capacity_counts_from_the_next_delivery_on(text: str, capacity: int) -> None:
    feeds = EventFeeds()
    store = opened(feeds)
    configure(feeds, {"event.requestCapacity": text})
    assert feeds.capacity == capacity
    feeds.offer([plain(number) for number in range(10)])
    assert len(store.take().records) == 10
    feeds.offer([plain(number) for number in range(10)])
    assert len(store.take().records) == min(capacity, 10)


@pytest.mark.remuda_rule("EVT-93")
def test_an_rm_that_wants_only_what_people_are_shown_gets_nothing_else() -> None:
    feeds = EventFeeds()
    few, all_of_them = opened(feeds, "few"), opened(feeds, "all")
    configure(feeds, {"rm.userEventsOnly": "true"}, "few")
    for rm_id in ("few", "all"):
        feeds.offer([plain(1, rm_id), shown(2, rm_id), plain(3, rm_id)])
    assert ids(few.take().records) == [2]
    assert ids(all_of_them.take().records) == [1, 2, 3]
    assert counts(feeds) == (6, 0, 6)
    configure(feeds, None, "few")
    feeds.offer([plain(4, "few")])
    assert few.take().records == ()
    configure(feeds, {}, "few")
    feeds.offer([plain(5, "few")])
    assert ids(few.take().records) == [5]


# ------------------------------------------------------------------------------------ receivers


@pytest.mark.remuda_rule("EVT-94", "RM-10")
def test_each_rm_gets_its_own_records() -> None:
    feeds = EventFeeds()
    one, two = opened(feeds, "one"), opened(feeds, "two")
    feeds.offer([plain(1, "one"), plain(2, "two"), plain(3, "two"), plain(4, "one")])
    assert ids(one.take().records) == [1, 4]
    assert ids(two.take().records) == [2, 3]


@pytest.mark.remuda_rule("EVT-92", "EVT-122")
def test_records_that_nobody_takes_are_stored_and_dropped_at_once() -> None:
    feeds = EventFeeds()
    feeds.offer([plain(1, "gone")])
    deaf = feeds.store(read=False)
    feeds.open("deaf", deaf)
    feeds.offer([plain(number, "deaf") for number in range(5_000)])
    assert deaf.take().records == ()
    assert counts(feeds) == (5_001, 0, 5_001)
    deaf.listen()
    feeds.offer([plain(1, "deaf"), plain(2, "deaf")])
    deaf.leave()
    feeds.offer([plain(3, "deaf")])
    assert deaf.take().records == ()
    assert counts(feeds) == (5_004, 0, 5_004)


@pytest.mark.remuda_rule("RM-9")
def test_after_a_new_registration_the_store_of_the_old_one_gets_nothing() -> None:
    feeds = EventFeeds()
    old = opened(feeds)
    new = opened(feeds)
    feeds.offer([plain(1)])
    feeds.close("rm")
    feeds.offer([plain(2)])
    assert (ids(old.take().records), ids(new.take().records)) == ([], [1])


@pytest.mark.remuda_rule("EVT-92", "SI-83")
def test_a_publisher_sends_what_gathered_with_one_call_and_nothing_if_there_is_nothing() -> None:
    assert INTERVAL_SECONDS == 2.0
    calls: list[list[int]] = []
    feeds = EventFeeds()
    feed = EventFeed(feeds, lambda records: calls.append(ids(records)), interval_seconds=60)
    feeds.open("rm", feed.store)
    feeds.offer([plain(1), plain(2)])
    feeds.offer([plain(3)])
    feed.flush()
    feed.flush()
    feeds.offer([plain(4)])
    feed.close()
    assert calls == [[1, 2, 3], [4]]


@pytest.mark.remuda_rule("EVT-92")
def test_a_publisher_empties_the_store_again_and_again_without_being_told() -> None:
    calls: list[list[int]] = []
    feeds = EventFeeds()
    feed = EventFeed(feeds, lambda records: calls.append(ids(records)), interval_seconds=0.01)
    feeds.open("rm", feed.store)
    for number in range(3):
        feeds.offer([plain(number)])
        wait(lambda number=number: len(calls) == number + 1)  # type: ignore[misc]
    feed.close()
    assert calls == [[0], [1], [2]]


@pytest.mark.remuda_rule("EVT-91", "SI-8")
def test_neither_a_slow_nor_a_failing_receiver_holds_up_who_puts_records_down() -> None:
    entered, let_go = threading.Event(), threading.Event()

    def send(_records: Sequence[EventRecord]) -> None:
        entered.set()
        let_go.wait(10)
        raise ValueError("no")

    feeds = EventFeeds()
    feed = EventFeed(feeds, send, interval_seconds=0)
    feeds.open("rm", feed.store)
    feeds.offer([plain(1)])
    assert entered.wait(10)
    feeds.offer([plain(number) for number in range(3_000)])
    assert counts(feeds) == (1_001, 2_000, 1)
    let_go.set()
    feed.close()
    assert counts(feeds) == (1_001, 2_000, 1_001)


# ------------------------------------------------------------------------------------ laws

_OFFERS = st.lists(
    st.one_of(
        st.none(),
        st.lists(st.tuples(st.sampled_from(["a", "b", "gone"]), st.booleans()), max_size=9),
    ),
    max_size=20,
)


@pytest.mark.remuda_rule("EVT-122", "EVT-92", "EVT-93")
@given(offers=_OFFERS, capacity=st.integers(1, 5), few=st.booleans())
def test_every_record_is_stored_or_not_and_no_more_are_collected_than_stored(
    offers: list[list[tuple[str, bool]] | None], capacity: int, few: bool
) -> None:
    feeds = EventFeeds()
    feeds.capacity = capacity
    stores = {rm_id: opened(feeds, rm_id) for rm_id in ("a", "b")}
    stores["b"].user_facing_only = few
    got: dict[str, list[int]] = {"a": [], "b": []}
    room = {rm_id: {True: capacity, False: capacity} for rm_id in stores}
    kept: dict[str, list[int]] = {"a": [], "b": []}
    processed = 0
    for offer in offers:
        if offer is None:  # a delivery to both
            for rm_id, store in stores.items():
                got[rm_id] += ids(store.take().records)
                room[rm_id] = {True: capacity, False: capacity}
            assert got == kept
            assert feeds.collected == feeds.stored
            continue
        records = [
            (shown if facing else plain)(processed + place, rm_id)
            for place, (rm_id, facing) in enumerate(offer)
        ]
        feeds.offer(records)
        for place, (rm_id, facing) in enumerate(offer):
            wanted = rm_id != "gone" and (facing or not (few and rm_id == "b"))
            if wanted and room[rm_id][facing]:
                room[rm_id][facing] -= 1
                kept[rm_id].append(processed + place)
        processed += len(records)
        assert feeds.stored + feeds.not_stored == processed
        assert feeds.collected <= feeds.stored
