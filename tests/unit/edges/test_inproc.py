"""The scheduler as a Python object, with the real core behind it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda.base.errors import ConfigError, Problem, ProtocolError
from remuda.config.schema import Configuration, built_in
from remuda.core.messages.effects import FAILED, AllocationNew, ContainerStateUpdated, Effect
from remuda.core.messages.queries import PartitionsQuery
from remuda.edges.inproc import InProcessScheduler
from remuda.edges.predicates import NodesPredicatesItem, NodesPredicatesItemResult
from remuda.runtime.errors import LoopStoppedError
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.replay import replay
from remuda.si.pb import si_pb2 as si
from tests.unit.runtime.fakes import FakeScheduler


def load(text: str) -> Configuration:
    """Any text is the built-in configuration, except one that is bad."""
    if text == "bad":
        raise ConfigError([Problem("partitions", "CFG-1", "it is bad")])
    return built_in()


class Rm:
    """A resource manager that keeps what it is told, and what was asked meanwhile."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.placed: list[si.Allocation] = []
        self.events: list[si.EventRecord] = []
        self.threads: set[str] = set()

    def update_allocation(self, response: si.AllocationResponse) -> None:
        self.threads.add(threading.current_thread().name)
        self.placed.extend(response.new)
        self.log.extend(f"new {entry.allocationKey} on {entry.nodeID}" for entry in response.new)
        self.log.extend(f"released {entry.allocationID}" for entry in response.released)
        self.log.extend(f"rejected {entry.allocationKey}" for entry in response.rejected)

    def update_application(self, response: si.ApplicationResponse) -> None:
        self.log.extend(f"accepted {entry.applicationID}" for entry in response.accepted)
        self.log.extend(f"rejected {entry.applicationID}" for entry in response.rejected)
        self.log.extend(f"{entry.applicationID} {entry.state}" for entry in response.updated)

    def update_node(self, response: si.NodeResponse) -> None:
        self.log.extend(f"accepted {entry.nodeID}" for entry in response.accepted)
        self.log.extend(f"rejected {entry.nodeID}" for entry in response.rejected)

    def send_event(self, records: list[si.EventRecord]) -> None:
        self.events.extend(records)


class PickyRm(Rm):
    """Accepts only nodes whose name ends with the last character of the allocation key."""

    def predicates(self, args: si.PredicatesArgs) -> None:
        self.log.append(f"asked {args.allocationKey} on {args.nodeID}")
        assert args.allocate
        if args.allocationKey[-1] != args.nodeID[-1]:
            raise ValueError(f"not on {args.nodeID}")


def quantities(**amounts: int) -> si.Resource:
    return si.Resource(resources={name: si.Quantity(value=n) for name, n in amounts.items()})


def nodes(*names: str, vcore: int = 4_000, rm_id: str = "rm") -> si.NodeRequest:
    return si.NodeRequest(
        rmID=rm_id,
        nodes=[
            si.NodeInfo(
                nodeID=name,
                action=si.NodeInfo.CREATE,
                schedulableResource=quantities(vcore=vcore, memory=1_000_000),
            )
            for name in names
        ],
    )


def application(name: str = "a", rm_id: str = "rm") -> si.ApplicationRequest:
    ugi = si.UserGroupInformation(user="ann", groups=["bi"])
    new = si.AddApplicationRequest(applicationID=name, ugi=ugi, tags={"namespace": "dev"})
    return si.ApplicationRequest(rmID=rm_id, new=[new])


def asks(*keys: str, rm_id: str = "rm", vcore: int = 1_000) -> si.AllocationRequest:
    return si.AllocationRequest(
        rmID=rm_id,
        asks=[
            si.AllocationAsk(
                allocationKey=key,
                applicationID="a",
                resourceAsk=quantities(vcore=vcore),
                maxAllocations=1,
            )
            for key in keys
        ],
    )


def registering(rm_id: str = "rm", config: str = "") -> si.RegisterResourceManagerRequest:
    return si.RegisterResourceManagerRequest(rmID=rm_id, config=config)


@pytest.fixture
def scheduler() -> Iterator[InProcessScheduler]:
    with InProcessScheduler(load=load) as running:
        yield running


def start(scheduler: InProcessScheduler, rm: Rm, *names: str) -> None:
    scheduler.register_resource_manager(registering(), rm)
    scheduler.update_node(nodes(*names))
    scheduler.update_application(application())


