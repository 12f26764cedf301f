"""Refusals at the edge that depend on the wire, not on the state of the scheduler.

Both are told to the caller at once, before anything reaches the scheduler; the edges map them
to a raised error in process and to a status over gRPC.
"""

from __future__ import annotations

from remuda.base.errors import ProtocolError


class MessageTooLargeError(ProtocolError):
    """A message carries more elements than one message may (SI-105)."""
