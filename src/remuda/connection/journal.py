"""The journal of a served scheduler as it grows, over gRPC; a call that broke off is made again.

A thread reads the call, a few pieces ahead at most. A new call goes on at the place that is known,
so nothing is sent twice. If that place is gone, the scheduler begins with its latest state.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, Self, TypeAlias, cast

import grpc

from remuda.connection.calls import OPTIONS
from remuda.connection.channel import ClientError, NotAnsweredError, Security, details, failure
from remuda.connection.routes import Routes
from remuda.runtime.journals.feed import Piece
from remuda.runtime.journals.layout import INPUTS
from remuda.runtime.journals.past import Until
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb.extension_pb2_grpc import JournalStub

_Item: TypeAlias = ext.JournalPiece | grpc.RpcError | ClientError

# Pieces that wait to be taken, and the time until a call that broke off is made again.
_AHEAD: Final = 2
_PAUSE_SECONDS: Final = 0.5

_Code: Final = grpc.StatusCode

# A call that ended so is made again, if pieces came before.
_AGAIN: Final = (
    _Code.UNAVAILABLE,
    _Code.DEADLINE_EXCEEDED,
    _Code.CANCELLED,
    _Code.INTERNAL,
    _Code.UNKNOWN,
    _Code.RESOURCE_EXHAUSTED,
    _Code.OUT_OF_RANGE,
)
_OLDER: Final = "is of a version that lets nobody follow its journal over gRPC"


class NoJournalError(ClientError):
    """There is a scheduler, and it has no journal that can be followed."""


class JournalStream:
    """The pieces of a journal. Use as a context manager; one thread.

    Args:
        address: HOST:PORT of the scheduler, or several with commas between them.
        security: files for TLS, and a token.
        since: where it begins, None: with the latest state.
        tell: called with a line when the scheduler does not answer any more, and when it does.
        patience: seconds for which it then tries again; None: for ever.

    Implements: EXT-166.
    """

    def __init__(
        self,
        address: str,
        security: Security,
        since: Until | None,
        tell: Callable[[str], None],
        patience: float | None = None,
    ) -> None:
        self._routes = Routes(address, security, OPTIONS, lively=True)
        self._untried = len(address.split(","))
        self._since = since
        self._tell = tell
        self._patience = patience
        self._reading: _Reading | None = None
        self._again_at = 0.0
        self._broken_at: float | None = None
        self._known: tuple[str, int] | None = None
        self._begins = True
        self._came = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._reading is not None:
            self._reading.end()
        self._routes.close()

    def next(self, seconds: float) -> Piece | None:
        """Wait for a piece; None: none came in that time.

        Raises: NotAnsweredError, NoJournalError, or another ClientError, with one line.
        """
        if self._reading is None:
            left = self._again_at - time.monotonic()
            if left > 0:
                time.sleep(min(left, seconds))
                return None
            self._begins = self._known is None
            self._reading = _Reading(self._routes, self._request())
        item = self._reading.take(seconds)
        if item is None:
            return None
        if isinstance(item, ext.JournalPiece):
            return self._piece(item)
        self._reading.end()
        self._reading = None
        self._break(item)
        return None

    def _request(self) -> ext.FollowJournalRequest:
        if self._known is not None:
            return ext.FollowJournalRequest(segment=self._known[0], offset=self._known[1])
        since = self._since
        if since is None:
            return ext.FollowJournalRequest()
        return ext.FollowJournalRequest(since_input=since.number, since_unix_nano=since.now_ns)

    def _piece(self, message: ext.JournalPiece) -> Piece:
        piece = Piece(message.file, message.offset, message.data, message.whole)
        if self._broken_at is not None:
            self._broken_at = None
            self._tell(f"{self._routes.address} answers again")
        self._came = True
        if not piece.name:
            return piece
        if piece.name.endswith(INPUTS):
            self._known = (piece.name, piece.offset + len(piece.content))
            self._since = None
        begins, self._begins = self._begins, False
        return replace(piece, begins=begins)

    def _break(self, error: grpc.RpcError | ClientError) -> None:
        """Have the call made again after a pause. Raises: ClientError if that is of no use."""
        now = time.monotonic()
        code = cast("grpc.Call", error).code() if isinstance(error, grpc.RpcError) else None
        told = error if isinstance(error, ClientError) else _told(error, self._routes.address)
        if not self._may_try(told, code, now):
            raise told
        if code is _Code.OUT_OF_RANGE and self._known is not None:
            self._known = None
            self._tell(str(told))
        elif self._broken_at is None:
            self._broken_at = now
            self._tell(f"{told}; trying again")
        if isinstance(told, NotAnsweredError):
            self._routes.advance()
        self._again_at = now + _PAUSE_SECONDS

    def _may_try(self, error: ClientError, code: grpc.StatusCode | None, now: float) -> bool:
        if not self._came:
            self._untried -= 1
            return isinstance(error, NotAnsweredError) and self._untried > 0
        if not isinstance(error, NotAnsweredError) and code not in _AGAIN:
            return False
        if self._patience is None or self._broken_at is None:
            return True
        return now < self._broken_at + self._patience


class _Reading:
    """One call, and the thread that reads it."""

    def __init__(self, routes: Routes, request: ext.FollowJournalRequest) -> None:
        # These queues stay whole when Ctrl-C interrupts whoever uses them. A ``queue.Queue`` may
        # stay locked then, and the end would wait for ever.
        self._items: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._room: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(_AHEAD):
            self._room.put(None)
        self._ends = False
        self._routes = routes
        self._call = JournalStub(routes.channel).Follow(request, metadata=routes.metadata)
        self._thread = threading.Thread(target=self._read, name="remuda-journal", daemon=True)
        self._thread.start()

    def take(self, seconds: float) -> _Item | None:
        """Wait for a piece, or for the error with which the call ended."""
        try:
            item = self._items.get(timeout=seconds)
        except queue.Empty:
            return None
        self._room.put(None)
        return item

    def end(self) -> None:
        """End the call."""
        self._ends = True
        self._call.cancel()
        self._room.put(None)
        self._thread.join()

    def _read(self) -> None:
        try:
            self._routes.look(self._call)
            for message in cast("Iterator[ext.JournalPiece]", self._call):
                self._room.get()
                if self._ends:
                    return
                self._items.put(message)
            self._items.put(NotAnsweredError("the scheduler ended the stream"))
        except (grpc.RpcError, ClientError) as error:
            self._items.put(error)


def _told(error: grpc.RpcError, address: str) -> ClientError:
    """Return one line on the end of a call."""
    call = cast("grpc.Call", error)
    code, said = call.code(), details(call)
    if code is _Code.UNIMPLEMENTED:
        return NoJournalError(f"{address}: the scheduler {_OLDER}")
    if code is _Code.FAILED_PRECONDITION:
        return NoJournalError(f"{address}: {said}")
    if code is _Code.OUT_OF_RANGE:
        return ClientError(f"{address}: inputs are missing in what was followed: {said}")
    return failure(error, address)
