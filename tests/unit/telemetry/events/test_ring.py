"""The ring buffer of event records: IDs, questions, sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.telemetry.events.ring import Ring
from tests.unit.telemetry.events.records import numbers, records

MOST = 2**64 - 1


def filled(capacity: int, count: int) -> Ring:
    ring = Ring(capacity)
    ring.add(records(0, count))
    return ring


@pytest.mark.remuda_rule("EVT-95", "EVT-96")
def test_an_empty_buffer_and_one_with_a_single_record_have_the_same_ids() -> None:
    ring = Ring(5)
    assert (ring.lowest, ring.highest, ring.query(0, 1)) == (0, 0, None)
    assert ring.add(records(0, 1)) == 0
    assert (ring.lowest, ring.highest) == (0, 0)
    assert numbers(ring.query(0, 10)) == [0]


@pytest.mark.remuda_rule("EVT-95")
def test_the_oldest_records_make_room_and_ids_go_on() -> None:
    ring = filled(3, 3)
    assert ring.add(records(3, 2)) == 3
    assert (ring.lowest, ring.highest) == (2, 4)
    assert numbers(ring.query(2, 3)) == [2, 3, 4]


@pytest.mark.remuda_rule("EVT-97")
def test_a_question_in_a_wrapped_buffer_gets_what_it_asked_for_and_no_more() -> None:
    ring = Ring(10)
    for first in range(0, 122, 7):
        ring.add(records(first, min(7, 122 - first)))
    assert (ring.lowest, ring.highest) == (112, 121)
    assert numbers(ring.query(112, 3)) == [112, 113, 114]


@pytest.mark.remuda_rule("EVT-96")
def test_a_question_begins_between_the_lowest_and_the_highest_id() -> None:
    ring = filled(10, 122)
    assert numbers(ring.query(112, MOST)) == list(range(112, 122))
    assert numbers(ring.query(121, 1)) == numbers(ring.query(121, MOST)) == [121]
    assert ring.query(111, 1) is None
    assert ring.query(122, 1) is None
    assert ring.query(0, MOST) is None


@pytest.mark.remuda_rule("EVT-98")
@pytest.mark.parametrize(
    "count, found",
    [(0, 0), (1, 1), (9, 9), (10, 10), (11, 10), (MOST, 10)],
)
def test_the_most_recent_records_are_as_many_as_there_are(count: int, found: int) -> None:
    ring = filled(10, 25)
    assert numbers(ring.recent(count)) == list(range(25 - found, 25))


@pytest.mark.remuda_rule("EVT-99")
def test_a_larger_buffer_keeps_everything_and_a_smaller_one_the_newest() -> None:
    ring = filled(4, 6)
    ring.resize(8)
    assert (ring.lowest, ring.highest) == (2, 5)
    ring.add(records(6, 6))
    assert numbers(ring.query(4, MOST)) == list(range(4, 12))
    ring.resize(3)
    assert (ring.lowest, ring.highest) == (9, 11)
    ring.add(records(12, 2))
    assert numbers(ring.query(11, MOST)) == [11, 12, 13]


@pytest.mark.remuda_rule("EVT-132")
def test_ids_can_continue_those_of_an_earlier_run() -> None:
    ring = Ring(2, 500)
    assert (ring.first_id, ring.next_id, ring.query(500, 1)) == (500, 500, None)
    assert ring.add(records(0, 3)) == 500
    assert (ring.lowest, ring.highest) == (501, 502)


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 12)),
        st.tuples(st.just("resize"), st.integers(1, 9)),
    ),
    max_size=30,
)


@pytest.mark.remuda_rule("EVT-95", "EVT-96", "EVT-97", "EVT-98", "EVT-99")
@given(st.integers(1, 9), ACTS, st.integers(0, 120), st.sampled_from([1, 2, 5, 9, MOST]))
def test_after_any_history_the_buffer_is_the_end_of_a_list(
    capacity: int, acts: list[tuple[str, int]], asked: int, count: int
) -> None:
    ring = Ring(capacity)
    everything: list[int] = []
    lowest = 0
    for act, size in acts:
        if act == "add":
            ring.add(records(len(everything), size))
            everything += range(len(everything), len(everything) + size)
        else:
            ring.resize(size)
            capacity = size
        lowest = max(lowest, len(everything) - capacity)
        stored = everything[lowest:]
        assert len(ring) == len(stored)
        assert ring.lowest == (stored[0] if stored else 0)
        assert ring.highest == (stored[-1] if stored else 0)
        assert numbers(ring.recent(count)) == stored[-count:]
        for first in (asked, lowest, len(everything) - 1):
            expected = everything[first : first + count] if first in stored else None
            assert numbers(ring.query(first, count)) == expected
