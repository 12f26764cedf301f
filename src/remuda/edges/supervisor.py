"""Tells the supervisor of the process that it is ready, that it ends, and that it is alive.

The protocol is that of systemd (``sd_notify``): datagrams of lines to the socket that the
environment names. Without that there is no supervisor, and nothing is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Final

from remuda.telemetry.pulse import Pulse

_SOCKET: Final = "NOTIFY_SOCKET"
_WATCHDOG: Final = "WATCHDOG_USEC"
_WATCHED: Final = "WATCHDOG_PID"

# Signs of life in the time after which the supervisor gives the process up.
_SIGNS: Final = 3


class Supervisor:
    """The supervisor of this process, if it has one.

    ``watchdog_seconds``: it ends the process after so long without a sign of life; 0: never.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get(_SOCKET, "")
        ours = environment.get(_WATCHED, str(os.getpid())) == str(os.getpid())
        microseconds = environment.get(_WATCHDOG, "")
        self.watchdog_seconds = int(microseconds) / 1e6 if ours and microseconds.isdigit() else 0.0

    def ready(self, status: str) -> None:
        """Say that the service is up. ``status``: what an operator is shown, one line."""
        self._tell(f"READY=1\nSTATUS={status}")

    def stopping(self) -> None:
        """Say that the service ends."""
        self._tell("STOPPING=1")

    async def keep(self, pulse: Pulse) -> None:
        """Give signs of life while the core thread is alive, until cancelled.

        They are given on the event loop, so they prove that it is alive as well.
        """
        while self.watchdog_seconds and self._address:
            if not pulse.fault(self.watchdog_seconds / 2):
                self._tell("WATCHDOG=1")
            await asyncio.sleep(self.watchdog_seconds / _SIGNS)

    def _tell(self, message: str) -> None:
        if not self._address:
            return
        # A name that begins with "@" is of the abstract kind, which no file stands for.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        # The service is worth more than its supervisor's knowledge of it.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.setblocking(False)
            told.sendto(message.encode(), address)
