"""The benchmark of memory, with small numbers."""

from __future__ import annotations

from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.memory import MEMORY_SHAPE, MemoryShape, measure_memory

SMALL = MemoryShape("small", Shape("small", 200, 4, 2, 2_000, backlog=1_500))


def test_each_kind_of_object_is_weighed() -> None:
    result = measure_memory(SMALL)
    assert [(held.what, held.count) for held in result.kinds] == [
        ("node", 200),
        ("allocation", 2_000),
        ("pending ask", 1_500),
    ]
    # What the interpreter gave out for one is neither nothing nor a copy of the cluster.
    assert all(100 < held.traced < 10_000 for held in result.kinds)
    assert result.allocation_bytes() == result.kinds[1].resident
    assert result.resident_bytes > 2**20


def test_the_cluster_is_that_of_the_targets() -> None:
    cluster = MEMORY_SHAPE.cluster
    assert (cluster.nodes, cluster.asks, cluster.backlog) == (10_000, 100_000, 100_000)
