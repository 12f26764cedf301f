"""What becomes of the delay of an ask while its resource manager is away."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.door import MINUTE
from tests.unit.core.preemption.arena import ONE, full


@pytest.mark.remuda_rule("PRE-5", "RM-15")
def test_a_delay_that_ended_while_the_rm_was_away_is_over() -> None:
    arena = full()
    arena.wants("a", "k", ONE)
    arena.step()
    arena.send(c.PauseResourceManager("rm"))
    assert arena.after(MINUTE) == []
    arena.send(c.ResumeResourceManager("rm"))
    assert arena.ordered() == ["v3"]
