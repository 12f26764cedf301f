"""Streams that end, and resource managers that come back or do not (chapter 70 section 2)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import grpc
import pytest

from remuda.config.schema import Configuration
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.queries import (
    ApplicationsQuery,
    NodesQuery,
    NodeView,
    PartitionsQuery,
    PartitionView,
)
from remuda.core.messages.rows import rows
from remuda.edges.grpc.settings import GrpcSettings
from remuda.edges.inproc import InProcessScheduler
from remuda.runtime.roster import IN_PROCESS, STREAMS, RmState
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import SchedulerExtensionStub
from tests.e2e.grpc_service import SECONDS, Service, Stream, load
from tests.e2e.test_grpc_streams import application, asks, node, placed, prepare
from tests.waiting import wait


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


def state(service: Service, rm_id: str = "rm") -> RmState | None:
    status = service.core.roster.find(rm_id)
    return None if status is None else status.state


def wait_for(service: Service, wanted: RmState, rm_id: str = "rm") -> None:
    wait(lambda: state(service, rm_id) is wanted)


def finish(stream: Stream[si.ApplicationResponse]) -> None:
    stream.half_close()
    stream.rest()


def cancel(stream: Stream[si.ApplicationResponse]) -> None:
    stream.cancel()


def offend(stream: Stream[si.ApplicationResponse]) -> None:
    stream.send(application("b", rm_id="other"))
    assert stream.refusal()[0] is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.remuda_rule("RM-14", "RM-15")
@pytest.mark.parametrize("end", [finish, cancel, offend])
def test_the_end_of_the_last_stream_pauses_the_rm_whatever_its_status(
    service: Service, end: Callable[[Stream[si.ApplicationResponse]], None]
) -> None:
    stream = prepare(service)
    assert state(service) is RmState.RUNNING
    end(stream)
    wait_for(service, RmState.PAUSED)
    status = service.core.roster.find("rm")
    assert status is not None
    assert (status.transport, status.cause) == (STREAMS, "its last stream ended")


@pytest.mark.remuda_rule("RM-14")
def test_an_rm_goes_on_while_it_has_a_stream_or_has_not_opened_one(service: Service) -> None:
    service.register()
    service.core.barrier().result(SECONDS)
    assert state(service) is RmState.RUNNING
    nodes, applications = service.nodes("rm"), service.applications("rm")
    nodes.send(node("n"))
    nodes.receive()
    applications.send(application())
    applications.receive()
    nodes.half_close()
    nodes.rest()
    # The second stream of a kind takes over, which is no loss either.
    newer = service.applications("rm")
    newer.send(application("b"))
    newer.receive()
    assert applications.refusal()[0] is grpc.StatusCode.ABORTED
    service.core.barrier().result(SECONDS)
    assert state(service) is RmState.RUNNING
    newer.cancel()
    wait_for(service, RmState.PAUSED)


@pytest.mark.remuda_rule("RM-14", "RM-15")
def test_an_rm_that_opens_no_stream_is_away_until_it_does() -> None:
    assert GrpcSettings().opening_seconds == 60
    with Service(GrpcSettings(opening_seconds=0.2)) as service:
        service.register()
        wait_for(service, RmState.PAUSED)
        status = service.core.roster.find("rm")
        assert status is not None
        assert status.cause == "it opened no stream within 0.2 s of its registration"
        stream = service.applications("rm")
        stream.send(application())
        stream.receive()
        assert state(service) is RmState.RUNNING


@pytest.mark.remuda_rule("RM-14", "RM-15", "SI-103")
def test_nothing_is_placed_during_a_pause_and_what_was_said_arrives_in_order_after_it(
    service: Service,
) -> None:
    applications = prepare(service)
    asking = service.allocations("rm")
    asking.send(asks(1))
    assert placed(asking, 1) == ["k0"]
    # Two requests whose answers cannot be sent any more, then the last stream ends.
    asking.send(asks(3))
    bad = asks(1)
    bad.asks[0].applicationID = "unknown"
    asking.cancel()
    applications.cancel()
    wait_for(service, RmState.PAUSED)
    assert service.core.query(PartitionsQuery()).result(SECONDS) != ()  # readable
    asking = service.allocations("rm")
    asking.send(asks(3))
    asking.send(bad)
    keys: list[str] = []
    refused: list[str] = []
    while len(keys) < 2 or not refused:
        response = asking.receive()
        keys += [entry.allocationKey for entry in response.new]
        refused += [entry.allocationKey for entry in response.rejected]
    assert sorted(keys) == ["k1", "k2"]
    assert refused == ["k0"]
    assert state(service) is RmState.RUNNING


def moving(text: str) -> Configuration:
    """What the service loads, except that one text has its partition elsewhere."""
    found = load(text)
    if text != "moved":
        return found
    (only,) = found.partitions
    return Configuration((replace(only, name="elsewhere"),), checksum="1", text=text)


@pytest.mark.remuda_rule("RM-15", "RM-16")
def test_more_responses_than_an_rm_wants_kept_while_it_is_gone_cost_it_the_session() -> None:
    extra = {"rm.outboundLimit": "2"}
    with Service(load=moving) as service:
        service.register(extra=extra)
        nodes, applications = service.nodes("rm"), service.applications("rm")
        for name in ("n1", "n2", "n3", "n4"):
            nodes.send(node(name))
        seen = 0
        while seen < 4:  # the limit is not for one that is there
            seen += len(nodes.receive().accepted)
        applications.send(application())
        applications.receive()
        asking = service.allocations("rm")
        asking.send(asks(2))
        placed(asking, 2)
        for stream in (applications, asking, nodes):
            stream.cancel()
        wait_for(service, RmState.PAUSED)
        # The partition goes: Failing, what is released, Failed are three responses.
        update = si.UpdateConfigurationRequest(rmID="rm", config="moved", extraConfig=extra)
        stub = SchedulerExtensionStub(service.channel)
        assert stub.UpdateConfiguration(update, timeout=SECONDS).success
        service.core.idle().result(SECONDS)
        detail = refusal_of_a_new_stream(service)
        assert "too many responses waited for resource manager 'rm'; register again" in detail
        assert state(service) is RmState.PAUSED
        prepare(service)
        assert state(service) is RmState.RUNNING


@pytest.mark.remuda_rule("RM-15", "KV-1")
def test_a_new_limit_counts_for_an_rm_that_is_registered() -> None:
    with Service(load=moving) as service:
        applications = prepare(service)
        asking = service.allocations("rm")
        asking.send(asks(2))
        placed(asking, 2)
        stub = SchedulerExtensionStub(service.channel)
        for config, limit in (("", "2"), ("moved", "3")):
            update = si.UpdateConfigurationRequest(
                rmID="rm", config=config, extraConfig={"rm.outboundLimit": limit}
            )
            if config:
                applications.cancel()
                asking.cancel()
                wait_for(service, RmState.PAUSED)
            assert stub.UpdateConfiguration(update, timeout=SECONDS).success
        service.core.idle().result(SECONDS)
        told = service.applications("rm")
        states = [entry.state for _ in range(2) for entry in told.receive().updated]
        assert states[-2:] == ["Failing", "Failed"]


def refusal_of_a_new_stream(service: Service) -> str:
    stream = service.nodes("rm")
    code, detail = stream.refusal()
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    return detail


@pytest.mark.remuda_rule("RM-17", "RM-18", "SI-101")
def test_an_rm_that_stays_away_is_stopped_and_may_start_afresh(service: Service) -> None:
    service.register(extra={"rm.pauseTimeout": "20ms"})
    stream = service.nodes("rm")
    stream.send(node("n"))
    stream.receive()
    stream.cancel()
    wait_for(service, RmState.STOPPED)
    assert service.core.query(PartitionsQuery()).result(SECONDS) == ()
    detail = refusal_of_a_new_stream(service)
    assert "is not registered any more" in detail
    assert "register again" in detail
    finish(prepare(service))
    wait_for(service, RmState.PAUSED)


@pytest.mark.remuda_rule("RM-2", "SI-1", "SI-101")
def test_a_request_is_refused_while_its_rm_is_being_registered() -> None:
    """Edge case 4: in INIT, before the first registration and during the next."""
    entered, leave = threading.Event(), threading.Event()

    def slow(text: str) -> Configuration:
        if text == "slow":
            entered.set()
            assert leave.wait(SECONDS)
        return load(text)

    with Service(load=slow) as service, ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            entered.clear()
            leave.clear()
            registering = pool.submit(service.register, "rm", "slow")
            assert entered.wait(SECONDS)
            assert state(service) is RmState.INIT
            stream = service.nodes("rm")
            stream.send(node("n"))
            code, detail = stream.refusal()
            assert code is grpc.StatusCode.FAILED_PRECONDITION
            assert "is not registered yet" in detail
            leave.set()
            registering.result(SECONDS)
            assert state(service) is RmState.RUNNING
            stream = service.nodes("rm")
            stream.send(node("n"))
            assert [entry.nodeID for entry in stream.receive().accepted] == ["n"]
            stream.cancel()
            wait_for(service, RmState.PAUSED)


@pytest.mark.remuda_rule("RM-9", "RM-15")
def test_registering_again_during_a_pause_drops_what_waited(service: Service) -> None:
    applications = prepare(service)
    asking = service.allocations("rm")
    asking.send(asks(1))
    placed(asking, 1)
    applications.cancel()
    asking.cancel()
    wait_for(service, RmState.PAUSED)
    applications = prepare(service)
    asking = service.allocations("rm")
    asking.send(asks(2))
    assert sorted(placed(asking, 2)) == ["k0", "k1"]
    assert state(service) is RmState.RUNNING


@pytest.mark.remuda_rule("RM-9", "RM-11")
def test_registering_twice_at_once_under_load_ends_with_one_fresh_life(service: Service) -> None:
    """Edge case 1: must finish, and the old streams hear nothing of the new life."""
    applications = prepare(service)
    asking = service.allocations("rm")
    for number in range(50):
        batch = asks(100)
        for ask in batch.asks:
            ask.allocationKey = f"{number}-{ask.allocationKey}"
        asking.send(batch)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(service.register) for _ in range(4)]
        for call in calls:
            call.result(SECONDS)
    for old in (asking, applications):
        assert old.refusal()[0] in (grpc.StatusCode.ABORTED, grpc.StatusCode.FAILED_PRECONDITION)
    (view,) = rows(PartitionView, service.core.query(PartitionsQuery()).result(SECONDS))
    assert (view.total_nodes, view.total_containers, view.applications) == (0, 0, {})
    service.core.check().result(SECONDS)
    nodes = service.nodes("rm")
    nodes.send(node("n"))
    assert [entry.nodeID for entry in nodes.receive().accepted] == ["n"]


@pytest.mark.remuda_rule("RM-10", "SI-7")
def test_two_rms_with_the_same_names_do_not_hear_of_each_other(service: Service) -> None:
    """Edge case 2, with one RM over streams, one in this process and one more over streams."""

    class Callback:
        def __init__(self) -> None:
            self.keys: list[str] = []

        def update_allocation(self, response: si.AllocationResponse) -> None:
            self.keys += [entry.allocationKey for entry in response.new]

    own = Callback()
    with InProcessScheduler(core=service.core, load=load) as inside:
        inside.register_resource_manager(si.RegisterResourceManagerRequest(rmID="in"), own)
        inside.update_node(node("n", "in"))
        inside.update_application(application("a", "in"))
        opened = []
        for rm_id in ("one", "two"):
            service.register(rm_id)
            nodes = service.nodes(rm_id)
            nodes.send(node("n", rm_id))
            nodes.receive()
            applications = service.applications(rm_id)
            applications.send(application("a", rm_id))
            applications.receive()
            opened.append((service.allocations(rm_id), nodes, applications))
        inside.update_allocation(asks(1, "in"))
        opened[0][0].send(asks(2, "one"))
        opened[1][0].send(asks(3, "two"))
        assert sorted(placed(opened[0][0], 2)) == ["k0", "k1"]
        assert sorted(placed(opened[1][0], 3)) == ["k0", "k1", "k2"]
        inside.wait_idle()
        assert own.keys == ["k0"]
        # One of them goes: the others keep everything.
        for stream in opened[0]:
            stream.cancel()
        wait_for(service, RmState.PAUSED, "one")
        assert [state(service, each) for each in ("in", "two")] == [RmState.RUNNING] * 2
        for rm_id in ("one", "two", "in"):
            found = service.core.query(ApplicationsQuery("default", "", rm_id)).result(SECONDS)
            assert len(rows(ApplicationView, found)) == 1
        service.core.check().result(SECONDS)


@pytest.mark.remuda_rule("RM-9", "REC-13")
def test_a_partner_in_another_transport_takes_over(service: Service) -> None:
    stream = prepare(service)
    with InProcessScheduler(core=service.core, load=load) as inside:
        inside.register_resource_manager(si.RegisterResourceManagerRequest(rmID="rm"))
        assert stream.refusal()[0] is grpc.StatusCode.ABORTED
        status = service.core.roster.find("rm")
        assert status is not None
        assert (status.state, status.transport) == (RmState.RUNNING, IN_PROCESS)
        late = service.nodes("rm")
        assert late.refusal()[0] is grpc.StatusCode.FAILED_PRECONDITION
        inside.update_node(node("n"))
        inside.wait_idle()
        found = service.core.query(NodesQuery("default", "rm")).result(SECONDS)
        assert [view.node_id for view in rows(NodeView, found)] == ["n"]
        # And back again: the one in this process is told that it is not the RM any more.
        prepare(service)
        with pytest.raises(Exception, match="'rm' is not registered"):
            inside.update_node(node("n2"))
    assert state(service) is RmState.RUNNING  # leaving does not take the other one along


@pytest.mark.remuda_rule("RM-19", "RM-17")
def test_an_rm_that_is_away_can_be_unregistered_and_is_counted(service: Service) -> None:
    prepare(service).cancel()
    wait_for(service, RmState.PAUSED)
    stub = SchedulerExtensionStub(service.channel)
    removed = stub.UnregisterResourceManager(ext.UnregisterRequest(rm_id="rm"), timeout=SECONDS)
    counted = (removed.removed_partitions, removed.removed_applications, removed.removed_nodes)
    assert counted == (1, 1, 1)
    assert state(service) is RmState.STOPPED


@pytest.mark.remuda_rule("SI-102", "SI-103")
def test_the_three_kinds_may_be_opened_in_any_order(service: Service) -> None:
    """Edge case 19."""
    service.register()
    for first in ("allocations", "applications", "nodes"):
        stream = getattr(service, first)("rm")
        stream.half_close()
        assert stream.rest() == []
        wait_for(service, RmState.PAUSED)
    nodes = service.nodes("rm")
    nodes.send(si.NodeRequest(rmID="rm"))
    nodes.send(node("n"))
    assert [entry.nodeID for entry in nodes.receive().accepted] == ["n"]
    wait_for(service, RmState.RUNNING)


@pytest.mark.remuda_rule("RM-2", "SI-101")
@pytest.mark.parametrize("name", ["n", "n" * 2_000], ids=["good", "too long an identifier"])
def test_an_open_stream_refuses_while_its_rm_is_being_registered_whatever_it_is_sent(
    name: str,
) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(text: str) -> Configuration:
        if text == "slow":
            entered.set()
            assert leave.wait(SECONDS)
        return load(text)

    with Service(load=slow) as service, ThreadPoolExecutor(1) as pool:
        service.register("rm")
        stream = service.nodes("rm")
        stream.send(node("first"))
        stream.receive()
        registering = pool.submit(service.register, "rm", "slow")
        assert entered.wait(SECONDS)
        stream.send(node(name))
        code, detail = stream.refusal()
        leave.set()
        registering.result(SECONDS)
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "is not registered yet" in detail
