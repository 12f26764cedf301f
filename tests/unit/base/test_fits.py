"""Fit checks and comparisons: chapter 40, sections 6 and 7."""

from __future__ import annotations

import pytest

from remuda.base import fits
from remuda.base.resources import Resource

# The table of RES-32: larger, smaller, FitIn, FitInMaxUndef.
FIT_ROWS: list[tuple[Resource | None, Resource | None, bool, bool]] = [
    ({"m": -5}, {"m": 0}, True, True),
    ({"m": -5}, {"m": -1}, True, True),
    ({"m": -5}, {"m": 1}, False, False),
    ({}, {"m": 0}, True, True),
    ({}, {"m": 1}, False, True),
    ({"m": 0}, {"m": 1}, False, False),
    (None, {"m": 1}, False, True),
    ({"m": 5}, {"m": 5, "g": 1}, False, True),
    ({"m": 5}, {"m": 5}, True, True),
    ({"m": 5}, {"m": 6}, False, False),
    ({"m": 5, "c": 0}, {"m": 5}, True, True),
    ({"m": 5}, {"g": 0}, True, True),
]


@pytest.mark.remuda_rule("RES-29", "RES-30", "RES-31", "RES-32")
@pytest.mark.parametrize("larger, smaller, strict, undefined_is_unlimited", FIT_ROWS)
def test_fit_table(
    larger: Resource | None,
    smaller: Resource | None,
    strict: bool,
    undefined_is_unlimited: bool,
) -> None:
    assert fits.fit_in(larger, smaller) is strict
    assert fits.fit_in_max_undef(larger, smaller) is undefined_is_unlimited


@pytest.mark.remuda_rule("RES-31")
@pytest.mark.parametrize("larger", [None, {}, {"m": 0}, {"m": -5}, {"m": 5}])
def test_nothing_fits_everywhere(larger: Resource | None) -> None:
    assert fits.fit_in(larger, None) is True
    assert fits.fit_in_max_undef(larger, None) is True
    assert fits.fit_in_actual(larger, None) is True


@pytest.mark.remuda_rule("RES-31")
def test_in_nothing_only_requests_for_nothing_fit_unless_undefined_is_unlimited() -> None:
    assert fits.fit_in(None, {"m": 0, "c": -1}) is True
    assert fits.fit_in(None, {"m": 0, "c": 1}) is False
    assert fits.fit_in_max_undef(None, {"m": 10**18}) is True


@pytest.mark.remuda_rule("RES-33")
def test_fit_in_actual_compares_negatives_as_they_are() -> None:
    larger = {"a": -5}
    assert fits.fit_in_actual(larger, {"a": -6}) is True
    assert fits.fit_in_actual(larger, {"a": -4}) is False
    assert fits.fit_in_actual(larger, {"b": 4}) is True
    assert fits.fit_in_actual(None, {"b": 4}) is True


@pytest.mark.remuda_rule("RES-34")
def test_a_type_that_is_not_there_blocks_on_a_node_but_not_in_a_quota() -> None:
    ask = {"memory": 1, "nvidia.com/gpu": 1}
    assert fits.fit_in({"memory": 10}, ask) is False
    assert fits.fit_in_max_undef({"memory": 10}, ask) is True


# ------------------------------------------------------------------------------------- equality


@pytest.mark.remuda_rule("RES-35")
@pytest.mark.parametrize(
    "left, right, equal, equal_or_empty",
    [
        (None, None, True, True),
        (None, {}, False, True),
        ({}, None, False, True),
        ({"m": 0}, {}, True, True),
        ({"m": 0}, {"c": 0}, True, True),
        (None, {"m": 0}, False, True),
        (None, {"m": 1}, False, False),
        ({"m": 1}, {"m": 1, "c": 0}, True, True),
        ({"m": 1}, {"m": 2}, False, False),
        ({"m": 1}, {"m": 1, "c": -1}, False, False),
    ],
)
def test_equality_takes_a_missing_type_as_zero(
    left: Resource | None, right: Resource | None, equal: bool, equal_or_empty: bool
) -> None:
    assert fits.equals(left, right) is equal
    assert fits.equals(right, left) is equal
    assert fits.equals_or_empty(left, right) is equal_or_empty
    assert fits.equals_or_empty(right, left) is equal_or_empty


