"""Nodes that predicates refused are passed over by later searches until they change."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from remuda.core.messages import commands as c
from tests.port import one_by_one
from tests.unit.core.door import Caller, leaf
from tests.unit.core.rules.distant import placed

ONE = {"vcore": 1}
FEW = 10


def lines(work: Callable[[], object]) -> int:
    """How many lines of Python a piece of work executes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


class Choosy(Caller):
    """An RM whose asks fit on the nodes in ``good`` only.

    All nodes are equally full at first, and ``good`` are the last of them in order. An ask that is
    too large for all nodes keeps the class waiting, since verdicts end with its last waiting ask.
    """

    def __init__(self, nodes: int, room: int = 100) -> None:
        self.good = {f"n{number:04}" for number in range(nodes - FEW, nodes)}
        self.asked: list[str] = []
        super().__init__(leaf("a"), predicates=one_by_one(self._judge))
        for number in range(nodes):
            self.node(f"n{number:04}", {"vcore": room})
        self.app("app")
        self.ask("app", "huge", {"vcore": 10 * room}, equivalence="class")
        self.want("first", FEW)

    def _judge(self, rm_id: str, key: str, node_id: str, allocate: bool) -> str:
        self.asked.append(node_id)
        return "" if node_id in self.good else "no"

    def want(self, key: str, count: int) -> list[tuple[str, str]]:
        """Have asks of the class placed as far as that is possible; say where they went."""
        self.ask("app", key, ONE, count, equivalence="class")
        found = placed(self.step(10 * count))
        self.scheduler.check()
        return found


def cost(nodes: int) -> int:
    """How many lines are executed for some allocations on the few good ones of some nodes."""
    rm = Choosy(nodes)
    rm.ask("app", "more", ONE, 3 * FEW, equivalence="class")
    rm.step(FEW)  # the first search of an ask looks at all nodes once
    return lines(lambda: rm.step(20 * FEW))


@pytest.mark.remuda_rule("CYC-15", "NOD-13")
def test_a_search_costs_the_same_with_many_refused_nodes_as_with_few() -> None:
    assert cost(2_000) < 2 * cost(100) + 1


@pytest.mark.remuda_rule("NOD-13", "EXT-15")
def test_a_node_is_asked_about_once_however_often_it_is_passed_over() -> None:
    rm = Choosy(200)
    refused = [node_id for node_id in rm.asked if node_id not in rm.good]
    assert len(refused) == len(set(refused)) == 190
    rm.asked.clear()
    assert {node_id for _, node_id in rm.want("more", FEW)} == rm.good
    assert set(rm.asked) == rm.good


@pytest.mark.remuda_rule("NOD-13", "CYC-15")
def test_a_refused_node_that_changed_is_asked_about_and_used_in_its_place() -> None:
    rm = Choosy(200)
    rm.good |= {"n0007", "n0005"}
    rm.ask("app", "more", ONE, 3 * FEW, equivalence="class")
    rm.step(FEW)
    for node_id in ("n0007", "n0005"):
        rm.node(node_id, action=c.UPDATE, attributes={"label": "new"})
        rm.scheduler.check()
        assert [found for _, found in placed(rm.step(3))][-1] == node_id


@pytest.mark.remuda_rule("EXT-15", "SI-10")
def test_every_refused_node_is_asked_about_when_the_rm_says_look_again() -> None:
    rm = Choosy(200, room=1)
    assert rm.want("more", 1) == []
    rm.good.add("n0003")
    rm.send(c.UpdateNodes("rm"))
    assert placed(rm.step()) == [("more-0", "n0003")]


@pytest.mark.remuda_rule("CYC-16", "EXT-15")
def test_the_reasons_count_the_nodes_that_were_passed_over() -> None:
    rm = Choosy(200, room=2)
    rm.want("second", FEW)
    assert rm.want("third", 1) == []
    request = next(r for r in rm.apps()["app"].requests if r.allocation_key == "third")
    assert request.finding is not None
    summary = request.finding.nodes
    assert summary is not None
    assert (summary.refused, summary.no_room) == (190, FEW)
