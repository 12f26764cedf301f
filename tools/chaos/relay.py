"""The wire between resource managers and the scheduler: a process of its own that spoils it.

    python -m tools.chaos.relay 3

It listens on one port for each resource manager and prints the ports. Then it reads one command a
line (JSON, see `Wire`), and ends with its standard input.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
import time
from typing import Final

# Bytes a second on a slow wire.
_SLOW_BYTES: Final = 1_000
_CHUNK: Final = 65_536


class Wire:
    """The connections of one resource manager, and what is wrong with them.

    A command names one of its methods: ``cut``, ``stall``, ``lose``, ``slow``, ``delay``,
    ``half_close``, ``truncate``, ``double`` or ``heal``.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.target = 0
        self._changed = threading.Condition()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._stalled = self._losing = self._slow = self._lost = False
        self._delay_seconds = 0.0
        self._spoil_next = ""
        threading.Thread(target=self._accept, daemon=True).start()

    # ------------------------------------------------------------------ commands

    def cut(self) -> None:
        """Break all connections; what is on its way is lost."""
        with self._changed:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _end(*pair)

    def stall(self) -> None:
        """Keep everything back until ``heal``."""
        self._stalled = True

    def lose(self) -> None:
        """Lose everything without a word to either end; ``heal`` breaks these connections."""
        self._losing = self._lost = True

    def slow(self) -> None:
        """Let a thousand bytes through in a second."""
        self._slow = True

    def delay(self) -> None:
        """Keep each piece back for a fifth of a second."""
        self._delay_seconds = 0.2

    def half_close(self) -> None:
        """Tell the scheduler that nothing more comes; its own bytes still pass."""
        with self._changed:
            pairs = list(self._pairs)
        for _, far in pairs:
            with contextlib.suppress(OSError):
                far.shutdown(socket.SHUT_WR)

    def truncate(self) -> None:
        """Pass half of the next piece on, and break that connection in the middle of it."""
        self._spoil_next = "truncate"

    def double(self) -> None:
        """Pass the next piece on twice, which no correct sender does."""
        self._spoil_next = "double"

    def heal(self) -> None:
        """Be a good wire again."""
        with self._changed:
            self._stalled = self._losing = self._slow = False
            self._delay_seconds = 0.0
            self._spoil_next = ""
            lost, self._lost = self._lost, False
            self._changed.notify_all()
        if lost:
            self.cut()

    # ------------------------------------------------------------------ inside

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                _end(near)
                continue
            far.settimeout(None)
            with self._changed:
                self._pairs.append((near, far))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        """Pass the bytes of one direction on until it ends."""
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                self._wait(len(data))
                if self._losing:
                    continue
                spoil, self._spoil_next = self._spoil_next, ""
                if spoil == "truncate":
                    sink.sendall(data[: len(data) // 2])
                    break
                sink.sendall(data * 2 if spoil == "double" else data)
        with self._changed:
            self._changed.wait_for(lambda: not self._losing)
            self._pairs = [pair for pair in self._pairs if source not in pair]
        _end(source, sink)

    def _wait(self, size: int) -> None:
        """Wait as long as this wire takes for a piece."""
        if self._delay_seconds:
            time.sleep(self._delay_seconds)
        if self._slow:
            time.sleep(min(size / _SLOW_BYTES, 5.0))
        with self._changed:
            self._changed.wait_for(lambda: not self._stalled)


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


def main() -> None:
    """Run the wires until the standard input ends."""
    wires = [Wire() for _ in range(int(sys.argv[1]))]
    print(json.dumps([wire.port for wire in wires]), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if "target" in command:
            for wire in wires:
                wire.target = command["target"]
        else:
            getattr(wires[command["wire"]], command["do"])()


if __name__ == "__main__":
    main()
