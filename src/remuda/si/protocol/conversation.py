"""One side of a session, over all the streams that carry it one after another.

The owner hands in the bytes that arrive (``receive``), reports when their effect is done
(``applied``), gives bodies to send (``send``) and writes the frames that ``next`` returns until
there are none; ``due_ns`` says when to ask again. Between two streams bodies may be given too; they
wait.

    stream ── receive ──> Arrival ── owner ── applied
    stream <── next ── numbers, acks, heartbeats <── send ── owner

Times are nanoseconds of any clock that does not go back.
"""

from __future__ import annotations

from itertools import count
from typing import Final, Generic, TypeVar

from google.protobuf.message import DecodeError

from remuda.base.errors import ProtocolError
from remuda.base.message import message
from remuda.si import limits
from remuda.si.limits import MessageTooLargeError
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol import frames
from remuda.si.protocol.errors import SessionError
from remuda.si.protocol.numbering import Incoming, Outgoing
from remuda.si.protocol.terms import MILLISECOND_NS, SessionLimits

F = TypeVar("F", ext.RMFrame, ext.CoreFrame)

# Heartbeats without any frame before the peer counts as gone (EXT-8, RM-14).
MISSED: Final = 3

# The most characters of the text of a Goodbye.
_TEXT_LIMIT: Final = 2_000

_ACK: Final = frames.body(ext.CoreFrame, "ack_only", ext.Ack())


@message
class Unpacked(Generic[F]):
    """The result of unpacking a frame. ``frame`` None: it is too large, as ``fault`` says.

    Then ``head`` has its numbers.
    """

    frame: F | None
    fault: str = ""
    head: frames.Head | None = None


@message
class Arrival(Generic[F]):
    """A frame that the owner has to deal with.

    ``number``: to be given to ``applied`` when that is done; 0: a Goodbye, after which nothing
    comes. ``frame`` None: it was not unpacked, and ``fault`` says why. ``field``: that of its body,
    0 if it has none.
    """

    number: int
    frame: F | None
    field: int
    fault: str = ""


