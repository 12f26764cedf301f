"""What happens when the room that was taken for an ask goes to somebody else."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from tests.unit.core.preemption.arena import PAUSE, cores, full
from tests.unit.core.preemption.test_required_node import host


@pytest.mark.remuda_rule("PRE-49")
def test_a_daemon_whose_room_was_taken_takes_room_again() -> None:
    arena = host(cores(2))
    arena.runs("b", "n1", cores(2), "v")
    arena.requires("a", "daemon", "n1", cores(2))
    assert arena.ordered() == ["v"]
    arena.release("b", "v", kind=c.PREEMPTED_BY_SCHEDULER)
    arena.runs("b", "n1", cores(2), "again")  # it runs there, whatever the core thinks of it
    assert [*arena.ordered(), *arena.after(PAUSE)] == ["again"]


@pytest.mark.remuda_rule("PRE-6", "PRE-89")
def test_an_ask_whose_room_was_taken_takes_room_again() -> None:
    arena = full(2)
    arena.node("spare", cores(9), c.CREATE_DRAIN)
    arena.wants("a", "k", cores(2))
    assert arena.after() == ["v1", "v0"]
    for key in ("v1", "v0"):
        arena.release("b", key, kind=c.PREEMPTED_BY_SCHEDULER)
    arena.runs("b", "n1", cores(2), "again")
    assert [*arena.ordered(), *arena.after(PAUSE)] == ["again"]
    assert [(each.outcome, each.left) for each in arena.records()] == [("lost", 0), ("waiting", 1)]
