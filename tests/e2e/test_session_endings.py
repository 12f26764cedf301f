"""What sessions leave behind when they end: nothing that costs memory, time or a traceback."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Sequence

import grpc
import pytest

from remuda.config.schema import Configuration
from remuda.core.ports import NodesQuestion
from remuda.edges.grpc.bindings.binding import Binding
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime.answers import LaterPredicates, OpenQuestion
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from tests.e2e.grpc_service import Service, load
from tests.e2e.session_judge import application_request, ask_request, node_request
from tests.e2e.session_stream import SECONDS, SessionStream
from tests.waiting import wait


def bindings() -> int:
    """How many sessions are in memory."""
    gc.collect()
    return sum(isinstance(each, Binding) for each in gc.get_objects())


# ---------------------------------------------------------------------- memory


@pytest.mark.remuda_rule("RM-9", "SI-83")
def test_events_that_nobody_takes_any_more_do_not_keep_a_session() -> None:
    before = bindings()
    with Service(GrpcSettings(event_interval_ms=20)) as service:
        for _ in range(3):
            stream = SessionStream(service.channel, acks=False)
            stream.register(features=["events", "responses"])
            stream.nodes("n1")
            stream.until("events")
            stream.nodes("n2")
            stream.until("node")
            stream.cut()
        wait(lambda: bindings() <= before + 1)
        assert bindings() <= before + 1


@pytest.mark.remuda_rule("EXT-12", "RM-19")
def test_an_attached_session_goes_with_its_registration() -> None:
    with Service() as service:
        service.register("rm")
        stream = SessionStream(service.channel)
        stream.hello(attach=ext.Attach(rm_id="rm"), features=["predicates", "state-dump"])
        sessions = service.server._session_service
        assert sessions.find("rm") is not None
        assert "rm" in service.core.dumps._sources
        service.core.unregister("rm").result(SECONDS)
        assert stream.goodbye().reason == ext.Goodbye.RESYNC_REQUIRED
        wait(lambda: sessions.find("rm") is None)
        assert "rm" not in service.core.dumps._sources


# ---------------------------------------------------------------------- what goes on without it


@pytest.mark.remuda_rule("EXT-6", "EXT-11", "EXT-12")
def test_scheduling_that_waited_for_one_attached_session_goes_on_with_the_next() -> None:
    with Service() as service:
        service.register("rm")
        nodes, applications, asks = (
            service.nodes("rm"),
            service.applications("rm"),
            service.allocations("rm"),
        )
        first = SessionStream(service.channel, acks=False)
        attach = ext.Attach(rm_id="rm", deliver_responses=True)
        limits = ext.Limits(max_unacked_frames=2)
        first.hello(attach=attach, features=["responses"], limits=limits)
        nodes.send(node_request("n1"))
        assert first.receive().HasField("node")
        applications.send(application_request())
        assert first.receive().HasField("application")
        asks.send(ask_request("a"))
        service.core.barrier("rm").result(SECONDS)
        second = SessionStream(service.channel)
        second.hello(attach=ext.Attach(rm_id="rm"), features=["events"])
        assert asks.receive().new[0].allocationID == "a-0"
        second.cut()
        for stream in (nodes, applications, asks):
            stream.cancel()


@pytest.mark.remuda_rule("EXT-12", "RM-16")
def test_an_attached_session_that_lost_too_much_leaves_the_rm_to_its_streams() -> None:
    with Service(GrpcSettings(event_interval_ms=20)) as service:
        service.register("rm", extra={"rm.outboundLimit": "0"})
        nodes, applications, asks = (
            service.nodes("rm"),
            service.applications("rm"),
            service.allocations("rm"),
        )
        stream = SessionStream(service.channel, acks=False)
        features = ["predicates", "events"]
        stream.hello(attach=ext.Attach(rm_id="rm"), features=features)
        nodes.send(node_request("n1"))
        assert nodes.receive().accepted[0].nodeID == "n1"
        stream.until("events")
        stream.cut()
        wait(lambda: service.server._registrations["rm"].guest is None)
        applications.send(application_request())
        assert applications.receive().accepted[0].applicationID == "app"
        asks.send(ask_request("a"))
        assert asks.receive().new[0].allocationID == "a-0"
        for each in (nodes, applications, asks):
            each.cancel()


@pytest.mark.remuda_rule("EXT-9", "EXT-11")
def test_a_goodbye_ends_the_stream_it_came_on_and_no_later_one() -> None:
    """It waits behind requests, and meanwhile the RM may be back."""
    slow = threading.Event()

    def patient(text: str) -> Configuration:
        if text == "slow":
            slow.wait(SECONDS)
        return load("")

    with Service(load=patient) as service:
        first = SessionStream(service.channel)
        session_id = first.register("rm").session_id
        update = si.UpdateConfigurationRequest(config="slow")
        first.send(configuration=ext.ConfigurationUpdate(request_id=1, update=update))
        first.leave(ext.Goodbye.RESTARTING)
        first.send_raw(ext.RMFrame(ack_only=ext.Ack()))
        wait(lambda: len(waiting_frames(service)) == 2)
        second = SessionStream(service.channel, sent=1)
        assert second.resume("rm", session_id, 0).welcome.last_seq == 1
        slow.set()
        assert second.until("configuration").configuration.request_id == 1
        second.nodes("n1")
        assert second.until("node").node.accepted[0].nodeID == "n1"
        second.cut()


@pytest.mark.remuda_rule("EXT-8", "SI-6", "RM-14")
def test_an_rm_is_not_gone_while_nothing_is_read_from_it() -> None:
    """Its heartbeats stand behind requests for which there is no room."""
    slow = threading.Event()

    def patient(text: str) -> Configuration:
        if text == "slow":
            slow.wait(SECONDS)
        return load("")

    with Service(GrpcSettings(receive_bytes_limit=4_000), load=patient) as service:
        stream = SessionStream(service.channel)
        stream.register("rm", limits=ext.Limits(heartbeat_millis=50))
        update = si.UpdateConfigurationRequest(config="slow")
        stream.send(configuration=ext.ConfigurationUpdate(request_id=1, update=update))
        for number in range(8):
            stream.nodes(f"n{number}")
        binding = service.server._session_service.find("rm")
        assert binding is not None
        wait(lambda: binding.requests.full)
        for _ in range(12):  # of 50 ms each; three are patience enough
            frame = stream.receive_any()
            assert frame is not None
            assert frame.WhichOneof("body") in ("heartbeat", "ack_only")
            stream.send_raw(ext.RMFrame(heartbeat=ext.Heartbeat()))
        slow.set()
        assert stream.until("configuration").configuration.request_id == 1
        assert stream.until("node").node.accepted[0].nodeID == "n0"
        stream.cut()


@pytest.mark.remuda_rule("RM-9", "RM-11", "RM-19")
def test_who_leaves_for_good_does_not_take_a_later_registration_along() -> None:
    """The new process registers while the goodbye of the old one waits for its turn."""
    slow = threading.Event()

    def patient(text: str) -> Configuration:
        if text == "slow":
            slow.wait(SECONDS)
        return load("")

    with Service(load=patient) as service:
        old = SessionStream(service.channel)
        old.register("rm")
        binding = service.server._session_service.find("rm")
        assert binding is not None
        new = SessionStream(service.channel)
        request = si.RegisterResourceManagerRequest(rmID="rm", config="slow")
        hello = ext.Hello(version=ext.ProtocolVersion(major=1), register=request)
        new.send_raw(ext.RMFrame(hello=hello))
        wait(lambda: not service.core.registered("rm"))
        old.leave(ext.Goodbye.SHUTDOWN)
        wait(lambda: binding._leaving)
        slow.set()
        assert new.receive().HasField("welcome")
        old.goodbye()
        service.core.barrier().result(SECONDS)
        assert service.core.registered("rm")
        new.cut()


@pytest.mark.remuda_rule("EXT-5", "EXT-12")
def test_what_was_asked_through_an_earlier_session_is_not_asked_through_the_next() -> None:
    """Each counts its questions for itself, so an answer would be taken for that of another."""
    with Service() as service:
        service.register("rm")
        stream = SessionStream(service.channel)
        stream.hello(attach=ext.Attach(rm_id="rm"), features=["predicates"])
        binding = service.server._session_service.find("rm")
        assert binding is not None
        assert binding.ports.nodes is not None
        question = NodesQuestion("rm", "app", "a", True, ("n1",))
        earlier = LaterPredicates(lambda _: None, 1)
        asked = [OpenQuestion(1, question, 1, port) for port in (earlier, binding.ports.nodes)]
        service._loop.call_soon_threadsafe(binding.take, asked)
        assert len(stream.until("nodes_predicates").nodes_predicates.items) == 1
        stream.cut()


def waiting_frames(service: Service) -> Sequence[object]:
    binding = service.server._session_service.find("rm")
    return () if binding is None else binding.requests._waiting


# ---------------------------------------------------------------------- a scheduler that has ended


@pytest.mark.remuda_rule("RM-20", "EXT-1")
def test_who_comes_or_goes_after_the_scheduler_ended_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Service() as service, caplog.at_level(logging.ERROR):
        leaving = SessionStream(service.channel)
        leaving.register("rm")
        service.core.stop()
        leaving.leave(ext.Goodbye.SHUTDOWN)
        assert "the scheduler was stopped" in leaving.goodbye().message
        coming = SessionStream(service.channel)
        request = si.RegisterResourceManagerRequest(rmID="other")
        with pytest.raises(AssertionError, match="the stream ended"):
            coming.hello(register=request)
        assert coming.status() == (grpc.StatusCode.UNAVAILABLE, "the scheduler was stopped")
    gc.collect()
    assert not caplog.records
