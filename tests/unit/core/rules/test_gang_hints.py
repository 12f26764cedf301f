"""What RMs are told of gangs that find no room, and what they are not (SI-82, CYC-30)."""

from __future__ import annotations

import pytest

from remuda.core.messages import effects as e
from tests.unit.core.door import MINUTE, SECOND, leaf, of
from tests.unit.core.rules.gang import GREEDY, ONE, TWO, Gang, half


def hinted(gang: Gang, after_ns: int = 2 * SECOND) -> list[str]:
    """The asks the RM is told to make room for."""
    gang.run(after_ns)
    return [hint.allocation_key for hint in of(gang.last, e.ContainerStateUpdated)]


@pytest.mark.remuda_rule("CYC-30", "SI-82", "GANG-8")
def test_a_placeholder_that_finds_no_node_is_told_of() -> None:
    gang = half()
    assert hinted(gang) == ["p2"]
    assert hinted(gang, MINUTE) == []  # once


@pytest.mark.remuda_rule("CYC-30", "SI-82", "GANG-11")
def test_a_real_ask_that_will_replace_a_placeholder_is_not_told_of() -> None:
    gang = Gang(leaf("a", properties=GREEDY))
    gang.nodes(n1=2)
    gang.submit("app", TWO)
    gang.hold("p1", "p2")
    gang.run()
    gang.hold("p3")
    gang.want("r1", "r2", "r3")
    gang.run()
    gang.want("plain", group="")
    gang.run()
    assert sorted(hinted(gang)) == ["p3", "plain"]
    gang.confirm("p1-0", "p2-0")
    assert hinted(gang) == []  # r3 waits for p3


@pytest.mark.remuda_rule("CYC-30", "SI-82", "GANG-4", "GANG-6", "CYC-12")
def test_what_the_gang_rules_hold_is_not_told_of() -> None:
    gang = Gang(leaf("a", {"vcore": 3}))
    gang.nodes(n1=1)
    gang.submit("other")
    gang.existing("other", "x", "n1", ONE)
    gang.submit("app", {"vcore": 3})
    gang.hold("p1", "p2", "p3")
    gang.want("r1")
    gang.want("r2", group="")
    assert hinted(gang) == []
    found = gang.application().requests
    assert [r.allocation_key for r in found if r.scheduling_attempted] == []


@pytest.mark.remuda_rule("CYC-30", "GANG-14", "GANG-9")
def test_an_ask_of_several_keeps_waiting_for_the_rest_of_what_it_wants() -> None:
    gang = Gang()
    gang.nodes(n1=1)
    gang.submit()
    # Tried when its group has no member yet, and too large for every node there is.
    gang.want("r", size=TWO, max_allocations=2)
    gang.run()
    gang.hold("p1", size=TWO, priority=9)
    gang.nodes(n2=2)
    assert gang.run() == ["new[p1-0 n2]", "released[p1-0 REPLACED]"]
    assert gang.pending() == {"r": 1}
    assert gang.confirm("p1-0") == ["updated[app Starting]", "new[r-0 n2]"]
    gang.run()
    assert gang.pending() == {"r": 1}


@pytest.mark.remuda_rule("CYC-30", "GANG-14", "GANG-11")
def test_an_ask_for_more_than_there_are_placeholders_is_placed_as_a_whole() -> None:
    gang = Gang()
    gang.nodes(n1=10)
    gang.submit("app", ONE)
    gang.hold("p1")
    gang.run()
    gang.want("r", max_allocations=2)
    assert gang.run() == ["released[p1-0 REPLACED]"]
    assert gang.pending() == {"r": 1}
    assert gang.confirm("p1-0") == ["new[r-0 n1]"]
    assert gang.run() == ["updated[app Running]", "new[r-1 n1]"]
