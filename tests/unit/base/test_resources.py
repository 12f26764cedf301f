"""Arithmetic on resources: the tables and examples of chapter 40, sections 1 to 5 and 8."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from remuda.base import resources
from remuda.base.resources import MAX, MIN, Resource

INT64_MAX = 9223372036854775807
INT64_MIN = -9223372036854775808


@pytest.mark.remuda_rule("RES-1", "RES-25")
def test_quantities_are_signed_64_bit_integers() -> None:
    assert MAX == INT64_MAX
    assert MIN == INT64_MIN
    assert resources.sat(2**63) == INT64_MAX
    assert resources.sat(-(2**63) - 1) == INT64_MIN
    assert resources.sat(INT64_MAX) == INT64_MAX
    assert resources.sat(INT64_MIN) == INT64_MIN
    assert resources.sat(-7) == -7


@pytest.mark.remuda_rule("RES-1", "RES-4")
def test_type_names_are_opaque_and_case_sensitive() -> None:
    assert resources.add({"memory": 1, "cpu": 1}, {"Memory": 2, "vcore": 3}) == {
        "memory": 1,
        "cpu": 1,
        "Memory": 2,
        "vcore": 3,
    }


@pytest.mark.remuda_rule("RES-13")
def test_a_clone_keeps_zeros_and_shares_nothing() -> None:
    original = {"memory": 0, "vcore": 2}
    copy = resources.clone(original)
    assert copy == {"memory": 0, "vcore": 2}
    assert copy is not original
    assert resources.clone(None) is None


OPERATIONS: list[Callable[[Resource | None, Resource | None], object]] = [
    resources.add,
    resources.subtract,
    resources.add_to,
    resources.subtract_from,
    resources.add_only_existing,
    resources.subtract_only_existing,
    resources.subtract_eliminate_negative,
    resources.subtract_error_negative,
    resources.component_wise_min_zeroing,
    resources.component_wise_min,
    resources.component_wise_min_only_existing,
    resources.component_wise_max,
    resources.merge_if_not_present,
]


@pytest.mark.remuda_rule("RES-13", "RES-14")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_operation_changes_or_returns_its_arguments(
    operation: Callable[[Resource | None, Resource | None], object],
) -> None:
    left = {"a": 1, "b": -2}
    right = {"b": 5, "c": 0}
    result = operation(left, right)
    assert (left, right) == ({"a": 1, "b": -2}, {"b": 5, "c": 0})
    assert result is not left
    assert result is not right
    assert operation(left, None) is not left
    assert operation(None, right) is not right


@pytest.mark.remuda_rule("RES-14")
def test_the_result_has_the_types_of_both_zeros_included() -> None:
    assert resources.add({"a": 1, "z": 0}, {"b": 0, "a": -1}) == {"a": 0, "z": 0, "b": 0}
    assert resources.subtract({"a": 1}, {"a": 1}) == {"a": 0}


@pytest.mark.remuda_rule("RES-15")
def test_prune_removes_zero_valued_types_only() -> None:
    assert resources.prune({"a": 0, "b": 1, "c": -1}) == {"b": 1, "c": -1}
    assert resources.prune({"a": 0}) == {}
    assert resources.prune(None) is None


# ------------------------------------------------------------------- addition and subtraction


@pytest.mark.remuda_rule("RES-16")
def test_add() -> None:
    assert resources.add({"m": 1}, {"m": 2, "c": 3}) == {"m": 3, "c": 3}
    assert resources.add({"m": 1}, {"m": -5}) == {"m": -4}
    assert resources.add(None, {"m": 2}) == {"m": 2}
    assert resources.add({"m": 2}, None) == {"m": 2}
    assert resources.add(None, None) == {}


@pytest.mark.remuda_rule("RES-17")
def test_subtract() -> None:
    assert resources.subtract({"m": 1}, {"m": 2, "c": 3}) == {"m": -1, "c": -3}
    assert resources.subtract(None, {"m": 2}) == {"m": -2}
    assert resources.subtract({"m": 2}, None) == {"m": 2}
    assert resources.subtract(None, None) == {}


@pytest.mark.remuda_rule("RES-18", "RES-19")
def test_adding_to_or_taking_from_nothing_stays_nothing() -> None:
    assert resources.add_to({"m": 1}, {"m": -2, "c": 3}) == {"m": -1, "c": 3}
    assert resources.add_to({"m": 1}, None) == {"m": 1}
    assert resources.add_to(None, {"m": 1}) is None
    assert resources.subtract_from({"m": 1}, {"m": 2, "c": 3}) == {"m": -1, "c": -3}
    assert resources.subtract_from({"m": 1}, None) == {"m": 1}
    assert resources.subtract_from(None, {"m": 1}) is None


@pytest.mark.remuda_rule("RES-20", "RES-24")
def test_subtract_only_existing_never_creates_a_type() -> None:
    assert resources.subtract_only_existing({"m": 10}, {"m": 15, "c": 3}) == {"m": -5}
    assert resources.subtract_only_existing({"m": 10}, None) == {"m": 10}
    assert resources.subtract_only_existing(None, {"m": 1}) is None
    assert resources.subtract({"m": 10}, {"m": 15, "c": 3}) == {"m": -5, "c": -3}


@pytest.mark.remuda_rule("RES-24")
def test_add_only_existing_is_its_counterpart() -> None:
    assert resources.add_only_existing({"a": 5}, {"a": 1, "c": 2}) == {"a": 6}
    assert resources.add_only_existing({"a": 5}, None) == {"a": 5}
    assert resources.add_only_existing(None, {"a": 1}) is None


@pytest.mark.remuda_rule("RES-21")
def test_subtract_eliminate_negative() -> None:
    sub = resources.subtract_eliminate_negative
    assert sub({"m": 5}, {"m": 3}) == {"m": 2}
    assert sub({"m": 1}, {"c": 2, "d": -2}) == {"m": 1, "c": 0, "d": 2}
    assert sub(None, {"m": 2, "c": -3}) == {"m": 0, "c": 3}
    assert sub({"m": 2}, None) == {"m": 2}
    assert sub(None, None) == {}


@pytest.mark.remuda_rule("RES-21", "RES-23")
def test_a_negative_amount_of_another_type_is_left_alone() -> None:
    assert resources.subtract_eliminate_negative({"m": 1, "x": -4}, {"m": 3, "c": 2}) == {
        "m": 0,
        "c": 0,
        "x": -4,
    }


@pytest.mark.remuda_rule("RES-22", "RES-23")
def test_subtract_error_negative_names_the_types_sorted() -> None:
    sub = resources.subtract_error_negative
    assert sub({"m": -1}, {"c": 0}) == ({"m": -1, "c": 0}, "")
    assert sub({"m": 1, "c": 1, "g": 9}, {"m": 2, "c": 3, "g": 1}) == (
        {"m": 0, "c": 0, "g": 8},
        "resource quantity less than zero for: c, m",
    )
    assert sub(None, {"m": 2}) == ({"m": 0}, "resource quantity less than zero for: m")
    assert sub({"m": 2}, None) == ({"m": 2}, "")


@pytest.mark.remuda_rule("RES-25")
@pytest.mark.parametrize(
    "a, b, total",
    [
        (INT64_MAX, 1, INT64_MAX),
        (INT64_MIN, -1, INT64_MIN),
        (INT64_MAX, INT64_MIN, -1),
        (INT64_MAX, INT64_MAX, INT64_MAX),
        (INT64_MIN, INT64_MIN, INT64_MIN),
    ],
)
def test_addition_saturates(a: int, b: int, total: int) -> None:
    assert resources.add({"m": a}, {"m": b}) == {"m": total}
    assert resources.add_to({"m": a}, {"m": b}) == {"m": total}
    assert resources.add_only_existing({"m": a}, {"m": b}) == {"m": total}


@pytest.mark.remuda_rule("RES-26")
@pytest.mark.parametrize(
    "a, b, difference",
    [
        (0, INT64_MIN, INT64_MAX),
        (-1, INT64_MIN, INT64_MAX),
        (5, INT64_MIN, INT64_MAX),
        (INT64_MIN, 1, INT64_MIN),
        (INT64_MAX, -1, INT64_MAX),
        (INT64_MIN, INT64_MIN, 0),
        (-2, INT64_MAX, INT64_MIN),
    ],
)
def test_subtraction_is_exact_then_saturates(a: int, b: int, difference: int) -> None:
    assert resources.subtract({"m": a}, {"m": b}) == {"m": difference}
    assert resources.subtract_from({"m": a}, {"m": b}) == {"m": difference}
    assert resources.subtract_only_existing({"m": a}, {"m": b}) == {"m": difference}


# ------------------------------------------------------------------------------ multiplication


@pytest.mark.remuda_rule("RES-27")
@pytest.mark.parametrize(
    "value, factor, product",
    [
        (INT64_MAX, 2, INT64_MAX),
        (INT64_MAX, -2, INT64_MIN),
        (INT64_MIN, -1, INT64_MAX),
        (2**32, 2**31, INT64_MAX),
        (5, -2, -10),
        (0, 3, 0),
    ],
)
def test_multiply_saturates(value: int, factor: int, product: int) -> None:
    assert resources.multiply({"m": value}, factor) == {"m": product}


@pytest.mark.remuda_rule("RES-27")
def test_multiply_by_nothing_drops_the_types() -> None:
    assert resources.multiply({"m": 5}, 0) == {}
    assert resources.multiply(None, 5) == {}


@pytest.mark.remuda_rule("RES-28")
@pytest.mark.parametrize(
    "value, ratio, product",
    [
        (5, 0.5, 2),
        (-5, 0.5, -2),
        (7, 0.9999999, 6),
        (INT64_MAX, 2.0, INT64_MAX),
        (INT64_MIN, 2.0, INT64_MIN),
        (INT64_MAX, -2.0, INT64_MIN),
        (10, math.inf, INT64_MAX),
        (10, -math.inf, INT64_MIN),
        (-10, math.inf, INT64_MIN),
        (0, math.inf, 0),
        (INT64_MAX, 1.0, INT64_MAX),
        (INT64_MIN, 1.0, INT64_MIN),
        (10, math.nan, 0),
    ],
)
def test_a_float_product_is_truncated_toward_zero_and_saturated(
    value: int, ratio: float, product: int
) -> None:
    assert resources.multiply_by({"m": value}, ratio) == {"m": product}
    assert resources.multiply_to({"m": value}, ratio) == {"m": product}


@pytest.mark.remuda_rule("RES-28")
def test_ratio_zero_drops_the_types_except_in_place() -> None:
    assert resources.multiply_by({"m": 5}, 0.0) == {}
    assert resources.multiply_by(None, 0.5) == {}
    assert resources.multiply_to({"m": 5}, 0.0) == {"m": 0}
    assert resources.multiply_to(None, 0.5) is None


# ------------------------------------------------------------------- component-wise min and max


@pytest.mark.remuda_rule("RES-42")
def test_the_zeroing_minimum_takes_a_missing_type_as_zero() -> None:
    least = resources.component_wise_min_zeroing
    assert least({"m": 5, "c": 3}, {"m": 4}) == {"m": 4, "c": 0}
    assert least({"c": -3}, {"m": 4}) == {"c": -3, "m": 0}
    assert least({"vcore": 10}, {"memory": 5}) == {"vcore": 0, "memory": 0}
    assert least(None, {"m": 4}) == {}
    assert least({"m": 4}, None) == {}
    assert least(None, None) == {}


@pytest.mark.remuda_rule("RES-43", "RES-45")
def test_the_permissive_minimum_keeps_what_one_side_lacks() -> None:
    least = resources.component_wise_min
    assert least({"m": 5, "c": 3}, {"m": 4}) == {"m": 4, "c": 3}
    assert least({}, {"m": 4}) == {"m": 4}
    assert least({"vcore": 10}, {"memory": 5}) == {"vcore": 10, "memory": 5}
    assert least(None, {"m": 4}) == {"m": 4}
    assert least({"m": 4}, None) == {"m": 4}
    assert least(None, None) is None


@pytest.mark.remuda_rule("RES-44")
def test_the_maximum_takes_a_missing_type_as_zero() -> None:
    most = resources.component_wise_max
    assert most({"m": 5, "c": -3}, {"m": 4}) == {"m": 5, "c": 0}
    assert most({"m": 1}, {"c": -1, "g": 2}) == {"m": 1, "c": 0, "g": 2}
    assert most(None, {"m": 4}) == {}
    assert most({"m": 4}, None) == {}


@pytest.mark.remuda_rule("RES-45")
def test_merge_if_not_present_fills_gaps_only() -> None:
    merge = resources.merge_if_not_present
    assert merge({"a": 5}, {"a": 1, "b": 2}) == {"a": 5, "b": 2}
    assert merge(None, {"a": 1}) == {"a": 1}
    assert merge({"a": 1}, None) == {"a": 1}
    assert merge(None, None) is None


@pytest.mark.remuda_rule("RES-45")
def test_the_minimum_of_existing_types_has_the_left_types_only() -> None:
    least = resources.component_wise_min_only_existing
    assert least({"a": 5, "b": 1}, {"a": 1, "c": 2}) == {"a": 1, "b": 1}
    assert least(None, {"a": 1}) is None
    assert least({"a": 1}, None) == {"a": 1}
