"""HTTP/1.1 to one server, as little as the API server needs, at a tenth of a client library's cost.

Each pod costs several requests (binding, events, condition), all on the loop that schedules:
httpx2 takes 0.9 ms of processor time for one, this client less than 0.1 ms. It has what the API
server answers with (lengths, chunks, connections that stay open), no redirects, no cookies, no
compression, no proxies: with a proxy httpx2 carries the requests. Source: RFC 9112.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Final, cast
from urllib.parse import urlsplit

HEAD_LIMIT: Final = 64 << 10
_LINE_LIMIT: Final = 4096
_BUFFER_LIMIT: Final = 1 << 20
_CONNECT_SECONDS: Final = 10.0
_IDLE_SECONDS: Final = 60.0
_STATUS: Final = re.compile(r"[1-9][0-9][0-9]")
_BODILESS: Final = frozenset({204, 304})


class HttpError(Exception):
    """The exchange broke. ``unsent``: the server certainly has not got the request."""

    def __init__(self, text: str, *, unsent: bool = False) -> None:
        super().__init__(text)
        self.unsent = unsent


class _Line(asyncio.Protocol):
    """One connection. Bytes are kept until the exchange reads them; reading stops meanwhile."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.buffer = bytearray()
        self.ended = False
        self.busy = False
        self.idle_since = 0.0
        self.closed: Final = asyncio.get_running_loop().create_future()
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False
        self._error: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Have the system find out when the other side is gone without a word."""
        # uvloop's transports are not derived from those of asyncio.
        self.transport = cast("asyncio.Transport", transport)
        found = transport.get_extra_info("socket")
        if found is not None:
            with suppress(OSError):
                found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        """Keep what came; nothing may come while nothing was asked."""
        if not self.busy:
            self.abort()
            return
        self.buffer += data
        if len(self.buffer) > _BUFFER_LIMIT and not self._paused:
            assert self.transport is not None
            self.transport.pause_reading()
            self._paused = True
        self._wake()

    def eof_received(self) -> bool:
        """The server will send no more."""
        self.ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.ended = True
        self._error = exc
        if not self.closed.done():
            self.closed.set_result(None)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def more(self) -> bool:
        """Wait for more bytes; return whether some came before the end. Raises: HttpError."""
        size = len(self.buffer)
        if self._paused:
            assert self.transport is not None
            self.transport.resume_reading()
            self._paused = False
        while len(self.buffer) == size and not self.ended:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if len(self.buffer) == size and self._error is not None:
            raise HttpError(str(self._error) or type(self._error).__name__)
        return len(self.buffer) > size

    async def until(self, end: bytes, limit: int) -> bytes:
        """Return and remove the bytes before an end, and the end. Raises: HttpError."""
        start = 0
        while (found := self.buffer.find(end, start)) < 0:
            if len(self.buffer) > limit:
                raise HttpError(f"more than {limit} bytes where a header belongs")
            start = max(0, len(self.buffer) - len(end) + 1)
            if not await self.more():
                what = "in the middle of an answer" if self.buffer else "without an answer"
                raise HttpError(f"the server ended the connection {what}")
        if found > limit:
            raise HttpError(f"more than {limit} bytes where a header belongs")
        return self.taken(found + len(end))[:found]

    def taken(self, size: int) -> bytes:
        """Return and remove so many of the bytes that are there."""
        part = bytes(self.buffer[:size])
        del self.buffer[:size]
        return part

    def abort(self) -> None:
        """End the connection at once."""
        if self.transport is not None:
            self.transport.abort()

    @property
    def usable(self) -> bool:
        """Whether another request may be sent."""
        return not (self.ended or self.transport is None or self.transport.is_closing())


class Exchange:
    """An answer that has begun: ``status``, ``headers`` (names in small letters), and its body.

    It has to be closed with ``aclose``; the connection is used again if the body was read to its
    end.
    """

    def __init__(self, owner: Http1, line: _Line, status: int, headers: dict[str, str]) -> None:
        self.status: Final = status
        self.headers: Final = headers
        self._owner = owner
        self._line = line
        self._complete = False
        self._keep = headers.get("connection", "").lower() != "close"

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Return the body as it comes, what is there at once. Raises: HttpError."""
        if self.status in _BODILESS:
            self._complete = True
            return
        coding = self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length")
        if coding:
            if coding != "chunked":
                raise HttpError(f"the transfer coding {coding[:40]!r} is not known")
            parts = self._chunks()
        elif length is not None:
            if not (length.isascii() and length.isdigit() and len(length) < 19):
                raise HttpError(f"the length {length[:40]!r} is no number")
            parts = self._counted(int(length))
        else:
            self._keep = False
            parts = self._rest()
        async for part in parts:
            yield part
        self._complete = True

    async def _counted(self, size: int) -> AsyncGenerator[bytes]:
        while size:
            if not self._line.buffer:
                await self._must_more()
            part = self._line.taken(size)
            size -= len(part)
            yield part

    async def _rest(self) -> AsyncGenerator[bytes]:
        while True:
            if self._line.buffer:
                yield self._line.taken(len(self._line.buffer))
            elif not await self._line.more():
                break

    async def _chunks(self) -> AsyncGenerator[bytes]:
        chunks = _Chunks()
        while True:
            part = chunks.take(self._line.buffer)
            if part:
                yield part
            elif chunks.done:
                break
            else:
                await self._must_more()

    async def _must_more(self) -> None:
        if not await self._line.more():
            raise HttpError("the server ended the connection in the middle of an answer")

    async def aclose(self) -> None:
        """End the exchange."""
        self._owner.release(self._line, again=self._complete and self._keep)


