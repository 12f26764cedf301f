"""The session stream: handshake, numbers, requests, resuming, flow control."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import grpc
import pytest

from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime.roster import SESSION, RmState
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import SchedulerExtensionStub
from tests.e2e.grpc_service import Service
from tests.e2e.session_stream import ALL, SECONDS, SessionStream
from tests.waiting import wait


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


@pytest.fixture
def connect(service: Service) -> Iterator[Callable[..., SessionStream]]:
    streams: list[SessionStream] = []

    def open_stream(**how: object) -> SessionStream:
        stream = SessionStream(service.channel, **how)  # type: ignore[arg-type]
        streams.append(stream)
        return stream

    yield open_stream
    for stream in streams:
        stream.cut()


Connect = Callable[..., SessionStream]


def state_of(service: Service, rm_id: str = "rm") -> tuple[str, str]:
    status = service.core.roster.find(rm_id)
    assert status is not None
    return status.state.value, status.cause


def kept(service: Service, rm_id: str = "rm") -> int | None:
    """How many frames the core keeps for an RM, None if it has no session."""
    binding = service.server._session_service.find(rm_id)
    return None if binding is None else binding.outlet.kept


# ---------------------------------------------------------------------- handshake


@pytest.mark.remuda_rule("EXT-1", "EXT-2", "EXT-20", "EXT-21")
def test_a_registration_is_answered_with_what_is_in_force(
    service: Service, connect: Connect
) -> None:
    welcome = connect().register(features=[*ALL, "tomorrow"])
    assert (welcome.version.major, welcome.resumed) == (1, False)
    assert tuple(welcome.features) == ALL
    assert welcome.limits == ext.Limits(
        max_calls=8,
        max_nodes_per_call=1024,
        max_unacked_frames=4096,
        max_frame_bytes=16 * 1024 * 1024,
        heartbeat_millis=5000,
    )
    assert welcome.resume_window_millis == 300_000
    assert welcome.session_id
    assert welcome.core_uuid
    status = service.core.roster.find("rm")
    assert status is not None
    assert (status.state, status.transport) == (RmState.RUNNING, SESSION)


@pytest.mark.remuda_rule("EXT-1", "EXT-2")
def test_the_core_is_the_one_that_capabilities_name(service: Service, connect: Connect) -> None:
    stub = SchedulerExtensionStub(service.channel)
    capabilities = stub.GetCapabilities(ext.CapabilitiesRequest(), timeout=SECONDS)
    assert connect().register().core_uuid == capabilities.core_uuid
    assert set(capabilities.features) == set(ALL)


@pytest.mark.remuda_rule("EXT-1")
@pytest.mark.parametrize(
    "frame",
    [
        ext.RMFrame(ack_only=ext.Ack()),
        ext.RMFrame(hello=ext.Hello(version=ext.ProtocolVersion(major=1))),
        ext.RMFrame(seq=1, node=si.NodeRequest()),
    ],
)
def test_anything_but_hello_is_a_breach_of_the_protocol(
    connect: Connect, frame: ext.RMFrame
) -> None:
    stream = connect()
    stream.send_raw(frame)
    assert stream.goodbye().reason == ext.Goodbye.PROTOCOL_ERROR
    assert stream.status()[0] == grpc.StatusCode.OK


@pytest.mark.remuda_rule("EXT-21")
def test_another_major_version_is_refused(connect: Connect) -> None:
    stream = connect()
    registration = si.RegisterResourceManagerRequest(rmID="rm")
    hello = ext.Hello(version=ext.ProtocolVersion(major=2), register=registration)
    stream.send_raw(ext.RMFrame(hello=hello))
    goodbye = stream.goodbye()
    assert goodbye.reason == ext.Goodbye.PROTOCOL_ERROR
    assert "version 2.0" in goodbye.message


@pytest.mark.remuda_rule("EXT-1")
def test_a_stream_without_hello_is_ended() -> None:
    with Service(GrpcSettings(handshake_seconds=0.1)) as service:
        stream = SessionStream(service.channel)
        goodbye = stream.goodbye()
        assert goodbye.reason == ext.Goodbye.PROTOCOL_ERROR
        assert goodbye.message == "no Hello came within 0.1 s"


@pytest.mark.remuda_rule("EXT-2", "RM-1", "RM-6", "RM-13")
@pytest.mark.parametrize(
    "rm_id, config, reason",
    [("", "", "rmID is empty"), ("a[b", "", "must not contain"), ("rm", "bad", "it is bad")],
)
def test_a_registration_that_is_refused_says_why(
    service: Service, connect: Connect, rm_id: str, config: str, reason: str
) -> None:
    connect().register("rm")
    stream = connect()
    request = si.RegisterResourceManagerRequest(rmID=rm_id, config=config)
    frame = stream.hello(register=request)
    assert reason in frame.goodbye.message
    assert service.core.registered("rm") == (rm_id != "rm")


# ---------------------------------------------------------------------- a whole life


@pytest.mark.remuda_rule("SI-7", "SI-79", "EXT-4", "EXT-12")
def test_all_responses_come_in_one_order(connect: Connect) -> None:
    stream = connect()
    stream.register()
    stream.nodes("n1")
    stream.app()
    stream.ask("k1")
    said: list[str] = []
    while "new k1-0 on n1" not in said:
        frame = stream.receive()
        said += [f"node {node.nodeID}" for node in frame.node.accepted]
        said += [f"application {each.applicationID}" for each in frame.application.accepted]
        said += [each.state for each in frame.application.updated]
        said += [f"new {new.allocationID} on {new.nodeID}" for new in frame.allocation.new]
    assert said == ["node n1", "application app", "Accepted", "Starting", "new k1-0 on n1"]


@pytest.mark.remuda_rule("EXT-3")
def test_a_gap_ends_the_stream(connect: Connect) -> None:
    stream = connect()
    stream.register()
    stream.sent = 1
    stream.nodes("n1")
    goodbye = stream.goodbye()
    assert goodbye.reason == ext.Goodbye.PROTOCOL_ERROR
    assert "frame 2 follows frame 0" in goodbye.message


@pytest.mark.remuda_rule("EXT-7")
def test_requests_are_acknowledged_within_50_ms_or_64_frames(connect: Connect) -> None:
    stream = connect()
    stream.register()
    for _ in range(64):
        stream.send(node=si.NodeRequest())
    acks: list[int] = []
    while not acks or acks[-1] < 64:
        frame = stream.receive_any()
        assert frame is not None
        acks.append(frame.ack)
    stream.send(node=si.NodeRequest())
    frame = stream.receive_any()
    assert frame is not None
    assert (frame.ack, frame.WhichOneof("body")) == (65, "ack_only")


@pytest.mark.remuda_rule("EXT-21")
def test_unknown_frames_are_ignored_and_unknown_requests_refused(connect: Connect) -> None:
    stream = connect()
    stream.register()
    notice = ext.RMFrame.FromString(b"\x08\x01" + b"\xea\x02\x00")  # seq 1, field 45
    request = ext.RMFrame.FromString(b"\x08\x02" + b"\xea\x01\x00")  # seq 2, field 29
    for frame in (notice, request):
        stream.send_raw(frame)
    stream.sent = 2
    error = stream.receive().request_error
    assert (error.request_seq, error.code) == (2, ext.RequestError.UNSUPPORTED)
    stream.nodes("n1")
    assert stream.receive().node.accepted[0].nodeID == "n1"


@pytest.mark.remuda_rule("SI-1", "SI-105", "EXT-20")
def test_a_request_that_cannot_be_queued_is_answered_and_the_session_goes_on(
    connect: Connect,
) -> None:
    stream = connect()
    stream.register(features=["responses"], limits=ext.Limits(max_frame_bytes=64 * 1024))
    bad: dict[int, dict[str, object]] = {
        ext.RequestError.WRONG_RM: {"node": si.NodeRequest(rmID="other")},
        ext.RequestError.MALFORMED: {
            "classed_allocation": ext.ClassedAllocationRequest(
                classes=[ext.PredicateClass(name="of nothing", asks=[7])]
            )
        },
        ext.RequestError.TOO_LARGE: {"application": si.ApplicationRequest(rmID="x" * 65 * 1024)},
        ext.RequestError.UNSUPPORTED: {"configuration": ext.ConfigurationUpdate(request_id=1)},
    }
    for code, body in bad.items():
        number = stream.send(**body)
        error = stream.receive().request_error
        assert (error.request_seq, error.code) == (number, code), error
        assert error.message
    stream.nodes("n1")
    assert stream.receive().node.accepted[0].nodeID == "n1"


@pytest.mark.remuda_rule("SI-85", "SI-88")
def test_the_configuration_can_be_changed(connect: Connect) -> None:
    stream = connect()
    stream.register()
    update = si.UpdateConfigurationRequest(config="bad")
    stream.send(configuration=ext.ConfigurationUpdate(request_id=7, update=update))
    answer = stream.receive().configuration
    assert (answer.request_id, answer.result.success) == (7, False)
    assert "it is bad" in answer.result.reason
    good = si.UpdateConfigurationRequest(config="good", extraConfig={"a": "b"})
    stream.send(configuration=ext.ConfigurationUpdate(request_id=8, update=good))
    answer = stream.receive().configuration
    assert (answer.request_id, answer.result.success) == (8, True)


@pytest.mark.remuda_rule("SI-85", "EXT-23")
def test_the_configuration_of_another_rm_cannot_be_changed(connect: Connect) -> None:
    stream = connect()
    stream.register()
    update = si.UpdateConfigurationRequest(rmID="other", config="good")
    stream.send(configuration=ext.ConfigurationUpdate(request_id=7, update=update))
    assert stream.receive().request_error.code == ext.RequestError.WRONG_RM


# ---------------------------------------------------------------------- resuming


@pytest.mark.remuda_rule("EXT-9", "RM-14", "RM-15")
def test_a_session_goes_on_where_its_stream_broke(service: Service, connect: Connect) -> None:
    first = connect(acks=False)
    welcome = first.register()
    first.nodes("n1")
    first.app()
    assert first.receive().node.accepted[0].nodeID == "n1"
    got = first.got
    first.ask("k1")
    first.allocations(1)
    first.cut()
    wait(lambda: state_of(service)[0] == "PAUSED")
    second = connect(sent=3, got=got)
    answer = second.resume("rm", welcome.session_id, got)
    assert (answer.welcome.resumed, answer.welcome.last_seq) == (True, 3)
    assert answer.welcome.core_uuid == welcome.core_uuid
    assert state_of(service)[0] == "RUNNING"
    assert second.allocations(1) == [("k1-0", "n1")]
    second.ask("k2")
    assert second.allocations(1) == [("k2-0", "n1")]


@pytest.mark.remuda_rule("EXT-9")
def test_what_is_sent_twice_after_a_break_counts_once(connect: Connect) -> None:
    first = connect()
    welcome = first.register()
    first.nodes("n1")
    first.app()
    first.receive()
    first.receive()
    first.cut()
    second = connect(sent=0, got=first.got)
    second.resume("rm", welcome.session_id, first.got)
    second.nodes("n1")
    second.app()
    second.nodes("n2")
    assert second.receive().node.accepted[0].nodeID == "n2"


@pytest.mark.remuda_rule("EXT-9", "RM-16")
@pytest.mark.parametrize("rm_id, session_id, last", [("rm", "other", 0), ("nobody", "s", 0)])
def test_an_unknown_session_cannot_be_resumed(
    connect: Connect, rm_id: str, session_id: str, last: int
) -> None:
    connect().register()
    frame = connect().resume(rm_id, session_id, last)
    assert frame.goodbye.reason == ext.Goodbye.RESYNC_REQUIRED


@pytest.mark.remuda_rule("EXT-9")
@pytest.mark.parametrize("last", [0, 99])
def test_frames_that_are_gone_or_never_were_cannot_be_resumed(
    service: Service, connect: Connect, last: int
) -> None:
    first = connect()
    welcome = first.register()
    first.nodes("n1")
    first.receive()
    first.app()
    first.receive()
    first.nodes("n2")
    first.receive()
    first.send(node=si.NodeRequest())
    wait(lambda: kept(service) == 0)
    first.cut()
    frame = connect().resume("rm", welcome.session_id, last)
    assert frame.goodbye.reason == ext.Goodbye.RESYNC_REQUIRED
    wait(lambda: state_of(service)[0] == "PAUSED")


@pytest.mark.remuda_rule("EXT-11", "EXT-9")
def test_a_second_stream_takes_over(service: Service, connect: Connect) -> None:
    first = connect()
    welcome = first.register()
    first.nodes("n1")
    first.receive()
    second = connect(sent=1, got=first.got)
    assert second.resume("rm", welcome.session_id, first.got).welcome.resumed
    assert first.goodbye().reason == ext.Goodbye.SUPERSEDED
    second.nodes("n2")
    assert second.receive().node.accepted[0].nodeID == "n2"
    assert state_of(service)[0] == "RUNNING"


@pytest.mark.remuda_rule("EXT-11", "RM-9")
def test_a_new_registration_takes_over_and_forgets_the_old_life(connect: Connect) -> None:
    first = connect()
    welcome = first.register()
    first.nodes("n1")
    first.receive()
    second = connect()
    assert second.register().session_id != welcome.session_id
    assert first.goodbye().reason == ext.Goodbye.SUPERSEDED
    second.nodes("n1")
    assert second.receive().node.accepted[0].nodeID == "n1"
    frame = connect().resume("rm", welcome.session_id, 1)
    assert frame.goodbye.reason == ext.Goodbye.RESYNC_REQUIRED


@pytest.mark.remuda_rule("RM-9", "EXT-9")
def test_a_registration_over_the_plain_streams_ends_the_session(
    service: Service, connect: Connect
) -> None:
    first = connect()
    welcome = first.register()
    service.register("rm")
    assert first.goodbye().reason == ext.Goodbye.RESYNC_REQUIRED
    frame = connect().resume("rm", welcome.session_id, 0)
    assert frame.goodbye.reason == ext.Goodbye.RESYNC_REQUIRED


@pytest.mark.remuda_rule("RM-17", "RM-18", "EXT-9")
def test_a_session_that_nobody_resumes_in_time_is_over(service: Service, connect: Connect) -> None:
    first = connect()
    welcome = first.register(extraConfig={"rm.pauseTimeout": "50ms"})
    assert welcome.resume_window_millis == 50
    first.cut()
    wait(lambda: state_of(service)[0] == "STOPPED")
    frame = connect().resume("rm", welcome.session_id, 0)
    assert frame.goodbye.reason == ext.Goodbye.RESYNC_REQUIRED
    wait(lambda: kept(service) is None)


# ---------------------------------------------------------------------- leaving


@pytest.mark.remuda_rule("RM-19")
def test_who_says_goodbye_for_good_is_removed_after_his_last_request(
    service: Service, connect: Connect
) -> None:
    stream = connect()
    stream.register()
    stream.nodes("n1", "n2")
    stream.app()
    stream.leave(ext.Goodbye.SHUTDOWN)
    goodbye = stream.goodbye()
    assert goodbye.reason == ext.Goodbye.SHUTDOWN
    assert goodbye.message == "removed 1 partitions, 1 applications, 2 nodes"
    assert state_of(service)[0] == "STOPPED"


@pytest.mark.remuda_rule("RM-14")
def test_who_restarts_is_waited_for(service: Service, connect: Connect) -> None:
    stream = connect()
    welcome = stream.register()
    stream.leave(ext.Goodbye.RESTARTING)
    wait(lambda: state_of(service) == ("PAUSED", "it said goodbye"))
    assert connect().resume("rm", welcome.session_id, 0).welcome.resumed


@pytest.mark.remuda_rule("EXT-8", "RM-14")
def test_a_peer_that_is_silent_for_three_heartbeats_is_gone(
    service: Service, connect: Connect
) -> None:
    stream = connect()
    welcome = stream.register(limits=ext.Limits(heartbeat_millis=200))
    assert welcome.limits.heartbeat_millis == 200
    beats = [stream.receive_any() for _ in range(2)]
    assert [beat.WhichOneof("body") for beat in beats if beat] == ["heartbeat", "heartbeat"]
    assert stream.goodbye().message == "nothing was heard for 0.6 s"
    wait(lambda: state_of(service)[0] == "PAUSED")
    assert connect().resume("rm", welcome.session_id, 0).welcome.resumed


# ---------------------------------------------------------------------- flow control


@pytest.mark.remuda_rule("EXT-6")
def test_scheduling_stops_while_too_much_is_not_acknowledged(
    service: Service, connect: Connect
) -> None:
    stream = connect(acks=False)
    stream.register(limits=ext.Limits(max_unacked_frames=4))
    stream.nodes("n1", cores=1000)
    stream.app()
    stream.ask(*[f"k{number}" for number in range(50)])
    while stream.got < 4:
        stream.receive()
    assert stream.silent()
    service.core.barrier("rm").result(SECONDS)
    stream.ask("later")
    assert stream.silent()
    stream.acks = True
    stream.ack()
    assert len(stream.allocations(51 - 1)) >= 50


@pytest.mark.remuda_rule("RM-16", "EXT-9")
@pytest.mark.parametrize(
    "settings",
    [GrpcSettings(outbound_messages_limit=3), GrpcSettings(outbound_bytes_limit=30)],
    ids=["messages", "bytes"],
)
def test_too_much_that_nobody_takes_makes_a_session_unusable(settings: GrpcSettings) -> None:
    with Service(settings) as service:
        stream = SessionStream(service.channel, acks=False)
        welcome = stream.register()
        for number in range(5):
            stream.nodes(f"n{number}")
        assert stream.goodbye().reason == ext.Goodbye.RESYNC_REQUIRED
        again = SessionStream(service.channel)
        frame = again.resume("rm", welcome.session_id, 0)
        assert frame.goodbye.reason == ext.Goodbye.RESYNC_REQUIRED
        assert "too many responses waited" in frame.goodbye.message
        assert SessionStream(service.channel).register().session_id


@pytest.mark.remuda_rule("EXT-8", "SI-75")
def test_long_responses_are_cut_to_the_frame_limit(connect: Connect) -> None:
    stream = connect()
    stream.register(limits=ext.Limits(max_frame_bytes=64 * 1024))
    stream.nodes("n1", cores=10_000)
    stream.app()
    for start in range(0, 2_000, 500):
        stream.ask(*[f"a-long-key-for-an-ask-{start + number:06}" for number in range(500)])
    found: list[str] = []
    while len(found) < 2_000:
        frame = stream.until("allocation")
        assert frame.ByteSize() <= 64 * 1024
        found += [new.allocationKey for new in frame.allocation.new]
    assert len(set(found)) == 2_000
