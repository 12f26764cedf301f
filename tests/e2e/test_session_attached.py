"""Sessions attached to a registration over the plain streams (EXT-2, EXT-12)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from tests.e2e.grpc_service import Service
from tests.e2e.session_judge import (
    ASKED,
    PATIENT,
    Judge,
    application_request,
    ask_request,
    cause_of,
    node_request,
    waiting,
)
from tests.e2e.session_stream import SECONDS, SessionStream
from tests.waiting import wait


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(PATIENT) as running:
        yield running


@pytest.fixture
def judge(service: Service) -> Iterator[Judge]:
    stream = Judge(service.channel)
    yield stream
    stream.cut()


@pytest.mark.remuda_rule("EXT-2", "EXT-12")
def test_attached_with_responses_a_session_gets_all_of_them(service: Service) -> None:
    service.register("rm")
    nodes = service.nodes("rm")
    nodes.send(node_request("n1"))
    wait(lambda: waiting(service) == 0 and nodes.receive().accepted[0].nodeID == "n1")
    judge = Judge(service.channel)
    attach = ext.Attach(rm_id="rm", deliver_responses=True)
    welcome = judge.hello(attach=attach, features=list(ASKED)).welcome
    assert welcome.session_id
    applications = service.applications("rm")
    applications.send(application_request())
    assert judge.until("application").application.accepted[0].applicationID == "app"
    asks = service.allocations("rm")
    asks.send(ask_request("k"))
    judge.accept(judge.call())
    assert judge.allocations(1) == [("k-0", "n1")]
    judge.cut()
    for stream in (nodes, applications, asks):
        stream.cancel()


@pytest.mark.remuda_rule("EXT-12")
def test_attached_without_responses_a_session_is_asked_after_the_streams_were_told(
    service: Service,
) -> None:
    service.register("rm")
    nodes, applications, asks = (
        service.nodes("rm"),
        service.applications("rm"),
        service.allocations("rm"),
    )
    judge = Judge(service.channel)
    assert judge.hello(attach=ext.Attach(rm_id="rm"), features=list(ASKED)).HasField("welcome")
    nodes.send(node_request("n1"))
    assert nodes.receive().accepted[0].nodeID == "n1"
    applications.send(application_request())
    applications.receive()
    asks.send(ask_request("a"))
    judge.accept(judge.call())
    assert asks.receive().new[0].allocationID == "a-0"
    asks.send(ask_request("b"))
    judge.accept(judge.call())
    assert asks.receive().new[0].allocationID == "b-0"
    judge.cut()
    for stream in (nodes, applications, asks):
        stream.cancel()


@pytest.mark.remuda_rule("EXT-11", "EXT-12")
def test_who_attaches_again_gets_what_the_one_before_did_not_acknowledge(
    service: Service,
) -> None:
    service.register("rm")
    first = Judge(service.channel, acks=False)
    attach = ext.Attach(rm_id="rm", deliver_responses=True)
    first.hello(attach=attach, features=list(ASKED))
    nodes = service.nodes("rm")
    nodes.send(node_request("n1"))
    assert first.receive().node.accepted[0].nodeID == "n1"
    second = Judge(service.channel)
    second.hello(attach=attach, features=list(ASKED))
    assert first.goodbye().reason == ext.Goodbye.SUPERSEDED
    assert second.receive().node.accepted[0].nodeID == "n1"
    nodes.send(node_request("n2"))
    assert second.receive().node.accepted[0].nodeID == "n2"
    second.cut()
    nodes.cancel()


@pytest.mark.remuda_rule("EXT-9", "EXT-12", "RM-14", "RM-18")
def test_an_attached_session_that_nobody_resumes_leaves_the_rm_to_its_streams(
    service: Service,
) -> None:
    request = si.RegisterResourceManagerRequest(rmID="rm", extraConfig={"rm.pauseTimeout": "100ms"})
    service.stub.RegisterResourceManager(request, timeout=SECONDS)
    nodes = service.nodes("rm")
    nodes.send(si.NodeRequest(rmID="rm"))
    judge = Judge(service.channel)
    attach = ext.Attach(rm_id="rm", deliver_responses=True)
    assert judge.hello(attach=attach, features=list(ASKED)).welcome.resume_window_millis == 100
    judge.cut()
    wait(lambda: service.server._registrations["rm"].guest is None)
    assert cause_of(service)[0] == "RUNNING"
    nodes.send(node_request("n1"))
    assert nodes.receive().accepted[0].nodeID == "n1"
    nodes.cancel()


@pytest.mark.remuda_rule("EXT-2", "EXT-12")
def test_only_an_rm_of_the_plain_streams_can_be_attached_to(service: Service) -> None:
    for rm_id in ("nobody", "rm"):
        SessionStream(service.channel).register("rm") if rm_id == "rm" else None
        stream = SessionStream(service.channel)
        frame = stream.hello(attach=ext.Attach(rm_id=rm_id))
        assert frame.goodbye.reason == ext.Goodbye.RESYNC_REQUIRED


# ---------------------------------------------------------------------- the frame limit
