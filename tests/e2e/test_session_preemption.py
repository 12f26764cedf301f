"""Preemption of a resource manager that has a say about victims: over a session, and in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from remuda.config.load import load_configuration
from remuda.core.messages.queries import QueuesQuery, QueueView
from remuda.edges.grpc.settings import GrpcSettings
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.loop import SchedulerLoop
from remuda.runtime.replay import replay
from remuda.session.client import SessionClient
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.wire import Request, resource
from tests.e2e.grpc_service import Service
from tests.e2e.session_judge import PATIENT
from tests.e2e.session_stream import SECONDS, SessionStream
from tests.waiting import wait

# Four of what is there are owed to ``urgent``, and nothing to ``batch``.
QUEUES = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: both
            queues:
              - name: urgent
                resources: {guaranteed: {vcore: 4m}}
                properties: {preemption.delay: 1ms}
              - name: batch
"""
NARROW = QUEUES.replace(
    "- name: both\n", "- name: both\n            resources: {max: {vcore: 4m}}\n"
)
NO = si.PreemptionPredicatesResponse(success=False, index=-1)
FEATURES = ("responses", "preemption-predicates")


def yes(index: int) -> si.PreemptionPredicatesResponse:
    return si.PreemptionPredicatesResponse(success=True, index=index)


def nodes(*names: str, cores: int = 4) -> si.NodeRequest:
    size = resource({"vcore": cores})
    infos = [
        si.NodeInfo(nodeID=name, action=si.NodeInfo.CREATE, schedulableResource=size)
        for name in names
    ]
    return si.NodeRequest(rmID="rm", nodes=infos)


def applications() -> si.ApplicationRequest:
    ugi = si.UserGroupInformation(user="ann", groups=["g"])
    new = [
        si.AddApplicationRequest(applicationID=name, queueName=f"root.both.{name}", ugi=ugi)
        for name in ("urgent", "batch")
    ]
    return si.ApplicationRequest(rmID="rm", new=new)


def asks(application: str, *keys: str, cores: int = 1) -> si.AllocationRequest:
    """Asks of which those of ``urgent`` may preempt and those of ``batch`` be preempted."""
    policy = si.PreemptionPolicy(
        allowPreemptSelf=application == "batch", allowPreemptOther=application == "urgent"
    )
    wanted = [
        si.AllocationAsk(
            applicationID=application,
            allocationKey=key,
            resourceAsk=resource({"vcore": cores}),
            maxAllocations=1,
            preemptionPolicy=policy,
        )
        for key in keys
    ]
    return si.AllocationRequest(rmID="rm", asks=wanted)


def confirmation(*identities: str) -> si.AllocationRequest:
    entries = [
        si.AllocationRelease(
            applicationID="batch",
            allocationID=identity,
            terminationType=si.PREEMPTED_BY_SCHEDULER,
        )
        for identity in identities
    ]
    releases = si.AllocationReleasesRequest(allocationsToRelease=entries)
    return si.AllocationRequest(rmID="rm", releases=releases)


def leaving(core: SchedulerLoop) -> int:
    """How much was ordered to end and has not been confirmed."""
    root = core.query(QueuesQuery("default", "rm")).result(SECONDS)
    assert isinstance(root, QueueView)
    return root.preempting.get("vcore", 0)


class Owner:
    """An RM with a say: ``judge`` is what it thinks of victims, ``taste`` of nodes."""

    def __init__(self, judge: Callable[[si.PreemptionPredicatesArgs], Any]) -> None:
        self.asked: list[tuple[str, tuple[str, ...], int]] = []
        self.asked_for_room: list[str] = []
        self.placed: dict[str, str] = {}
        self.evicted: list[str] = []
        self._judge = judge

    def preemption_predicates(self, args: si.PreemptionPredicatesArgs) -> object:
        victims = tuple(args.preemptAllocationKeys)
        self.asked.append((args.nodeID, victims, args.startIndex))
        return self._judge(args)

    def update_allocation(self, response: si.AllocationResponse) -> None:
        self.placed.update({new.allocationKey: new.nodeID for new in response.new})
        self.evicted += [
            gone.allocationID
            for gone in response.released
            if gone.terminationType == si.PREEMPTED_BY_SCHEDULER
        ]


