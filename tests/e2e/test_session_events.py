"""What events a session gets, and when (EVT-92, EVT-93, EVT-94, EXT-12)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.edges.grpc.settings import GrpcSettings
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from tests.e2e.grpc_service import Service
from tests.e2e.session_judge import node_request
from tests.e2e.session_stream import SECONDS, SessionStream
from tests.waiting import wait

Record = si.EventRecord
QUICK = GrpcSettings(event_interval_ms=20)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(QUICK) as running:
        yield running


@pytest.mark.remuda_rule("EVT-93")
def test_a_session_whose_rm_said_so_gets_only_what_people_are_shown(service: Service) -> None:
    stream = SessionStream(service.channel)
    stream.register(features=["events"], extraConfig={"rm.userEventsOnly": "true"})
    stream.app()
    stream.ask("k")
    stream.nodes("n1")
    records = stream.until("events").events.records
    assert [(each.type, each.objectID, each.message) for each in records] == [
        (Record.NODE, "n1", "Node added to the scheduler")
    ]
    assert stream.silent(0.2)
    stream.cut()


@pytest.mark.remuda_rule("EVT-122", "EVT-92")
def test_what_a_session_without_the_feature_does_not_take_is_not_kept(service: Service) -> None:
    stream = SessionStream(service.channel)
    stream.register(features=["responses"])
    stream.nodes("n1")
    assert stream.receive().HasField("node")
    service.core.barrier("rm").result(SECONDS)
    feeds = service.core.feeds
    assert feeds.stored == feeds.collected > 0
    assert feeds.not_stored == 0
    stream.cut()


@pytest.mark.remuda_rule("EXT-12", "EVT-92")
def test_an_attached_session_gets_the_events_from_then_on_and_its_end_leaves_none_waiting(
    service: Service,
) -> None:
    service.register("rm")
    nodes = service.nodes("rm")
    nodes.send(node_request("n1"))
    assert nodes.receive().accepted[0].nodeID == "n1"
    stream = SessionStream(service.channel)
    stream.hello(attach=ext.Attach(rm_id="rm"), features=["events"])
    nodes.send(node_request("n2"))
    assert nodes.receive().accepted[0].nodeID == "n2"
    batch = stream.until("events").events
    named = {record.objectID for record in batch.records if record.type == Record.NODE}
    assert named == {"n2"}
    assert batch.first_id == 0
    newer = SessionStream(service.channel)
    newer.hello(attach=ext.Attach(rm_id="rm"), features=["predicates"])
    feeds = service.core.feeds
    nodes.send(node_request("n3"))
    assert nodes.receive().accepted[0].nodeID == "n3"
    wait(lambda: feeds.stored == feeds.collected)
    assert feeds.not_stored == 0
    for each in (stream, newer):
        each.cut()
    nodes.cancel()
