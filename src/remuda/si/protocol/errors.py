"""Why a session cannot go on: what the last frame, Goodbye, tells the peer."""

from __future__ import annotations

from remuda.base.errors import ProtocolError
from remuda.si.pb import extension_pb2 as ext


class SessionError(ProtocolError):
    """The peer broke the protocol, or cannot be served; ``reason`` goes into a Goodbye.

    Rules: EXT-1, EXT-3, EXT-9, EXT-21.
    """

    def __init__(
        self, message: str, reason: ext.Goodbye.Reason.ValueType = ext.Goodbye.PROTOCOL_ERROR
    ) -> None:
        super().__init__(message)
        self.reason = reason


def resync(message: str) -> SessionError:
    """Return the error after which the RM must register again. Rules: EXT-9, RM-16."""
    return SessionError(message, ext.Goodbye.RESYNC_REQUIRED)