@pytest.mark.remuda_rule("RES-40")
def test_deep_equality_wants_the_same_types() -> None:
    assert fits.deep_equals({"a": 0}, {}) is False
    assert fits.deep_equals({"a": 1, "b": 2}, {"b": 2, "a": 1}) is True
    assert fits.deep_equals({"a": 1}, {"a": 2}) is False
    assert fits.deep_equals(None, None) is True
    assert fits.deep_equals(None, {}) is False


@pytest.mark.remuda_rule("RES-40")
def test_match_any_ignores_values() -> None:
    assert fits.match_any({"a": 0}, {"a": 5, "b": 1}) is True
    assert fits.match_any({"a": 1}, {"b": 1}) is False
    assert fits.match_any({}, {"b": 1}) is False
    assert fits.match_any(None, {"a": 1}) is False
    assert fits.match_any({"a": 1}, None) is False


# ------------------------------------------------------------------------------------- ordering


@pytest.mark.remuda_rule("RES-36")
@pytest.mark.parametrize(
    "larger, smaller, expected",
    [
        ({"m": 5}, {"m": 5}, False),
        ({"m": 5, "c": 1}, {"m": 5}, True),
        ({"m": 5, "c": 0}, {"m": 5}, False),
        ({"m": 6}, {"m": 5, "c": 1}, False),
        (None, {"m": -1}, True),
        (None, None, False),
        ({"m": 6}, {"m": 5}, True),
        ({"m": 0}, None, False),
    ],
)
def test_strictly_greater_than(
    larger: Resource | None, smaller: Resource | None, expected: bool
) -> None:
    assert fits.strictly_greater_than(larger, smaller) is expected


@pytest.mark.remuda_rule("RES-37")
@pytest.mark.parametrize(
    "larger, smaller, expected",
    [
        (None, None, True),
        (None, {"m": 1}, False),
        ({"m": -1}, None, False),
        ({"m": 5}, {"m": 5}, True),
        ({"m": 5}, {"m": 5, "c": 0}, True),
        ({"m": 5}, {"m": 4, "c": 1}, False),
    ],
)
def test_strictly_greater_than_or_equals(
    larger: Resource | None, smaller: Resource | None, expected: bool
) -> None:
    assert fits.strictly_greater_than_or_equals(larger, smaller) is expected


@pytest.mark.remuda_rule("RES-38")
@pytest.mark.parametrize(
    "resource, expected",
    [
        (None, False),
        ({}, False),
        ({"m": 0}, False),
        ({"m": 1, "c": 0}, True),
        ({"m": 1, "c": -1}, False),
    ],
)
def test_strictly_greater_than_zero(resource: Resource | None, expected: bool) -> None:
    assert fits.strictly_greater_than_zero(resource) is expected


@pytest.mark.remuda_rule("RES-39")
@pytest.mark.parametrize(
    "resource, zero, empty, negative",
    [
        (None, True, True, False),
        ({}, True, True, False),
        ({"m": 0}, True, False, False),
        ({"m": 1}, False, False, False),
        ({"m": 1, "c": -1}, False, False, True),
    ],
)
def test_zero_empty_and_negative(
    resource: Resource | None, zero: bool, empty: bool, negative: bool
) -> None:
    assert fits.is_zero(resource) is zero
    assert fits.is_empty(resource) is empty
    assert fits.has_negative_value(resource) is negative


# The table of RES-41: larger, smaller, strict form, "or equals" form.
EXISTING_ROWS: list[tuple[Resource | None, Resource | None, bool, bool]] = [
    ({"a": 5, "b": 5}, {"a": 4}, True, True),
    ({"a": 5, "b": 5}, {"a": 5}, False, True),
    ({"a": 5, "b": 5}, {"a": 5, "b": 4}, True, True),
    ({"a": 5, "b": 5}, {"a": 6}, False, False),
    ({"a": 5, "b": 5}, {"c": 9}, True, True),
    ({"a": 5, "b": 5}, None, True, True),
    ({"a": 0}, None, False, False),
    (None, {"a": 1}, False, False),
    (None, None, False, False),
    ({}, {"c": 9}, False, False),
    ({"a": 5}, {"a": 4, "c": 9}, True, True),
]


@pytest.mark.remuda_rule("RES-41")
@pytest.mark.parametrize("larger, smaller, strict, or_equal", EXISTING_ROWS)
def test_comparison_of_existing_types_only(
    larger: Resource | None, smaller: Resource | None, strict: bool, or_equal: bool
) -> None:
    assert fits.strictly_greater_than_only_existing(larger, smaller) is strict
    assert fits.strictly_greater_than_or_equals_only_existing(larger, smaller) is or_equal
