"""One connection to the API server: requests and streams of lines, with errors that explain.

HTTP/1.1 carries them, with a connection for each call in flight and each watch. HTTP/2 would put
all of them on one connection, where one slow stream can hold up the others. Nothing is compressed:
inside a cluster the time for it is longer than the time it saves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, Self
from urllib.parse import urlencode

from lightkube.core.exceptions import ConfigError

from remuda_kubernetes.api import kubeconfig
from remuda_kubernetes.api.carriers import Reply, carrier
from remuda_kubernetes.api.errors import ApiError, refusal
from remuda_kubernetes.api.http1 import HttpError
from remuda_kubernetes.api.kubeconfig import Access
from remuda_kubernetes.api.pace import Clock, SystemClock, TokenBucket

_LOG: Final = logging.getLogger("remuda.kubernetes")
JSON: Final = "application/json"
BODY_LIMIT: Final = 256 << 20
LINE_LIMIT: Final = 64 << 20
_ERROR_LIMIT: Final = 1 << 20
# How long a watch may take to begin. Servers send its headers at once; one with too much to do may
# let a request wait in a queue for a quarter of its time-out, which is 15 s, and refuses it then.
_BEGIN_SECONDS: Final = 16.0
_HEADERS: Final = {
    "accept": JSON,
    "accept-encoding": "identity",
    "user-agent": "remuda-kubernetes",
}
_SPARE: Final = 16
_REFUSED: Final = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered. The names of headers are in small letters."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class LineTooLongError(Exception):
    """A line is longer than anything that the server sends."""


class Lines:
    """Cuts a stream of bytes into lines of bounded length.

    The work is linear in the length of a line.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the lines that are complete now, without their ends. Raises: LineTooLongError."""
        end = piece.rfind(b"\n")
        if end < 0:
            self._keep(piece)
            return []
        first, *others = piece[:end].split(b"\n")
        self._parts.append(first)
        lines = [b"".join(self._parts), *others]
        self._parts = []
        self._size = 0
        self._keep(piece[end + 1 :])
        return [line for line in lines if line.strip()]

    def _keep(self, piece: bytes) -> None:
        if not piece:
            return
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > self._limit:
            raise LineTooLongError(f"a line of more than {self._limit} bytes")

    def end(self) -> bytes:
        """Return what came after the last end of a line."""
        rest = b"".join(self._parts).strip()
        self._parts = []
        self._size = 0
        return rest


class Requests(Protocol):
    """What the rest of this package asks of a connection."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = 30.0,  # noqa: ASYNC109 - as below
        paced: bool = True,
        limit: int = BODY_LIMIT,
    ) -> Answer:
        """Return the answer to a request that succeeded. Raises: ApiError."""

    def stream(
        self, path: str, query: Mapping[str, str], *, idle: float = 300.0
    ) -> AsyncGenerator[list[bytes]]:
        """Return the lines of an answer as they come. Raises: ApiError."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """How much the server is asked.

    ``in_flight`` requests at once besides ``watches`` streams; ``qps`` requests a second, 0 for any
    number, and ``burst`` at once.
    """

    in_flight: int = 100
    watches: int = 40
    qps: float = 0.0
    burst: int = 1000


class Connection:
    """The API server. Is used on one loop, and closed with ``aclose`` or ``async with``."""

    def __init__(
        self,
        access: Access,
        settings: ConnectionSettings | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        found = settings or ConnectionSettings()
        self.access: Final = access
        self.server: Final = access.server
        self._bucket: Final = TokenBucket(found.qps, found.burst, clock or SystemClock())
        most = found.in_flight + found.watches + _SPARE
        self._carrier: Final = carrier(access, most)

    @classmethod
    def from_kubeconfig(
        cls,
        path: str | Path,
        context: str | None = None,
        settings: ConnectionSettings | None = None,
    ) -> Self:
        """Return the connection that a kubeconfig file describes. Raises: UsageError."""
        return cls(kubeconfig.from_kubeconfig(path, context), settings)

    @classmethod
    def default(
        cls, context: str | None = None, settings: ConnectionSettings | None = None
    ) -> Self:
        """Return that of KUBECONFIG, ~/.kube/config or the pod. Raises: UsageError."""
        return cls(kubeconfig.default(context), settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End all connections."""
        await self._carrier.aclose()

    @property
    def throttled(self) -> int:
        """How many requests have waited for the rate."""
        return self._bucket.waited

    @property
    def spare(self) -> bool:
        """Whether many requests could be sent without waiting for the rate."""
        return self._bucket.half_full

    def set_rate(self, qps: float, burst: int) -> None:
        """Change how many requests a second are sent; the settings are read again while we run."""
        self._bucket.rate = qps
        self._bucket.burst = burst

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = 30.0,  # noqa: ASYNC109 - covers waiting for a token and for a connection
        paced: bool = True,
        limit: int = BODY_LIMIT,
    ) -> Answer:
        """Return the answer to a request that succeeded.

        ``timeout`` seconds cover everything. Requests that are not ``paced`` do not count against
        the rate. An answer with more than ``limit`` bytes is an error.
        Raises: ApiError.
        """
        where = f"{self.server}: {method} {path}"
        sent = False
        try:
            async with asyncio.timeout(timeout):
                if paced:
                    await self._bucket.take()
                sent = True
                reply = await self._send(method, path, query, body, content_type)
                async with aclosing(reply):
                    content = await _read(reply, limit, where)
        except TimeoutError:
            raise ApiError(f"{where}: no answer in {timeout:.1f} s", unsent=not sent) from None
        except (HttpError, ConfigError) as error:
            raise self._unanswered(where, error) from None
        if reply.status >= _REFUSED:
            raise refusal(where, reply.status, content, reply.headers)
        return Answer(reply.status, content, reply.headers)

    async def stream(
        self, path: str, query: Mapping[str, str], *, idle: float = 300.0
    ) -> AsyncGenerator[list[bytes]]:
        """Return the lines of an answer as they come, those that came together at once.

        The first result has no lines; it says that the server has begun to answer. The stream ends
        when the server ends the answer. More than 16 s without its beginning are an error, and so
        are ``idle`` seconds without a byte, and a line of more than 64 MiB.
        Raises: ApiError.
        """
        where = f"{self.server}: watch {path}"
        try:
            reply = await self._begin(where, path, query)
            async with aclosing(reply):
                if reply.status >= _REFUSED:
                    content = await _read(reply, _ERROR_LIMIT, where)
                    raise refusal(where, reply.status, content, reply.headers)
                yield []
                async with aclosing(_batches(reply, idle)) as batches:
                    async for batch in batches:
                        yield batch
        except TimeoutError:
            raise ApiError(f"{where}: nothing came for {idle:.0f} s") from None
        except LineTooLongError as error:
            raise ApiError(f"{where}: {error}") from None
        except (HttpError, ConfigError) as error:
            raise self._unanswered(where, error) from None

    async def _begin(self, where: str, path: str, query: Mapping[str, str]) -> Reply:
        try:
            async with asyncio.timeout(_BEGIN_SECONDS):
                return await self._send("GET", path, query, None, JSON)
        except TimeoutError:
            raise ApiError(f"{where}: no answer in {_BEGIN_SECONDS:.0f} s") from None

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        content_type: str,
    ) -> Reply:
        target = f"{path}?{urlencode(query)}" if query else path
        headers = _HEADERS if body is None else {**_HEADERS, "content-type": content_type}
        return await self._carrier.send(method, target, headers, body)

    def _unanswered(self, where: str, error: Exception) -> ApiError:
        """Return the error of a request without an answer; credentials are not in its text."""
        if isinstance(error, ConfigError):
            return ApiError(f"{where}: no credentials: {error}", unsent=True)
        what = str(error) or type(error).__name__
        if not (isinstance(error, HttpError) and error.unsent):
            broke = f"the connection broke: {what}"
            return ApiError(f"{where}: {broke}", outage=f"{self.server}: {broke}")
        advice = (
            "certificate-authority must be the one that signed the server's certificate"
            if "CERTIFICATE" in what.upper()
            else "check that the server runs and that its address is right"
        )
        failed = f"cannot connect: {what}: {advice} ({self.access.source})"
        return ApiError(f"{where}: {failed}", unsent=True, outage=f"{self.server}: {failed}")


async def _read(reply: Reply, limit: int, where: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    async with aclosing(reply.pieces()) as pieces:
        async for piece in pieces:
            size += len(piece)
            if size > limit:
                raise ApiError(f"{where}: an answer of more than {limit} bytes", status=413)
            parts.append(piece)
    return b"".join(parts)


async def _batches(reply: Reply, idle: float) -> AsyncGenerator[list[bytes]]:
    """Cut what comes into lines. The deadline moves on with each piece."""
    lines = Lines(LINE_LIMIT)
    async with aclosing(reply.pieces()) as pieces:
        while True:
            async with asyncio.timeout(idle):
                piece = await anext(pieces, None)
            if piece is None:
                break
            batch = lines.feed(piece)
            if batch:
                yield batch
    rest = lines.end()
    if rest:
        yield [rest]
