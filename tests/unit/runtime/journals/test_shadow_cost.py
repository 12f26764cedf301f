"""The tool that measures what it costs to be shadowed does what it says."""

from __future__ import annotations

import pytest

from tools.journal_cost import commands
from tools.shadow_cost import run


@pytest.mark.remuda_rule("EXT-163")
def test_a_run_with_a_shadow_decides_the_same_number_and_is_followed() -> None:
    work = commands(2_000)
    alone, shadowed = [run(work, 0, shadowed=each) for each in (False, True)]
    assert alone.decisions == shadowed.decisions > 400
    assert alone.followed == 0
    assert shadowed.followed > shadowed.decisions
    assert shadowed.median_ns > 0
