"""The first frame in each direction of a stream: Hello, and Welcome or Goodbye (EXT-1, EXT-2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import DecodeError

from remuda.base.errors import ProtocolError
from remuda.base.message import message
from remuda.si import limits
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol import frames
from remuda.si.protocol.errors import SessionError
from remuda.si.protocol.terms import (
    MILLISECOND_NS,
    SessionLimits,
    Terms,
    limits_message,
    version,
)

# The value of resume_window_millis when a session waits for ever.
_FOR_EVER_MS: Final = 2**32 - 1


@message
class Identity:
    """The core's identity in a Welcome; ``core_uuid`` changes with every process.

    ``token``: its fencing token, 0 if it has none (EXT-36).
    """

    version: str
    core_uuid: str
    token: int = 0


@message
class SessionState:
    """The session of a Welcome.

    ``received``: the last frame the core has of an RM that resumes, None if it is a new session.
    ``window_ns``: how long the session can be resumed after its stream broke, negative: for ever.
    """

    session_id: str
    received: int | None
    window_ns: int


def hello_of(data: bytes) -> ext.Hello:
    """Return the Hello in the first frame of an RM.

    Raises: SessionError if the frame is another one, or too large. Rules: EXT-1, EXT-3, SI-105.
    """
    most = SessionLimits().max_frame_bytes
    if len(data) > most:
        raise SessionError(f"the first frame has {len(data)} bytes, allowed are {most}")
    try:
        limits.refuse_many_fields(data, frames.RM_FRAME)
        frame = ext.RMFrame.FromString(data)
    except (DecodeError, ProtocolError) as error:
        raise SessionError(f"the first frame is not one of this protocol: {error}") from None
    if frame.WhichOneof("body") != "hello":
        raise SessionError("the first frame must be Hello")
    if frame.seq:
        raise SessionError(f"Hello carries number {frame.seq} and must not have one")
    if frame.hello.WhichOneof("start") is None:
        raise SessionError("Hello says neither register, attach nor resume")
    return frame.hello


def welcome(terms: Terms, state: SessionState, identity: Identity) -> bytes:
    """Return the frame that begins a stream. Rules: EXT-1, EXT-9, EXT-20."""
    window_ms = state.window_ns // MILLISECOND_NS
    content = ext.Welcome(
        version=version(),
        features=terms.features,
        session_id=state.session_id,
        resumed=state.received is not None,
        last_seq=state.received or 0,
        limits=limits_message(terms.limits),
        resume_window_millis=window_ms if 0 <= window_ms < _FOR_EVER_MS else _FOR_EVER_MS,
        core_version=identity.version,
        core_uuid=identity.core_uuid,
        fencing_token=identity.token,
    )
    content.version.minor = terms.minor
    return frames.body(ext.CoreFrame, "welcome", content)


def farewell(error: SessionError) -> bytes:
    """Return the frame that refuses a stream. Rules: EXT-1."""
    content = ext.Goodbye(reason=error.reason, message=str(error))
    return frames.body(ext.CoreFrame, "goodbye", content)


def hello(
    start: ext.Attach | ext.Resume | bytes, features: Sequence[str], wanted: SessionLimits | None
) -> bytes:
    """Return the first frame of an RM. ``start`` as bytes: an encoded registration.

    Rules: EXT-1, EXT-2.
    """
    content = ext.Hello(version=version(), features=features)
    if wanted is not None:
        content.limits.CopyFrom(limits_message(wanted))
    if isinstance(start, bytes):
        content.register.ParseFromString(start)
        content.register.SetInParent()
    elif isinstance(start, ext.Resume):
        content.resume.CopyFrom(start)
    else:
        content.attach.CopyFrom(start)
    return frames.body(ext.RMFrame, "hello", content)


def welcome_of(data: bytes) -> ext.Welcome:
    """Return the Welcome in the first frame of a core.

    Raises: SessionError with the reason of a Goodbye, or because it is another frame.
    Rules: EXT-1.
    """
    try:
        frame = ext.CoreFrame.FromString(data)
    except DecodeError:
        raise SessionError("the first frame of the scheduler is none of this protocol") from None
    if frame.WhichOneof("body") == "goodbye":
        raise SessionError(frame.goodbye.message, frame.goodbye.reason)
    if frame.WhichOneof("body") != "welcome":
        raise SessionError("the first frame of the scheduler is not Welcome")
    return frame.welcome
