"""The service that lets somebody else follow the journal of this scheduler; read only.

It reads the files that the journal has written, on threads of the event loop's pool. Neither the
core nor what writes the journal knows of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import grpc

from remuda.edges.grpc.access import caller
from remuda.edges.grpc.refusals import Context, RefusalError
from remuda.edges.grpc.streaming import streaming, write
from remuda.runtime.journals.feed import Feed, LostError, Piece, Place
from remuda.runtime.journals.past import Until
from remuda.runtime.journals.repeating import NO_STATE
from remuda.si.pb import extension_pb2 as ext
from remuda.telemetry.audit.records import FOLLOW_JOURNAL

SERVICE: Final = "remuda.v1.Journal"

_NO_JOURNAL: Final = "this scheduler keeps no journal; start it with --journal DIR"
_NO_FOLLOWERS: Final = "nobody may follow the journal; --journal-followers is 0"

# Bytes of a request: the name of a segment and some numbers.
_REQUEST_BYTES: Final = 1_024

# How often the files are looked at for more. A piece is followed by a pause, so that the largest
# journal does not keep the event loop and the core from their work.
_POLL_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 0.005

# How long a client may take nothing, and how long a segment is waited for that has a state.
_WRITE_SECONDS: Final = 60.0
_BEGIN_SECONDS: Final = 10.0


class JournalService:
    """Serves ``remuda.v1.Journal``. Event loop of the server.

    Args:
        directory: of the journal; None: there is none.
        followers_limit: calls at a time.

    ``followers``: the calls at present.

    Implements: EXT-163.
    """

    def __init__(self, directory: Path | None, followers_limit: int) -> None:
        self._directory = directory
        self._followers_limit = followers_limit
        self.followers = 0

    def handlers(self) -> grpc.GenericRpcHandler:
        """Return the handlers of the service."""
        follow = streaming(ext.FollowJournalRequest, self._follow, _REQUEST_BYTES)
        return grpc.method_handlers_generic_handler(SERVICE, {"Follow": follow})

    async def _follow(self, request: ext.FollowJournalRequest, context: Context) -> None:
        """Send pieces until the client ends the call. Rules: EXT-163, EXT-164."""
        if self._directory is None:
            raise RefusalError(grpc.StatusCode.FAILED_PRECONDITION, _NO_JOURNAL)
        if not self._followers_limit:
            raise RefusalError(grpc.StatusCode.FAILED_PRECONDITION, _NO_FOLLOWERS)
        feed = Feed(self._directory, _since(request), _place(request))
        with self._counted():
            caller().record(FOLLOW_JOURNAL)
            try:
                await _send(feed, context)
            except LostError as error:
                text = f"{error}; begin again with the latest state"
                raise RefusalError(grpc.StatusCode.OUT_OF_RANGE, text) from None
            except OSError as error:
                text = f"the journal cannot be read: {error.strerror}"
                raise RefusalError(grpc.StatusCode.FAILED_PRECONDITION, text) from None

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a follower while it follows. Raises: RefusalError for one too many."""
        if self.followers >= self._followers_limit:
            text = f"{self.followers} follow the journal, which is the limit; end one of them first"
            raise RefusalError(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        self.followers += 1
        try:
            yield
        finally:
            self.followers -= 1


async def _send(feed: Feed, context: Context) -> None:
    """Send what a feed has, for ever. Raises: LostError, OSError, RefusalError."""
    clock = asyncio.get_running_loop().time
    late = clock() + _BEGIN_SECONDS
    complete = False
    while True:
        piece = await asyncio.to_thread(feed.read)
        if piece is not None:
            complete = False
            await write(context, _message(piece), _WRITE_SECONDS)
            await asyncio.sleep(_PAUSE_SECONDS)
            continue
        if not feed.begun and clock() > late:
            raise RefusalError(grpc.StatusCode.FAILED_PRECONDITION, f"the journal: {NO_STATE}")
        if feed.begun and not complete:
            complete = True
            await write(context, ext.JournalPiece(), _WRITE_SECONDS)
        await asyncio.sleep(_POLL_SECONDS)


def _message(piece: Piece) -> ext.JournalPiece:
    return ext.JournalPiece(
        file=piece.name, offset=piece.offset, data=piece.content, whole=piece.whole
    )


def _place(request: ext.FollowJournalRequest) -> Place | None:
    return Place(request.segment, request.offset) if request.segment else None


def _since(request: ext.FollowJournalRequest) -> Until | None:
    if request.HasField("since_input"):
        return Until(request.since_input)
    if request.HasField("since_unix_nano"):
        return Until(now_ns=request.since_unix_nano)
    return None
