"""The session client: callbacks, predicates, resuming, and the same life over every way in."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest

from remuda.client import Client, ClientError
from remuda.config.schema import Load
from remuda.edges.grpc.bindings.binding import Binding
from remuda.edges.grpc.settings import GrpcSettings
from remuda.edges.inproc import InProcessScheduler
from remuda.session.client import SessionClient
from remuda.session.judge import UnknownAllocationError
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.predicates import NodesPredicatesItem, NodesPredicatesItemResult, PredicateFailure
from remuda.si.protocol.conversation import Arrival
from remuda.si.protocol.terms import SessionLimits
from remuda.si.wire import Response, resource
from tests.e2e.grpc_service import Service, load
from tests.e2e.proxy import Proxy
from tests.waiting import wait

PATIENT = GrpcSettings(predicate_budget_ms=20_000, event_interval_ms=50)


class Listener:
    """A callback that writes down what it hears, one line per element, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def update_allocation(self, response: si.AllocationResponse) -> None:
        self.lines += [f"new {new.allocationID} {new.nodeID}" for new in response.new]
        self.lines += [f"released {gone.allocationID}" for gone in response.released]
        self.lines += [f"rejected {ask.allocationKey}" for ask in response.rejected]

    def update_application(self, response: si.ApplicationResponse) -> None:
        self.lines += [f"accepted {app.applicationID}" for app in response.accepted]
        self.lines += [f"{app.applicationID} {app.state}" for app in response.updated]

    def update_node(self, response: si.NodeResponse) -> None:
        self.lines += [f"accepted {node.nodeID}" for node in response.accepted]
        self.lines += [f"rejected {node.nodeID}" for node in response.rejected]

    def placed(self) -> list[str]:
        return [line for line in self.lines if line.startswith("new ")]


class Picky(Listener):
    """One whose asks go to the node their key names, if there is one called so."""

    def predicates(self, args: si.PredicatesArgs) -> None:
        wanted = args.allocationKey.partition("@")[2]
        if wanted not in ("", args.nodeID):
            raise ValueError(f"not {wanted}")


def nodes(*names: str, cores: int = 10) -> si.NodeRequest:
    size = resource({"vcore": cores})
    infos = [
        si.NodeInfo(nodeID=name, action=si.NodeInfo.CREATE, schedulableResource=size)
        for name in names
    ]
    return si.NodeRequest(nodes=infos)


def application(name: str = "app") -> si.ApplicationRequest:
    ugi = si.UserGroupInformation(user="ann", groups=["g"])
    new = si.AddApplicationRequest(applicationID=name, queueName="root.a", ugi=ugi)
    return si.ApplicationRequest(new=[new])


def asks(*keys: str, cores: int = 1, count: int = 1) -> si.AllocationRequest:
    size = resource({"vcore": cores})
    return si.AllocationRequest(
        asks=[
            si.AllocationAsk(
                applicationID="app", allocationKey=key, resourceAsk=size, maxAllocations=count
            )
            for key in keys
        ]
    )


def release(identity: str) -> si.AllocationRequest:
    entry = si.AllocationRelease(
        applicationID="app", allocationID=identity, terminationType=si.STOPPED_BY_RM
    )
    releases = si.AllocationReleasesRequest(allocationsToRelease=[entry])
    return si.AllocationRequest(releases=releases)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(PATIENT) as running:
        yield running


def binding_of(service: Service) -> Binding:
    binding = service.server._session_service.find("rm")
    assert binding is not None
    return binding


def cut(service: Service) -> None:
    """Let the stream of the RM end without a word."""

    async def dismiss() -> None:
        binding_of(service).dismiss(None, "cut by a test")

    asyncio.run_coroutine_threadsafe(dismiss(), service._loop).result(60)


# ---------------------------------------------------------------------- one life, three ways in


class Way(Protocol):
    """A way into a scheduler: what an RM sends, and when all it caused is known."""

    def update_node(self, request: si.NodeRequest) -> None: ...
    def update_application(self, request: si.ApplicationRequest) -> None: ...
    def update_allocation(self, request: si.AllocationRequest) -> None: ...


