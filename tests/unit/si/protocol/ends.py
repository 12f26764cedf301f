"""The two ends of a session for tests: their frames, and bodies that can be told apart."""

from __future__ import annotations

from typing import TypeAlias

from remuda.si import limits
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si
from remuda.si.protocol import frames
from remuda.si.protocol.conversation import Arrival, Conversation
from remuda.si.protocol.terms import SessionLimits

MS = 1_000_000

CoreEnd: TypeAlias = Conversation[ext.RMFrame]
RmEnd: TypeAlias = Conversation[ext.CoreFrame]


def core_end(terms: SessionLimits | None = None) -> CoreEnd:
    end = Conversation(ext.RMFrame, frames.RM_FRAME, terms or SessionLimits())
    end.begin(0)
    return end


def rm_end(terms: SessionLimits | None = None) -> RmEnd:
    end = Conversation(ext.CoreFrame, limits.FLAT, terms or SessionLimits())
    end.begin(0)
    return end


def request(text: str) -> bytes:
    """The body of a request that carries a text."""
    return frames.body(ext.RMFrame, "application", si.ApplicationRequest(rmID=text))


def response(text: str) -> bytes:
    """The body of a response that carries a text."""
    accepted = [si.AcceptedApplication(applicationID=text)]
    return frames.body(ext.CoreFrame, "application", si.ApplicationResponse(accepted=accepted))


def text_of(arrival: Arrival[ext.RMFrame] | Arrival[ext.CoreFrame]) -> str:
    """The text that ``request`` or ``response`` put in."""
    frame = arrival.frame
    if isinstance(frame, ext.RMFrame):
        return frame.application.rmID
    assert frame is not None
    return frame.application.accepted[0].applicationID


def rm_frame(data: bytes | None) -> ext.RMFrame:
    assert data is not None
    return ext.RMFrame.FromString(data)


def core_frame(data: bytes | None) -> ext.CoreFrame:
    assert data is not None
    return ext.CoreFrame.FromString(data)


def from_rm(number: int, text: str = "", ack: int = 0) -> bytes:
    """A numbered frame of an RM."""
    return frames.numbered(number, ack, request(text))


def written(end: CoreEnd | RmEnd, now_ns: int = 0) -> list[bytes]:
    """All that an end wants to write now."""
    found = []
    while (data := end.next(now_ns)) is not None:
        found.append(data)
    return found
