"""Placeholders that the RM reports while something else goes on (chapter 80 section 3)."""

from __future__ import annotations

import pytest

from remuda.core.messages import commands as c
from remuda.core.ports import NodesAnswer, NodesQuestion
from tests.unit.core.door import SECOND
from tests.unit.core.rules.gang import ONE, TWO, Gang, existing


@pytest.mark.remuda_rule("CYC-29", "SI-40", "NODE-17")
@pytest.mark.parametrize("with_node", [False, True])
def test_what_is_foreign_is_so_whatever_else_it_says(*, with_node: bool) -> None:
    gang = Gang()
    ask = c.Ask("", "d", ONE, tags={"foreign": "static"}, placeholder=True, task_group="g")
    daemon = c.ExistingAllocation(ask, "", "n1")
    gang.node("n1", {"vcore": 3}, existing=(daemon,) if with_node else ())
    if not with_node:
        gang.recover(daemon)
    assert gang.node_views()["n1"].occupied == ONE


def reserving() -> Gang:
    """``r`` of group g has reserved n1, which is full."""
    gang = Gang()
    gang.nodes(n1=2, n2=1)
    gang.node("spare", {"vcore": 99}, c.CREATE_DRAIN)  # keeps the headroom of root open
    gang.submit("old")
    gang.want("k", app="old", size=TWO)
    gang.submit()
    gang.run()
    gang.want("r", size=TWO)
    gang.run()
    gang.run(3 * SECOND)
    assert [request.reservations for request in gang.application().requests] == [("n1",)]
    return gang


@pytest.mark.remuda_rule("RSV-8", "RSV-9", "GANG-11", "GANG-14")
@pytest.mark.parametrize("size", [TWO, ONE])
def test_an_ask_that_waits_for_a_reported_placeholder_keeps_no_node(size: dict[str, int]) -> None:
    gang = reserving()
    gang.recover(existing("app", "p", "n2", "g", size=size, placeholder=True))
    gang.run()
    assert gang.node_views()["n1"].reservations == ()
    gang.release("old", "k-0")
    gang.submit("next")
    gang.want("z", app="next", size=TWO)
    assert "new[z-0 n1]" in gang.run()


@pytest.mark.remuda_rule("GANG-5", "CYC-28")
def test_placeholders_that_grow_complete_the_reservation() -> None:
    gang = Gang()
    gang.nodes(n1=9)
    gang.submit("app", {"vcore": 4})
    gang.hold("p1", "p2")
    gang.run()
    assert gang.state("app") == "Accepted"
    for key in ("p1", "p2"):
        gang.recover(existing("app", f"{key}-0", "n1", "g", size=TWO, placeholder=True))
    assert gang.state("app") == "Starting"


@pytest.mark.remuda_rule("GANG-16", "CYC-23")
def test_a_node_that_changes_during_a_long_try_is_not_missed() -> None:
    welcome: list[str] = []

    def predicates(question: NodesQuestion) -> NodesAnswer:
        if question.allocation_key.startswith("p") or question.allocation_key in welcome:
            return NodesAnswer(0)
        return NodesAnswer(-1, ("no",) * len(question.node_ids))

    gang = Gang(predicates=predicates)
    gang.nodes(**{f"n{number:03}": 1 for number in range(60)})
    gang.submit()
    gang.hold(*(f"p{number}" for number in range(60)), equivalence="x")
    gang.run()
    gang.want(*(f"r{number:03}" for number in range(100)))
    assert gang.step(1) == []
    assert gang.scheduler.has_work()  # only a part of the 6,000 pairs was looked at
    welcome.append("r000")
    gang.node("n000", {"vcore": 2}, c.UPDATE)
    assert any("REPLACED" in line for line in gang.run())


@pytest.mark.remuda_rule("GANG-16", "SI-39")
def test_asks_for_nodes_without_placeholders_are_tried_in_portions() -> None:
    gang = Gang()
    gang.nodes(big=100, **{f"n{number:03}": 1 for number in range(100)})
    gang.submit()
    gang.submit("other")
    pinned = {"yunikorn.apache.org/requiredNode": "big"}
    gang.hold(*(f"p{number}" for number in range(100)), tags=pinned)
    gang.want(*(f"k{number}" for number in range(100)), app="other", group="")
    gang.run()
    asks = tuple(
        c.Ask(
            "app",
            f"r{number}",
            ONE,
            task_group="g",
            tags={"yunikorn.apache.org/requiredNode": f"n{number:03}"},
        )
        for number in range(100)
    )
    gang.send(c.UpdateAllocations(gang.rm, asks=asks))
    decisions = 0
    while gang.scheduler.has_work():
        gang.step(1)
        decisions += 1
    assert decisions >= 3  # 10,000 pairs, 4,096 at a time
    assert gang.run() == []
