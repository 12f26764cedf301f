"""What two sides agree on: versions, features, limits."""

from __future__ import annotations

import pytest

from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol.errors import SessionError
from remuda.si.protocol.terms import FEATURES, SessionLimits, accepted, agree

V1 = ext.ProtocolVersion(major=1, minor=0)


def hello(**limits: int) -> ext.Hello:
    return ext.Hello(version=V1, limits=ext.Limits(**limits))


@pytest.mark.remuda_rule("EXT-6", "EXT-8", "EXT-13")
def test_the_defaults_are_those_of_the_rules() -> None:
    terms = agree(hello(), FEATURES, SessionLimits())
    assert terms.limits == SessionLimits(
        max_calls=8,
        max_nodes_per_call=1024,
        max_unacked_frames=4096,
        max_frame_bytes=16 * 1024 * 1024,
        heartbeat_ms=5000,
    )


@pytest.mark.remuda_rule("EXT-6")
def test_the_smaller_of_two_limits_is_in_force() -> None:
    wanted = hello(
        max_calls=2, max_nodes_per_call=5000, max_unacked_frames=10, heartbeat_millis=700
    )
    limits = agree(wanted, FEATURES, SessionLimits()).limits
    assert (limits.max_calls, limits.max_nodes_per_call) == (2, 1024)
    assert (limits.max_unacked_frames, limits.heartbeat_ms) == (10, 700)


@pytest.mark.remuda_rule("EXT-8")
@pytest.mark.parametrize("wanted, given", [(1, 50), (4_000_000_000, 60_000)])
def test_a_heartbeat_is_neither_a_load_nor_for_ever(wanted: int, given: int) -> None:
    assert (
        agree(hello(heartbeat_millis=wanted), FEATURES, SessionLimits()).limits.heartbeat_ms
        == given
    )


def test_frames_that_hold_nothing_are_refused() -> None:
    with pytest.raises(SessionError, match="max_frame_bytes is 100, not at least 65536"):
        agree(hello(max_frame_bytes=100), FEATURES, SessionLimits())


@pytest.mark.remuda_rule("EXT-20")
def test_only_features_that_both_name_are_in_force() -> None:
    offer = ext.Hello(version=V1, features=["node-handles", "predicates", "tomorrow", "predicates"])
    terms = agree(offer, FEATURES, SessionLimits())
    assert terms.features == ("predicates", "node-handles")
    assert terms.has("predicates")
    assert not terms.has("events")


@pytest.mark.remuda_rule("EXT-21")
@pytest.mark.parametrize("major", [0, 2])
def test_another_major_version_is_refused(major: int) -> None:
    other = ext.ProtocolVersion(major=major, minor=3)
    with pytest.raises(SessionError, match=rf"version {major}\.3 is not spoken") as raised:
        agree(ext.Hello(version=other), FEATURES, SessionLimits())
    assert raised.value.reason == ext.Goodbye.PROTOCOL_ERROR
    with pytest.raises(SessionError):
        accepted(ext.Welcome(version=other), FEATURES)


@pytest.mark.remuda_rule("EXT-21")
def test_the_lower_minor_version_is_in_force() -> None:
    later = ext.ProtocolVersion(major=1, minor=9)
    assert agree(ext.Hello(version=later), FEATURES, SessionLimits()).minor == 0
    assert accepted(ext.Welcome(version=later), FEATURES).minor == 0


@pytest.mark.remuda_rule("EXT-20")
def test_a_core_cannot_put_features_in_force_that_were_not_offered() -> None:
    welcome = ext.Welcome(version=V1, features=["events", "predicates"])
    assert accepted(welcome, ("predicates", "responses")).features == ("predicates",)
