"""The benchmark of predicates over a session, with small numbers."""

from __future__ import annotations

import pytest

from remuda.bench.services.predicates import (
    PREDICATES,
    PredicateResult,
    PredicateShape,
    measure_predicates,
)
from remuda.bench.suites.catalogue import chosen
from tests.unit.bench.sessions import session_of, shown


@pytest.mark.remuda_rule("EXT-13", "EXT-14", "EXT-15")
@pytest.mark.parametrize("classed", [False, True])
def test_every_ask_is_placed_with_few_verdicts(*, classed: bool) -> None:
    result = measure_predicates(PredicateShape("small", 200, 600, classed))
    assert (result.shape, result.asks, result.classed) == ("small", 600, classed)
    assert result.allocations_per_second > 10
    # Counted, not timed: below 3 verdicts per allocation, and equal asks are asked about once.
    assert 1 <= result.verdicts < 3
    assert result.items < (0.2 if classed else 3)


def test_the_command_shows_both_shapes() -> None:
    assert [name for _, name in chosen(["predicates"])] == ["Q1", "Q2"]
    assert [(each.nodes, each.asks) for each in PREDICATES] == [(5_000, 50_000)] * 2
    result = PredicateResult("Q2", 50_000, True, 21_234.5, 1.0, 0.001, 20.1, 9.9, "compiled")
    row = next(line for line in shown(session_of(result)) if line.split()[:1] == ["Q2"])
    assert row.split() == ["Q2", "50,000", "named", "21,234", "1.00", "0.001", "20.1", "9.9"]
