"""Scaling curves: the cost of an allocation while one number grows and the others stay.

The exponent of a curve is the slope of a straight line through log(cost) against log(number), by
least squares: 0 means that the number does not matter, 1 that twice as much costs twice as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from remuda.base.message import message
from remuda.bench.clusters.shapes import Shape
from remuda.bench.throughput.run import measure


@message
class CurvePoint:
    """One point of a curve: ``at`` is the number that grows."""

    name: str
    curve: str
    at: int
    shape: Shape


@message
class CurveResult:
    """A measured point. ``digest``: see Result."""

    shape: str
    curve: str
    at: int
    allocations_per_second: float
    microseconds_per_allocation: float
    resident_bytes: int
    build: str
    digest: str


# What stays as it is, except for what a curve is about.
_FIXED: Final = Shape("curve", nodes=1_000, queues=10, applications=10, asks=20_000)

# Of the curves of queues and of applications: applications altogether, whatever their queues.
_TOGETHER: Final = 10_000


def _point(curve: str, at: int, shape: Shape) -> CurvePoint:
    name = f"{curve}-{at}"
    return CurvePoint(name, curve, at, replace(shape, name=name))


CURVES: Final = (
    *(
        _point("nodes", at, replace(_FIXED, nodes=at))
        for at in (100, 500, 1_000, 5_000, 10_000, 20_000)
    ),
    *(
        _point(
            "queues",
            at,
            replace(_FIXED, queues=at, applications=_TOGETHER // at, guarantees=False),
        )
        for at in (10, 100, 1_000, 10_000)
    ),
    *(
        _point("applications", 10 * at, replace(_FIXED, applications=at))
        for at in (1, 10, 100, 1_000)
    ),
    *(_point("backlog", at, replace(_FIXED, backlog=at)) for at in (0, 1_000, 10_000, 100_000)),
    *(_point("types", at, replace(_FIXED, types=at)) for at in (2, 4, 8, 16, 32)),
    *(
        _point("asks", at, replace(_FIXED, queues=1, applications=1, asks=at))
        for at in (1_000, 5_000, 20_000, 100_000)
    ),
)


def measure_point(point: CurvePoint) -> CurveResult:
    """Run the shape of a point once, in this process.

    Raises: RemudaError if an ask was not placed once, InvariantViolation if a counter is wrong.
    """
    result = measure(point.shape)
    return CurveResult(
        shape=point.name,
        curve=point.curve,
        at=point.at,
        allocations_per_second=result.allocations_per_second,
        microseconds_per_allocation=round(1e6 / result.allocations_per_second, 2),
        resident_bytes=result.resident_bytes,
        build=result.build,
        digest=result.digest,
    )


def exponent(results: Sequence[CurveResult]) -> float | None:
    """Return the scaling exponent of the points of one curve, None for fewer than two.

    A point at 0 has no logarithm and does not count.
    """
    points = [
        (math.log(each.at), math.log(each.microseconds_per_allocation))
        for each in results
        if each.at > 0
    ]
    if len(points) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
