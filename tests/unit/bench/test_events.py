"""The benchmark of event tracking, with small numbers."""

from __future__ import annotations

import pytest

from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.events import EVENTS, EventShape, measure_events

SMALL = EventShape("small", Shape("small", 20, 2, 2, 300), streams=3, rounds=1)


@pytest.mark.remuda_rule("EVT-91", "EVT-107", "EVT-114")
def test_events_are_tracked_followed_and_counted() -> None:
    result = measure_events(SMALL)
    off, on, followed = result.parts
    assert [part.what for part in result.parts] == ["off", "on", "3 streams"]
    assert all(part.allocations_per_second > 10 for part in result.parts)
    assert (off.created, off.loss) == (0, 0)
    # At least the ask, the allocation on its application, its node and its queue.
    assert on.created == followed.created >= 4 * 300
    assert [part.lost for part in result.parts] == [0, 0, 0]
    assert result.loss() == on.loss < 1


def test_the_shape_is_s1_with_ten_streams() -> None:
    assert EVENTS.cluster.name == "S1"
    assert EVENTS.streams == 10
