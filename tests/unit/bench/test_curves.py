"""Scaling curves, with small numbers and with made-up ones."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from remuda.bench.suites.catalogue import chosen
from remuda.bench.throughput.curves import CURVES, CurveResult, exponent, measure_point
from remuda.bench.throughput.run import configuration
from remuda.config.load import load_configuration
from tests.unit.bench.sessions import session_of, shown


def point(curve: str, at: int, cost: float) -> CurveResult:
    """A point nobody measured."""
    return CurveResult(f"{curve}-{at}", curve, at, 1e6 / cost, cost, 2**20, "interpreted", "d")


def test_the_exponent_is_the_slope_of_the_logarithms() -> None:
    def costs(power: float) -> list[CurveResult]:
        return [point("nodes", at, 3.0 * at**power) for at in (100, 500, 20_000)]

    assert exponent(costs(0.0)) == pytest.approx(0.0, abs=1e-9)
    assert exponent(costs(0.5)) == pytest.approx(0.5)
    assert exponent(costs(-1.0)) == pytest.approx(-1.0)


def test_a_point_at_zero_has_no_slope() -> None:
    points = [point("backlog", 0, 1.0), point("backlog", 10, 5.0), point("backlog", 1_000, 5.0)]
    assert exponent(points) == pytest.approx(0.0, abs=1e-9)
    assert exponent(points[:2]) is None


def test_along_a_curve_only_one_number_changes() -> None:
    for name in ("nodes", "backlog", "types", "asks"):
        points = [each for each in CURVES if each.curve == name]
        fields = [asdict(each.shape) for each in points]
        assert [shape.pop(name) for shape in fields] == [each.at for each in points]
        assert [shape.pop("name") for shape in fields] == [each.name for each in points]
        assert all(shape == fields[0] for shape in fields)
    for each in CURVES:
        shape = each.shape
        if each.curve == "queues":
            assert (shape.queues, shape.queues * shape.applications) == (each.at, 10_000)
        if each.curve == "applications":
            assert (shape.queues, shape.queues * shape.applications) == (10, each.at)


def test_the_curves_go_by_name_or_all_together() -> None:
    ends = {
        name: [each.at for each in CURVES if each.curve == name]
        for name in dict.fromkeys(each.curve for each in CURVES)
    }
    assert {name: (at[0], at[-1]) for name, at in ends.items()} == {
        "nodes": (100, 20_000),
        "queues": (10, 10_000),
        "applications": (10, 10_000),
        "backlog": (0, 100_000),
        "types": (2, 32),
        "asks": (1_000, 100_000),
    }
    assert [name for _, name in chosen(["curves"])] == [each.name for each in CURVES]
    assert [name for _, name in chosen(["types", "types-4"])] == [
        *("types-2", "types-4", "types-8", "types-16", "types-32"),
    ]


@pytest.mark.parametrize("curve", ["nodes", "types", "asks"])
def test_a_point_is_measured_like_any_shape(curve: str) -> None:
    last = [each for each in CURVES if each.curve == curve][-1]
    small = replace(last.shape, nodes=10, asks=300)
    result = measure_point(replace(last, shape=small))
    assert (result.shape, result.curve, result.at) == (last.name, curve, last.at)
    cost = 1e6 / result.allocations_per_second
    assert result.microseconds_per_allocation == pytest.approx(cost, abs=0.01)
    assert len(result.digest) == 64


def test_each_curve_has_a_table_with_its_exponent() -> None:
    points = [point("nodes", 100, 10.0), point("types", 2, 5.0), point("nodes", 10_000, 100.0)]
    head, first, last, _, alone, _ = shown(session_of(*points))
    assert head.split()[:2] == ["curve", "at"]
    assert first.split() == ["nodes", "100", "100,000", "10.0", "1"]
    assert last.split() == ["nodes", "10,000", "10,000", "100.0", "1", "+0.50"]
    assert alone.split() == ["types", "2", "200,000", "5.0", "1"]


def test_every_configuration_is_accepted() -> None:
    for each in CURVES:
        if each.curve == "queues":
            found = load_configuration(configuration(each.shape))
            (partition,) = found.partitions
            assert len(partition.root.queues) == each.at