@pytest.mark.remuda_rule("SI-4", "SI-7", "SI-42", "SI-79", "RM-2")
def test_the_sequence_of_the_specification_from_start_to_release(
    scheduler: InProcessScheduler,
) -> None:
    rm = Rm()
    start(scheduler, rm, "n1")
    request = asks("k1")
    request.asks[0].maxAllocations = 2
    scheduler.update_allocation(request)
    scheduler.wait_idle()
    assert rm.log == [
        "accepted n1",
        "accepted a",
        "a Accepted",
        "a Starting",
        "new k1 on n1",
        "a Running",
        "new k1 on n1",
    ]
    assert [entry.allocationID for entry in rm.placed] == ["k1-0", "k1-1"]
    release = si.AllocationRelease(
        applicationID="a", allocationID="k1-0", terminationType=si.STOPPED_BY_RM
    )
    releases = si.AllocationReleasesRequest(allocationsToRelease=[release])
    scheduler.update_allocation(si.AllocationRequest(rmID="rm", releases=releases))
    scheduler.wait_idle()
    assert rm.log[-1] == "released k1-0"
    assert rm.threads == {"remuda-core"}


@pytest.mark.remuda_rule("SI-9", "SI-80")
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

    def step(self, now_ns: int, limit: int) -> list[Effect]:
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


@pytest.mark.remuda_rule("SI-80")
def test_a_callback_without_any_member_is_fine(scheduler: InProcessScheduler) -> None:
    scheduler.register_resource_manager(registering(), object())
    scheduler.update_node(nodes("n1"))
    scheduler.update_application(application())
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    partitions = scheduler.core.query(PartitionsQuery()).result(10)
    assert isinstance(partitions, tuple)
    assert partitions[0].allocated == {"vcore": 1_000}  # type: ignore[union-attr]


