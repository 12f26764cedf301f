"""The shape of unequal nodes and asks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from remuda.bench.clusters import variety
from remuda.bench.clusters.shapes import SHAPES, WIDE
from remuda.bench.throughput.run import Percentiles, Result, measure, request_of
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
    capacities = variety.capacities(S10.nodes, S10.asks, APPLICATIONS)
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
