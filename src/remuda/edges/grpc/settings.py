"""Limits of the gRPC edge, each against a way in which a peer could exhaust the process."""

from __future__ import annotations

from dataclasses import dataclass

from remuda.si.limits import ELEMENTS_LIMIT


@dataclass(frozen=True, slots=True)
class GrpcSettings:
    """Limits of a gRPC server.

    Attributes:
        receive_bytes_limit: longest message accepted; longer: RESOURCE_EXHAUSTED (SI-105).
        elements_limit: elements in one message; more: RESOURCE_EXHAUSTED.
        send_bytes_limit: longer responses are cut in several; clients take 4 MiB by default.
        outbound_messages_limit: responses that may wait for an RM (RM-15, RM-16).
        outbound_bytes_limit: bytes that may wait for an RM, as above.
    """

    receive_bytes_limit: int = 64 * 1024 * 1024
    elements_limit: int = ELEMENTS_LIMIT
    send_bytes_limit: int = 3 * 1024 * 1024
    outbound_messages_limit: int = 100_000
    outbound_bytes_limit: int = 256 * 1024 * 1024
