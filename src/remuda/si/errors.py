"""The refusal that depends on the wire and not on the state of the scheduler.

It is told to the sender at once, before anything reaches the scheduler; over gRPC it has a
status of its own.
"""

from __future__ import annotations

from remuda.base.errors import ProtocolError


class MessageTooLargeError(ProtocolError):
    """A message carries more elements than one message may (SI-105)."""
