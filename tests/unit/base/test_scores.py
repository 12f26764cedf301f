"""Percentages, and the type used most: chapter 40, section 10."""

from __future__ import annotations

import pytest

from remuda.base import scores
from remuda.base.resources import Resource


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
