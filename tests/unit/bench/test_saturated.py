"""The benchmark of a full cluster, with small numbers."""

from __future__ import annotations

from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.saturated import SATURATED, SaturatedShape, measure_saturated

SMALL = SaturatedShape("small", Shape("small", 20, 4, 2, 200), waiting=150, releases=60, batch=20)


def test_each_release_lets_one_ask_in_and_is_timed() -> None:
    result = measure_saturated(SMALL, settle_s=0.0)
    assert [(part.batch, part.releases) for part in result.parts] == [(1, 60), (20, 60)]
    for part in result.parts:
        times = part.microseconds
        assert 1 < times.p50 <= times.p99 <= times.max < 5e6
        assert part.mean_microseconds > 1
    assert result.waiting == 150


def test_more_is_asked_for_than_fits_and_released() -> None:
    cluster = SATURATED.cluster
    assert cluster.node_share() * cluster.nodes == cluster.asks
    assert SATURATED.waiting == 0.6 * cluster.asks
    assert 2 * SATURATED.releases <= SATURATED.waiting
