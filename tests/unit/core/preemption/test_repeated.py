"""When an attempt is repeated although nothing came, grew or went."""

from __future__ import annotations

import pytest

from tests.unit.core.door import MINUTE, SECOND, leaf, parent
from tests.unit.core.preemption.arena import ONE, Arena, Panel, cores, full
from tests.unit.core.preemption.test_node_side import reserved_by
from tests.unit.core.rules.crowd import Reluctant


@pytest.mark.remuda_rule("PRE-90", "RSV-10")
def test_an_attempt_that_failed_for_a_young_reservation_is_repeated_when_that_is_old() -> None:
    arena = reserved_by(limit="60m")
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    assert arena.after(60 * MINUTE) == ["v1"]


@pytest.mark.remuda_rule("PRE-26", "SI-81")
def test_predicates_refuse_a_free_node_of_an_rm_without_preemption_predicates() -> None:
    judge = Reluctant({("k", "n2", True): "no", ("k", "n2", False): "no"})
    children = leaf("a", guaranteed=cores(5)), leaf("b", guaranteed=cores(5))
    top = parent("p", *children, maximum=cores(10))
    arena = Arena(top, nodes={"n1": cores(10), "n2": cores(10)}, predicates=judge)
    arena.apps_in(a="p.a", b="p.b")
    for number in range(10):
        arena.runs("b", "n1", ONE, f"v{number}", age=number + 1)
    arena.wants("a", "k", cores(2))
    arena.after()
    assert ("k", "n2", True) in judge.asked  # PRE-26: ordinary predicates for an empty list
    assert arena.reserved() == [("n1", "k")]  # n2, which it refuses


@pytest.mark.remuda_rule("EXT-15", "PRE-90")
def test_an_rm_that_said_no_to_victims_is_asked_again_though_nothing_changed() -> None:
    panel = Panel(n1=(False, -1))
    arena = full(3, victims_port=panel)
    arena.wants("a", "k", ONE)
    assert arena.after() == []
    for _ in range(60):
        assert arena.after(SECOND) == []
    # After the pauses of 1, 2, 4 and 8 seconds it is asked every 15.
    assert 3 <= len(panel.questions) <= 5
    panel.says["n1"] = (True, 0)
    assert [gone for _ in range(16) for gone in arena.after(SECOND)] == ["v2"]
