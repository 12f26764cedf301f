"""The server as tests use it: on a loopback port, in a thread of its own.

with ApiServer() as server:
    server.load(objects)
    ...  # use server.address, or the file that server.write_kubeconfig(path) makes
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import uvicorn

from remuda_kubernetes.testing import credentials
from remuda_kubernetes.testing.app import Front
from remuda_kubernetes.testing.cluster import Cluster
from remuda_kubernetes.testing.faults import Faults
from remuda_kubernetes.testing.settings import Settings
from remuda_kubernetes.testing.statuses import Json

T = TypeVar("T")

_HOST: Final = "127.0.0.1"
_READY_SECONDS: Final = 60.0
_SETTLING_ROUNDS: Final = 6


class _Quiet(uvicorn.Server):
    """Uvicorn without its signal handlers, and with a way to wait until it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the program that tests."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the sockets and say so."""
        await super().startup(sockets)
        self.listening.set()


class ApiServer:
    """A Kubernetes API server with nothing behind it.

    ``settings``: the release, the token, the clock. ``port`` 0: any free one, the same after
    ``away``. Everything may be called from any thread; ``run`` carries a function out in the
    server's own, where ``cluster`` and its store may be looked at.
    """

    def __init__(self, settings: Settings | None = None, *, port: int = 0) -> None:
        self.settings = settings or Settings()
        self.cluster = Cluster(self.settings)
        self.faults = Faults(self.cluster.store, run=self.run)
        self._app = Front(self.cluster, self.faults).application()
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: _Quiet | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """Where the server is: http://127.0.0.1:PORT."""
        return f"http://{_HOST}:{self._port}"

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def start(self) -> None:
        """Listen; returns when requests are accepted. Raises: OSError if the port is taken."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, self._port))
        listener.listen(2048)
        self._port = listener.getsockname()[1]
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=self._serve, args=(listener, ready), name="api-server", daemon=True
        )
        self._thread.start()
        ready.result(_READY_SECONDS)

    def stop(self) -> None:
        """Stop listening and break all connections. The objects are kept; ``start`` shows them."""
        server, thread, loop = self._server, self._thread, self._loop
        if server is None or thread is None or loop is None:
            return
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_end, server)
        self.faults.resume()
        thread.join()
        self._server = self._thread = self._loop = None

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Let the server be gone, its connections broken, as long as the context lasts."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def run(self, action: Callable[[], T]) -> T:
        """Carry a function out in the server's thread and return what it returns."""
        loop = self._loop
        if loop is None or threading.current_thread() is self._thread:
            return action()
        done: concurrent.futures.Future[T] = concurrent.futures.Future()

        def call() -> None:
            try:
                done.set_result(action())
            except BaseException as error:  # noqa: BLE001 - it belongs to the caller
                done.set_exception(error)

        loop.call_soon_threadsafe(call)
        return done.result()

    def settle(self) -> None:
        """Wait until the server has carried out what is ready; for tests with a manual clock."""
        for _ in range(_SETTLING_ROUNDS):
            self.run(lambda: None)

    def load(self, objects: Iterable[Json], *, keep_versions: bool = False) -> int:
        """Take many whole objects at once and return how many; see Cluster.load."""
        given = list(objects)
        return self.run(lambda: self.cluster.load(given, keep_versions=keep_versions))

    def objects(self, plural: str, group: str = "") -> list[Json]:
        """Return all objects of a kind, as they are; not to be changed."""

        def read() -> list[Json]:
            now = self.cluster.store.collection((group, plural)).now
            return [now.records[key].item for key in now.keys]

        return self.run(read)

    def write_kubeconfig(self, path: Path) -> Path:
        """Write the configuration of a client into a file that only its owner reads."""
        text = credentials.kubeconfig(self.address, user_token=self.settings.token or "")
        return credentials.write_secret(path, text)

    def _serve(self, listener: socket.socket, ready: concurrent.futures.Future[None]) -> None:
        try:
            with asyncio.Runner(loop_factory=_quickest_loop) as runner:
                runner.run(self._serving(listener, ready))
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise
        finally:
            listener.close()

    async def _serving(
        self, listener: socket.socket, ready: concurrent.futures.Future[None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        config = uvicorn.Config(
            self._app,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=600,
            timeout_graceful_shutdown=1,
        )
        self._server = server = _Quiet(config)
        serving = asyncio.create_task(server.serve([listener]))
        listening = asyncio.create_task(server.listening.wait())
        await asyncio.wait({serving, listening}, return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if not serving.done():
            ready.set_result(None)
        await serving
        # Clients may have connected after `_end`, before the server stopped to listen.
        _abort_connections(server)
        await asyncio.sleep(0)


def _quickest_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's loop where it is installed; requests cost less on it."""
    try:
        import uvloop  # noqa: PLC0415 - not for every system
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _end(server: uvicorn.Server) -> None:
    """End a server without waiting for its requests; watches would not end by themselves."""
    server.should_exit = True
    server.force_exit = True
    _abort_connections(server)


def _abort_connections(server: uvicorn.Server) -> None:
    for connection in list(server.server_state.connections):
        transport: Any = getattr(connection, "transport", None)
        if transport is not None:
            transport.abort()
