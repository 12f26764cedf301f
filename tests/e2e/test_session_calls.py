"""What else goes over a session: events, container states, state dumps."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from remuda.core.messages.effects import ContainerStateUpdated, EventRecord
from remuda.edges.grpc.bindings.binding import Binding
from remuda.edges.grpc.bindings.notices import Notices
from remuda.edges.grpc.settings import GrpcSettings
from remuda.runtime.event_store import EventFeeds
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.pb.extension_pb2_grpc import AdminStub
from tests.e2e.grpc_service import Service
from tests.e2e.session_stream import SECONDS, SessionStream
from tests.unit.si.protocol.ends import core_end, core_frame
from tests.waiting import wait

QUICK = GrpcSettings(event_interval_ms=50)


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(QUICK) as running:
        yield running


@pytest.fixture
def stream(service: Service) -> Iterator[SessionStream]:
    opened = SessionStream(service.channel)
    yield opened
    opened.cut()


def binding_of(service: Service) -> Binding:
    binding = service.server._session_service.find("rm")
    assert binding is not None
    return binding


# ---------------------------------------------------------------------- events


@pytest.mark.remuda_rule("SI-83", "EXT-6", "EXT-20")
def test_events_come_in_batches_without_gaps(stream: SessionStream) -> None:
    stream.register(features=["events"])
    stream.nodes("n1")
    first = stream.until("events").events
    assert (first.first_id, first.dropped) == (0, 0)
    kinds = {(record.type, record.objectID) for record in first.records}
    assert (si.EventRecord.NODE, "n1") in kinds
    stream.nodes("n2")
    second = stream.until("events").events
    assert second.first_id == len(first.records)
    assert {record.objectID for record in second.records} >= {"n2"}


@pytest.mark.remuda_rule("SI-83")
def test_events_are_sent_every_two_seconds_and_only_if_there_are_any(
    stream: SessionStream,
) -> None:
    assert GrpcSettings().event_interval_ms == 2_000
    stream.register(features=["events"])
    stream.until("events")
    assert stream.silent(0.3)


@pytest.mark.remuda_rule("EXT-20")
def test_without_the_feature_no_events_come(stream: SessionStream) -> None:
    stream.register(features=["responses"])
    stream.nodes("n1")
    assert stream.receive().HasField("node")
    assert stream.silent(0.3)


def record(number: int) -> EventRecord:
    return EventRecord("rm", "default", 3, f"n{number}", "", 1, 304, number)


@pytest.mark.remuda_rule("EXT-6", "SI-83")
def test_what_a_slow_transport_does_not_take_is_dropped_and_counted() -> None:
    end = core_end()
    feeds = EventFeeds()
    store = feeds.store()
    feeds.open("rm", store)
    notices = Notices(end, 0, events=store, states=False)
    feeds.offer([record(0)])
    notices.events_gather(0)
    notices.flush(0)
    first = core_frame(end.next(0))
    assert [each.objectID for each in first.events.records] == ["n0"]
    feeds.offer([record(number) for number in range(1, feeds.capacity + 11)])
    notices.events_gather(0)
    notices.flush(0)
    assert end.next(0) is None
    end.receive(ext.RMFrame(ack=first.seq, ack_only=ext.Ack()).SerializeToString(), 0)
    notices.flush(0)
    second = core_frame(end.next(0)).events
    assert (second.dropped, second.first_id) == (10, 11)
    assert [each.objectID for each in second.records] == [f"n{i}" for i in range(1, 1_001)]
    assert (feeds.stored, feeds.not_stored, feeds.collected) == (1_001, 10, 1_001)
    assert end.outgoing.counted == 0


# ---------------------------------------------------------------------- container states


@pytest.mark.remuda_rule("SI-82", "CYC-30")
def test_an_ask_for_which_the_cluster_is_too_small_is_told(stream: SessionStream) -> None:
    stream.register(features=["container-states", "responses"])
    stream.nodes("n1", cores=4)
    stream.app()
    stream.ask("big", cores=3)
    stream.allocations(1)
    stream.ask("more", cores=3)
    states = stream.until("container_states").container_states.states
    assert [(each.applicartionID, each.allocationKey) for each in states] == [("app", "more")]
    assert states[0].state == si.UpdateContainerSchedulingStateRequest.FAILED


@pytest.mark.remuda_rule("EXT-6", "SI-82")
def test_container_states_wait_for_the_acknowledgement_of_those_before() -> None:
    end = core_end()
    notices = Notices(end, 0, events=None, states=True)
    for key in ("a", "b", "c"):
        notices.offer_state(ContainerStateUpdated("rm", "app", key, 4, "why"))
        notices.flush(0)
    first = core_frame(end.next(0))
    assert [each.allocationKey for each in first.container_states.states] == ["a"]
    assert end.next(0) is None
    end.receive(ext.RMFrame(ack=first.seq, ack_only=ext.Ack()).SerializeToString(), 0)
    notices.flush(0)
    second = core_frame(end.next(0)).container_states.states
    assert [each.allocationKey for each in second] == ["b", "c"]


# ---------------------------------------------------------------------- state dumps


@pytest.mark.remuda_rule("SI-84")
def test_a_dump_comes_in_pieces(service: Service, stream: SessionStream) -> None:
    stream.register(features=["state-dump"])
    future = binding_of(service).dump_source(5.0)
    call = stream.until("state_dump").state_dump
    assert call.budget_millis == 5_000
    for data, last in ((b'{"a":', False), (b" 1}", True)):
        part = ext.StateDumpPart(call_id=call.call_id, data=data, last=last)
        stream.send(state_dump=part)
    assert future.result(SECONDS) == '{"a": 1}'


@pytest.mark.remuda_rule("SI-84")
def test_a_dump_that_fails_says_why(service: Service, stream: SessionStream) -> None:
    stream.register(features=["state-dump"])
    future = binding_of(service).dump_source(5.0)
    call = stream.until("state_dump").state_dump
    other = binding_of(service).dump_source(5.0)
    with pytest.raises(Exception, match="another state dump"):
        other.result(SECONDS)
    stream.send(state_dump=ext.StateDumpPart(call_id=call.call_id, error="busy"))
    with pytest.raises(Exception, match="busy"):
        future.result(SECONDS)
    late = binding_of(service).dump_source(0.05)
    with pytest.raises(Exception, match="in time"):
        late.result(SECONDS)


@pytest.mark.remuda_rule("SI-84", "EXT-10")
def test_a_dump_dies_with_its_stream(service: Service, stream: SessionStream) -> None:
    stream.register(features=["state-dump"])
    future = binding_of(service).dump_source(5.0)
    stream.until("state_dump")
    stream.cut()
    with pytest.raises(Exception, match="broke"):
        future.result(SECONDS)


@pytest.mark.remuda_rule("SI-84", "EXT-20")
def test_a_full_dump_has_the_part_of_a_session(service: Service, stream: SessionStream) -> None:
    stream.register(features=["state-dump"])
    found: dict[str, object] = {}
    thread = threading.Thread(target=lambda: found.update(service.core.dumps.gather(5.0)))
    thread.start()
    call = stream.until("state_dump").state_dump
    stream.send(state_dump=ext.StateDumpPart(call_id=call.call_id, data=b'{"pods": 3}', last=True))
    thread.join(SECONDS)
    assert found == {"rm": {"pods": 3}}


# ---------------------------------------------------------------------- what operators see


@pytest.mark.remuda_rule("RM-15", "EXT-7")
def test_operators_see_how_an_rm_is_connected_and_what_is_on_its_way(
    service: Service,
) -> None:
    stream = SessionStream(service.channel, acks=False)
    stream.register(features=["responses"], limits=ext.Limits(max_unacked_frames=2))
    for number in range(4):
        stream.nodes(f"n{number}")
    stub = AdminStub(service.channel)

    def listed() -> ext.ResourceManagerInfo:
        request = ext.ListResourceManagersRequest()
        (found,) = stub.ListResourceManagers(request, timeout=SECONDS).resource_managers
        return found

    wait(lambda: (listed().unacked_frames, listed().queued_messages) == (2, 2))
    assert listed().transport == "session"
    stream.cut()
    wait(lambda: listed().state == ext.ResourceManagerInfo.PAUSED)
