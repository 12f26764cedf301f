"""The first frame in each direction."""

from __future__ import annotations

import pytest

from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol import frames
from remuda.si.protocol.errors import SessionError, resync
from remuda.si.protocol.handshake import (
    Identity,
    SessionState,
    farewell,
    hello,
    hello_of,
    welcome,
    welcome_of,
)
from remuda.si.protocol.terms import FEATURES, SessionLimits, Terms
from remuda.si.wire import varint

TERMS = Terms(0, ("predicates",), SessionLimits())
CORE = Identity("1.2.3", "uuid")


@pytest.mark.remuda_rule("EXT-1", "EXT-2")
def test_each_of_the_three_ways_to_begin_arrives() -> None:
    registration = si.RegisterResourceManagerRequest(rmID="rm", config="c")
    first = hello_of(hello(registration.SerializeToString(), FEATURES, None))
    assert first.register == registration
    assert tuple(first.features) == FEATURES
    resume = ext.Resume(rm_id="rm", session_id="s", last_seq=7)
    assert hello_of(hello(resume, (), SessionLimits(max_calls=2))).resume == resume
    attach = ext.Attach(rm_id="rm", deliver_responses=True)
    again = hello_of(hello(attach, (), SessionLimits(max_calls=2)))
    assert again.attach == attach
    assert again.limits.max_calls == 2


@pytest.mark.remuda_rule("EXT-2")
def test_an_empty_registration_is_one() -> None:
    assert hello_of(hello(b"", (), None)).WhichOneof("start") == "register"


@pytest.mark.remuda_rule("EXT-1")
@pytest.mark.parametrize(
    "data, reason",
    [
        (b"", "the first frame must be Hello"),
        (frames.body(ext.RMFrame, "ack_only", b""), "the first frame must be Hello"),
        (b"\xff", "the first frame is not one of this protocol"),
        (frames.body(ext.RMFrame, "hello", b""), "neither register, attach nor resume"),
        (
            frames.numbered(1, 0, hello(ext.Attach(), (), None)),
            "Hello carries number 1",
        ),
        (b"\x52" + varint(17 << 20) + b"\0" * (17 << 20), "allowed are 16777216"),
    ],
)
def test_anything_else_is_a_breach_of_the_protocol(data: bytes, reason: str) -> None:
    with pytest.raises(SessionError, match=reason) as raised:
        hello_of(data)
    assert raised.value.reason == ext.Goodbye.PROTOCOL_ERROR


@pytest.mark.remuda_rule("SI-105")
def test_a_hello_with_too_many_features_is_refused_unpacked() -> None:
    data = frames.body(ext.RMFrame, "hello", b"\x12\x00" * 10_001)
    with pytest.raises(SessionError, match="more than 10000 fields"):
        hello_of(data)


@pytest.mark.remuda_rule("SI-105")
def test_a_hello_of_fields_that_nobody_knows_is_not_looked_at_to_its_end() -> None:
    """Who opens a session waits on the event loop, and so does everybody else."""
    for data in (b"\x78\x00" * 10_001, frames.body(ext.RMFrame, "hello", b"\x78\x00" * 10_001)):
        with pytest.raises(SessionError, match="more than 10000 fields"):
            hello_of(data)


@pytest.mark.remuda_rule("EXT-1", "EXT-9", "EXT-20")
def test_a_welcome_says_what_is_in_force() -> None:
    got = welcome_of(welcome(TERMS, SessionState("s", None, 300_000_000_000), CORE))
    assert (got.session_id, got.resumed, got.last_seq) == ("s", False, 0)
    assert (list(got.features), got.version.major) == (["predicates"], 1)
    assert (got.core_version, got.core_uuid) == ("1.2.3", "uuid")
    assert (got.resume_window_millis, got.limits.max_calls) == (300_000, 8)


@pytest.mark.remuda_rule("EXT-9")
@pytest.mark.parametrize("received", [0, 17])
def test_a_welcome_to_one_who_resumes_says_what_the_core_has(received: int) -> None:
    got = welcome_of(welcome(TERMS, SessionState("s", received, 0), CORE))
    assert (got.resumed, got.last_seq, got.resume_window_millis) == (True, received, 0)


@pytest.mark.remuda_rule("EXT-9", "RM-18")
@pytest.mark.parametrize("window_ns", [-1, 2**62])
def test_a_session_that_waits_for_ever_says_so(window_ns: int) -> None:
    got = welcome_of(welcome(TERMS, SessionState("s", None, window_ns), CORE))
    assert got.resume_window_millis == 2**32 - 1


@pytest.mark.remuda_rule("EXT-1", "EXT-9")
def test_a_goodbye_in_its_place_is_the_reason() -> None:
    with pytest.raises(SessionError, match="too late") as raised:
        welcome_of(farewell(resync("too late")))
    assert raised.value.reason == ext.Goodbye.RESYNC_REQUIRED


@pytest.mark.parametrize("data", [b"", b"\xff", frames.body(ext.CoreFrame, "heartbeat", b"")])
def test_another_first_frame_of_a_core_is_a_breach_of_the_protocol(data: bytes) -> None:
    with pytest.raises(SessionError):
        welcome_of(data)
