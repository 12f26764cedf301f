"""What a resource manager in this process is asked and told of its asks."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from remuda.core.messages.effects import FAILED, AllocationNew, ContainerStateUpdated, Effect
from remuda.core.messages.queries import PartitionsQuery, PartitionView
from remuda.core.messages.rows import rows
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.replay import replay
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import NodesPredicatesItem, NodesPredicatesItemResult
from tests.unit.edges.cluster import (
    Rm,
    application,
    asks,
    load,
    nodes,
    registering,
    start,
)
from tests.unit.runtime.fakes import FakeScheduler


class PickyRm(Rm):
    """Accepts only nodes whose name ends with the last character of the allocation key."""

    def predicates(self, args: si.PredicatesArgs) -> None:
        self.log.append(f"asked {args.allocationKey} on {args.nodeID}")
        assert args.allocate
        if args.allocationKey[-1] != args.nodeID[-1]:
            raise ValueError(f"not on {args.nodeID}")


@pytest.mark.remuda_rule("SEED-64", "SI-9", "SI-80")
def test_predicates_are_asked_one_by_one_with_all_earlier_news_delivered(
    scheduler: InProcessScheduler,
) -> None:
    rm = PickyRm()
    start(scheduler, rm, "n1", "n2")
    scheduler.wait_idle()
    rm.log.clear()
    scheduler.update_allocation(asks("k2", "k1"))
    scheduler.wait_idle()
    deliveries = [line for line in rm.log if line.startswith("new ")]
    assert sorted(deliveries) == ["new k1 on n1", "new k2 on n2"]
    for delivery in deliveries:
        _, key, _, node = delivery.split()
        at = rm.log.index(delivery)
        questions = [line for line in rm.log if line.startswith(f"asked {key}")]
        assert rm.log.index(f"asked {key} on {node}") < at
        assert all(rm.log.index(question) < at for question in questions)
    other_key = deliveries[1].split()[1]
    first_question = next(i for i, x in enumerate(rm.log) if x.startswith(f"asked {other_key}"))
    assert rm.log.index(deliveries[0]) < first_question


@pytest.mark.remuda_rule("EXT-22", "SI-80", "SI-9")
def test_predicates_about_many_nodes_decide_where_an_ask_goes(
    scheduler: InProcessScheduler,
) -> None:
    class ManyRm(Rm):
        def nodes_predicates(
            self, items: list[NodesPredicatesItem]
        ) -> list[NodesPredicatesItemResult]:
            self.log.extend(
                f"asked {item.allocation_key} of {item.application_id}" for item in items
            )
            return [
                NodesPredicatesItemResult(
                    fit=[
                        index
                        for index, node_id in enumerate(item.node_ids)
                        if node_id[-1] == item.allocation_key[-1]
                    ]
                )
                for item in items
            ]

    rm = ManyRm()
    start(scheduler, rm, "n1", "n2", "n3")
    scheduler.update_allocation(asks("k3", "k1", "k7"))
    scheduler.wait_idle()
    assert sorted(line for line in rm.log if line.startswith("new")) == [
        "new k1 on n1",
        "new k3 on n3",
    ]
    assert rm.log.index("asked k1 of a") < rm.log.index("new k1 on n1")
    assert "asked k7 of a" in rm.log


@pytest.mark.remuda_rule("EXT-13", "EXT-14", "EXT-22")
def test_all_nodes_are_asked_about_once_in_windows_that_grow(
    scheduler: InProcessScheduler,
) -> None:
    windows: list[tuple[str, ...]] = []

    class NeverRm(Rm):
        def nodes_predicates(
            self, items: list[NodesPredicatesItem]
        ) -> list[NodesPredicatesItemResult]:
            windows.extend(item.node_ids for item in items if item.allocate)
            return [NodesPredicatesItemResult() for _ in items]

    names = [f"n{number:04}" for number in range(1_500)]
    start(scheduler, NeverRm(), *names)
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    assert [node_id for window in windows for node_id in window] == names
    sizes = [len(window) for window in windows]
    assert sizes[:-1] == sorted(set(sizes[:-1]))
    assert sizes[0] <= 16
    assert max(sizes) <= 1_024


@pytest.mark.remuda_rule("EXT-22")
def test_predicates_without_sense_leave_the_ask_pending_and_the_scheduler_running(
    scheduler: InProcessScheduler,
) -> None:
    class Senseless(Rm):
        def nodes_predicates(self, items: list[NodesPredicatesItem]) -> object:
            return [NodesPredicatesItemResult(fit=[99])]

    rm = Senseless()
    start(scheduler, rm, "n1")
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    assert rm.placed == []
    assert not scheduler.core.failed


class StateRm(Rm):
    """Notes in its log what it is told about asks."""

    def update_container_scheduling_state(
        self, request: si.UpdateContainerSchedulingStateRequest
    ) -> None:
        name = si.UpdateContainerSchedulingStateRequest.SchedulingState.Name(request.state)
        self.log.append(
            f"{name} {request.allocationKey} of {request.applicartionID}: {request.reason}"
        )
        raise ValueError("what becomes of it is not the scheduler's concern")


class Telling(FakeScheduler):
    """Finds the cluster too small for asks whose key begins with "big"; places all others."""

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        return [
            ContainerStateUpdated("rm", "a", effect.ask.allocation_key, FAILED, "no room")
            if isinstance(effect, AllocationNew) and effect.ask.allocation_key.startswith("big")
            else effect
            for effect in super().step(now_ns, limit)
        ]


def tell(callback: object, *keys: str) -> None:
    """Register an RM with a scheduler like that, and ask."""
    core = SchedulerLoop(Telling)
    core.start()
    with InProcessScheduler(core=core, load=load) as scheduler:
        scheduler.register_resource_manager(registering(), callback)
        scheduler.update_allocation(asks(*keys))
        scheduler.wait_idle()
    core.stop()


@pytest.mark.remuda_rule("SI-82", "SI-7", "SI-8")
def test_states_of_asks_come_in_order_among_the_other_news() -> None:
    rm = StateRm()
    tell(rm, "k1", "big2", "big3", "k4", "k5")
    assert rm.log == [
        "new k1 on n",
        "FAILED big2 of a: no room",
        "FAILED big3 of a: no room",
        "new k4 on n",
        "new k5 on n",
    ]
    other = Rm()
    tell(other, "big2", "k1", "big3")
    assert other.log == ["new k1 on n"]


@pytest.mark.remuda_rule("SI-82", "CYC-30")
def test_an_ask_too_large_for_every_node_is_told_of_once(scheduler: InProcessScheduler) -> None:
    told = threading.Event()

    class HintedRm(StateRm):
        def update_container_scheduling_state(
            self, request: si.UpdateContainerSchedulingStateRequest
        ) -> None:
            told.set()
            super().update_container_scheduling_state(request)

    rm = HintedRm()
    start(scheduler, rm, "n1", "n2")
    scheduler.update_allocation(asks("k1", vcore=5_000))
    assert told.wait(10)
    scheduler.update_allocation(asks("k2"))
    scheduler.wait_idle()
    hints = [line for line in rm.log if line.startswith("FAILED")]
    assert hints == ["FAILED k1 of a: request is waiting for cluster resources become available"]
    assert "new k2 on n1" in rm.log


@pytest.mark.remuda_rule("SI-82")
def test_a_callback_may_want_nothing_but_states_of_asks() -> None:
    class OnlyStates:
        def __init__(self) -> None:
            self.states: list[si.UpdateContainerSchedulingStateRequest] = []
            self.update_container_scheduling_state = self.states.append

    rm = OnlyStates()
    tell(rm, "k1", "big2")
    assert rm.states == [
        si.UpdateContainerSchedulingStateRequest(
            applicartionID="a",
            allocationKey="big2",
            state=si.UpdateContainerSchedulingStateRequest.FAILED,
            reason="no room",
        )
    ]


@pytest.mark.remuda_rule("SI-80")
def test_an_ask_that_no_predicate_accepts_stays_pending(scheduler: InProcessScheduler) -> None:
    rm = PickyRm()
    start(scheduler, rm, "n1")
    scheduler.update_allocation(asks("k9"))
    scheduler.wait_idle()
    assert "asked k9 on n1" in rm.log
    assert rm.placed == []


@pytest.mark.remuda_rule("RM-10")
def test_two_rms_with_the_same_names_do_not_meet(scheduler: InProcessScheduler) -> None:
    one, two = PickyRm(), Rm()
    start(scheduler, one, "n1")
    scheduler.register_resource_manager(registering("other"), two)
    scheduler.update_node(nodes("n1", rm_id="other"))
    scheduler.update_application(application(rm_id="other"))
    scheduler.update_allocation(asks("k9"))
    scheduler.update_allocation(asks("k9", rm_id="other"))
    scheduler.wait_idle()
    assert one.placed == []
    assert [entry.nodeID for entry in two.placed] == ["n1"]
    assert "asked k9 on n1" in one.log


def test_a_recorded_run_repeats_to_the_same_decisions(tmp_path: Path) -> None:
    with InProcessScheduler(load=load, record=tmp_path / "run.jsonl") as scheduler:
        rm = PickyRm()
        start(scheduler, rm, "n1", "n2")
        scheduler.update_allocation(asks("k1", "k2", "k3"))
        scheduler.wait_idle()
    assert len(rm.placed) == 2
    result = replay(tmp_path / "run.jsonl")
    assert result.same, result.difference
    assert result.inputs > 4


@pytest.mark.remuda_rule("EXT-22", "RSV-3", "NOD-13")
def test_a_recorded_run_with_reservations_and_questions_about_many_nodes_repeats(
    tmp_path: Path,
) -> None:
    """The wide ask finds no room, is soon old enough, and reserves a node."""
    reserving = threading.Event()

    class ChoosyRm(Rm):
        def nodes_predicates(
            self, items: list[NodesPredicatesItem]
        ) -> list[NodesPredicatesItemResult]:
            for item in items:
                if not item.allocate:
                    reserving.set()
            return [NodesPredicatesItemResult(fit=range(len(item.node_ids))) for item in items]

    path = tmp_path / "run.jsonl"
    with InProcessScheduler(load=load, record=path, reservation_delay_ns=1_000_000) as scheduler:
        start(scheduler, ChoosyRm(), "n1", "n2")
        scheduler.update_allocation(asks("k1", "k2", vcore=2_000))
        scheduler.wait_idle()
        scheduler.update_allocation(asks("wide", vcore=4_000))
        assert reserving.wait(10)
        scheduler.wait_idle()
        (partition,) = rows(PartitionView, scheduler.core.query(PartitionsQuery()).result(60))
        assert partition.reservations == 1
    result = replay(path)
    assert result.same, result.difference
    assert path.read_text().count('"allocate":false') == 1
