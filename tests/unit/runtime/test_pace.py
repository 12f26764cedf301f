"""Requests gather while they come in quick succession, and only then."""

from __future__ import annotations

from remuda.runtime.pace import (
    FEWEST,
    MOST,
    SHARE,
    SPACING_NS,
    SPACING_NS_LIMIT,
    TURN_NS,
    Pace,
    Portion,
)

START = 5_000_000_000
US = 1_000


def test_nothing_gathers_before_and_after_a_lone_request() -> None:
    pace = Pace()
    assert pace.rest_ns(START) == 0
    pace.begin(1, START)
    assert pace.rest_ns(START + 50 * US) == 0


def test_who_waits_for_an_answer_before_the_next_request_is_never_kept_waiting() -> None:
    pace = Pace()
    for number in range(10):
        pace.begin(1, START + number * 600 * US)
        assert pace.rest_ns(START + number * 600 * US + 50 * US) == 0


def test_requests_that_came_together_make_those_behind_them_gather() -> None:
    pace = Pace()
    pace.begin(2, START)
    assert pace.rest_ns(START + 300 * US) == SPACING_NS - 300 * US
    assert pace.rest_ns(START + SPACING_NS + 1) == 0


def test_turns_that_follow_each_other_closely_make_requests_gather() -> None:
    pace = Pace()
    pace.begin(1, START)
    pace.begin(1, START + 100 * US)
    assert pace.rest_ns(START + 200 * US) == SPACING_NS - 100 * US


def test_when_only_one_request_gathered_that_is_over() -> None:
    pace = Pace()
    pace.begin(2, START)
    pace.begin(1, START + SPACING_NS)
    assert pace.rest_ns(START + SPACING_NS + 50 * US) == 0


def test_the_longer_turns_take_the_longer_requests_gather() -> None:
    pace = Pace()
    pace.begin(2, START)
    pace.end(START + 700 * US)
    assert pace.rest_ns(START + 700 * US) == (SHARE - 1) * 700 * US
    pace.begin(2, START + 10_000 * US)
    pace.end(START + 10_001 * US)
    assert pace.rest_ns(START + 10_001 * US) == SPACING_NS - US
    pace.begin(2, START + 20_000 * US)
    pace.end(START + 22_000 * US)
    assert pace.rest_ns(START + 22_000 * US) == SPACING_NS_LIMIT - 2_000 * US


def test_a_turn_takes_fewer_elements_if_they_cost_much() -> None:
    portion = Portion()
    assert portion.elements == MOST
    portion.note(MOST, 4 * TURN_NS)
    assert portion.elements == MOST // 4
    portion.note(MOST // 4, 1_000 * TURN_NS)
    assert portion.elements == FEWEST
    portion.note(FEWEST, TURN_NS // 2)
    assert portion.elements == 2 * FEWEST
    portion.note(FEWEST, 0)
    assert portion.elements == MOST


def test_a_few_elements_say_nothing_about_the_next_ones() -> None:
    portion = Portion()
    portion.note(FEWEST - 1, 1_000 * TURN_NS)
    assert portion.elements == MOST
