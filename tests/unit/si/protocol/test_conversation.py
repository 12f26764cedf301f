"""One side of a session: numbers, acknowledgements, window, heartbeats, resending."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message

from remuda.si import limits
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol import frames
from remuda.si.protocol.errors import SessionError
from remuda.si.protocol.terms import SessionLimits
from remuda.si.wire import varint
from tests.unit.si.protocol.ends import (
    MS,
    CoreEnd,
    core_end,
    core_frame,
    from_rm,
    request,
    response,
    rm_end,
    rm_frame,
    text_of,
    written,
)


def take(end: CoreEnd, data: bytes, now_ns: int = 0) -> str:
    """Let a frame arrive and have its effect at once; return its text, "" if it is dropped."""
    arrival = end.receive(data, now_ns)
    if arrival is None:
        return ""
    end.applied(arrival.number, now_ns)
    return text_of(arrival)


# ---------------------------------------------------------------------- numbers


@pytest.mark.remuda_rule("EXT-3")
def test_numbers_count_from_one_in_each_direction() -> None:
    core, rm = core_end(), rm_end()
    assert [core.send(response("a")), core.send(response("b"))] == [1, 2]
    assert rm.send(request("x")) == 1
    assert [core_frame(data).seq for data in written(core)] == [1, 2]
    assert [rm_frame(data).seq for data in written(rm)] == [1]


@pytest.mark.remuda_rule("EXT-3")
@pytest.mark.parametrize("second", [3, 4, 2**63])
def test_a_gap_is_a_breach_of_the_protocol(second: int) -> None:
    core = core_end()
    assert take(core, from_rm(1, "a")) == "a"
    with pytest.raises(SessionError, match=f"frame {second} follows frame 1") as raised:
        core.receive(from_rm(second), 0)
    assert raised.value.reason == ext.Goodbye.PROTOCOL_ERROR


@pytest.mark.remuda_rule("EXT-3", "EXT-9")
def test_what_came_before_is_dropped_when_it_comes_again() -> None:
    core = core_end()
    texts = [take(core, from_rm(number, f"f{number}")) for number in (1, 2, 1, 2, 3)]
    assert texts == ["f1", "f2", "", "", "f3"]


@pytest.mark.remuda_rule("EXT-3")
@pytest.mark.parametrize("name", ["ack_only", "heartbeat", "goodbye"])
def test_what_carries_no_number_must_have_none(name: str) -> None:
    body = frames.body(ext.RMFrame, name, b"")
    with pytest.raises(SessionError, match=f"{name} carries number 1"):
        core_end().receive(frames.numbered(1, 0, body), 0)


@pytest.mark.remuda_rule("EXT-3")
def test_what_must_have_a_number_has_one() -> None:
    with pytest.raises(SessionError, match="must have a number"):
        core_end().receive(from_rm(0), 0)


@pytest.mark.remuda_rule("EXT-1")
def test_a_second_hello_is_a_breach_of_the_protocol() -> None:
    hello = frames.body(ext.RMFrame, "hello", ext.Hello(attach=ext.Attach(rm_id="rm")))
    with pytest.raises(SessionError, match="hello comes first on a stream or not at all"):
        core_end().receive(hello, 0)


# A numbered frame with a field 100 that is a group, which protobuf reads.
GROUP = frames.numbered(1, 0, b"\xa3\x06\xa4\x06")


@pytest.mark.parametrize("data", [b"\x00", b"\xff\xff", b"\x08", b"\x52\x7f", b"\x0b" * 40, GROUP])
def test_bytes_that_are_no_frame_are_a_breach_of_the_protocol(data: bytes) -> None:
    with pytest.raises(SessionError) as raised:
        core_end().receive(data, 0)
    assert raised.value.reason == ext.Goodbye.PROTOCOL_ERROR


@pytest.mark.remuda_rule("EXT-21")
def test_unknown_frames_count_and_are_left_to_the_owner_if_they_have_a_number() -> None:
    core = core_end()
    notice = varint(45 << 3 | 2) + b"\x00"
    assert core.receive(notice, 0) is None
    arrival = core.receive(frames.numbered(1, 0, notice), 0)
    assert arrival is not None
    assert (arrival.number, arrival.field) == (1, 45)
    core.applied(1, 0)
    assert take(core, from_rm(2, "next")) == "next"


# ---------------------------------------------------------------------- acknowledgements


@pytest.mark.remuda_rule("EXT-3", "EXT-4")
def test_only_what_had_its_effect_is_acknowledged() -> None:
    core = core_end()
    core.receive(from_rm(1), 0)
    core.receive(from_rm(2), 0)
    core.applied(1, 0)
    core.send(response("a"))
    assert core_frame(core.next(0)).ack == 1


@pytest.mark.remuda_rule("EXT-7")
def test_an_acknowledgement_goes_after_50_ms_at_the_latest() -> None:
    core = core_end()
    take(core, from_rm(1), 10 * MS)
    assert core.due_ns() == 60 * MS
    assert core.next(60 * MS - 1) is None
    frame = core_frame(core.next(60 * MS))
    assert (frame.seq, frame.ack, frame.WhichOneof("body")) == (0, 1, "ack_only")
    assert core.next(60 * MS) is None


@pytest.mark.remuda_rule("EXT-7")
def test_an_acknowledgement_goes_after_64_frames_at_the_latest() -> None:
    core = core_end()
    for number in range(1, 64):
        take(core, from_rm(number))
    assert core.next(0) is None
    take(core, from_rm(64))
    assert core_frame(core.next(0)).ack == 64


@pytest.mark.remuda_rule("EXT-3", "EXT-7")
def test_any_frame_carries_an_acknowledgement() -> None:
    core = core_end()
    take(core, from_rm(1))
    core.send(response("a"))
    assert core_frame(core.next(0)).ack == 1
    assert core.next(50 * MS) is None


@pytest.mark.remuda_rule("EXT-3")
def test_an_acknowledgement_of_what_was_never_sent_is_a_breach_of_the_protocol() -> None:
    core = core_end()
    core.send(response("a"))
    with pytest.raises(SessionError, match="frame 1 is acknowledged, the last one sent is 0"):
        core.receive(from_rm(1, ack=1), 0)


def test_what_is_acknowledged_is_forgotten() -> None:
    core = core_end()
    for text in "abc":
        core.send(response(text))
    assert len(written(core)) == 3
    kept = core.outgoing.bytes
    core.receive(from_rm(1, ack=2), 0)
    assert len(core.outgoing) == 1
    assert core.outgoing.bytes == kept // 3


# ---------------------------------------------------------------------- window


@pytest.mark.remuda_rule("EXT-6")
def test_no_more_frames_are_under_way_than_the_window_allows() -> None:
    core = core_end(SessionLimits(max_unacked_frames=2))
    for text in "abcd":
        core.send(response(text))
    assert [core_frame(data).seq for data in written(core)] == [1, 2]
    assert core.outgoing.counted == 4
    core.receive(from_rm(1, ack=1), 0)
    assert [core_frame(data).seq for data in written(core)] == [3]


@pytest.mark.remuda_rule("EXT-6")
def test_what_is_not_counted_passes_a_full_window_in_its_order() -> None:
    core = core_end(SessionLimits(max_unacked_frames=1))
    core.send(response("a"))
    core.send(response("event"), counted=False)
    core.send(response("b"))
    core.send(response("event"), counted=False)
    assert [core_frame(data).seq for data in written(core)] == [1, 2]
    assert core.outgoing.counted == 2
    core.receive(from_rm(1, ack=1), 0)
    assert [core_frame(data).seq for data in written(core)] == [3, 4]


# ---------------------------------------------------------------------- heartbeats


@pytest.mark.remuda_rule("EXT-8")
def test_a_heartbeat_goes_when_nothing_was_sent_for_the_interval() -> None:
    core = core_end()
    assert core.next(4_999 * MS) is None
    frame = core_frame(core.next(5_000 * MS))
    assert (frame.seq, frame.WhichOneof("body")) == (0, "heartbeat")
    assert core.next(9_999 * MS) is None
    assert core.next(10_000 * MS) is not None


@pytest.mark.remuda_rule("EXT-8", "RM-14")
def test_a_peer_is_gone_after_three_intervals_without_a_frame() -> None:
    core = core_end()
    core.receive(from_rm(1), 1_000 * MS)
    assert not core.silent(16_000 * MS - 1)
    assert core.silent(16_000 * MS)
    core.receive(frames.body(ext.RMFrame, "heartbeat", b""), 16_000 * MS)
    assert not core.silent(16_000 * MS)


@pytest.mark.remuda_rule("EXT-8")
def test_a_peer_that_nobody_listened_to_is_not_gone() -> None:
    core = core_end()
    core.heard(14_000 * MS)
    assert not core.silent(16_000 * MS)


def test_between_two_streams_nobody_is_gone_and_nothing_is_written() -> None:
    core = core_end()
    core.send(response("a"))
    core.end()
    assert core.next(0) is None
    assert not core.silent(10**15)


# ---------------------------------------------------------------------- goodbye


def test_after_a_goodbye_nothing_is_written() -> None:
    core = core_end()
    core.send(response("a"))
    core.goodbye(ext.Goodbye.SUPERSEDED, "another stream took over")
    core.goodbye(ext.Goodbye.OVERLOADED, "the first one counts")
    frame = core_frame(core.next(0))
    assert frame.goodbye == ext.Goodbye(
        reason=ext.Goodbye.SUPERSEDED, message="another stream took over"
    )
    assert core.next(0) is None


def test_the_goodbye_of_the_peer_arrives() -> None:
    core = core_end()
    body = frames.body(ext.RMFrame, "goodbye", ext.Goodbye(reason=ext.Goodbye.SHUTDOWN))
    arrival = core.receive(frames.numbered(0, 0, body), 0)
    assert arrival is not None
    assert arrival.frame is not None
    assert arrival.frame.goodbye.reason == ext.Goodbye.SHUTDOWN


# ---------------------------------------------------------------------- too large


@pytest.mark.remuda_rule("EXT-8")
def test_a_frame_beyond_the_limit_is_refused_and_its_number_counts() -> None:
    core = core_end(SessionLimits(max_frame_bytes=64 * 1024))
    arrival = core.receive(from_rm(1, "x" * 64 * 1024), 0)
    assert arrival is not None
    assert arrival.frame is None
    assert arrival.field == 20
    assert "65536; split it" in arrival.fault
    core.applied(1, 0)
    assert take(core, from_rm(2, "next")) == "next"


@pytest.mark.remuda_rule("SI-105")
def test_a_frame_with_too_many_elements_is_refused_unpacked() -> None:
    core = core_end()
    element = varint(4 << 3 | 2) + b"\x00"
    body = frames.body(ext.RMFrame, "allocation", element * 100_001)
    arrival = core.receive(frames.numbered(1, 0, body), 0)
    assert arrival is not None
    assert arrival.frame is None
    assert "more than 100000 elements" in arrival.fault


@pytest.mark.remuda_rule("SI-105")
def test_a_frame_with_an_element_of_far_too_many_entries_is_refused_unpacked() -> None:
    many = {f"{number:x}": "" for number in range(limits.ELEMENT_ENTRIES_LIMIT + 1)}
    asks = si.AllocationRequest(asks=[si.AllocationAsk(tags=many)])
    requests: dict[str, Message] = {
        "application": si.ApplicationRequest(new=[si.AddApplicationRequest(tags=many)]),
        "allocation": asks,
        "node": si.NodeRequest(nodes=[si.NodeInfo(attributes=many)]),
        "classed_allocation": ext.ClassedAllocationRequest(request=asks),
    }
    core = core_end()
    for number, (name, inside) in enumerate(requests.items(), 1):
        body = frames.body(ext.RMFrame, name, inside)
        arrival = core.receive(frames.numbered(number, 0, body), 0)
        assert arrival is not None
        assert arrival.frame is None
        assert "an element has more than 65536 entries of maps" in arrival.fault
        core.applied(number, 0)


@pytest.mark.remuda_rule("SI-105")
def test_an_answer_with_too_many_reasons_is_refused_unpacked() -> None:
    item = (varint(4 << 3 | 2) + b"\x00") * 100_001
    result = varint(3 << 3 | 2) + varint(len(item)) + item
    body = frames.body(ext.RMFrame, "nodes_predicates", result)
    assert len(ext.RMFrame.FromString(body).nodes_predicates.items[0].failures) == 100_001
    arrival = core_end().receive(frames.numbered(1, 0, body), 0)
    assert arrival is not None
    assert arrival.frame is None


# ---------------------------------------------------------------------- resuming


@pytest.mark.remuda_rule("EXT-9")
def test_after_a_break_only_what_the_peer_lacks_is_sent_again() -> None:
    core = core_end()
    for text in "abcd":
        core.send(response(text))
    assert len(written(core)) == 4
    core.receive(from_rm(1, ack=1), 0)
    core.end()
    core.send(response("e"))
    core.resume(2, 1_000 * MS)
    again = [core_frame(data) for data in written(core, 1_000 * MS)]
    numbered = [frame for frame in again if frame.seq]
    assert [frame.seq for frame in numbered] == [3, 4, 5]
    texts = [frame.application.accepted[0].applicationID for frame in numbered]
    assert texts == ["c", "d", "e"]


@pytest.mark.remuda_rule("EXT-9")
@pytest.mark.parametrize("received", [0, 4])
def test_what_is_gone_or_was_never_sent_cannot_be_resumed(received: int) -> None:
    core = core_end()
    for text in "abc":
        core.send(response(text))
    written(core)
    core.receive(from_rm(1, ack=1), 0)
    core.end()
    with pytest.raises(
        SessionError, match=f"said to be {received}, kept are those from 2 to 3"
    ) as e:
        core.resume(received, 0)
    assert e.value.reason == ext.Goodbye.RESYNC_REQUIRED


@pytest.mark.remuda_rule("EXT-7", "EXT-9")
def test_what_was_acknowledged_before_a_break_is_acknowledged_again() -> None:
    core = core_end()
    take(core, from_rm(1))
    assert core_frame(core.next(50 * MS)).ack == 1
    core.end()
    core.resume(0, 1_000 * MS)
    assert core_frame(core.next(1_000 * MS)).ack == 1


@pytest.mark.remuda_rule("EXT-6", "EXT-9")
def test_the_window_counts_what_the_peer_has_and_did_not_acknowledge() -> None:
    core = core_end(SessionLimits(max_unacked_frames=2))
    for text in "abc":
        core.send(response(text))
    assert len(written(core)) == 2
    core.end()
    core.resume(2, 0)
    assert written(core) == []
    core.receive(from_rm(1, ack=2), 0)
    assert [core_frame(data).seq for data in written(core)] == [3]


@pytest.mark.remuda_rule("EXT-10")
def test_what_died_with_its_stream_is_replaced_and_keeps_its_number() -> None:
    core = core_end()
    core.send(response("a"))
    call = frames.body(ext.CoreFrame, "nodes_predicates", ext.NodesPredicates(call_id=7))
    number = core.send(call)
    written(core)
    core.end()
    cancel = frames.body(ext.CoreFrame, "cancel", ext.CancelCall(call_id=7))
    core.outgoing.replace(number, cancel)
    core.resume(0, 0)
    again = [core_frame(data) for data in written(core)]
    assert [(frame.seq, frame.WhichOneof("body")) for frame in again] == [
        (1, "application"),
        (2, "cancel"),
    ]


def test_a_request_may_be_any_of_the_protocol() -> None:
    body = frames.body(ext.RMFrame, "node", si.NodeRequest(rmID="rm"))
    arrival = core_end().receive(frames.numbered(1, 0, body), 0)
    assert arrival is not None
    assert arrival.field == 22
    assert arrival.frame is not None
    assert arrival.frame.node.rmID == "rm"


# ---------------------------------------------------------------------- frames that are none


@pytest.mark.remuda_rule("SI-105", "EXT-21")
@pytest.mark.parametrize("count", [1_001, 4_000_000, 9_000_000], ids=["short", "long", "too long"])
def test_a_frame_of_fields_that_nobody_knows_is_not_looked_at_to_its_end(count: int) -> None:
    """Walking through 16 MiB of them took eleven seconds, in which no other RM was heard."""
    looked: list[int] = []
    data = frames.numbered(1, 0, b"\x78\x00" * count)
    real = limits.varint

    def varint(view: memoryview, position: int) -> tuple[int, int]:
        looked.append(position)
        return real(view, position)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "varint", varint)
        with pytest.raises(SessionError, match="more than 1000 fields"):
            core_end().receive(data, 0)
    assert len(looked) <= 2_000