@pytest.mark.remuda_rule("SI-8")
def test_a_callback_that_raises_in_every_member_changes_no_decision(
    scheduler: InProcessScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def update_allocation(self, response: si.AllocationResponse) -> None:
            raise ValueError("allocation callback")

        def update_application(self, response: si.ApplicationResponse) -> None:
            raise ValueError("application callback")

        def update_node(self, response: si.NodeResponse) -> None:
            raise ValueError("node callback")

        def send_event(self, records: list[si.EventRecord]) -> None:
            raise ValueError("event callback")

    with caplog.at_level(logging.ERROR):
        scheduler.register_resource_manager(registering(), Broken())
        scheduler.update_node(nodes("n1"))
        scheduler.update_application(application())
        scheduler.update_allocation(asks("k1"))
        scheduler.wait_idle()
    for kind in ("allocation", "application", "node", "event"):
        assert f"{kind} callback" in caplog.text
    assert not scheduler.core.failed
    partitions = scheduler.core.query(PartitionsQuery()).result(10)
    assert isinstance(partitions, tuple)
    assert partitions[0].allocated == {"vcore": 1_000}  # type: ignore[union-attr]


@pytest.mark.remuda_rule("SI-83")
def test_events_come_in_batches_and_only_when_there_are_any(
    scheduler: InProcessScheduler,
) -> None:
    rm = Rm()
    start(scheduler, rm, "n1")
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    placed = [
        record for record in rm.events if record.eventChangeDetail == si.EventRecord.NODE_ALLOC
    ]
    assert [(record.objectID, record.referenceID) for record in placed] == [("n1", "k1-0")]
    count = len(rm.events)
    scheduler.wait_idle()
    assert len(rm.events) == count


@pytest.mark.remuda_rule("RM-2", "SI-1")
def test_requests_before_registration_are_refused(scheduler: InProcessScheduler) -> None:
    for send in (
        lambda: scheduler.update_node(nodes("n1")),
        lambda: scheduler.update_application(application()),
        lambda: scheduler.update_allocation(asks("k1")),
        lambda: scheduler.update_configuration(si.UpdateConfigurationRequest(rmID="rm")),
        lambda: scheduler.unregister_resource_manager("rm"),
    ):
        with pytest.raises(ProtocolError, match="'rm' is not registered"):
            send()


@pytest.mark.remuda_rule("RM-1")
@pytest.mark.parametrize("rm_id", ["", "a[b", "a]b", "x" * 257, "tab\there"])
def test_a_bad_rm_id_is_refused_with_the_cause(scheduler: InProcessScheduler, rm_id: str) -> None:
    with pytest.raises(ProtocolError, match=r"^rmID .*\(RM-1\)$"):
        scheduler.register_resource_manager(registering(rm_id), Rm())
    assert not scheduler.core.registered(rm_id)


@pytest.mark.remuda_rule("RM-6")
def test_a_bad_configuration_registers_nothing(scheduler: InProcessScheduler) -> None:
    with pytest.raises(ConfigError, match="it is bad"):
        scheduler.register_resource_manager(registering(config="bad"), Rm())
    assert scheduler.core.query(PartitionsQuery()).result(10) == ()


@pytest.mark.remuda_rule("RM-13")
def test_registering_again_with_a_bad_configuration_leaves_the_rm_unregistered(
    scheduler: InProcessScheduler,
) -> None:
    scheduler.register_resource_manager(registering(), Rm())
    with pytest.raises(ConfigError):
        scheduler.register_resource_manager(registering(config="bad"), Rm())
    assert scheduler.core.query(PartitionsQuery()).result(10) == ()
    with pytest.raises(ProtocolError, match="not registered"):
        scheduler.update_node(nodes("n1"))


@pytest.mark.remuda_rule("RM-9", "RM-12")
def test_registering_again_wipes_everything_silently_and_the_old_callback_stays_silent(
    scheduler: InProcessScheduler,
) -> None:
    old, new = Rm(), Rm()
    start(scheduler, old, "n1")
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    heard = list(old.log)
    start(scheduler, new, "n2")
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    assert old.log == heard
    assert new.log[0] == "accepted n2"
    assert new.log[-1] == "new k1 on n2"


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


@pytest.mark.remuda_rule("RM-19")
def test_unregistering_counts_what_lived_and_sends_nothing(scheduler: InProcessScheduler) -> None:
    rm = Rm()
    start(scheduler, rm, "n1", "n2")
    scheduler.update_application(application("gone"))
    removal = si.RemoveApplicationRequest(applicationID="gone")
    scheduler.update_application(si.ApplicationRequest(rmID="rm", remove=[removal]))
    scheduler.update_application(application("a"))  # taken already: rejected
    scheduler.wait_idle()
    heard = list(rm.log)
    removed = scheduler.unregister_resource_manager("rm")
    assert (removed.partitions, removed.applications, removed.nodes) == (1, 1, 2)
    assert rm.log == heard


@pytest.mark.remuda_rule("SI-9")
def test_a_callback_may_send_requests_but_not_wait(scheduler: InProcessScheduler) -> None:
    refusals: list[str] = []

    class Chained(Rm):
        def update_allocation(self, response: si.AllocationResponse) -> None:
            super().update_allocation(response)
            for entry in response.new:
                if entry.allocationKey == "k1":
                    scheduler.update_allocation(asks("k2"))
                    try:
                        scheduler.wait_idle()
                    except ProtocolError as error:
                        refusals.append(str(error))

    rm = Chained()
    start(scheduler, rm, "n1")
    scheduler.update_allocation(asks("k1"))
    scheduler.wait_idle()
    assert [entry.allocationKey for entry in rm.placed] == ["k1", "k2"]
    assert refusals == [
        "wait_idle waits for the scheduler and cannot be called from a callback (SI-9)"
    ]


@pytest.mark.remuda_rule("SI-3")
def test_asks_come_before_releases_within_one_request(scheduler: InProcessScheduler) -> None:
    rm = Rm()
    start(scheduler, rm, "n1")
    request = asks("k1", "k2")
    request.releases.allocationAsksToRelease.add(applicationID="a", allocationKey="k1")
    scheduler.update_allocation(request)
    scheduler.wait_idle()
    assert [entry.allocationKey for entry in rm.placed] == ["k2"]


@pytest.mark.remuda_rule("RM-20")
def test_after_stop_nothing_is_taken(scheduler: InProcessScheduler) -> None:
    scheduler.register_resource_manager(registering(), Rm())
    scheduler.stop()
    with pytest.raises((LoopStoppedError, ProtocolError)):
        scheduler.update_node(nodes("n1"))
    with pytest.raises(LoopStoppedError):
        scheduler.register_resource_manager(registering(), Rm())


def test_an_attached_object_takes_only_its_own_rms_with_it() -> None:
    core = SchedulerLoop()
    core.start()
    with InProcessScheduler(core=core, load=load) as first:
        first.register_resource_manager(registering("kept"), Rm())
        with InProcessScheduler(core=core, load=load) as second:
            second.register_resource_manager(registering("gone"), Rm())
            with pytest.raises(ProtocolError, match="'kept' is not registered"):
                second.update_node(nodes("n1", rm_id="kept"))
        assert core.registered("kept")
        assert not core.registered("gone")
    core.stop()


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
