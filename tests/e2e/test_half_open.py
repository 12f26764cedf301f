"""Peers that vanish without a word: their connections stay open and nothing comes any more."""

from __future__ import annotations

import grpc
import pytest

from remuda.edges.grpc.settings import GrpcSettings, transport_options
from remuda.runtime.roster import RmState
from remuda.session.client import SessionClient
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.si_pb2_grpc import SchedulerStub
from remuda.si.protocol.terms import SessionLimits
from tests.e2e.grpc_service import SECONDS, Service, Stream
from tests.e2e.proxy import Proxy
from tests.e2e.test_grpc_streams import node
from tests.e2e.test_session_client import Listener
from tests.waiting import wait

# In milliseconds: the longest heartbeat that a session may have.
RARE = 60_000

BRIEF = GrpcSettings(keepalive_seconds=1, keepalive_timeout_seconds=1)


def state(service: Service) -> RmState | None:
    status = service.core.roster.find("rm")
    return None if status is None else status.state


@pytest.mark.remuda_rule("RM-14")
def test_a_connection_in_silence_is_closed_within_40_seconds() -> None:
    options = dict(transport_options(GrpcSettings()))
    tried = options["grpc.keepalive_time_ms"]
    given_up = max(options["grpc.keepalive_timeout_ms"], options["grpc.http2.ping_timeout_ms"])
    # The library looks once per interval, so it may try a connection two intervals after a message.
    assert 2 * tried + given_up <= 40_000
    # A session gives its peer up by itself: after three heartbeats of 5 s (EXT-8).
    assert SessionLimits().heartbeat_ms == 5_000


@pytest.mark.remuda_rule("RM-14", "RM-15")
def test_an_rm_whose_streams_fell_silent_is_paused() -> None:
    with Service(BRIEF) as service, Proxy(service.address) as proxy:
        channel = grpc.insecure_channel(proxy.address)
        stub = SchedulerStub(channel)
        stub.RegisterResourceManager(si.RegisterResourceManagerRequest(rmID="rm"), timeout=SECONDS)
        stream: Stream[si.NodeResponse] = Stream(stub.UpdateNode, "rm", seconds=600)
        stream.send(node("n"))
        stream.receive()
        assert state(service) is RmState.RUNNING
        proxy.fall_silent()
        wait(lambda: state(service) is RmState.PAUSED)
        stream.cancel()
        channel.close()


@pytest.mark.remuda_rule("RM-14", "EXT-8")
@pytest.mark.parametrize(
    "settings, heartbeat_ms", [(GrpcSettings(), 100), (BRIEF, RARE)], ids=["beats", "transport"]
)
def test_an_rm_whose_session_fell_silent_is_paused(
    settings: GrpcSettings, heartbeat_ms: int
) -> None:
    """Missing heartbeats tell, and a session with rare ones is found out by its transport."""
    limits = SessionLimits(heartbeat_ms=heartbeat_ms)
    with (
        Service(settings) as service,
        Proxy(service.address) as proxy,
        SessionClient(proxy.address, "rm", Listener(), limits=limits) as client,
    ):
        client.register()
        assert state(service) is RmState.RUNNING
        proxy.fall_silent()
        wait(lambda: state(service) is RmState.PAUSED)
        proxy.cut()