def live(way: Way, heard: Listener) -> list[str]:
    """A short life of an RM; what it hears, one step after the other."""
    way.update_node(nodes("n1", "n2"))
    wait(lambda: len(heard.lines) == 2)
    way.update_application(application())
    wait(lambda: len(heard.lines) == 3)
    way.update_allocation(asks("a", count=3))
    wait(lambda: len(heard.placed()) == 3)
    way.update_allocation(asks("huge", cores=100))
    way.update_allocation(release("a-0"))
    wait(lambda: "released a-0" in heard.lines)
    way.update_allocation(asks("b", "c", cores=10))
    way.update_allocation(release("a-1"))
    wait(lambda: len(heard.placed()) == 4)
    way.update_allocation(release("a-2"))
    wait(lambda: len(heard.placed()) == 5)
    way.update_application(si.ApplicationRequest(remove=[removal()]))
    wait(lambda: "released c-0" in heard.lines)
    return heard.lines


def removal() -> si.RemoveApplicationRequest:
    return si.RemoveApplicationRequest(applicationID="app")


class OverStreams:
    """The client of the plain streams as a way in; its callback gets what its streams bring."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.update_node = client.send
        self.update_application = client.send
        self.update_allocation = client.send


def in_process(load: Load, heard: Listener) -> list[str]:
    with InProcessScheduler(load=load) as scheduler:
        scheduler.register_resource_manager(
            si.RegisterResourceManagerRequest(rmID="rm", config="any"), heard
        )
        return live(InProcess(scheduler), heard)


class InProcess:
    """The in-process edge as a way in; it wants the RM named in each request."""

    def __init__(self, scheduler: InProcessScheduler) -> None:
        self._scheduler = scheduler

    def update_node(self, request: si.NodeRequest) -> None:
        request.rmID = "rm"
        self._scheduler.update_node(request)

    def update_application(self, request: si.ApplicationRequest) -> None:
        request.rmID = "rm"
        self._scheduler.update_application(request)

    def update_allocation(self, request: si.AllocationRequest) -> None:
        request.rmID = "rm"
        self._scheduler.update_allocation(request)


def told(heard: Listener) -> Callable[[Response], object]:
    """Hand responses of the plain streams to a callback."""
    members: dict[type[Response], Callable[[Any], None]] = {
        si.AllocationResponse: heard.update_allocation,
        si.ApplicationResponse: heard.update_application,
        si.NodeResponse: heard.update_node,
    }
    return lambda response: members[type(response)](response)


@pytest.mark.remuda_rule("SI-7", "EXT-2", "EXT-4", "SI-21", "SI-42")
def test_a_life_is_the_same_in_process_over_streams_and_over_a_session(service: Service) -> None:
    alone = in_process(load, Listener())
    over_streams = Listener()
    with Client(service.address, "streams", on_response=told(over_streams)) as client:
        client.register()
        live(OverStreams(client), over_streams)
    over_session = Listener()
    with SessionClient(service.address, "session", over_session) as session:
        session.register()
        live(session, over_session)
    assert over_session.lines == alone
    # Over the streams there is an order of each kind only (SI-104).
    assert sorted(over_streams.lines) == sorted(alone)
    assert alone[:3] == ["accepted n1", "accepted n2", "accepted app"]


@pytest.mark.remuda_rule("EXT-4", "EXT-13", "SI-80")
def test_predicates_decide_the_same_in_process_and_over_a_session(service: Service) -> None:
    def live_with_wishes(way: Way, heard: Listener) -> list[str]:
        way.update_node(nodes("n1", "n2", "n3"))
        way.update_application(application())
        way.update_allocation(asks("a@n2", "b@n3", "c@nowhere", "d", "e@n2", count=2))
        wait(lambda: len(heard.placed()) == 8)
        return heard.placed()

    with InProcessScheduler(load=load) as scheduler:
        alone = Picky()
        request = si.RegisterResourceManagerRequest(rmID="rm", config="any")
        scheduler.register_resource_manager(request, alone)
        expected = live_with_wishes(InProcess(scheduler), alone)
    heard = Picky()
    with SessionClient(service.address, "rm", heard) as client:
        welcome = client.register()
        assert "predicates" in welcome.features
        assert live_with_wishes(client, heard) == expected
    assert {line for line in expected if "@" in line} >= {"new a@n2-0 n2", "new b@n3-1 n3"}


# ---------------------------------------------------------------------- resuming


@pytest.mark.remuda_rule("EXT-9", "EXT-10")
def test_streams_may_break_at_any_time_and_nothing_is_lost_or_doubled(service: Service) -> None:
    heard = Picky()
    with SessionClient(service.address, "rm", heard) as client:
        client.register()
        client.update_node(nodes(*[f"n{number}" for number in range(10)], cores=100))
        client.update_application(application())
        for number in range(200):
            client.update_allocation(asks(f"k{number:03}"))
            if number % 20 == 10:
                cut(service)
        wait(lambda: len(heard.placed()) == 200)
        names = [line.split()[1] for line in heard.placed()]
        assert sorted(names) == [f"k{number:03}-0" for number in range(200)]
    service.core.check().result(60)


@pytest.mark.remuda_rule("EXT-9", "RM-14", "RM-15")
def test_a_cut_wire_loses_nothing_and_pauses_the_rm_meanwhile(service: Service) -> None:
    heard = Picky()
    with (
        Proxy(service.address) as proxy,
        SessionClient(proxy.address, "rm", heard) as client,
    ):
        client.register()
        client.update_node(nodes(*[f"n{number}" for number in range(10)], cores=100))
        client.update_application(application())
        for number in range(60):
            client.update_allocation(asks(f"k{number:03}"))
            if number in (5, 25, 45):
                proxy.cut()
        wait(lambda: len(heard.placed()) == 60)
        proxy.closed = True
        proxy.cut()
        wait(lambda: state_of(service) == "PAUSED")
        client.update_allocation(asks("late"))
        proxy.closed = False
        wait(lambda: len(heard.placed()) == 61)
        assert state_of(service) == "RUNNING"
        names = [line.split()[1] for line in heard.placed()]
        assert len(set(names)) == 61


def state_of(service: Service) -> str:
    status = service.core.roster.find("rm")
    return "" if status is None else status.state.value


@pytest.mark.remuda_rule("EXT-9", "RM-17")
def test_whoever_lost_his_session_is_told_why(service: Service) -> None:
    lost: list[ClientError] = []
    with SessionClient(service.address, "rm", on_lost=lost.append) as client:
        client.register()
        service.core.unregister("rm").result(60)
        wait(lambda: len(lost) == 1)
        assert "register" in str(lost[0])
        with pytest.raises(ClientError, match="register"):
            client.update_node(nodes("n1"))
        client.register()
        client.update_node(nodes("n1"))
        assert len(lost) == 1


@pytest.mark.remuda_rule("EXT-11")
def test_whoever_is_superseded_is_told_so(service: Service) -> None:
    lost: list[ClientError] = []
    with SessionClient(service.address, "rm", on_lost=lost.append) as first:
        first.register()
        with SessionClient(service.address, "rm") as second:
            second.register()
            wait(lambda: len(lost) == 1)
            assert "registered again" in str(lost[0])


@pytest.mark.remuda_rule("EXT-8")
def test_heartbeats_keep_an_idle_session(service: Service) -> None:
    heard = Listener()
    limits = SessionLimits(heartbeat_ms=200)
    with SessionClient(service.address, "rm", heard, limits=limits) as client:
        assert client.register().limits.heartbeat_millis == 200
        carrier = binding_of(service)._carrier
        assert not threading.Event().wait(1.0)
        assert binding_of(service)._carrier is carrier


# ---------------------------------------------------------------------- calls


def test_a_scheduler_that_does_not_listen_is_named() -> None:
    client = SessionClient("127.0.0.1:1", "rm", timeout=0.3)
    with pytest.raises(ClientError, match=r"127\.0\.0\.1:1"):
        client.register()
    client.close()


@pytest.mark.remuda_rule("RM-6", "SI-85")
def test_refusals_are_errors_that_say_why(service: Service) -> None:
    with SessionClient(service.address, "rm") as client:
        with pytest.raises(ClientError, match="it is bad"):
            client.register("bad")
        with pytest.raises(ClientError, match="register"):
            client.update_node(nodes("n1"))
        client.register()
        assert client.update_configuration("other") in (True, False)
        with pytest.raises(ClientError, match="it is bad"):
            client.update_configuration("bad")


@pytest.mark.remuda_rule("RM-19")
def test_leaving_says_what_was_removed(service: Service) -> None:
    with SessionClient(service.address, "rm") as client:
        client.register()
        client.update_node(nodes("n1", "n2"))
        assert client.leave() == "removed 1 partitions, 0 applications, 2 nodes"
    assert not service.core.registered("rm")


@pytest.mark.remuda_rule("EXT-12")
def test_callbacks_can_be_added_to_an_rm_of_the_plain_streams(service: Service) -> None:
    heard = Picky()
    with (
        Client(service.address, "rm") as client,
        SessionClient(service.address, "rm", heard) as extra,
    ):
        client.register()
        extra.attach()
        client.add_nodes({"n1": {"vcore": 10}, "n2": {"vcore": 10}})
        client.add_application("app", queue="root.a", user="ann", groups=["g"])
        client.ask("app", "a@n2", {"vcore": 1})
        (placed,) = client.allocations(1)
        assert placed.nodeID == "n2"
        assert heard.lines == []


@pytest.mark.remuda_rule("SI-82", "SI-83", "SI-84", "EXT-20")
def test_the_other_members_of_a_callback_are_called(service: Service) -> None:
    class Everything(Listener):
        def __init__(self) -> None:
            super().__init__()
            self.events: list[si.EventRecord] = []
            self.states: list[si.UpdateContainerSchedulingStateRequest] = []
            self.errors: list[ext.RequestError] = []

        def send_event(self, records: list[si.EventRecord]) -> None:
            self.events += records

        def update_container_scheduling_state(
            self, request: si.UpdateContainerSchedulingStateRequest
        ) -> None:
            self.states.append(request)
            raise RuntimeError("a callback may fail")

        def get_state_dump(self) -> str:
            return '{"pods": 3}'

        def request_error(self, error: ext.RequestError) -> None:
            self.errors.append(error)

    heard = Everything()
    with SessionClient(service.address, "rm", heard) as client:
        client.register()
        client.update_node(nodes("n1", cores=4))
        client.update_application(application())
        client.update_allocation(asks("a", "b", cores=3))
        wait(lambda: len(heard.states) == 1)
        assert heard.states[0].allocationKey == "b"
        wait(lambda: any(event.objectID == "n1" for event in heard.events))
        assert service.core.dumps.gather(5.0) == {"rm": {"pods": 3}}
        client.update_node(si.NodeRequest(rmID="other"))
        wait(lambda: len(heard.errors) == 1)
        assert heard.errors[0].code == ext.RequestError.WRONG_RM


@pytest.mark.remuda_rule("EXT-6")
def test_sending_waits_while_too_much_is_not_acknowledged(service: Service) -> None:
    blocked = threading.Event()
    limits = SessionLimits(max_unacked_frames=2)
    with SessionClient(service.address, "rm", limits=limits, timeout=1.0) as client:
        client.register()

        async def block() -> None:
            binding_of(service)._pump.cancel()
            # Behind what nobody deals with, everything else waits.
            binding_of(service).requests.put(Arrival(1, None, 0), 0)
            blocked.set()

        asyncio.run_coroutine_threadsafe(block(), service._loop).result(60)
        assert blocked.is_set()
        client.update_node(nodes("n1"))
        client.update_node(nodes("n2"))
        with pytest.raises(ClientError, match=r"took nothing for 1\.0 s"):
            client.update_node(nodes("n3"))


# ---------------------------------------------------------------------- predicates of a client


def judged(service: Service, callback: Listener, *keys: str) -> list[str]:
    with SessionClient(service.address, "rm", callback) as client:
        client.register()
        client.update_node(nodes("n1", "n2"))
        client.update_application(application())
        client.update_allocation(asks(*keys))
        wait(lambda: len(callback.placed()) == 1)
        return callback.placed()


@pytest.mark.remuda_rule("EXT-13", "EXT-15", "EXT-22")
def test_many_asks_may_be_judged_at_once(service: Service) -> None:
    class Batched(Listener):
        def nodes_predicates(
            self, items: list[NodesPredicatesItem]
        ) -> list[NodesPredicatesItemResult]:
            refused = [PredicateFailure("no", [0])]
            return [NodesPredicatesItemResult(fit=[1], failures=refused) for _ in items]

    assert judged(service, Batched(), "k") == ["new k-0 n2"]


@pytest.mark.remuda_rule("EXT-17")
def test_an_ask_that_is_not_known_any_more_is_skipped(service: Service) -> None:
    class Forgetful(Listener):
        def predicates(self, args: si.PredicatesArgs) -> None:
            if args.allocationKey == "gone":
                raise UnknownAllocationError

    assert judged(service, Forgetful(), "gone", "k") == ["new k-0 n1"]
