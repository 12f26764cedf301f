"""Scores, percentages and tracked usage: chapter 40, section 10."""

from __future__ import annotations

import pytest

from remuda.base import scores
from remuda.base.resources import MAX, Resource
from remuda.base.tracked import track, tracker_of

SECOND = 1_000_000_000


@pytest.mark.remuda_rule("RES-54")
@pytest.mark.parametrize(
    "available, wanted, expected",
    [
        ({"m": 100}, {"m": 1000}, 0.9),
        ({"m": 10}, {"m": 100, "c": 1}, 1.9),
        ({"m": 10}, {"m": 5}, 0.0),
        ({"m": 10}, {"m": -3, "c": 0}, 0.0),
        ({"m": -10}, {"m": 5}, 1.0),
        ({"m": 10}, None, 0.0),
        (None, {"m": 100, "c": 0, "g": -1}, 3.0),
        (None, None, 0.0),
        ({}, {"m": 5}, 1.0),
    ],
)
def test_fit_in_score(available: Resource | None, wanted: Resource | None, expected: float) -> None:
    assert scores.fit_in_score(available, wanted) == expected


@pytest.mark.remuda_rule("RES-55")
@pytest.mark.parametrize(
    "capacity, used, expected",
    [
        (
            {"m": 100, "c": 0, "g": 10, "z": 3},
            {"m": 150, "c": 1, "z": -1},
            {"m": 150, "c": 100, "z": 0},
        ),
        ({"m": 3}, {"m": 2}, {"m": 66}),
        ({"m": 100}, {"m": 29}, {"m": 28}),
        ({"m": 1}, {"m": 2**40}, {"m": 2147483647}),
        ({"m": -1}, {"m": 1}, {"m": 100}),
        ({"m": 1}, {"x": 1}, {}),
        (None, {"m": 1}, {}),
        ({"m": 1}, None, {}),
    ],
)
def test_absolute_used_capacity(
    capacity: Resource | None, used: Resource | None, expected: Resource
) -> None:
    assert scores.abs_used_capacity(capacity, used) == expected


@pytest.mark.remuda_rule("RES-56")
@pytest.mark.parametrize(
    "used, capacity, expected",
    [
        ({"m": 50, "c": 60}, {"m": 100, "c": 100}, "c"),
        ({"m": 0}, {"m": 0}, "m"),
        ({"m": -1}, {"m": 10}, ""),
        ({"m": 5, "c": 5}, {"c": 10, "m": 10}, "c"),
        ({"z": 0, "b": 0}, {"z": 1, "b": 1}, "b"),
        ({"m": 1, "c": 9}, {"m": 0, "c": 10}, "m"),
        ({"m": 5}, {"c": 10}, ""),
        (None, {"m": 10}, ""),
        ({"m": 1}, None, ""),
    ],
)
def test_dominant_resource_type(
    used: Resource | None, capacity: Resource | None, expected: str
) -> None:
    assert scores.dominant_resource_type(used, capacity) == expected


@pytest.mark.remuda_rule("RES-57")
def test_tracked_usage_sums_amount_times_whole_seconds_per_instance_type() -> None:
    tracked = track(
        {}, "m5.large", {"memory": 10, "vcore": 0}, bound_ns=SECOND, released_ns=4 * SECOND - 1
    )
    assert tracked == {"m5.large": {"memory": 20, "vcore": 0}}
    tracked = track(
        tracked, "m5.large", {"memory": 1, "gpu": 2}, bound_ns=0, released_ns=5 * SECOND
    )
    tracked = track(tracked, "", {"memory": 7}, bound_ns=0, released_ns=SECOND)
    assert tracked == {
        "m5.large": {"memory": 25, "vcore": 0, "gpu": 10},
        "UNKNOWN": {"memory": 7},
    }


@pytest.mark.remuda_rule("RES-57")
def test_tracked_usage_keeps_types_of_an_allocation_shorter_than_a_second() -> None:
    assert track({}, "t", {"memory": 9}, bound_ns=0, released_ns=SECOND - 1) == {"t": {"memory": 0}}


@pytest.mark.remuda_rule("RES-57")
def test_tracked_usage_saturates() -> None:
    tracked = track({}, "t", {"memory": MAX}, bound_ns=0, released_ns=2 * SECOND)
    assert track(tracked, "t", {"memory": 1}, bound_ns=0, released_ns=SECOND) == {
        "t": {"memory": 9223372036854775807}
    }


@pytest.mark.remuda_rule("RES-57")
@pytest.mark.parametrize(
    "preempted, placeholder, expected",
    [
        (True, True, "preempted"),
        (True, False, "preempted"),
        (False, True, "placeholder"),
        (False, False, "used"),
    ],
)
def test_a_release_is_booked_to_one_of_three_trackers(
    preempted: bool, placeholder: bool, expected: str
) -> None:
    assert tracker_of(preempted=preempted, placeholder=placeholder) == expected
