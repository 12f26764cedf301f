"""What a study costs beyond its runs."""

from __future__ import annotations

import pytest

from tools.study_cost import measure


@pytest.mark.long
def test_a_study_of_64_short_runs_takes_less_than_40_percent_more_than_its_runs() -> None:
    # By processor time: the clock would measure what else the machine does.
    assert measure().cpu_ratio() < 1.4
