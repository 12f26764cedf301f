"""The shape of unequal nodes and asks."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import pytest

from remuda.bench.clusters import variety
from remuda.bench.clusters.shapes import MIXED, SHAPES, WIDE, Shape
from remuda.bench.throughput.run import Percentiles, Result, configuration, measure, request_of
from remuda.config.load import load_configuration
from tests.unit.bench.sessions import session_of, shown

S10 = SHAPES[9]
APPLICATIONS = S10.queues * S10.applications


def test_there_are_16_kinds_of_asks_of_four_types_and_each_application_has_all() -> None:
    kinds = [variety.wanted(kind) for kind in range(variety.KINDS)]
    assert len({tuple(kind.items()) for kind in kinds}) == 16
    assert all(min(kind.values()) > 0 and len(kind) == 4 for kind in kinds)
    for application in (0, 1, 7, 999):
        own = range(application, S10.asks, APPLICATIONS)
        found = Counter(
            (variety.kind_of(each, APPLICATIONS), variety.priority_of(each, APPLICATIONS))
            for each in own
        )
        assert len(found) == variety.KINDS * variety.PRIORITIES


def test_all_asks_fit_in_any_order() -> None:
    kinds = [variety.kind_of(number, APPLICATIONS) for number in range(S10.asks)]
    capacities = variety.capacities(S10.nodes, kinds)
    units = [capacity["memory"] // 10 for capacity in capacities]
    assert units == [8, 16, 32, 64]
    # What is on a node never takes more of any type than its sizes, an ask at most its size.
    sizes = Counter(
        max(
            amount / unit
            for amount, unit in zip(wanted.values(), variety.UNITS.values(), strict=True)
        )
        for wanted in map(variety.wanted, range(variety.KINDS))
    )
    assert sizes == {1: 4, 2: 4, 3: 4, 4: 4}
    full = sum(units) * S10.nodes // 4 - S10.nodes * 3
    assert full >= S10.asks * 2.5


def test_asks_have_priorities_where_the_shape_says_so() -> None:
    numbers = range(5 * APPLICATIONS)
    for shape, priorities in ((S10, {0, 1, 2, 3, 4}), (WIDE[3], {0}), (SHAPES[0], {0})):
        asks = request_of(shape, "k", numbers, 10).asks
        assert {ask.priority for ask in asks} == priorities


def test_kinds_of_mixed_shapes_come_at_random_and_are_equal_in_every_run() -> None:
    kinds = variety.drawn_kinds(16_000)
    assert kinds == variety.drawn_kinds(16_000)
    counts = Counter(kinds)
    assert len(counts) == 16
    assert all(900 < count < 1_100 for count in counts.values())
    pairs = Counter(itertools.pairwise(kinds))
    assert len(pairs) == 256
    mixed = replace(MIXED[0], asks=400)
    asks = request_of(mixed, "k", range(100, 200), 10).asks
    assert [dict(ask.resourceAsk.resources.items())["memory"].value for ask in asks] == [
        variety.wanted(kind)["memory"] for kind in variety.drawn_kinds(400)[100:200]
    ]


@pytest.mark.parametrize("shape", MIXED, ids=lambda shape: shape.name)
def test_every_mixed_shape_has_a_maximum_for_each_queue_and_places_all(shape: Shape) -> None:
    small = replace(shape, nodes=30, queues=5, applications=3, asks=300)
    queues = load_configuration(configuration(small)).partitions[0].root.queues
    assert len(queues) == 5
    assert all(queue.maximum for queue in queues)
    assert bool(queues[0].guaranteed) == shape.guarantees
    assert measure(small).allocations_per_second > 0


def test_a_small_cluster_of_unequal_nodes_holds_everything() -> None:
    # Nodes that are no multiple of four, applications with unequal numbers of asks.
    result = measure(replace(S10, nodes=11, queues=3, applications=2, asks=333))
    assert result.allocations_per_second > 0


def test_a_shape_made_from_another_is_shown_as_a_share_of_it() -> None:
    def result(shape: str, rate: float) -> Result:
        return Result(shape, rate, Percentiles(1.0, 2.0), 2**20, "interpreted", "d")

    results = (result("S1", 200.0), result("S9", 150.0), result("S10", 5.0))
    head, s1, s9, s10, _ = shown(session_of(*results))
    assert head.rstrip().endswith("share")
    assert s1.split() == ["S1", "200", "1.0", "2.0", "1"]
    assert s9.split() == ["S9", "150", "1.0", "2.0", "1", "75%", "of", "S1"]
    assert s10.split() == ["S10", "5", "1.0", "2.0", "1"]
