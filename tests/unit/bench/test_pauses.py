"""The benchmark of pauses, with small numbers."""

from __future__ import annotations

import pytest

from remuda.bench.clusters.shapes import Shape
from remuda.bench.services.pauses import PAUSES, PauseShape, measure_pauses

SMALL = PauseShape("small", Shape("small", 20, 20, 1, 3_000), 300, 0.2)


@pytest.fixture(scope="module")
def parts() -> dict[str, tuple[int, float, float]]:
    result = measure_pauses(SMALL)
    assert result.longest_milliseconds() == max(part.milliseconds.max for part in result.parts)
    return {
        part.what: (part.times, part.milliseconds.max, part.step_milliseconds)
        for part in result.parts
    }


def test_asks_are_timed_while_different_things_disturb(
    parts: dict[str, tuple[int, float, float]],
) -> None:
    assert list(parts) == [
        "nothing",
        "reload, one quota",
        "reload, every tenth",
        "reload, all quotas",
        "dumps are read",
        "garbage is made",
    ]
    assert all(0 < step < longest < 5_000 for _, longest, step in parts.values())


def test_each_configuration_is_loaded_and_taken_back(
    parts: dict[str, tuple[int, float, float]],
) -> None:
    assert all(times >= 2 for what, (times, _, _) in parts.items() if what.startswith("reload"))
    assert parts["dumps are read"][0] >= 1
    assert parts["nothing"][0] == 0


def test_the_cluster_is_that_of_the_targets() -> None:
    assert PAUSES.cluster.queues == 2_000
    assert PAUSES.filled == 100_000
    assert PAUSES.cluster.asks - PAUSES.filled >= 6 * 1_000 * PAUSES.seconds
