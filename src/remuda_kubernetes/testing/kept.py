"""A server process that cannot outlive its user: started under a keeper, with a log of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from remuda_kubernetes.testing import keeper

# How long the keeper may take to kill a server; it is a matter of milliseconds.
_SECONDS: Final = 30.0
_LAST_LINES: Final = 5


class KeptProcess:
    """One running server; ``log`` has what it writes, of all its starts."""

    def __init__(self, command: Sequence[str | Path], log: Path) -> None:
        self.log = log
        self._name = Path(command[0]).name
        with log.open("ab") as output:
            self._keeper = subprocess.Popen(  # noqa: S603 - the user's own server
                [sys.executable, "-I", keeper.__file__, *map(str, command)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def ended(self) -> bool:
        """Whether the server has ended by itself or was ended."""
        return self._keeper.poll() is not None

    def end(self) -> None:
        """Kill the server and wait until it is gone; nothing happens if it is."""
        assert self._keeper.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.close()
        self._keeper.wait(_SECONDS)

    def finish(self) -> None:
        """Ask the server to end; it does so in its own time."""
        self._signal(signal.SIGTERM)

    def pause(self) -> None:
        """Stop the server without ending it: it keeps its connections and does not answer."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server go on."""
        self._signal(signal.SIGCONT)

    def processor_seconds(self) -> float:
        """Return the processor time that the server took until now."""
        (child,) = _children(self._keeper.pid)
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        # After the state come 10 numbers, then the time in its own code and in the system's.
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def why(self) -> str:
        """Say how the server ended, with the last lines of its log."""
        lines = self.log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        told = "\n".join(lines)
        return f"{self._name} ended with code {self._keeper.returncode}; see {self.log}:\n{told}"

    def _signal(self, number: signal.Signals) -> None:
        for child in _children(self._keeper.pid):
            os.kill(child, number)


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback address on which nobody listens at the moment."""
    with contextlib.ExitStack() as probes:
        sockets = [
            probes.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [probe.getsockname()[1] for probe in sockets]


def listens(port: int) -> bool:
    """Whether somebody listens on a port of the loopback address."""
    try:
        socket.create_connection(("127.0.0.1", port), _SECONDS).close()
    except OSError:
        return False
    return True


def _children(parent: int) -> list[int]:
    """Return the processes that a process with one thread has started; only Linux tells them."""
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
