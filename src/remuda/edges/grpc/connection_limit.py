"""Limits the connections of each address to the gRPC listener; its library cannot do that.

The library limits all connections together, so one address could take the places of all others. It
accepts connections by itself and does not show them before their first call. But connections are
open files of this process, and the system tells their peers. If an address has too many, the newest
are shut down, and the library then closes them. Where the system does not list the open files of a
process (/proc/self/fd), there is no limit per address.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
from pathlib import Path
from typing import Final

from remuda.edges.addresses import source

_OPEN_FILES: Final = Path("/proc/self/fd")

# Seconds between two looks.
_PAUSE: Final = 0.1


class ConnectionLimit:
    """Shuts down connections of addresses that have too many. Event loop. Rules: SI-105.

    Args:
        port: of the listener.
        limit: connections that an address may have; 0: as many as it likes.
    """

    def __init__(self, port: int, limit: int) -> None:
        self._port = port
        self._limit = limit
        # Sockets by their number in the system, oldest first: whose they are, "" for all others.
        self._known: dict[int, str] = {}
        self._counts: dict[str, int] = {}

    async def keep(self) -> None:
        """Look again and again, until cancelled."""
        while self._limit and _OPEN_FILES.is_dir():
            # The list of open files is a file as well, which may be one too many.
            with contextlib.suppress(OSError):
                self.look()
            await asyncio.sleep(_PAUSE)

    def look(self) -> None:
        """Take notice of connections that came and went, and shut down surplus ones."""
        present = _sockets()
        for number in [each for each in self._known if each not in present]:
            self._count(self._known.pop(number), -1)
        for number, descriptor in present.items():
            if number in self._known:
                continue
            # The file may have been closed meanwhile, or be another one; a copy stays what it is.
            with contextlib.suppress(OSError), _copy(descriptor, number) as connection:
                self._known[number] = origin = self._origin(connection)
                self._count(origin, 1)
                if self._counts.get(origin, 0) > self._limit:
                    connection.shutdown(socket.SHUT_RDWR)

    def _count(self, origin: str, change: int) -> None:
        if not origin:
            return
        count = self._counts.get(origin, 0) + change
        if count:
            self._counts[origin] = count
        else:
            del self._counts[origin]

    def _origin(self, connection: socket.socket) -> str:
        """Return the source of a connection, "" if it does not belong to the listener."""
        if connection.family not in (socket.AF_INET, socket.AF_INET6):
            return ""
        if connection.getsockname()[1] != self._port:
            return ""
        try:
            return source(connection.getpeername()[0])
        except OSError:  # the listener itself, or one that just ended
            return ""


def _sockets() -> dict[int, int]:
    """Return the open sockets of this process: their numbers in the system, and here."""
    found: dict[int, int] = {}
    for name in os.listdir(_OPEN_FILES):  # noqa: PTH208 - ten times cheaper, ten times a second
        with contextlib.suppress(OSError):  # closed meanwhile
            status = os.fstat(int(name))
            if stat.S_ISSOCK(status.st_mode):
                found[status.st_ino] = int(name)
    return found


def _copy(descriptor: int, number: int) -> socket.socket:
    """Return a second socket for the connection of a descriptor. Raises: OSError."""
    copy = socket.socket(fileno=os.dup(descriptor))
    if os.fstat(copy.fileno()).st_ino != number:
        copy.close()
        raise OSError("another file by now")
    return copy
