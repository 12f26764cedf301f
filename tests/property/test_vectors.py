"""The core's integer vectors against the algebra of chapter 40 on sparse maps.

Both are written from the same rules, one for speed and one for reading; on every resource the
core can hold they have to say the same.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remuda.base import fits as algebra
from remuda.base import resources, shares
from remuda.base.resources import MAX, MIN, Resource
from remuda.core.model import vectors
from remuda.core.model.queues.queue import Queue
from remuda.core.model.vectors import ResourceTypes, Vector
from remuda.core.policy.shares import divisors, fair_share, usage_shares

NAMES = st.sampled_from(["memory", "vcore", "pods", "nvidia.com/gpu"])
ANY = st.dictionaries(NAMES, st.integers(MIN, MAX))
# No sum of two of these reaches the bounds, where the algebra saturates and vectors do not.
SIGNED = st.dictionaries(NAMES, st.one_of(st.integers(-3, 3), st.integers(-(2**61), 2**61)))
# Few values, so that equal and comparable resources are frequent.
HELD = st.dictionaries(NAMES, st.one_of(st.integers(0, 3), st.integers(0, 2**61)))
# Up to here a double holds every whole number.
COUNTED = st.dictionaries(NAMES, st.one_of(st.integers(0, 3), st.integers(0, 2**53)))


class Numbered:
    """Resources as vectors; a type's index is its turn among the names met, so any order occurs."""

    def __init__(self) -> None:
        self.types = ResourceTypes()

    def vector(self, resource: Resource) -> Vector:
        """Return a vector that holds the resource, its zeros included."""
        vector = Vector()
        vectors.add(vector, self.types.amounts(resource))
        return vector


@pytest.mark.remuda_rule("RES-1", "RES-2", "RES-3", "RES-11")
@given(st.dictionaries(st.text(max_size=8), st.integers(MIN, MAX), max_size=6))
def test_any_type_and_amount_comes_out_as_it_went_in(resource: Resource) -> None:
    each = Numbered()
    vector = each.vector(resource)
    assert each.types.resource(vector) == resource
    assert list(each.types.resource(vector)) == sorted(resource)


@pytest.mark.remuda_rule("RES-14", "RES-16")
@given(left=SIGNED, right=SIGNED)
def test_adding(left: Resource, right: Resource) -> None:
    each = Numbered()
    total = each.vector(left)
    vectors.add(total, each.types.amounts(right))
    assert each.types.resource(total) == resources.add(left, right)


@pytest.mark.remuda_rule("RES-25")
@given(left=ANY, right=ANY)
def test_a_sum_beyond_64_bits_is_cut_where_it_leaves_the_core(
    left: Resource, right: Resource
) -> None:
    each = Numbered()
    total = each.vector(left)
    vectors.add(total, each.types.amounts(right))
    assert each.types.resource(total) == resources.add(left, right)


@pytest.mark.remuda_rule("RES-16", "RES-17")
@given(source=SIGNED, target=SIGNED, moved=SIGNED)
def test_moving_takes_here_and_adds_there(
    source: Resource, target: Resource, moved: Resource
) -> None:
    each = Numbered()
    left = each.vector(source)
    right = each.vector(target)
    vectors.move(left, right, each.types.amounts(moved))
    assert each.types.resource(left) == resources.subtract(source, moved)
    assert each.types.resource(right) == resources.add(target, moved)


@pytest.mark.remuda_rule("RES-29", "RES-31", "RES-32")
@given(free=SIGNED, ask=SIGNED)
def test_fitting_what_is_free(free: Resource, ask: Resource) -> None:
    each = Numbered()
    assert vectors.fits(each.vector(free), each.types.amounts(ask)) == algebra.fit_in(free, ask)


@pytest.mark.remuda_rule("RES-30", "RES-31", "RES-32")
@given(limit=SIGNED, used=HELD, ask=SIGNED)
def test_fitting_a_limit_is_fitting_what_it_leaves(
    limit: Resource, used: Resource, ask: Resource
) -> None:
    each = Numbered()
    left = resources.subtract_only_existing(limit, used)
    fitting = vectors.fits_limit(each.vector(limit), each.vector(used), each.types.amounts(ask))
    assert fitting == algebra.fit_in_max_undef(left, ask)


@pytest.mark.remuda_rule("RES-35", "RES-36", "QUE-35")
@given(left=HELD, right=HELD)
def test_exceeding_and_being_equal(left: Resource, right: Resource) -> None:
    each = Numbered()
    ours = vectors.trimmed(each.vector(left))
    theirs = vectors.trimmed(each.vector(right))
    assert vectors.exceeds(ours, theirs) == algebra.strictly_greater_than(left, right)
    assert (ours == theirs) == algebra.equals(left, right)


@pytest.mark.remuda_rule("RES-38")
@given(resource=SIGNED)
def test_being_above_zero(resource: Resource) -> None:
    found = vectors.positive(Numbered().vector(resource))
    assert found == algebra.strictly_greater_than_zero(resource)


@pytest.mark.remuda_rule("RES-46", "RES-47", "RES-48")
@given(left=COUNTED, right=COUNTED, total=st.none() | COUNTED)
def test_comparing_usage_against_a_total(
    left: Resource, right: Resource, total: Resource | None
) -> None:
    each = Numbered()
    whole = None if total is None else each.vector(total)
    ours = usage_shares(each.vector(left), whole)
    theirs = usage_shares(each.vector(right), whole)
    assert (ours > theirs) - (ours < theirs) == shares.compare_usage_ratio(left, right, total)


@pytest.mark.remuda_rule("RES-52", "QUE-38")
@given(used=COUNTED, guaranteed=st.none() | COUNTED, fair_max=st.none() | COUNTED)
def test_the_fair_share_of_a_queue(
    used: Resource, guaranteed: Resource | None, fair_max: Resource | None
) -> None:
    each = Numbered()
    queue = Queue("root", None, leaf=True, managed=True)
    queue.allocated = each.vector(used)
    queue.guaranteed = None if guaranteed is None else each.vector(guaranteed)
    queue.divisors = divisors(queue, None if fair_max is None else each.vector(fair_max))
    assert fair_share(queue) == shares.fair_share(used, guaranteed, fair_max)
