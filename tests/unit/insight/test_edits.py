"""What is proposed for an ask that waits, before anything is tried."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.base.scopes import Scope
from remuda.insight.changes import PRIORITY
from remuda.insight.surroundings import WaysOutQuestion, free_name
from remuda.insight.ways_out import proposals
from tests.unit.core.door import Caller, leaf

HIGHEST = 2**31 - 1


def waiting(own: int, other: int) -> Caller:
    """Return a scheduler without nodes: asks of two queues wait, with these priorities."""
    door = Caller(leaf("own"), leaf("other"))
    door.app("app", "root.own")
    door.app("rival", "root.other")
    door.ask("app", "k", {"vcore": 1}, priority=own)
    door.ask("rival", "k", {"vcore": 1}, priority=other)
    return door


def priorities(door: Caller, scope: Scope | None = None) -> set[str]:
    """What is proposed about priorities."""

    def parts() -> Iterator[str]:
        question = WaysOutQuestion("default", "app", "k", rm_id="rm", scope=scope)
        for edit in (each for some in proposals(door.scheduler, question) for each in some):
            yield from (
                text for kind, text in zip(edit.kinds, edit.parts, strict=True) if kind == PRIORITY
            )

    return set(parts())


@pytest.mark.remuda_rule("EXT-47")
def test_a_priority_is_above_that_of_all_that_is_served_before() -> None:
    assert priorities(waiting(1, 41)) == {"raise the priority of the ask to 42"}


@pytest.mark.remuda_rule("EXT-65")
def test_a_priority_tells_nothing_about_queues_beyond_the_scope() -> None:
    assert priorities(waiting(1, 41), Scope((), ("root.own",))) == {
        "raise the priority of the ask to 2"
    }


@pytest.mark.remuda_rule("EXT-47")
def test_a_priority_that_is_the_highest_is_not_raised() -> None:
    assert priorities(waiting(HIGHEST - 1, 0)) == {f"raise the priority of the ask to {HIGHEST}"}
    assert priorities(waiting(HIGHEST, 0)) == set()


@pytest.mark.remuda_rule("EXT-119")
def test_a_name_is_found_however_many_are_taken() -> None:
    assert free_name([]) == "what-if-1"
    # A longer name begins with each shorter one.
    assert free_name(["what-if-1", "what-if-23", "what-if-", "other"]) == "what-if-3"
    # Trying each name with each other one would take minutes.
    many = [f"what-if-{number}" for number in range(1, 200_001)]
    assert free_name(many) == "what-if-200001"
