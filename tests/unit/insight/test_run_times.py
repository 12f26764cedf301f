"""Which run times are possible, by hand."""

from __future__ import annotations

import pytest

from remuda.insight.run_times import Possible, RunTimes


@pytest.mark.remuda_rule("EXT-120")
def test_a_declared_time_that_is_over_says_nothing() -> None:
    times = RunTimes([])
    assert times.after("a", "root.q", "u", age_ns=99, declared_ns=100) == Possible((100,))
    assert times.after("a", "root.q", "u", age_ns=100, declared_ns=100) is None
