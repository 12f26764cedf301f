"""Reads one small document over HTTP, within limits of time and size (EXT-31).

The address is the operator's; what answers may be broken or slow. Nothing is followed to another
address, and no proxy is used.
"""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult

import h11

# The header of an answer; bytes that are read at a time.
_HEADER_LIMIT: Final = 16_384
_PIECE: Final = 65_536

_PORTS: Final = {"http": 80, "https": 443}


class DownloadError(Exception):
    """The document cannot be had now; one line says why."""


async def download(
    place: SplitResult, authority: Path | None, *, limit: int, seconds: float
) -> bytes:
    """Return a document of at most ``limit`` bytes. Raises: DownloadError.

    ``authority``: a file with the authorities that may have signed the certificate of the server;
    None: those of the system. ``seconds``: for all of it.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _download(place, authority, limit)
    except TimeoutError:
        raise DownloadError(f"no whole answer within {seconds:g} s") from None
    except (h11.RemoteProtocolError, UnicodeError) as error:
        raise DownloadError(f"no answer of HTTP: {error}") from None
    except ssl.SSLError as error:
        raise DownloadError(f"no safe connection: {error.reason or error}") from None
    except OSError as error:
        raise DownloadError(f"no connection: {error.strerror or error}") from None


async def _download(place: SplitResult, authority: Path | None, limit: int) -> bytes:
    host = place.hostname or ""
    secure = None
    if place.scheme == "https":
        # It reads files.
        secure = await asyncio.to_thread(ssl.create_default_context, cafile=authority)
    port = place.port or _PORTS[place.scheme]
    reader, writer = await asyncio.open_connection(host, port, ssl=secure)
    try:
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADER_LIMIT)
        target = place.path or "/"
        request = h11.Request(
            method="GET",
            target=f"{target}?{place.query}" if place.query else target,
            headers=[
                ("Host", place.netloc),
                ("Accept", "application/json"),
                ("Connection", "close"),
            ],
        )
        for event in (request, h11.EndOfMessage()):
            writer.write(connection.send(event) or b"")
        return await _answer(connection, reader, limit)
    finally:
        writer.transport.abort()


async def _answer(connection: h11.Connection, reader: asyncio.StreamReader, limit: int) -> bytes:
    found = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_PIECE))
        elif isinstance(event, h11.Response):
            if event.status_code != 200:
                raise DownloadError(f"the answer has status {event.status_code}")
        elif isinstance(event, h11.Data):
            found += event.data
            if len(found) > limit:
                raise DownloadError(f"the answer has more than {limit} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return bytes(found)
        elif not isinstance(event, h11.InformationalResponse):
            raise DownloadError("the connection ended before the answer")