class Chooser(Owner):
    """One who is asked about nodes as well, and wants no ask of ``urgent`` on n3."""

    def predicates(self, args: si.PredicatesArgs) -> None:
        if args.allocationKey.startswith("u"):
            self.asked_for_room.append(args.nodeID)
            if args.nodeID == "n3":
                raise ValueError("not on n3")


class Way:
    """A way in for one RM: ``send`` takes requests, ``core`` is what they reach."""

    def __init__(
        self, core: SchedulerLoop, owner: Owner, register: Callable[[str], object]
    ) -> None:
        self.core = core
        self.owner = owner
        self.register = register
        self.send: Callable[[Request], object] = lambda _: None

    def begin(self, *requests: Request, config: str = QUEUES) -> None:
        self.register(config)
        for request in requests:
            self.send(request)

    def placed(self, *keys: str) -> None:
        wait(lambda: set(keys) <= set(self.owner.placed))

    def evicted(self, count: int) -> list[str]:
        wait(lambda: len(self.owner.evicted) >= count)
        return list(self.owner.evicted)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(PATIENT, load=load_configuration) as running:
        yield running


@pytest.fixture(params=["session", "in process"])
def way_of(request: pytest.FixtureRequest, service: Service) -> Iterator[Callable[[Owner], Way]]:
    """Opens the same way in twice: over a session, and in process."""
    opened: list[SessionClient | InProcessScheduler] = []

    def over_session(owner: Owner) -> Way:
        client = SessionClient(service.address, "rm", owner)
        opened.append(client)
        way = Way(service.core, owner, client.register)
        way.send = client.send
        return way

    def in_process(owner: Owner) -> Way:
        scheduler = InProcessScheduler(core=service.core)
        opened.append(scheduler)
        way = Way(service.core, owner, lambda config: _register(scheduler, config, owner))

        def send(message: Request) -> None:
            if isinstance(message, si.NodeRequest):
                scheduler.update_node(message)
            elif isinstance(message, si.ApplicationRequest):
                scheduler.update_application(message)
            else:
                scheduler.update_allocation(message)

        way.send = send
        return way

    yield over_session if request.param == "session" else in_process
    for each in opened:
        each.__exit__(None, None, None)


def _register(scheduler: InProcessScheduler, config: str, owner: Owner) -> None:
    request = si.RegisterResourceManagerRequest(rmID="rm", config=config)
    scheduler.register_resource_manager(request, owner)


# ---------------------------------------------------------------------- what the RM says counts


@pytest.mark.remuda_rule("PRE-24", "PRE-27", "PRE-30", "PRE-34", "PRE-35", "EXT-18", "SI-81")
def test_as_many_go_as_the_rm_says(way_of: Callable[[Owner], Way]) -> None:
    owner = Owner(lambda args: yes(1))
    way = way_of(owner)
    way.begin(nodes("n1"), applications(), asks("batch", "b1", "b2", "b3", "b4"))
    way.placed("b1", "b2", "b3", "b4")
    way.send(asks("urgent", "u1"))
    gone = way.evicted(2)
    ((node_id, victims, start),) = owner.asked
    assert (node_id, start, set(victims)) == ("n1", 0, {"b1", "b2", "b3", "b4"})
    assert gone == [f"{key}-0" for key in victims[:2]]
    assert leaving(way.core) == 2
    way.send(confirmation(*gone))
    way.placed("u1")
    assert leaving(way.core) == 0
    way.core.check().result(SECONDS)


@pytest.mark.remuda_rule("PRE-25", "PRE-29")
def test_what_does_not_suffice_for_the_rm_is_not_done(way_of: Callable[[Owner], Way]) -> None:
    owner = Owner(lambda args: yes(0) if args.nodeID == "n2" else NO)
    way = way_of(owner)
    keys = [f"b{number}" for number in range(1, 9)]
    way.begin(nodes("n1", "n2"), applications(), asks("batch", *keys))
    way.placed(*keys)
    way.send(asks("urgent", "u1"))
    (gone,) = way.evicted(1)
    assert owner.placed[gone.removesuffix("-0")] == "n2"
    assert [node_id for node_id, _, _ in owner.asked] == ["n1", "n2"]


