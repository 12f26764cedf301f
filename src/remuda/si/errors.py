"""The refusal that depends on the wire and not on the state of the scheduler.

The sender gets it at once, before anything reaches the scheduler; over gRPC it has its own status.
"""

from __future__ import annotations

from remuda.base.errors import ProtocolError


class MessageTooLargeError(ProtocolError):
    """A message carries more elements than one message may (SI-105)."""
