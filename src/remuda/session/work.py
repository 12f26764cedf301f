"""The thread of a session client that calls back, and what it shares with the others."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from typing import Final, TypeAlias, TypeVar

from remuda.client import ClientError
from remuda.connection.channel import NotAnsweredError
from remuda.session.duties import Duties
from remuda.si.pb import extension_pb2 as ext
from remuda.si.protocol import frames
from remuda.si.protocol.conversation import Arrival, Conversation

T = TypeVar("T")

CoreArrival: TypeAlias = Arrival[ext.CoreFrame]

# Calls, which are not answered any more once their stream is over (EXT-10).
_CALLS: Final = ("nodes_predicates", "preemption_predicates", "state_dump")


class Stream:
    """One gRPC stream: its number among all, whether it is up, whether it is over."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.up = False
        self.over = False


class Shared:
    """What the threads of a session share, behind the lock of ``changed``.

    ``failure``: why the session is over, None while it is not. ``senders``: how many threads wait
    until frames are acknowledged. ``looks_ns``: when the thread that writes looks again for
    something to write, if nothing wakes it before.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.conversation: Conversation[ext.CoreFrame] | None = None
        self.stream: Stream | None = None
        self.failure: ClientError | None = None
        self.senders: int = 0
        self.looks_ns: int = 0

    def frame_taken(self) -> None:
        """Wake the others if a frame that arrived, or was applied, concerns them.

        A thread that wakes in vain costs more than the frame. The lock must be held. Rules: EXT-6,
        EXT-7.
        """
        conversation = self.conversation
        assert conversation is not None
        outgoing = conversation.outgoing
        if (
            self.senders
            or outgoing.sent != outgoing.last
            or conversation.due_ns() < self.looks_ns
            or not conversation.open
        ):
            self.changed.notify_all()


class Work:
    """Deals with frames one after the other, on a thread of its own.

    Args:
        duties: knows what to do about each.

    Rules: EXT-3, EXT-4, EXT-5, EXT-10.
    """

    def __init__(self, duties: Duties) -> None:
        self.shared = Shared()
        self._duties = duties
        self._arrived: queue.SimpleQueue[tuple[Stream, CoreArrival] | None] = queue.SimpleQueue()
        self._cancelled: dict[int, None] = {}
        self._answers: list[int] = []
        self._expected: dict[int, Future[ext.UpdateConfigurationResponse]] = {}
        self._last_expected = 0
        self._thread = threading.Thread(target=self._run, name="remuda-callback", daemon=True)

    def start(self) -> None:
        """Start the thread; once only."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Let the thread end after the frames that arrived."""
        self._arrived.put(None)
        if self._thread.is_alive() and not self.on_its_thread():
            self._thread.join(timeout)

    def on_its_thread(self) -> bool:
        """Whether the caller is a callback, where waiting for the scheduler is a deadlock."""
        return threading.current_thread() is self._thread

    def put(self, stream: Stream, arrival: CoreArrival) -> None:
        """Queue a frame that arrived on a stream."""
        self._arrived.put((stream, arrival))

    def cancel(self, call_id: int) -> None:
        """Note that a call need not be answered, even if it was not handled yet."""
        self._cancelled[call_id] = None

    def expect(self) -> tuple[int, Future[ext.UpdateConfigurationResponse]]:
        """Return the number of a configuration update to come, and the promise of its result."""
        answer: Future[ext.UpdateConfigurationResponse] = Future()
        with self.shared.changed:
            self._last_expected += 1
            self._expected[self._last_expected] = answer
            return self._last_expected, answer

    def fail(self, error: ClientError) -> None:
        """Fail all promises, because no answer will come."""
        for promise in list(self._expected.values()):
            if not promise.done():
                promise.set_exception(error)
        self._arrived.put(None)

    def forget_answers(self, conversation: Conversation[ext.CoreFrame]) -> None:
        """The stream is over: what was answered on it is no answer on the next one. EXT-10.

        The lock must be held.
        """
        for number in self._answers:
            conversation.outgoing.replace(number, b"")
        self._answers.clear()

    def _run(self) -> None:
        while (entry := self._arrived.get()) is not None:
            stream, arrival = entry
            if arrival.frame is not None:
                self._deal(stream, arrival.frame)
            with self.shared.changed:
                assert self.shared.conversation is not None
                self.shared.conversation.applied(arrival.number, time.monotonic_ns())
                self.shared.frame_taken()

    def _deal(self, stream: Stream, frame: ext.CoreFrame) -> None:
        name = frame.WhichOneof("body")
        if name == "configuration":
            promise = self._expected.pop(frame.configuration.request_id, None)
            if promise is not None and not promise.done():
                promise.set_result(frame.configuration.result)
        elif name == "cancel":
            self._cancelled.pop(frame.cancel.call_id, None)
        elif name not in _CALLS or self._wanted(stream, getattr(frame, name).call_id):
            for reply, content in self._duties.do(frame):
                self._answer(stream, reply, content)

    def _answer(
        self,
        stream: Stream,
        name: str,
        content: ext.NodesPredicatesResult | ext.PreemptionPredicatesResult | ext.StateDumpPart,
    ) -> None:
        body = frames.body(ext.RMFrame, name, content)
        with self.shared.changed:
            conversation = self.shared.conversation
            if conversation is not None and self._wanted(stream, content.call_id):
                self._answers.append(conversation.send(body))
                self.shared.changed.notify_all()

    def _wanted(self, stream: Stream, call_id: int) -> bool:
        """Whether a call of some stream is still to be answered. Rules: EXT-10."""
        return not stream.over and call_id not in self._cancelled


def wait_for(promise: Future[T], timeout: float, address: str) -> T:
    """Wait for the result of a promise. Raises: ClientError."""
    try:
        return promise.result(timeout)
    except LateError:
        raise NotAnsweredError(f"no answer from {address} within {timeout:g} s") from None
