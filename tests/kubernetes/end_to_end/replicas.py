"""Processes that a test starts, kills, stops and continues: shims, and schedulers elsewhere."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import httpx2

from remuda_kubernetes.testing.kept import KeptProcess
from tests.kubernetes.end_to_end.process import SECONDS

_PAUSE_SECONDS: Final = 0.02
_NAMESPACE: Final = "yunikorn"


class Replica:
    """One process that can be started again and again, with the same arguments.

    ``told``: the line it writes when it has begun, with a group for each address it names.
    """

    def __init__(self, arguments: Sequence[str], log: Path, told: str) -> None:
        self._command = [sys.executable, *arguments]
        self.log = log
        self._told = re.compile(told, re.MULTILINE)
        self._process: KeptProcess | None = None
        self.addresses: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def begin(self) -> None:
        """Start it and wait for its first words."""
        begin = self.log.stat().st_size if self.log.exists() else 0
        self._process = KeptProcess(self._command, self.log)
        deadline = time.monotonic() + SECONDS
        while (found := self._told.search(self._words(begin))) is None:
            assert not self._process.ended, self._process.why()
            assert time.monotonic() < deadline, self._words(begin)
            time.sleep(_PAUSE_SECONDS)
        self.addresses = found.groups()

    def kill(self) -> None:
        """End it as kill -9 does."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def finish(self) -> None:
        """Have it end by itself, and wait until it has."""
        assert self._process is not None
        self._process.finish()
        deadline = time.monotonic() + SECONDS
        while not self._process.ended:
            assert time.monotonic() < deadline, "it does not end"
            time.sleep(_PAUSE_SECONDS)
        self.kill()

    def pause(self) -> None:
        """Stop it where it is."""
        assert self._process is not None
        self._process.pause()

    def resume(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.resume()

    def processor_seconds(self) -> float:
        """Return the processor time that it took since its start."""
        assert self._process is not None
        return self._process.processor_seconds()

    @property
    def ended(self) -> bool:
        """Whether it ended by itself."""
        return self._process is not None and self._process.ended

    def words(self) -> str:
        """Return all that it wrote, of all its starts."""
        return self._words(0)

    def _words(self, begin: int) -> str:
        return self.log.read_bytes()[begin:].decode(errors="replace")


class ShimReplica(Replica):
    """A shim. ``script``: a program that runs it, in place of ``-m remuda``."""

    def __init__(
        self, kubeconfig: Path, log: Path, *options: str, script: Path | None = None
    ) -> None:
        free = [f"--{name}-address=127.0.0.1:0" for name in ("grpc", "rest", "reports")]
        program = ["-m", "remuda"] if script is None else [str(script)]
        arguments = [*program, "kubernetes", f"--kubeconfig={kubeconfig}", *free, *options]
        arguments.append(f"--namespace={_NAMESPACE}")
        super().__init__(arguments, log, r"^kubernetes \S+ reports=(\S+)$")

    def start(self) -> None:
        """Start it and wait until it schedules, or stands by."""
        self.begin()
        deadline = time.monotonic() + SECONDS
        while self.ready() is None:
            assert not self.ended, self.words()[-4000:]
            assert time.monotonic() < deadline, self.words()[-4000:]
            time.sleep(_PAUSE_SECONDS)

    def ready(self) -> str | None:
        """Return "ok" or "standing by" if it is ready, else None."""
        answer = self._get("readyz")
        return answer.text.strip() if answer is not None and answer.is_success else None

    def state(self) -> dict[str, Any]:
        """Return its cache, {} if it has none."""
        answer = self._get("state")
        return {} if answer is None else answer.json()

    def _get(self, path: str) -> httpx2.Response | None:
        try:
            return httpx2.get(f"http://{self.addresses[0]}/{path}", timeout=SECONDS)
        except httpx2.TransportError:
            return None


def scheduler(log: Path, port: int) -> Replica:
    """Return a scheduler for shims elsewhere, always on the same port."""
    arguments = ["-m", "remuda", "serve", f"--grpc-address=127.0.0.1:{port}"]
    arguments.append("--rest-address=127.0.0.1:0")
    return Replica(arguments, log, r"^listening grpc=(\S+) rest=(\S+)$")
