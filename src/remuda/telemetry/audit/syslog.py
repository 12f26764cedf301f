"""Sends the lines of the audit log to a syslog as well (RFC 5424), so that they leave the machine.

A line is a datagram, to a socket of this machine (``/dev/log``) or to a port of another. A syslog
sends no answer, so a line may be lost without notice; only the files are complete.
"""

from __future__ import annotations

import os
import socket
from typing import Final

from remuda.base.addresses import parse_address
from remuda.base.errors import UsageError

OPTION: Final = "--audit-syslog"

# Facility 10 (security and authorization), severity 5 (notice).
_PRIORITY: Final = 10 * 8 + 5

# A send that would block longer is given up.
_TIMEOUT_SECONDS: Final = 1.0


class Syslog:
    """A connection to a syslog. One thread at a time.

    Args:
        place: a path, which begins with ``/``, or HOST:PORT for UDP.

    Raises: UsageError if it is neither.
    """

    def __init__(self, place: str) -> None:
        self._place: str | tuple[str, int] = place
        if not place.startswith("/"):
            self._place = parse_address(OPTION, place)
        elif "\0" in place:
            raise UsageError(f"{OPTION}: a path has no NUL")
        self._host = socket.gethostname()[:255] or "-"
        self._socket: socket.socket | None = None

    def send(self, time: str, line: bytes) -> None:
        """Send a line of JSON with its time (RFC 3339). Raises: OSError."""
        head = f"<{_PRIORITY}>1 {time} {self._host} remuda {os.getpid()} audit - "
        try:
            if self._socket is None:
                self._socket = self._connected()
            self._socket.send(head.encode() + line.rstrip(b"\n"))
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """End the connection; the next line makes a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connected(self) -> socket.socket:
        """Return a connected socket. Raises: OSError."""
        place = self._place
        if isinstance(place, str):
            made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        else:
            family, kind, _, _, target = socket.getaddrinfo(*place, type=socket.SOCK_DGRAM)[0]
            made = socket.socket(family, kind)
            place = (str(target[0]), int(target[1]))
        made.settimeout(_TIMEOUT_SECONDS)
        try:
            made.connect(place)
        except OSError:
            made.close()
            raise
        return made
