"""Laws of the resource algebra, checked on random resources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.base import fits, quantity, resources, shares
from remuda.base.resources import MAX, MIN, Resource

NAMES = st.sampled_from(["memory", "vcore", "pods", "nvidia.com/gpu"])
ANY_AMOUNT = st.one_of(
    st.integers(MIN, MAX),
    st.integers(-3, 3),
    st.sampled_from([MIN, MIN + 1, -1, 0, 1, MAX - 1, MAX]),
)
ANY = st.dictionaries(NAMES, ANY_AMOUNT)
# Three of these can be added without reaching the bounds.
SMALL = st.dictionaries(NAMES, st.integers(-(2**60), 2**60))
TINY = st.dictionaries(NAMES, st.integers(-3, 3))
MAYBE = st.one_of(st.none(), ANY)


def within_bounds(resource: Resource | None) -> bool:
    return all(MIN <= value <= MAX for value in (resource or {}).values())


@pytest.mark.remuda_rule("RES-25", "RES-26")
@given(MAYBE, MAYBE)
def test_every_sum_and_difference_stays_in_64_bits(
    left: Resource | None, right: Resource | None
) -> None:
    for operation in (
        resources.add,
        resources.subtract,
        resources.add_only_existing,
        resources.subtract_only_existing,
        resources.subtract_eliminate_negative,
        resources.component_wise_min,
        resources.component_wise_max,
    ):
        assert within_bounds(operation(left, right))


@pytest.mark.remuda_rule("RES-27", "RES-28")
@given(ANY, ANY_AMOUNT, st.floats())
def test_every_product_stays_in_64_bits(resource: Resource, factor: int, ratio: float) -> None:
    assert within_bounds(resources.multiply(resource, factor))
    assert within_bounds(resources.multiply_by(resource, ratio))


@pytest.mark.remuda_rule("RES-16", "RES-25")
@given(ANY_AMOUNT, ANY_AMOUNT)
def test_a_sum_is_the_exact_one_or_the_bound_it_crossed(a: int, b: int) -> None:
    exact = a + b
    expected = min(MAX, max(MIN, exact))
    assert resources.add({"m": a}, {"m": b}) == {"m": expected}


@pytest.mark.remuda_rule("RES-14", "RES-16")
@given(MAYBE, MAYBE)
def test_addition_commutes_and_unites_the_types(
    left: Resource | None, right: Resource | None
) -> None:
    total = resources.add(left, right)
    assert total == resources.add(right, left)
    assert set(total) == set(left or {}) | set(right or {})


@pytest.mark.remuda_rule("RES-16")
@given(SMALL, SMALL, SMALL)
def test_addition_is_associative_without_saturation(a: Resource, b: Resource, c: Resource) -> None:
    assert resources.add(resources.add(a, b), c) == resources.add(a, resources.add(b, c))


@pytest.mark.remuda_rule("RES-16", "RES-17")
@given(SMALL, SMALL)
def test_subtraction_undoes_addition(a: Resource, b: Resource) -> None:
    assert fits.equals(resources.subtract(resources.add(a, b), b), a)


@pytest.mark.remuda_rule("RES-27")
@given(TINY, st.integers(1, 50))
def test_multiplying_is_adding_again_and_again(resource: Resource, times: int) -> None:
    total: Resource = {}
    for _ in range(times):
        total = resources.add(total, resource)
    assert resources.multiply(resource, times) == total


@pytest.mark.remuda_rule("RES-20", "RES-24")
@given(ANY, MAYBE)
def test_only_existing_keeps_exactly_the_types_it_had(
    base: Resource, delta: Resource | None
) -> None:
    assert set(resources.add_only_existing(base, delta) or {}) == set(base)
    assert set(resources.subtract_only_existing(base, delta) or {}) == set(base)


@pytest.mark.remuda_rule("RES-21", "RES-22", "RES-23")
@given(ANY, ANY)
def test_no_type_that_was_taken_ends_below_zero(left: Resource, right: Resource) -> None:
    result, error = resources.subtract_error_negative(left, right)
    assert all(result[name] >= 0 for name in right)
    assert all(result[name] == left[name] for name in left if name not in right)
    assert bool(error) == (not fits.fit_in_actual(*_same_types(left, right)))


def _same_types(left: Resource, right: Resource) -> tuple[Resource, Resource]:
    return {name: left.get(name, 0) for name in right}, right


@pytest.mark.remuda_rule("RES-29")
@given(SMALL, SMALL)
def test_what_fits_leaves_room_that_is_not_negative(room: Resource, ask: Resource) -> None:
    positive = {name: max(0, value) for name, value in room.items()}
    if fits.fit_in(positive, ask):
        left = resources.subtract(positive, ask)
        assert all(left[name] >= 0 for name in ask)


@pytest.mark.remuda_rule("RES-29", "RES-30", "RES-33")
@given(MAYBE, MAYBE)
def test_what_fits_strictly_fits_where_undefined_is_unlimited(
    larger: Resource | None, smaller: Resource | None
) -> None:
    if fits.fit_in(larger, smaller):
        assert fits.fit_in_max_undef(larger, smaller)
    if fits.fit_in_actual(larger, smaller):
        assert fits.fit_in_max_undef(larger, smaller)


@pytest.mark.remuda_rule("RES-29")
@given(TINY, TINY, TINY)
def test_fitting_is_transitive_for_what_is_not_negative(
    a: Resource, b: Resource, c: Resource
) -> None:
    b = {name: abs(value) for name, value in b.items()}
    if fits.fit_in(a, b) and fits.fit_in(b, c):
        assert fits.fit_in(a, c)


@pytest.mark.remuda_rule("RES-30", "RES-43")
@given(TINY, TINY, TINY)
def test_what_fits_two_limits_fits_their_minimum(a: Resource, b: Resource, ask: Resource) -> None:
    both = fits.fit_in_max_undef(a, ask) and fits.fit_in_max_undef(b, ask)
    assert fits.fit_in_max_undef(resources.component_wise_min(a, b), ask) == both


@pytest.mark.remuda_rule("RES-36", "RES-37")
@given(TINY, TINY)
def test_greater_is_antisymmetric(a: Resource, b: Resource) -> None:
    assert not (fits.strictly_greater_than(a, b) and fits.strictly_greater_than(b, a))
    both = fits.strictly_greater_than_or_equals(a, b) and fits.strictly_greater_than_or_equals(b, a)
    assert both == fits.equals(a, b)


@pytest.mark.remuda_rule("RES-36")
@given(TINY, TINY, TINY)
def test_greater_is_transitive(a: Resource, b: Resource, c: Resource) -> None:
    if fits.strictly_greater_than(a, b) and fits.strictly_greater_than(b, c):
        assert fits.strictly_greater_than(a, c)


@pytest.mark.remuda_rule("RES-36", "RES-38")
@given(MAYBE)
def test_greater_than_zero_is_greater_than_nothing(resource: Resource | None) -> None:
    greater = fits.strictly_greater_than(resource, None)
    assert fits.strictly_greater_than_zero(resource) == greater


@pytest.mark.remuda_rule("RES-47", "RES-48")
@given(TINY, TINY, TINY)
def test_usage_comparison_is_antisymmetric(a: Resource, b: Resource, total: Resource) -> None:
    assert shares.compare_usage_ratio(a, b, total) == -shares.compare_usage_ratio(b, a, total)
    assert shares.compare_usage_ratio(a, a, total) == 0


@pytest.mark.remuda_rule("RES-47", "RES-48")
@given(TINY, TINY, TINY, st.dictionaries(NAMES, st.integers(1, 3)))
def test_usage_comparison_is_transitive(
    a: Resource, b: Resource, c: Resource, total: Resource
) -> None:
    ab = shares.compare_usage_ratio(a, b, total)
    bc = shares.compare_usage_ratio(b, c, total)
    if ab >= 0 and bc >= 0:
        assert shares.compare_usage_ratio(a, c, total) == max(ab, bc)


@pytest.mark.remuda_rule("RES-46", "RES-52")
@given(ANY)
def test_results_do_not_depend_on_the_order_of_types(resource: Resource) -> None:
    reverse = dict(reversed(list(resource.items())))
    total = {"memory": 3, "vcore": 7, "pods": 11}
    assert shares.shares(resource, total) == shares.shares(reverse, total)
    assert shares.fair_share(resource, total, None) == shares.fair_share(reverse, total, None)


@pytest.mark.remuda_rule("RES-5", "RES-8")
@given(st.text(max_size=12), st.sampled_from(["memory", "vcore"]))
def test_any_text_is_a_64_bit_amount_or_one_of_three_errors(text: str, name: str) -> None:
    outcome = _amount_or_error(name, text)
    if isinstance(outcome, int):
        assert 0 <= outcome <= MAX
    else:
        assert outcome in {"invalid quantity", "invalid suffix", "invalid quantity: overflow"}


def _amount_or_error(name: str, text: str) -> int | str:
    try:
        return quantity.parse_quantity(name, text)
    except quantity.QuantityError as error:
        return str(error)
