"""Room that is kept for asks whose preemption stands, and what others may have (PRE-89)."""

from __future__ import annotations

import pytest

from tests.unit.core.door import leaf
from tests.unit.core.preemption.arena import DELAY, ONE, Arena, cores


@pytest.mark.remuda_rule("PRE-89", "CYC-25")
def test_a_victim_larger_than_the_ask_leaves_room_that_others_may_want() -> None:
    """Of four cores one is free and two are promised; then one more is promised and two will go."""
    arena = Arena(
        leaf("a", guaranteed=cores(2)),
        leaf("b", guaranteed=cores(2)),
        leaf("c"),
        nodes={"n1": cores(2), "n2": cores(2)},
    )
    arena.apps_in(a="a", b="b", c="c")
    arena.runs("c", "n1", ONE, "v1", "v2")
    arena.runs("c", "n2", cores(2), "v3", allow_preempt_self=False)
    arena.wants("a", "k", cores(2))
    assert sorted(arena.after(DELAY)) == ["v1", "v2"]
    assert arena.confirm("v1") == []
    arena.ask("c", "other", ONE)
    assert arena.after(DELAY) == []
    assert _gate(arena) == "queue quota"
    arena.wants("b", "k", ONE)
    assert arena.after(DELAY) == ["v3"]
    assert _gate(arena) == "nodes"


def _gate(arena: Arena) -> str:
    """What stops the ask of ``c``."""
    finding = arena.request("c", "other").finding
    assert finding is not None
    return finding.gate
