"""The stream of a session client, opened again whenever it breaks.

Two threads: one opens streams and reads them, one, of the gRPC library, asks for the frames to
write. A third one calls back (work.py). They share the conversation, which knows no threads; one
lock guards it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, cast

import grpc
from google.protobuf.message import Message

from remuda.client import ClientError
from remuda.connection.channel import NotAnsweredError
from remuda.connection.routes import PAUSE_SECONDS, Routes, StaleSchedulerError
from remuda.session.work import Stream, Work, wait_for
from remuda.si import limits
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol import frames
from remuda.si.protocol.conversation import Conversation
from remuda.si.protocol.errors import SessionError
from remuda.si.protocol.handshake import hello, welcome_of
from remuda.si.protocol.terms import SessionLimits, accepted

_log = logging.getLogger("remuda.session")

_METHOD: Final = "/remuda.v1.ResourceManagerSession/Connect"

# Pauses between two tries to resume: the first, and the longest.
_PAUSE_SECONDS: Final = 0.05
_PAUSE_SECONDS_LIMIT: Final = 2.0

# How long the scheduler may take to end a stream after a goodbye.
_PARTING_SECONDS: Final = 2.0

# The value of resume_window_millis when the scheduler waits for ever.
_FOR_EVER_MS: Final = 2**32 - 1

# Reasons of a Goodbye after which the session may be resumed.
_PASSING: Final = (
    ext.Goodbye.REASON_UNSPECIFIED,
    ext.Goodbye.RESTARTING,
    ext.Goodbye.OVERLOADED,
)


@dataclass(frozen=True, slots=True)
class Start:
    """How a session begins: as whom, by registering (encoded) or attaching, offering what."""

    rm_id: str
    how: bytes | ext.Attach
    features: tuple[str, ...]
    limits: SessionLimits | None


class Link:
    """One session, over as many streams as it takes.

    Args:
        routes: to the scheduler.
        start: how the session begins.
        work: deals with the frames that arrive.
        on_lost: told when the session is over and was not closed here.

    Rules: chapter 70 section 11.
    """

    def __init__(
        self,
        routes: Routes,
        start: Start,
        work: Work,
        on_lost: Callable[[ClientError], object] | None,
    ) -> None:
        self._routes = routes
        self._address = routes.address
        self._start = start
        self._work = work
        self._shared = work.shared
        self._changed = self._shared.changed
        self._on_lost = on_lost
        self._welcome: Future[ext.Welcome] = Future()
        self._session_id = ""
        self._window_seconds: float | None = 0.0
        self._streams = 0
        self._calls: list[grpc.Call] = []
        self._closing = False
        self._parting: Future[str] = Future()
        self._reader = threading.Thread(target=self._run, name="remuda-session", daemon=True)

    # ------------------------------------------------------------------ the user's threads

    def begin(self, timeout: float) -> ext.Welcome:
        """Open the first stream and return the terms in force. Raises: ClientError."""
        self._reader.start()
        self._work.start()
        try:
            return wait_for(self._welcome, timeout, self._address)
        except ClientError:
            self.close(timeout)
            raise

    def send(self, name: str, content: Message, timeout: float) -> None:
        """Queue a request; waits while too much is not acknowledged. Raises: ClientError. EXT-6."""
        body = frames.body(ext.RMFrame, name, content)
        may_wait = not self._work.on_its_thread()
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                conversation = self._usable()
                outgoing = conversation.outgoing
                if not may_wait or outgoing.counted < outgoing.window:
                    break
                if not self._await_room(max(0.0, deadline - time.monotonic())):
                    raise ClientError(f"the scheduler took nothing for {timeout} s")
            conversation.send(body)
            self._changed.notify_all()

    def leave(self, timeout: float) -> str:
        """Say goodbye for good and return what the scheduler says. Raises: ClientError."""
        deadline = time.monotonic() + timeout
        self._drain(deadline)
        with self._changed:
            conversation = self._usable()
            self._closing = True
            conversation.goodbye(ext.Goodbye.SHUTDOWN, "")
            self._changed.notify_all()
        try:
            return wait_for(self._parting, max(0.0, deadline - time.monotonic()), self._address)
        finally:
            self.close(timeout)

    def close(self, timeout: float) -> None:
        """End the stream after the sent frames; this client cannot resume the session."""
        self._closing = True
        self._drain(time.monotonic() + timeout)
        with self._changed:
            if self._shared.conversation is not None and self._shared.failure is None:
                self._shared.conversation.goodbye(ext.Goodbye.RESTARTING, "the client was closed")
            self._shared.failure = self._shared.failure or ClientError("the session was closed")
            self._changed.notify_all()
        self._work.stop(timeout)
        if self._reader.is_alive() and self._reader is not threading.current_thread():
            self._reader.join(min(timeout, _PARTING_SECONDS))
            for call in self._calls:
                call.cancel()
            self._reader.join(timeout)

    def _drain(self, deadline: float) -> None:
        """Wait until all sent frames were acknowledged, or the stream has ended."""
        with self._changed:
            while self._shared.failure is None and self._is_up():
                conversation = self._shared.conversation
                left = deadline - time.monotonic()
                if conversation is None or not len(conversation.outgoing) or left <= 0:
                    return
                self._await_room(left)

    def _await_room(self, seconds: float) -> bool:
        """Wait until a frame was acknowledged, or something else changed; False: it took longer."""
        self._shared.senders += 1
        try:
            return self._changed.wait(seconds)
        finally:
            self._shared.senders -= 1

    def _usable(self) -> Conversation[ext.CoreFrame]:
        if self._shared.failure is not None:
            raise self._shared.failure
        if self._shared.conversation is None:
            raise ClientError("there is no session; call register first")
        return self._shared.conversation

    # ------------------------------------------------------------------ the thread that reads

    def _run(self) -> None:
        """Open streams until the session is over. Rules: EXT-9."""
        pause, broke_at = _PAUSE_SECONDS, time.monotonic()
        while self._shared.failure is None:
            reason = self._carry()
            if self._closing and not isinstance(reason, SessionError):
                break
            if self._shared.conversation is None or not _passing(reason):
                self._lose(self._failed(reason))
                break
            if self._shared.stream is not None and self._shared.stream.up:
                pause, broke_at = _PAUSE_SECONDS, time.monotonic()
            window = self._window_seconds
            if window is not None and time.monotonic() - broke_at > window:
                self._lose(ClientError(f"not resumed in time: {self._explain(reason)}"))
                break
            with self._changed:
                self._changed.wait_for(lambda: self._shared.failure is not None, pause)
            pause = min(pause * 2, _PAUSE_SECONDS_LIMIT)
            if self._routes.several:
                self._routes.advance()
                pause = min(pause, PAUSE_SECONDS)

    def _carry(self) -> Exception | None:
        """Open a stream and read it to its end; return why it ended."""
        self._streams += 1
        stream = self._shared.stream = Stream(self._streams)
        self._calls.clear()
        self._address = self._routes.address
        connect: grpc.StreamStreamMultiCallable[bytes, bytes] = self._routes.channel.stream_stream(
            _METHOD, request_serializer=None, response_deserializer=None
        )
        call = connect(
            self._frames(stream, self._hello()),
            metadata=self._routes.metadata,
            # Of several schedulers one that does not listen is not waited for.
            wait_for_ready=not self._routes.several,
        )
        self._calls.append(call)
        try:
            token = self._routes.look(call)
            self._arrive(stream, next(iter(call), b""))
            for data in call:
                self._routes.require(token)
                if self._take(stream, data):
                    return None
        except (grpc.RpcError, SessionError, StaleSchedulerError) as error:
            return error
        finally:
            self._part(stream)
            call.cancel()
        return None

    def _hello(self) -> bytes:
        start = self._start
        if self._shared.conversation is None:
            return hello(start.how, start.features, start.limits)
        with self._changed:
            last = self._shared.conversation.incoming.last
        resume = ext.Resume(rm_id=start.rm_id, session_id=self._session_id, last_seq=last)
        return hello(resume, start.features, start.limits)

    def _arrive(self, stream: Stream, data: bytes) -> None:
        """Take the first frame of a stream. Raises: SessionError. Rules: EXT-1, EXT-9."""
        welcome = welcome_of(data)
        terms = accepted(welcome, self._start.features)
        now = time.monotonic_ns()
        with self._changed:
            if self._shared.conversation is None:
                conversation = Conversation(ext.CoreFrame, limits.FLAT, terms.limits)
                conversation.begin(now)
                self._shared.conversation, self._session_id = conversation, welcome.session_id
            else:
                self._shared.conversation.retune(terms.limits)
                self._shared.conversation.resume(welcome.last_seq, now)
            window_ms = welcome.resume_window_millis
            self._window_seconds = None if window_ms == _FOR_EVER_MS else window_ms / 1_000
            stream.up = True
            self._changed.notify_all()
        if not self._welcome.done():
            self._welcome.set_result(welcome)

    def _take(self, stream: Stream, data: bytes) -> bool:
        """Take a frame; whether it was the last one. Raises: SessionError."""
        with self._changed:
            assert self._shared.conversation is not None
            arrival = self._shared.conversation.receive(data, time.monotonic_ns())
            self._shared.frame_taken()
        if arrival is None:
            return False
        frame = arrival.frame
        if arrival.number == 0 and frame is not None:
            goodbye = frame.goodbye
            if self._closing and goodbye.reason == ext.Goodbye.SHUTDOWN:
                self._parting.set_result(goodbye.message)
                return True
            raise SessionError(goodbye.message, goodbye.reason)
        if frame is not None and frame.HasField("cancel"):
            self._work.cancel(frame.cancel.call_id)
        self._work.put(stream, arrival)
        return False

    def _part(self, stream: Stream) -> None:
        """Handle the end of a stream; unsent answers of its calls are dropped. Rules: EXT-10."""
        with self._changed:
            stream.over = True
            if self._shared.conversation is not None:
                self._shared.conversation.end()
                self._work.forget_answers(self._shared.conversation)
            self._changed.notify_all()

    def _is_up(self) -> bool:
        stream = self._shared.stream
        return stream is not None and stream.up and not stream.over

    def _lose(self, error: ClientError) -> None:
        """The session has ended: tell all waiting calls and the callback."""
        with self._changed:
            closed, self._shared.failure = self._shared.failure, self._shared.failure or error
            self._changed.notify_all()
        first = not self._welcome.done()
        for promise in (self._welcome, self._parting):
            if not promise.done():
                promise.set_exception(error)
        self._work.fail(error)
        if closed is None and not first and not self._closing:
            _log.error("the session is lost: %s", error)
            if self._on_lost is not None:
                self._on_lost(error)

    def _failed(self, reason: Exception | None) -> ClientError:
        """Return why a session did not begin, or cannot be resumed."""
        text = self._explain(reason)
        if isinstance(reason, grpc.RpcError):
            unavailable = cast("grpc.Call", reason).code() is grpc.StatusCode.UNAVAILABLE
            return NotAnsweredError(text) if unavailable else ClientError(text)
        return reason if isinstance(reason, StaleSchedulerError) else ClientError(text)

    def _explain(self, reason: Exception | None) -> str:
        if isinstance(reason, grpc.RpcError):
            call = cast("grpc.Call", reason)
            return f"{call.code().name}: {call.details()} ({self._address})"
        return "the stream ended" if reason is None else str(reason)

    # ------------------------------------------------------------------ the thread that writes

    def _frames(self, stream: Stream, first: bytes) -> Iterator[bytes]:
        """Yield the frames of one stream when they are due. Rules: EXT-7, EXT-8."""
        yield first
        while True:
            data = self._next(stream)
            if data is None:
                return
            if data:
                yield data
            else:
                for call in self._calls:
                    call.cancel()  # the peer was silent too long (EXT-8)
                return

    def _next(self, stream: Stream) -> bytes | None:
        """Wait for the next frame; None at the end, b"" if the scheduler is gone."""
        with self._changed:
            while not stream.over:
                conversation = self._shared.conversation
                if not stream.up or conversation is None:
                    self._changed.wait()
                    continue
                now = time.monotonic_ns()
                if conversation.silent(now):
                    return b""
                data = conversation.next(now)
                if data is not None:
                    return data
                if not conversation.open:
                    # A goodbye was said; the scheduler ends the stream.
                    self._changed.wait()
                    continue
                self._shared.looks_ns = conversation.due_ns()
                self._changed.wait(max(0, self._shared.looks_ns - now) / 1e9)
        return None


def _passing(reason: Exception | None) -> bool:
    """Whether a session may be resumed after its stream ended like that. Rules: EXT-9."""
    return not isinstance(reason, SessionError) or reason.reason in _PASSING
