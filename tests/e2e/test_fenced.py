"""Answers leave a process only while it is the active scheduler, with its fencing token."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from remuda.base.duration import SECOND
from remuda.runtime.lease.fence import Fence
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import AdminStub, ResourceManagerSessionStub
from remuda.si.wire import FENCING_METADATA
from tests.e2e.grpc_service import SECONDS, Service, Stream
from tests.e2e.session_stream import SessionStream
from tests.e2e.test_grpc_standard import Status, check
from tests.e2e.test_grpc_streams import node

REGISTRATION = si.RegisterResourceManagerRequest(rmID="rm")


class Time:
    """A clock that stands still until somebody moves it."""

    now_ns = 1_000 * SECOND

    def read(self) -> int:
        return self.now_ns


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def fence(time: Time) -> Fence:
    return Fence(time.read)


@pytest.fixture
def service(fence: Fence) -> Iterator[Service]:
    with Service(fence=fence) as running:
        yield running


def refusal(service: Service, *metadata: tuple[str, str]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        service.stub.RegisterResourceManager(REGISTRATION, timeout=SECONDS, metadata=metadata)
    return caught.value.code(), str(caught.value.details())


@pytest.mark.remuda_rule("EXT-35")
def test_a_standby_refuses_every_call_and_names_the_active_one(
    service: Service, fence: Fence
) -> None:
    unavailable = grpc.StatusCode.UNAVAILABLE
    assert refusal(service) == (unavailable, "this scheduler is a standby; none is active")
    fence.active_at = "10.0.0.2:9079"
    text = "this scheduler is a standby; the active one is at 10.0.0.2:9079"
    assert refusal(service) == (unavailable, text)
    assert service.nodes("rm").refusal() == (unavailable, text)
    connect = ResourceManagerSessionStub(service.channel).Connect
    session: Stream[ext.CoreFrame] = Stream(connect)
    assert session.refusal() == (unavailable, text)
    with pytest.raises(grpc.RpcError) as caught:
        AdminStub(service.channel).ListResourceManagers(ext.ListResourceManagersRequest())
    assert caught.value.details() == text
    assert service.core.roster.find("rm") is None


@pytest.mark.remuda_rule("EXT-35")
def test_probes_hear_that_a_standby_serves_nothing(
    service: Service, fence: Fence, time: Time
) -> None:
    for name in ("", "si.v1.Scheduler", "remuda.v1.ResourceManagerSession"):
        assert check(service.channel, name) == Status.NOT_SERVING
    assert fence.extend(7, time.now_ns + SECOND)
    service._loop.call_soon_threadsafe(service.server.serve)
    service.register()
    assert check(service.channel, "") == check(service.channel, "si.v1.Scheduler") == Status.SERVING


@pytest.mark.remuda_rule("EXT-36")
def test_each_call_and_each_welcome_has_the_token(
    service: Service, fence: Fence, time: Time
) -> None:
    fence.extend(7, time.now_ns + SECOND)
    _, call = service.stub.RegisterResourceManager.with_call(REGISTRATION, timeout=SECONDS)
    assert dict(call.initial_metadata())[FENCING_METADATA] == "7"
    stream = service.nodes("rm")
    assert dict(stream._call.initial_metadata())[FENCING_METADATA] == "7"
    stream.half_close()
    session = SessionStream(service.channel)
    assert session.register("other").fencing_token == 7
    session.cut()
    # A call that fails has it, too.
    nobody = service.nodes("nobody")
    assert nobody.refusal()[0] is grpc.StatusCode.FAILED_PRECONDITION
    assert dict(nobody._call.initial_metadata())[FENCING_METADATA] == "7"


@pytest.mark.remuda_rule("EXT-36")
def test_without_a_lease_there_is_no_token() -> None:
    with Service() as service:
        _, call = service.stub.RegisterResourceManager.with_call(REGISTRATION, timeout=SECONDS)
        assert FENCING_METADATA not in dict(call.initial_metadata())
        session = SessionStream(service.channel)
        assert session.register("other").fencing_token == 0
        session.cut()


@pytest.mark.remuda_rule("EXT-35")
def test_nothing_leaves_on_an_open_stream_after_the_end(
    service: Service, fence: Fence, time: Time
) -> None:
    fence.extend(7, time.now_ns + SECOND)
    service.register()
    nodes = service.nodes("rm")
    nodes.send(node("n-1"))
    assert [each.nodeID for each in nodes.receive().accepted] == ["n-1"]
    time.now_ns += SECOND
    # It is decided in the process, and no message about it leaves.
    nodes.send(node("n-2"))
    text = "this scheduler is not the active one any more"
    assert nodes.refusal() == (grpc.StatusCode.UNAVAILABLE, text)
    assert refusal(service) == (grpc.StatusCode.UNAVAILABLE, text)
    # A session: its stream ends as well.
    connect = ResourceManagerSessionStub(service.channel).Connect
    session: Stream[ext.CoreFrame] = Stream(connect)
    assert session.refusal() == (grpc.StatusCode.UNAVAILABLE, text)


@pytest.mark.remuda_rule("EXT-35")
def test_no_frame_leaves_on_an_open_session_after_the_end(
    service: Service, fence: Fence, time: Time
) -> None:
    fence.extend(7, time.now_ns + SECOND)
    session = SessionStream(service.channel)
    session.register()
    time.now_ns += SECOND
    session.nodes("n-1")
    assert session.receive_any() is None
    session.cut()


@pytest.mark.remuda_rule("EXT-36")
def test_a_call_that_knows_a_later_scheduler_is_refused(
    service: Service, fence: Fence, time: Time
) -> None:
    fence.extend(7, time.now_ns + SECOND)
    code, text = refusal(service, (FENCING_METADATA, "8"))
    assert code is grpc.StatusCode.UNAVAILABLE
    assert text.endswith("its token is 7, and 8 is known")
    for known in ("7", "3", "x"):
        service.stub.RegisterResourceManager(
            REGISTRATION, timeout=SECONDS, metadata=((FENCING_METADATA, known),)
        )