@pytest.mark.remuda_rule("PRE-25")
def test_ten_nodes_are_asked_about_at_once_and_more_if_none_of_them_will_do(
    way_of: Callable[[Owner], Way],
) -> None:
    names = [f"n{number:02}" for number in range(1, 12)]
    owner = Owner(lambda args: yes(0) if args.nodeID == "n11" else NO)
    way = way_of(owner)
    keys = [f"b{number:02}" for number in range(1, 12)]
    way.begin(nodes(*names, cores=1), applications(), asks("batch", *keys))
    way.placed(*keys)
    way.send(asks("urgent", "u1"))
    (gone,) = way.evicted(1)
    assert owner.placed[gone.removesuffix("-0")] == "n11"
    assert [node_id for node_id, _, _ in owner.asked] == names


@pytest.mark.remuda_rule("EXT-18", "PRE-39")
@pytest.mark.parametrize("answer", [NO, yes(4), yes(-1), None, ValueError("no such node")])
def test_nobody_goes_if_the_rm_does_not_agree(
    way_of: Callable[[Owner], Way], answer: object
) -> None:
    def judge(_: si.PreemptionPredicatesArgs) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    owner = Owner(judge)
    way = way_of(owner)
    way.begin(nodes("n1"), applications(), asks("batch", "b1", "b2", "b3", "b4"))
    way.placed("b1", "b2", "b3", "b4")
    way.send(asks("urgent", "u1"))
    wait(lambda: len(owner.asked) == 1)
    way.core.idle().result(SECONDS)
    assert (owner.evicted, leaving(way.core)) == ([], 0)
    way.core.check().result(SECONDS)


@pytest.mark.remuda_rule("PRE-26", "PRE-31", "SI-81", "EXT-18")
def test_where_nobody_has_to_go_from_the_node_its_predicates_are_asked(
    way_of: Callable[[Owner], Way],
) -> None:
    """The maximum of the queue above both is used up, and n2 and n3 are empty."""
    owner = Chooser(lambda args: yes(0))
    way = way_of(owner)
    requests = (nodes("n1"), applications(), asks("batch", "b1", "b2", "b3", "b4"))
    way.begin(*requests, config=NARROW)
    way.placed("b1", "b2", "b3", "b4")
    way.send(nodes("n2", "n3"))
    way.send(asks("urgent", "u1"))
    (gone,) = way.evicted(1)
    assert owner.placed[gone.removesuffix("-0")] == "n1"
    way.send(confirmation(gone))
    way.placed("u1")
    assert owner.placed["u1"] == "n2"
    assert owner.asked_for_room[:2] == ["n2", "n3"]
    assert {node_id for node_id, _, _ in owner.asked} == {"n1"}


# ---------------------------------------------------------------------- answers that do not come


@pytest.fixture
def stream(service: Service) -> Iterator[SessionStream]:
    opened = SessionStream(service.channel)
    yield opened
    opened.cut()


def fill(stream: SessionStream) -> None:
    """All of n1 is in use by ``batch``, and ``urgent`` wants some."""
    stream.send(node=nodes("n1"))
    stream.send(application=applications())
    stream.send(allocation=asks("batch", "b1", "b2", "b3", "b4"))
    stream.allocations(4)
    stream.send(allocation=asks("urgent", "u1"))


def answer(
    stream: SessionStream,
    call: ext.PreemptionPredicates,
    *verdicts: si.PreemptionPredicatesResponse,
) -> None:
    result = ext.PreemptionPredicatesResult(
        call_id=call.call_id, applied_seq=stream.got, items=verdicts
    )
    stream.send(preemption_predicates=result)


def released(stream: SessionStream) -> list[str]:
    """The next orders to end something."""
    while True:
        frame = stream.until("allocation")
        if frame.allocation.released:
            return [gone.allocationID for gone in frame.allocation.released]


@pytest.mark.remuda_rule("EXT-17", "PRE-39", "PRE-90")
def test_an_rm_that_does_not_answer_loses_nothing() -> None:
    settings = GrpcSettings(predicate_budget_ms=50)
    with Service(settings, load=load_configuration) as service:
        stream = SessionStream(service.channel)
        stream.register(features=FEATURES, config=QUEUES)
        fill(stream)
        call = stream.until("preemption_predicates").preemption_predicates
        assert stream.until("cancel").cancel.call_id == call.call_id
        answer(stream, call, yes(0))
        assert stream.silent(0.3)
        assert leaving(service.core) == 0
        service.core.check().result(SECONDS)
        stream.cut()


