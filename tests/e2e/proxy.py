"""A wire that can be cut or go dead: a TCP proxy between a client and a server."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class Proxy:
    """Passes bytes on to ``target`` (HOST:PORT) until ``cut`` breaks every connection.

    After ``fall_silent`` it keeps them open and passes nothing on, as if both ends had vanished.

    ``address``: where it listens. With ``closed`` it lets nobody in.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self.closed = False
        self._silent = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self.closed:
                    near.close()
                    continue
                far = socket.create_connection(self._target)
                with self._lock:
                    self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if not self._silent:
                    sink.sendall(data)
        if not self._silent:
            self._end(source, sink)

    def fall_silent(self) -> None:
        """Lose whatever comes from now on, without a word to either end."""
        self._silent = True

    def cut(self) -> None:
        """Break all connections; what is on its way is lost."""
        with self._lock:
            broken, self._open = self._open, []
        self._end(*broken)

    @staticmethod
    def _end(*sockets: socket.socket) -> None:
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end(self._listener)
        self.cut()
