"""Runs one server as long as its user lives: `python keeper.py COMMAND ...`, used as a script.

The user holds the other end of standard input. When it closes, because the user closed it or died
in any way, the server and what it started are killed. The server is also killed when this keeper
is. So no server survives a test run, not even one that was killed.

This file imports only the standard library, because it starts with every server.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
from typing import Final

# How often the keeper looks whether the server ended by itself.
_SECONDS: Final = 0.1
# From <sys/prctl.h>; only Linux has it.
_PR_SET_PDEATHSIG: Final = 1


def main(command: list[str]) -> int:
    """Run the command; return its code, 0 if somebody asked the keeper to end."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _leave)
    with subprocess.Popen(  # noqa: S603 - the user's own server
        command,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_die_with_keeper if sys.platform == "linux" else None,  # noqa: PLW1509
    ) as server:
        try:
            _wait(server)
        except SystemExit:
            return 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
    return server.returncode


def _wait(server: subprocess.Popen[bytes]) -> None:
    """Wait until the server ends or its user is gone."""
    while server.poll() is None:
        readable, _, _ = select.select([0], [], [], _SECONDS)
        if readable and not os.read(0, 1):
            return


def _die_with_keeper() -> None:
    """Ask the kernel to kill this process when its parent dies; runs between fork and exec."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _leave(number: int, frame: object) -> None:
    raise SystemExit


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