@pytest.mark.remuda_rule("EXT-10", "EXT-18")
def test_a_question_that_died_with_its_stream_leaves_the_rest_as_it_was(
    service: Service, stream: SessionStream
) -> None:
    session = stream.register(features=FEATURES, config=QUEUES)
    fill(stream)
    stream.until("preemption_predicates")
    stream.cut()
    service.core.barrier().result(SECONDS)
    again = SessionStream(service.channel, sent=stream.sent, got=stream.got)
    assert again.resume("rm", session.session_id, stream.got).HasField("welcome")
    # The attempt was in vain; it is repeated when its pause is over, if something changed.
    assert again.silent(0.3)
    service.core.check().result(SECONDS)
    again.cut()


@pytest.mark.remuda_rule("EXT-12", "EXT-18")
def test_whoever_attaches_is_asked_what_the_one_before_did_not_answer(service: Service) -> None:
    service.register("rm", config=QUEUES)
    attach = ext.Attach(rm_id="rm", deliver_responses=True)
    first, second = SessionStream(service.channel), SessionStream(service.channel)
    assert first.hello(attach=attach, features=list(FEATURES)).HasField("welcome")
    requests = SessionRequests(service)
    requests.fill(first)
    first.until("preemption_predicates")
    assert second.hello(attach=attach, features=list(FEATURES)).HasField("welcome")
    call = second.until("preemption_predicates").preemption_predicates
    answer(second, call, yes(0))
    assert released(second) == [f"{call.items[0].preemptAllocationKeys[0]}-0"]
    service.core.check().result(SECONDS)
    requests.end()
    first.cut()
    second.cut()


@pytest.mark.remuda_rule("EXT-12", "PRE-28")
def test_without_anybody_to_ask_the_own_choice_stands(service: Service) -> None:
    service.register("rm", config=QUEUES)
    attach = ext.Attach(rm_id="rm", deliver_responses=True)
    first, second = SessionStream(service.channel), SessionStream(service.channel)
    assert first.hello(attach=attach, features=list(FEATURES)).HasField("welcome")
    requests = SessionRequests(service)
    requests.fill(first)
    first.until("preemption_predicates")
    assert second.hello(attach=attach, features=["responses"]).HasField("welcome")
    assert len(released(second)) == 1
    service.core.check().result(SECONDS)
    requests.end()
    first.cut()
    second.cut()


class SessionRequests:
    """The plain streams of an RM whose responses go over a session."""

    def __init__(self, service: Service) -> None:
        self._nodes = service.nodes("rm")
        self._applications = service.applications("rm")
        self._allocations = service.allocations("rm")

    def fill(self, answers: SessionStream) -> None:
        self._nodes.send(nodes("n1"))
        answers.until("node")
        self._applications.send(applications())
        answers.until("application")
        self._allocations.send(asks("batch", "b1", "b2", "b3", "b4"))
        answers.allocations(4)
        self._allocations.send(asks("urgent", "u1"))

    def end(self) -> None:
        for stream in (self._nodes, self._applications, self._allocations):
            stream.cancel()


# ---------------------------------------------------------------------- recordings


@pytest.mark.remuda_rule("PRE-81", "EXT-14")
def test_a_recording_with_victims_is_repeated_exactly(tmp_path: Path) -> None:
    path = tmp_path / "r"
    owner = Owner(lambda args: yes(1))
    with InProcessScheduler(record=path) as scheduler:
        _register(scheduler, QUEUES, owner)
        scheduler.update_node(nodes("n1"))
        scheduler.update_application(applications())
        scheduler.update_allocation(asks("batch", "b1", "b2", "b3", "b4"))
        scheduler.wait_idle()
        scheduler.update_allocation(asks("urgent", "u1"))
        wait(lambda: len(owner.evicted) == 2)
        scheduler.update_allocation(confirmation(*owner.evicted))
        wait(lambda: "u1" in owner.placed)
    assert b'["victims",' in path.read_bytes()
    result = replay(path)
    assert (result.difference, result.unfinished) == ("", False)
