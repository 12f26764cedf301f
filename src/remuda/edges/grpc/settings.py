"""Settings of the gRPC edge: limits, each against a way to exhaust the process."""

from __future__ import annotations

from dataclasses import dataclass, field

from remuda.si.limits import ELEMENTS_LIMIT
from remuda.si.session.terms import FEATURES, SessionLimits


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
        keepalive_seconds: a connection without traffic is tried that often, so that a peer that
            vanished without a word is known to be gone (RM-14).
        session_features: what is offered to RMs that open a session (EXT-20).
        session_limits: what is offered to them (EXT-6, EXT-8).
        handshake_seconds: how long the first frame of a session may take (EXT-1).
        predicate_budget_ms: how long an RM may take for a predicate call (EXT-17).
        event_interval_ms: between two batches of events for a session (SI-83).
    """

    receive_bytes_limit: int = 64 * 1024 * 1024
    elements_limit: int = ELEMENTS_LIMIT
    send_bytes_limit: int = 3 * 1024 * 1024
    outbound_messages_limit: int = 100_000
    outbound_bytes_limit: int = 256 * 1024 * 1024
    keepalive_seconds: int = 30
    session_features: tuple[str, ...] = FEATURES
    session_limits: SessionLimits = field(default_factory=SessionLimits)
    handshake_seconds: float = 10.0
    predicate_budget_ms: int = 500
    event_interval_ms: int = 2_000
