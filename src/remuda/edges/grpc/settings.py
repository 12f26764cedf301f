"""Settings of the gRPC edge: limits, each against a way to exhaust the process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from remuda.si.limits import ELEMENTS_LIMIT
from remuda.si.protocol.terms import FEATURES, SessionLimits

# The default number of connections of one address.
ADDRESS_CONNECTIONS: Final = 25

# The default number of those who follow the journal at a time.
JOURNAL_FOLLOWERS: Final = 4

# Calls that may wait until they are looked at.
_UNSEEN_CALLS: Final = 1_024

# How often a client may try whether the connection lives, in milliseconds.
_CLIENT_PING_MS: Final = 1_000

# The set of encodings of messages that has only the one that changes nothing.
_UNCOMPRESSED: Final = 1


@dataclass(frozen=True, slots=True)
class GrpcSettings:
    """Limits of a gRPC server.

    Attributes:
        receive_bytes_limit: longest message accepted; longer: RESOURCE_EXHAUSTED (SI-105).
        elements_limit: elements in one message; more: RESOURCE_EXHAUSTED.
        send_bytes_limit: longer responses are cut in several; clients take 4 MiB by default.
        outbound_messages_limit: responses that may wait for an RM (RM-16); for one that is gone
            its own ``rm.outboundLimit`` counts instead, if it set one (RM-15).
        outbound_bytes_limit: bytes that may wait for an RM.
        metadata_bytes_limit: metadata of a call; more: RESOURCE_EXHAUSTED.
        streams_limit: calls of one connection at a time; a client waits with further ones.
        connections_limit: connections at a time.
        address_connections_limit: connections of one address, 0: no limit of its own.
        calls_limit: calls at a time; more: RESOURCE_EXHAUSTED.
        address_calls_limit: calls of one address.
        connect_seconds: how long a connection may take until calls can come.
        idle_seconds: after which a connection without calls is closed.
        read_seconds: how long the message of a unary call may take.
        opening_seconds: how long an RM that registered may take to open a stream; after that it is
            away (RM-14).
        keepalive_seconds: a connection without traffic is tried that often, so that a peer that
            vanished without a word is known to be gone (RM-14). The library may take twice as long
            until it tries.
        keepalive_timeout_seconds: a connection that was tried is closed after so long in silence.
        session_features: what is offered to RMs that open a session (EXT-20).
        session_limits: what is offered to them (EXT-6, EXT-8).
        handshake_seconds: how long the first frame of a session may take (EXT-1).
        predicate_budget_ms: how long an RM may take for a predicate call (EXT-17).
        event_interval_ms: between two batches of events for a session (SI-83).
        journal_followers_limit: calls that follow the journal at a time; more: RESOURCE_EXHAUSTED
            (EXT-163).
    """

    receive_bytes_limit: int = 64 * 1024 * 1024
    elements_limit: int = ELEMENTS_LIMIT
    send_bytes_limit: int = 3 * 1024 * 1024
    outbound_messages_limit: int = 100_000
    outbound_bytes_limit: int = 256 * 1024 * 1024
    metadata_bytes_limit: int = 8 * 1024
    streams_limit: int = 100
    connections_limit: int = 512
    address_connections_limit: int = ADDRESS_CONNECTIONS
    calls_limit: int = 4_096
    address_calls_limit: int = 1_024
    connect_seconds: float = 10.0
    idle_seconds: float = 120.0
    read_seconds: float = 10.0
    opening_seconds: float = 60.0
    keepalive_seconds: int = 10
    keepalive_timeout_seconds: int = 10
    session_features: tuple[str, ...] = FEATURES
    session_limits: SessionLimits = field(default_factory=SessionLimits)
    handshake_seconds: float = 10.0
    predicate_budget_ms: int = 500
    event_interval_ms: int = 2_000
    journal_followers_limit: int = JOURNAL_FOLLOWERS


def transport_options(settings: GrpcSettings) -> tuple[tuple[str, int], ...]:
    """Return the options of the library; it refuses calls beyond them before any handler."""
    return (
        ("grpc.so_reuseport", 0),
        ("grpc.max_receive_message_length", settings.receive_bytes_limit),
        # A message that is compressed may be a thousand times larger than what arrives.
        ("grpc.compression_enabled_algorithms_bitset", _UNCOMPRESSED),
        # Between the two limits the library would refuse at random.
        ("grpc.max_metadata_size", settings.metadata_bytes_limit),
        ("grpc.absolute_max_metadata_size", settings.metadata_bytes_limit),
        ("grpc.max_concurrent_streams", settings.streams_limit),
        # Streams that a client gave up count until they are gone here.
        ("grpc.http.overload_protection", 1),
        ("grpc.max_allowed_incoming_connections", settings.connections_limit),
        # Otherwise a fast connection may send megabytes on each stream before they are read.
        ("grpc.http2.bdp_probe", 0),
        # Calls that were not handled yet.
        ("grpc.server.max_pending_requests", _UNSEEN_CALLS),
        ("grpc.server.max_pending_requests_hard_limit", _UNSEEN_CALLS),
        ("grpc.server_handshake_timeout_ms", _milliseconds(settings.connect_seconds)),
        ("grpc.max_connection_idle_ms", _milliseconds(settings.idle_seconds)),
        ("grpc.keepalive_time_ms", settings.keepalive_seconds * 1_000),
        ("grpc.keepalive_timeout_ms", settings.keepalive_timeout_seconds * 1_000),
        # The library waits that long, 60 s by default, whatever the option above says.
        ("grpc.http2.ping_timeout_ms", settings.keepalive_timeout_seconds * 1_000),
        ("grpc.http2.max_pings_without_data", 0),
        # Clients that know several schedulers try a silent one every 5 s (EXT-37).
        ("grpc.http2.min_ping_interval_without_data_ms", _CLIENT_PING_MS),
    )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)