class Conversation(Generic[F]):
    """One side of a session; ``F`` is the kind of frame that arrives.

    Args:
        kind: the type of the frames that arrive.
        countable: what is counted in them before they are unpacked (SI-105).
        terms: the limits in force.

    ``call_ids``: the IDs of the calls it sends, of all kinds.

    Rules: EXT-3, EXT-4, EXT-6, EXT-7, EXT-8, EXT-9, EXT-21, RM-14.
    """

    def __init__(self, kind: type[F], countable: limits.Countable, terms: SessionLimits) -> None:
        self._kind: type[F] = kind
        self._countable = countable
        self._limits = terms
        self.outgoing = Outgoing(terms.max_unacked_frames)
        self.incoming = Incoming()
        self._heard_ns = 0
        self._spoke_ns = 0
        self._farewell: bytes | None = None
        self.open = False
        self.call_ids = count(1)

    @property
    def body_bytes_limit(self) -> int:
        """Bytes a body may have, so that its frame keeps to the limit in force. Rules: EXT-8."""
        return self._limits.max_frame_bytes - frames.HEAD_BYTES

    def begin(self, now_ns: int) -> None:
        """A stream carries the session from now on; its handshake is over."""
        self.open = True
        self._farewell = None
        self._heard_ns = self._spoke_ns = now_ns
        self.incoming.repeat(now_ns)

    def resume(self, received: int, now_ns: int) -> None:
        """Go on over a new stream; ``received``: the last of our frames that the peer has.

        Raises: SessionError (RESYNC_REQUIRED) if what it lacks is not there. Implements: EXT-9.
        """
        self.outgoing.rewind(received)
        self.begin(now_ns)

    def retune(self, terms: SessionLimits) -> None:
        """Put the limits in force that a resume agreed on. Rules: EXT-6, EXT-8."""
        self._limits = terms
        self.outgoing.window = terms.max_unacked_frames

    def end(self) -> None:
        """The stream is over; what was not acknowledged stays for the next one."""
        self.open = False

    # ------------------------------------------------------------------ in

    def unpack(self, data: bytes) -> Unpacked[F]:
        """Unpack a frame without taking it in. Any thread. Rules: SI-105.

        Raises: SessionError if that is no frame of this protocol.
        """
        try:
            fault = self._too_large(data)
            if fault:
                return Unpacked(None, fault, frames.peek(data))
            return Unpacked(self._kind.FromString(data))
        except (DecodeError, ProtocolError) as error:
            raise _no_frame(error) from None

    def receive(
        self, data: bytes, now_ns: int, unpacked: Unpacked[F] | None = None
    ) -> Arrival[F] | None:
        """Take a frame in; None if there is nothing to do about it.

        ``unpacked``: what ``unpack`` made of it, if that was called for it. A frame that is too
        large, or holds too much, is an arrival with a fault: its number counts, so that one bad
        request does not end the session.

        Raises: SessionError; then the session cannot go on over this stream.
        Rules: EXT-3, EXT-4, EXT-9, EXT-21.
        """
        self._heard_ns = now_ns
        given = unpacked or self.unpack(data)
        frame, head = given.frame, given.head
        if head is not None:
            self.outgoing.acknowledge(head.acknowledged)
            return self._arrival(head.number, head.field, None, given.fault)
        assert frame is not None
        self.outgoing.acknowledge(frame.ack)
        name = frame.WhichOneof("body")
        if name in frames.UNNUMBERED:
            return self._control(frame, name)
        if name is not None:
            return self._arrival(frame.seq, frames.field_number(self._kind, name), frame)
        # A later version may send this. If it is a request, the peer must learn that it was not
        # understood.
        return self._arrival(frame.seq, _head(data).field, frame) if frame.seq else None

    def heard(self, now_ns: int) -> None:
        """Note that the owner did not read, so the silence is not the peer's fault. EXT-8."""
        self._heard_ns = now_ns

    def applied(self, number: int, now_ns: int) -> None:
        """Note that the effect of an arrival, and of all before it, is done.

        Rules: EXT-3, EXT-4.
        """
        self.incoming.apply(number, now_ns)

    def _too_large(self, data: bytes) -> str:
        if len(data) > self._limits.max_frame_bytes:
            return (
                f"the frame has {len(data)} bytes, allowed are {self._limits.max_frame_bytes}; "
                "split it"
            )
        try:
            frames.refuse_too_many(data, self._countable)
        except MessageTooLargeError as error:
            return str(error)
        return ""

    def _arrival(
        self, number: int, field: int, frame: F | None, fault: str = ""
    ) -> Arrival[F] | None:
        if number == 0:
            raise SessionError("a frame that must have a number has none")
        if not self.incoming.receive(number):
            return None
        return Arrival(number, frame, field, fault)

    def _control(self, frame: F, name: str) -> Arrival[F] | None:
        """Deal with a frame that carries no number of its own. Rules: EXT-1, EXT-3."""
        if frame.seq:
            raise SessionError(f"{name} carries number {frame.seq} and must not have one")
        if name in {"hello", "welcome"}:
            raise SessionError(f"{name} comes first on a stream or not at all")
        if name == "goodbye":
            return Arrival(0, frame, frames.field_number(self._kind, name))
        return None

    # ------------------------------------------------------------------ out

    def send(self, body: bytes, *, counted: bool = True) -> int:
        """Queue a body, and return its number. Rules: EXT-3, EXT-6."""
        return self.outgoing.add(body, counted=counted)

    def goodbye(self, reason: ext.Goodbye.Reason.ValueType, text: str) -> None:
        """Let the next frame be the last one of this stream. The first Goodbye counts."""
        if self._farewell is None:
            content = ext.Goodbye(reason=reason, message=text[:_TEXT_LIMIT])
            self._farewell = frames.body(ext.CoreFrame, "goodbye", content)

    def next(self, now_ns: int) -> bytes | None:
        """Return the next frame to write, None if there is none now. Rules: EXT-3, EXT-7, EXT-8."""
        if not self.open:
            return None
        if self._farewell is not None:
            self.open = False
            return frames.numbered(0, self.incoming.confirm(), self._farewell)
        due_ns = self.incoming.due_ns()
        pair = self.outgoing.next()
        if pair is not None:
            number, body = pair
        elif due_ns is not None and due_ns <= now_ns:
            number, body = 0, _ACK
        elif self._spoke_ns + self._interval_ns() <= now_ns:
            beat = ext.Heartbeat(sent_unix_nano=now_ns)
            number, body = 0, frames.body(ext.CoreFrame, "heartbeat", beat)
        else:
            return None
        self._spoke_ns = now_ns
        return frames.numbered(number, self.incoming.confirm(), body)

    def due_ns(self) -> int:
        """Return when ``next`` or ``silent`` will change without further input."""
        interval_ns = self._interval_ns()
        times = [self._spoke_ns + interval_ns, self._heard_ns + self.patience_ns()]
        ack_ns = self.incoming.due_ns()
        if ack_ns is not None:
            times.append(ack_ns)
        return min(times)

    def patience_ns(self) -> int:
        """Return how long a peer may be silent. Rules: EXT-8."""
        return MISSED * self._interval_ns()

    def silent(self, now_ns: int) -> bool:
        """Whether the peer was silent so long that it counts as gone.

        Implements: EXT-8. Rules: RM-14.
        """
        return self.open and now_ns >= self._heard_ns + self.patience_ns()

    def _interval_ns(self) -> int:
        return self._limits.heartbeat_ms * MILLISECOND_NS


def _head(data: bytes) -> frames.Head:
    """Read the head of a frame that protobuf has read. Raises: SessionError.

    Protobuf also reads fields of wire types that no version of this protocol uses.
    """
    try:
        return frames.peek(data)
    except ProtocolError as error:
        raise _no_frame(error) from None


def _no_frame(error: Exception) -> SessionError:
    return SessionError(f"not a frame of this protocol: {error}")