class _Chunks:
    """Takes apart a body in chunks; all that is there at once is one piece."""

    def __init__(self) -> None:
        self.done = False
        self._left = 0
        self._next = self._size

    def take(self, buffer: bytearray) -> bytes:
        """Return what there is, and remove it. Raises: HttpError."""
        ready: list[bytes] = []
        at = 0
        while not self.done:
            if self._left:
                part = bytes(buffer[at : at + self._left])
                if not part:
                    break
                ready.append(part)
                at += len(part)
                self._left -= len(part)
                continue
            end = buffer.find(b"\r\n", at)
            if end < 0:
                if len(buffer) - at > _LINE_LIMIT:
                    raise HttpError("the length of a chunk is missing")
                break
            self._next(bytes(buffer[at:end]))
            at = end + 2
        del buffer[:at]
        return b"".join(ready)

    def _size(self, line: bytes) -> None:
        text = line.partition(b";")[0].strip()
        if not text or len(text) > 15 or text.strip(b"0123456789abcdefABCDEF"):
            raise HttpError(f"the length of a chunk is no number: {text[:40]!r}")
        self._left = int(text, 16)
        self._next = self._end if self._left else self._trailer

    def _end(self, line: bytes) -> None:
        if line:
            raise HttpError("a chunk is longer than it says")
        self._next = self._size

    def _trailer(self, line: bytes) -> None:
        self.done = not line


class Http1:
    """The connections to one server. How many there are is up to the callers."""

    def __init__(self, url: str, tls: ssl.SSLContext | bool, tls_name: str = "") -> None:
        parts = urlsplit(url)
        secure = parts.scheme == "https"
        self._host: Final = parts.hostname or ""
        self._port: Final = parts.port or (443 if secure else 80)
        self._prefix: Final = parts.path.rstrip("/")
        self._authority: Final = parts.netloc.rpartition("@")[2]
        self._tls: Final = (tls or ssl.create_default_context()) if secure else None
        self._tls_name: Final = (tls_name or self._host) if secure else None
        self._idle: Final[list[_Line]] = []
        self._lines: Final[set[_Line]] = set()

    async def send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Exchange:
        """Return the answer as soon as it begins. Raises: HttpError."""
        head = [f"{method} {self._prefix}{target} HTTP/1.1", f"host: {self._authority}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            head.append(f"content-length: {len(body)}")
        if any("\r" in each or "\n" in each for each in head):
            raise HttpError("a header or the path contains the end of a line", unsent=True)
        request = "\r\n".join(head).encode("latin-1", "replace") + b"\r\n\r\n" + (body or b"")
        line = self._idle_line() or await self._connect()
        line.busy = True
        try:
            assert line.transport is not None
            line.transport.write(request)
            status, found = await _read_head(line)
        except BaseException:
            self.release(line, again=False)
            raise
        return Exchange(self, line, status, found)

    def _idle_line(self) -> _Line | None:
        while self._idle:
            line = self._idle.pop()
            if line.usable and time.monotonic() - line.idle_since < _IDLE_SECONDS:
                return line
            line.abort()
        return None

    async def _connect(self) -> _Line:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                _, line = await loop.create_connection(
                    _Line,
                    self._host,
                    self._port,
                    ssl=self._tls,
                    server_hostname=self._tls_name,
                )
        except TimeoutError:
            text = f"no connection in {_CONNECT_SECONDS:.0f} s"
            raise HttpError(text, unsent=True) from None
        except (OSError, UnicodeError) as error:
            text = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise HttpError(text, unsent=True) from None
        self._lines.add(line)
        line.closed.add_done_callback(lambda _: self._forget(line))
        return line

    def _forget(self, line: _Line) -> None:
        self._lines.discard(line)
        with suppress(ValueError):
            self._idle.remove(line)

    def release(self, line: _Line, *, again: bool) -> None:
        """Take a connection back; use it again if it may be."""
        if again and line.usable and not line.buffer:
            line.busy = False
            line.idle_since = time.monotonic()
            self._idle.append(line)
        else:
            line.abort()

    async def aclose(self) -> None:
        """End all connections."""
        lines = list(self._lines)
        for line in lines:
            line.abort()
        await asyncio.gather(*(line.closed for line in lines))


async def _read_head(line: _Line) -> tuple[int, dict[str, str]]:
    """Return status and headers; answers that only announce another one are passed over."""
    while True:
        text = (await line.until(b"\r\n\r\n", HEAD_LIMIT)).decode("latin-1")
        first, *rest = text.split("\r\n")
        version, _, remainder = first.partition(" ")
        number = remainder.partition(" ")[0]
        if version not in {"HTTP/1.1", "HTTP/1.0"} or not _STATUS.fullmatch(number):
            raise HttpError(f"not an answer in HTTP: {first[:60]!r}")
        headers: dict[str, str] = {}
        if version == "HTTP/1.0":
            headers["connection"] = "close"
        for each in rest:
            name, colon, value = each.partition(":")
            if not colon or not name or name != name.strip():
                raise HttpError(f"not a header: {each[:60]!r}")
            headers[name.lower()] = value.strip()
        status = int(number)
        if not 100 <= status < 200:
            return status, headers
