"""The terms of a session, on which both sides agree at its begin: version, features, limits.

Each side offers its features; the features of both are in force. Rules: EXT-6, EXT-8, EXT-20,
EXT-21.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.message import message
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol.errors import SessionError

MAJOR: Final = 1
MINOR: Final = 0

# The features of EXT-20, in the order in which they are sent.
PREDICATES: Final = "predicates"
PREEMPTION_PREDICATES: Final = "preemption-predicates"
EVENTS: Final = "events"
CONTAINER_STATES: Final = "container-states"
STATE_DUMP: Final = "state-dump"
RESPONSES: Final = "responses"
CONFIGURATION: Final = "configuration"
NODE_HANDLES: Final = "node-handles"
FEATURES: Final = (
    PREDICATES,
    PREEMPTION_PREDICATES,
    EVENTS,
    CONTAINER_STATES,
    STATE_DUMP,
    RESPONSES,
    CONFIGURATION,
    NODE_HANDLES,
)

MILLISECOND_NS: Final = 1_000_000

# The least frame size: an RM may ask for smaller frames than ours, but not for useless ones.
FRAME_BYTES_MIN: Final = 64 * 1024

# Bounds of the heartbeat an RM may ask for: not a load, and not for ever.
_HEARTBEAT_MS_MIN: Final = 50
_HEARTBEAT_MS_LIMIT: Final = 60_000

# Names of features an offer may have; more say nothing that is understood.
_FEATURES_LIMIT: Final = 256


@message
class SessionLimits:
    """Limits in force for both directions, and the defaults of what the core offers.

    ``max_calls``: predicate calls in flight. ``max_nodes_per_call``: candidates of one item.
    ``max_unacked_frames``: numbered frames sent and not yet acknowledged. ``max_frame_bytes``: the
    longest frame. ``heartbeat_ms``: after so long without a frame one says that it is there.
    Rules: EXT-6, EXT-8, EXT-13.
    """

    max_calls: int = 8
    max_nodes_per_call: int = 1_024
    max_unacked_frames: int = 4_096
    max_frame_bytes: int = 16 * 1024 * 1024
    heartbeat_ms: int = 5_000


@message
class Terms:
    """The terms in force for a session: the lower minor version, the features of both, limits."""

    minor: int
    features: tuple[str, ...]
    limits: SessionLimits

    def has(self, feature: str) -> bool:
        """Whether both sides know a feature. Implements: EXT-20."""
        return feature in self.features


def agree(hello: ext.Hello, features: Sequence[str], limits: SessionLimits) -> Terms:
    """Return the terms for an RM's Hello and the ``features`` and ``limits`` of a core.

    Raises: SessionError for another major version or frames too small to hold anything.
    Rules: EXT-8, EXT-20, EXT-21.
    """
    refuse_other_major(hello.version)
    offered = set(hello.features[:_FEATURES_LIMIT])
    return Terms(
        minor=min(MINOR, hello.version.minor),
        features=tuple(name for name in features if name in offered),
        limits=_within(hello.limits, limits),
    )


def accepted(welcome: ext.Welcome, offered: Sequence[str]) -> Terms:
    """Return the terms a core's Welcome puts in force for an RM that offered these features.

    A feature that the core names and the RM did not offer does not count.

    Raises: SessionError for another major version. Rules: EXT-20, EXT-21.
    """
    refuse_other_major(welcome.version)
    named = set(welcome.features)
    return Terms(
        minor=min(MINOR, welcome.version.minor),
        features=tuple(name for name in offered if name in named),
        limits=_within(welcome.limits, SessionLimits()),
    )


def version() -> ext.ProtocolVersion:
    """Return the version spoken here."""
    return ext.ProtocolVersion(major=MAJOR, minor=MINOR)


def limits_message(limits: SessionLimits) -> ext.Limits:
    """Return limits as the wire has them."""
    return ext.Limits(
        max_calls=limits.max_calls,
        max_nodes_per_call=limits.max_nodes_per_call,
        max_unacked_frames=limits.max_unacked_frames,
        max_frame_bytes=limits.max_frame_bytes,
        heartbeat_millis=limits.heartbeat_ms,
    )


def refuse_other_major(peer: ext.ProtocolVersion) -> None:
    """Raise SessionError unless the peer speaks our major version. Implements: EXT-21."""
    if peer.major != MAJOR:
        raise SessionError(f"version {peer.major}.{peer.minor} is not spoken here, only {MAJOR}.x")


def _within(wanted: ext.Limits, own: SessionLimits) -> SessionLimits:
    """Return the smaller of two limits each; 0 means the other side's choice.

    The heartbeat is the peer's choice within bounds, since it is the peer who has to be patient.

    Rules: EXT-6, EXT-8.
    """
    frame_bytes = _smaller(wanted.max_frame_bytes, own.max_frame_bytes)
    if frame_bytes < FRAME_BYTES_MIN:
        raise SessionError(f"max_frame_bytes is {frame_bytes}, not at least {FRAME_BYTES_MIN}")
    heartbeat_ms = wanted.heartbeat_millis or own.heartbeat_ms
    return SessionLimits(
        max_calls=_smaller(wanted.max_calls, own.max_calls),
        max_nodes_per_call=_smaller(wanted.max_nodes_per_call, own.max_nodes_per_call),
        max_unacked_frames=_smaller(wanted.max_unacked_frames, own.max_unacked_frames),
        max_frame_bytes=frame_bytes,
        heartbeat_ms=min(max(heartbeat_ms, _HEARTBEAT_MS_MIN), _HEARTBEAT_MS_LIMIT),
    )


def _smaller(wanted: int, own: int) -> int:
    return min(wanted, own) if wanted else own
