"""Limits of the gRPC edge, each against a way in which a peer could exhaust the process."""

from __future__ import annotations

from dataclasses import dataclass

from remuda.si.limits import ELEMENTS_MAX


@dataclass(frozen=True, slots=True)
class GrpcSettings:
    """Limits of a gRPC server.

    Attributes:
        receive_bytes_max: longest message accepted; longer: RESOURCE_EXHAUSTED (SI-105).
        elements_max: elements in one message; more: RESOURCE_EXHAUSTED.
        send_bytes_max: longer responses are cut in several; clients take 4 MiB by default.
        outbound_messages_max: responses that may wait for an RM (RM-15, RM-16).
        outbound_bytes_max: bytes that may wait for an RM, as above.
    """

    receive_bytes_max: int = 64 * 1024 * 1024
    elements_max: int = ELEMENTS_MAX
    send_bytes_max: int = 3 * 1024 * 1024
    outbound_messages_max: int = 100_000
    outbound_bytes_max: int = 256 * 1024 * 1024
