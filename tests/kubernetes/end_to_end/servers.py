"""The servers that the same tests run against: the fake one and the real one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, Self

from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.testing.settings import Settings


class Server(Protocol):
    """What a test may know of a server, whichever it is."""

    @property
    def address(self) -> str:
        """Its URL."""

    @property
    def kubeconfig(self) -> Path:
        """A file with which an administrator reaches it."""

    def away(self) -> AbstractContextManager[None]:
        """Let it be gone, its connections broken, as long as the context lasts."""

    def silent(self) -> AbstractContextManager[None]:
        """Let it answer nothing, its connections open, as long as the context lasts."""


class FakeServer:
    """The fake server in this process, as the newest release or as another one."""

    def __init__(self, directory: Path, settings: Settings | None = None) -> None:
        self.inner = ApiServer(settings)
        self.kubeconfig = directory / "kubeconfig"

    def __enter__(self) -> Self:
        self.inner.start()
        self.inner.write_kubeconfig(self.kubeconfig)
        return self

    def __exit__(self, *_: object) -> None:
        self.inner.stop()

    @property
    def address(self) -> str:
        """Its URL."""
        return self.inner.address

    def away(self) -> AbstractContextManager[None]:
        """Let it be gone as long as the context lasts."""
        return self.inner.away()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Let it answer nothing as long as the context lasts."""
        self.inner.faults.pause()
        try:
            yield
        finally:
            self.inner.faults.resume()
