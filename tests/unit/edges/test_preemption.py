"""Resource managers in process are asked about victims, and about nodes without any."""

from __future__ import annotations

import pytest

from remuda.core.messages.effects import AllocationNew, Effect
from remuda.core.ports import (
    PreemptionItem,
    PreemptionQuestion,
    PreemptionVerdict,
    first_will_do,
)
from remuda.edges.inproc import InProcessScheduler
from remuda.edges.preemption import preemption_port_of
from remuda.runtime.loop import SchedulerLoop
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import NodesPredicatesItem, NodesPredicatesItemResult
from tests.unit.edges.cluster import asks
from tests.unit.runtime.fakes import Evicting


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


@pytest.mark.remuda_rule("PRE-26", "SI-81", "EXT-22")
def test_ordinary_predicates_are_told_of_which_application_the_ask_is() -> None:
    asked: list[NodesPredicatesItem] = []

    class Many:
        def nodes_predicates(
            self, items: list[NodesPredicatesItem]
        ) -> list[NodesPredicatesItemResult]:
            asked.extend(items)
            return [NodesPredicatesItemResult(fit=[0])]

        def preemption_predicates(self, args: si.PreemptionPredicatesArgs) -> None:
            raise AssertionError("there is nobody to remove")

    port = preemption_port_of(Many())
    assert port is not None
    free = PreemptionItem("k", "n1", (), -1, "app")
    assert port(question(free)).verdicts == (PreemptionVerdict(True, -1),)
    assert asked == [NodesPredicatesItem("app", "k", True, ("n1",))]


@pytest.mark.remuda_rule("SI-8", "EXT-18", "PRE-27")
@pytest.mark.parametrize(
    "answer, complaint",
    [
        (RuntimeError("broken"), "it raised broken"),
        (TimeoutError(), "it raised TimeoutError"),
        ("yes", "it returned str, no PreemptionPredicatesResponse"),
        (None, "it returned NoneType, no PreemptionPredicatesResponse"),
        (si.PreemptionPredicatesResponse(success=True, index=2), "2 is no index of 2 victims"),
        (si.PreemptionPredicatesResponse(success=True, index=-1), "-1 is no index of 2 victims"),
    ],
)
def test_an_answer_without_sense_is_a_failure_of_its_node(
    answer: object, complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd:
        def preemption_predicates(self, args: si.PreemptionPredicatesArgs) -> object:
            if args.nodeID == "n2":
                return si.PreemptionPredicatesResponse(success=True, index=1)
            if isinstance(answer, Exception):
                raise answer
            return answer

    port = preemption_port_of(Odd())
    assert port is not None
    items = (item("n1", "v1", "v2"), item("n2", "v1", "v2"), item("n3", "v1", "v2"))
    asked = question(*items, first_success=False)
    no = PreemptionVerdict(False)
    assert port(asked).verdicts == (no, PreemptionVerdict(True, 1), no)
    # The log says it once, however often it happens.
    (line,) = caplog.messages
    assert line.startswith("preemption_predicates of resource manager 'rm' gave no answer")
    assert line.endswith(complaint)


@pytest.mark.remuda_rule("SI-81", "PRE-24", "PRE-28")
def test_a_callback_is_asked_about_victims_if_it_has_a_member_for_it() -> None:
    core = SchedulerLoop(Evicting)
    core.start()
    effects: list[Effect] = []
    core.subscribe(effects.extend)
    picky = Rm()
    with InProcessScheduler(core=core) as scheduler:
        for rm_id, callback in (("picky", picky), ("silent", object())):
            request = si.RegisterResourceManagerRequest(rmID=rm_id)
            scheduler.register_resource_manager(request, callback)
            scheduler.update_allocation(asks("k", rm_id=rm_id))
        scheduler.wait_idle()
    core.stop()
    told = [each.allocation_id for each in effects if isinstance(each, AllocationNew)]
    # Of (v1, v2) and (v3) picky wants v2 gone; without a callback the first node will do.
    assert told == ["11 0-1 ", "10 "]
    assert [node_id for _, node_id, _, _ in picky.asked] == ["n1", "n2"]


def test_without_a_member_for_it_the_first_node_will_do() -> None:
    assert preemption_port_of(object()) is None
    items = (item("n1", "v1", "v2", start=1), item("n2", "v1"))
    assert first_will_do(question(*items)).verdicts == (PreemptionVerdict(True, 1),)
    assert first_will_do(question()).verdicts == ()
