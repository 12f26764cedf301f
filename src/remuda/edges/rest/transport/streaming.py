"""Sending an answer piece by piece, to a client that may stop reading or go away at any time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from remuda.edges.rest.requests.endpoint import Stream
from remuda.runtime.errors import LoopStoppedError

_log = logging.getLogger("remuda.rest")

# The key under which the listener offers to end a connection at once, whatever waits in it.
ABORT: Final = "abort"


class PieceByPiece(StreamingResponse):
    """Sends a stream and closes it in the end, however that comes (EVT-120).

    A piece that the client does not take within ``found.write_seconds`` ends the connection. An
    answer that is not complete has no proper end, so that the client notices (REST-17).
    """

    def __init__(self, found: Stream, headers: Mapping[str, str]) -> None:
        more = {**found.headers, "Content-Type": found.media_type}
        super().__init__(found.pieces, 200, headers={**headers, **more})
        self._found = found
        self._abort: Callable[[], None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send everything, or to HEAD the headers only."""
        self._abort = scope.get("state", {}).get(ABORT)
        try:
            if scope["method"] == "HEAD":
                start = {"status": self.status_code, "headers": self.raw_headers}
                await send({"type": "http.response.start", **start})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await super().__call__(scope, receive, send)
        finally:
            close = getattr(self._found.pieces, "aclose", None)
            if close is not None:
                await close()

    async def stream_response(self, send: Send) -> None:
        """Send piece after piece."""

        async def sent(message: Message) -> None:
            try:
                async with asyncio.timeout(self._found.write_seconds):
                    await send(message)
            except TimeoutError:
                seconds = self._found.write_seconds
                _log.warning("a client took nothing of its answer for %s s", seconds)
                if self._abort is None:
                    raise
                self._abort()
                await asyncio.Event().wait()  # cancelled when the connection is seen to be gone

        try:
            await super().stream_response(sent)
        except LoopStoppedError as error:
            _log.warning("an answer ends half-way: %s", error)
        except TimeoutError:
            pass
        except Exception:  # noqa: BLE001 - the answer has begun; it is logged
            _log.exception("an answer ends half-way after a failure")
