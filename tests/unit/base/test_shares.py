"""Shares and fair comparison: chapter 40, section 9."""

from __future__ import annotations

import math

import pytest

from remuda.base import shares
from remuda.base.resources import Resource

TEN = {"m": 10, "c": 10}


@pytest.mark.remuda_rule("RES-46")
@pytest.mark.parametrize(
    "used, total, expected",
    [
        ({"m": 5, "c": 0, "g": -2}, {"m": 10, "c": 10}, [-2.0, 0.0, 0.5]),
        ({"m": 5, "c": 3}, None, [3.0, 5.0]),
        ({"m": 5, "c": 3}, {"m": 0}, [3.0, 5.0]),
        ({"m": 15}, {"m": 10}, [1.5]),
        ({"m": -5}, {"m": 10}, [-0.5]),
        (None, {"m": 10}, []),
        ({}, {"m": 10}, []),
    ],
)
def test_share_list(used: Resource | None, total: Resource | None, expected: list[float]) -> None:
    assert shares.shares(used, total) == expected


@pytest.mark.remuda_rule("RES-47")
@pytest.mark.parametrize(
    "left, right, expected",
    [
        ([], [], 0),
        ([0.2, 0.5], [0.4, 0.5], -1),
        ([0.5], [0.5], 0),
        ([0.0, 0.5], [0.5], 0),
        ([0.1, 0.5], [0.5], 1),
        ([-0.1, 0.5], [0.5], -1),
        ([-0.1, 0.0, 0.5], [0.5], -1),
        ([0.9], [0.1, 0.2, 1.0], -1),
        ([0.0], [], 0),
    ],
)
def test_share_lists_are_compared_from_the_largest_end(
    left: list[float], right: list[float], expected: int
) -> None:
    assert shares.compare_shares(left, right) == expected
    assert shares.compare_shares(right, left) == -expected


@pytest.mark.remuda_rule("RES-48")
@pytest.mark.parametrize(
    "left, right, expected",
    [
        ({"m": 5, "c": 2}, {"m": 4, "c": 6}, -1),
        ({"m": 5}, {"m": 5, "c": 0}, 0),
        ({"m": 5}, {"m": 5, "c": 1}, -1),
        ({"m": 5, "c": -1}, {"m": 5}, -1),
        ({"m": 3, "c": 5}, {"m": 5, "c": 3}, 0),
    ],
)
def test_usage_ratio_against_one_total(left: Resource, right: Resource, expected: int) -> None:
    assert shares.compare_usage_ratio(left, right, TEN) == expected
    assert shares.compare_usage_ratio(right, left, TEN) == -expected


@pytest.mark.remuda_rule("RES-49")
def test_usage_ratio_against_own_totals() -> None:
    a: Resource = {"memory": 300, "vcore": 100}
    b: Resource = {"memory": 200}
    a_total: Resource = {"memory": 500, "vcore": 500}
    b_total: Resource = {"memory": 300}
    assert shares.shares(a, a_total) == [0.2, 0.6]
    assert shares.shares(b, b_total) == pytest.approx([0.667], abs=0.001)
    assert shares.compare_usage_ratio_separately(a, a_total, b, b_total) == -1
    assert shares.compare_usage_ratio_separately(b, b_total, a, a_total) == 1


@pytest.mark.remuda_rule("RES-50")
def test_in_parity_a_type_without_guarantee_beats_every_ratio() -> None:
    partial: Resource = {"memory": 10**9, "vcore": 100}
    partial_guaranteed: Resource = {"vcore": 1000}
    nearly_full: Resource = {"memory": 999, "vcore": 999}
    full_guaranteed: Resource = {"memory": 1000, "vcore": 1000}
    assert shares.shares(partial, partial_guaranteed) == [0.1, 1e9]
    separately = shares.compare_usage_ratio_separately
    assert separately(partial, partial_guaranteed, nearly_full, full_guaranteed) == 1


@pytest.mark.remuda_rule("RES-50", "RES-52")
def test_by_fair_share_a_type_without_guarantee_does_not_count() -> None:
    assert shares.fair_share({"memory": 10**9, "vcore": 100}, {"vcore": 1000}, None) == 0.1
    full_guaranteed = {"memory": 1000, "vcore": 1000}
    assert shares.fair_share({"memory": 999, "vcore": 999}, full_guaranteed, None) == 0.999


@pytest.mark.remuda_rule("RES-51")
@pytest.mark.parametrize(
    "left, right, expected",
    [
        ({"m": 5}, {"m": 10}, 0.5),
        ({"m": 5}, {"m": 0}, math.inf),
        ({"m": 0}, {"m": 5}, 0.0),
        ({"m": 0}, {"m": 0}, 1.0),
        (None, {}, 1.0),
    ],
)
def test_fairness_ratio(left: Resource | None, right: Resource, expected: float) -> None:
    assert shares.fairness_ratio(left, right, {"m": 20}) == expected


@pytest.mark.remuda_rule("RES-51")
def test_usage_shares_compare_raw_amounts() -> None:
    assert shares.compare_usage_shares({"m": 5, "c": 3}, {"g": 4}) == 1
    assert shares.compare_usage_shares({"m": 5}, {"g": 5}) == 0


@pytest.mark.remuda_rule("RES-52")
@pytest.mark.parametrize(
    "used, guaranteed, fair_max, expected",
    [
        ({"m": 100}, {"m": 200}, None, 0.5),
        ({"m": 100}, None, {"m": 1000}, 0.1),
        ({"m": 100}, {"m": 0}, {"m": 1000}, 1.0),
        ({"m": 0}, {"m": 0}, None, 0.0),
        ({"m": 100}, None, None, 0.0),
        ({"m": 100}, {"c": 1}, {"g": 1}, 0.0),
        ({"m": -100}, {"m": 200}, None, 0.0),
        ({"m": 100, "c": 9}, {"m": 200}, {"c": 10}, 0.9),
        ({"m": 100}, {"m": 200}, {"m": 100}, 0.5),
        ({"m": 300}, {"m": 200}, None, 1.5),
        (None, {"m": 200}, None, 0.0),
    ],
)
def test_fair_share(
    used: Resource | None,
    guaranteed: Resource | None,
    fair_max: Resource | None,
    expected: float,
) -> None:
    assert shares.fair_share(used, guaranteed, fair_max) == expected


@pytest.mark.remuda_rule("RES-53")
def test_usage_ratio_of_specific_types() -> None:
    compare = shares.compare_usage_ratio_specific_types
    a: Resource = {"m": 9, "c": 1}
    b: Resource = {"m": 1, "c": 5}
    assert compare(a, b, TEN, None) == 1
    assert compare(a, b, TEN, {"c": 0}) == -1
    assert compare(a, b, TEN, {"m": 0, "c": 0}) == 1
    assert compare(a, b, TEN, {}) == 0
    assert compare(None, b, TEN, {"c": 1}) == -1


@pytest.mark.remuda_rule("RES-53")
@pytest.mark.parametrize(
    "resource, other, expected",
    [
        ({"a": 1, "b": 1, "c": 1}, {"a": 0, "b": 9, "z": 1}, 66),
        ({"a": 1}, {"a": 1, "b": 1}, 100),
        ({"a": 1}, {"b": 1}, 0),
        ({}, {"b": 1}, 0),
        (None, {"b": 1}, 0),
        ({"a": 1}, None, 0),
    ],
)
def test_type_matching(resource: Resource | None, other: Resource | None, expected: int) -> None:
    assert shares.type_matching(resource, other) == expected
