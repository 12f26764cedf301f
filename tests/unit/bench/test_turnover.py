"""The benchmark of a full cluster in which allocations end while asks come, with small numbers."""

from __future__ import annotations

from remuda.bench.clusters import variety
from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.run import stride
from remuda.bench.throughput.turnover import TURNOVER, TurnoverShape, measure_turnover

SMALL = TurnoverShape("small", Shape("small", 20, 4, 2, 200, mixed=True), 3, 2_000, 0.1)


def test_as_many_asks_are_placed_as_allocations_end_at_both_paces() -> None:
    result = measure_turnover(SMALL)
    assert result.allocations_per_second > 1
    times = result.milliseconds
    assert 0 < times.p50 <= times.p99 <= times.max
    assert result.per_second == SMALL.per_second


def test_each_place_ends_once_before_another_ends_again() -> None:
    for shape in TURNOVER:
        places = shape.cluster.asks
        assert len({turn * stride(places) % places for turn in range(places)}) == places


def test_the_cluster_has_room_for_an_eighth_more_at_most() -> None:
    for shape in TURNOVER:
        cluster = shape.cluster
        kinds = variety.drawn_kinds(cluster.asks)
        sizes = sum(variety.ASK_SIZES[kind % len(variety.ASK_SIZES)] for kind in kinds)
        unit = variety.UNITS["memory"]
        capacities = variety.capacities(cluster.nodes, kinds)
        room = sum(each["memory"] for each in capacities) // unit * cluster.nodes // 4
        assert sizes <= room <= 1.125 * sizes
