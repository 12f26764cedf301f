"""Resource managers in process are asked about victims, and about nodes without any."""

from __future__ import annotations

import pytest

from remuda.core.ports import (
    PreemptionItem,
    PreemptionQuestion,
    PreemptionVerdict,
    first_will_do,
)
from remuda.edges.preemption import preemption_port_of
from remuda.si.pb import si_pb2 as si


class Rm:
    """Agrees once the victim ``v2`` is gone; its ordinary predicates accept n1 only."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, tuple[str, ...], int]] = []

    def predicates(self, args: si.PredicatesArgs) -> None:
        if args.nodeID != "n1" or not args.allocate:
            raise ValueError("not there")

    def preemption_predicates(
        self, args: si.PreemptionPredicatesArgs
    ) -> si.PreemptionPredicatesResponse:
        victims = tuple(args.preemptAllocationKeys)
        self.asked.append((args.allocationKey, args.nodeID, victims, args.startIndex))
        if "v2" not in victims:
            return si.PreemptionPredicatesResponse(success=False, index=-1)
        index = max(victims.index("v2"), args.startIndex)
        return si.PreemptionPredicatesResponse(success=True, index=index)


def question(*items: PreemptionItem, first_success: bool = True) -> PreemptionQuestion:
    return PreemptionQuestion("rm", items, first_success)


def item(node_id: str, *victims: str, start: int = 0) -> PreemptionItem:
    return PreemptionItem("k", node_id, victims, start)


@pytest.mark.remuda_rule("EXT-18", "SI-81")
@pytest.mark.parametrize("first_success, asked", [(True, 2), (False, 3)])
def test_nodes_are_asked_about_until_one_does(first_success: bool, asked: int) -> None:
    rm = Rm()
    port = preemption_port_of(rm)
    assert port is not None
    items = (item("n1", "v1"), item("n2", "v1", "v2", "v3"), item("n3", "v2"))
    verdicts = port(question(*items, first_success=first_success)).verdicts
    assert len(verdicts) == len(rm.asked) == asked
    assert verdicts[:2] == (PreemptionVerdict(False), PreemptionVerdict(True, 1))
    assert rm.asked[1] == ("k", "n2", ("v1", "v2", "v3"), 0)


@pytest.mark.remuda_rule("EXT-18", "SI-81")
@pytest.mark.parametrize("node_id, success", [("n1", True), ("n2", False)])
def test_without_victims_the_ordinary_predicates_are_asked(node_id: str, success: bool) -> None:
    rm = Rm()
    port = preemption_port_of(rm)
    assert port is not None
    assert port(question(item(node_id))).verdicts == (PreemptionVerdict(success, -1),)
    assert rm.asked == []


@pytest.mark.remuda_rule("SI-8", "EXT-18")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        "yes",
        si.PreemptionPredicatesResponse(success=True, index=2),
        si.PreemptionPredicatesResponse(success=True, index=-1),
    ],
)
def test_an_answer_without_sense_is_a_failure(answer: object) -> None:
    class Odd:
        def preemption_predicates(self, args: si.PreemptionPredicatesArgs) -> object:
            if answer is None:
                raise RuntimeError("broken")
            return answer

    port = preemption_port_of(Odd())
    assert port is not None
    verdicts = port(question(item("n1", "v1", "v2"))).verdicts
    assert verdicts == (PreemptionVerdict(False),)


def test_without_a_member_for_it_the_first_node_will_do() -> None:
    assert preemption_port_of(object()) is None
    items = (item("n1", "v1", "v2", start=1), item("n2", "v1"))
    assert first_will_do(question(*items)).verdicts == (PreemptionVerdict(True, 1),)
    assert first_will_do(question()).verdicts == ()
