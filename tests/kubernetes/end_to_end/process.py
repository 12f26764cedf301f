"""One `remuda kubernetes` in a process of its own, which a test may kill."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import Any, Final

import httpx2

from remuda_kubernetes.testing.kept import KeptProcess

# Long, for the machine may be busy; only a test that fails takes it all.
SECONDS: Final = 90.0
_PAUSE_SECONDS: Final = 0.02
_LAST_LINES: Final = 40


class Shim:
    """The shim with its scheduler inside. ``log`` has what it wrote, of all its starts.

    ``grpc``, ``rest`` and ``reports`` are its addresses, HOST:PORT; a new start has new ones.
    """

    def __init__(self, kubeconfig: Path, log: Path, *options: str) -> None:
        addresses = [f"--{name}-address=127.0.0.1:0" for name in ("grpc", "rest", "reports")]
        self._command = [sys.executable, "-m", "remuda", "kubernetes", *addresses]
        self._command += [f"--kubeconfig={kubeconfig}", *options]
        self.log = log
        self._process: KeptProcess | None = None
        self._http = httpx2.Client(timeout=SECONDS)
        self.grpc = self.rest = self.reports = ""

    def start(self) -> None:
        """Start it and wait until it is ready."""
        begin = self.log.stat().st_size if self.log.exists() else 0
        self._process = KeptProcess(self._command, self.log)
        deadline = time.monotonic() + SECONDS
        while not (self._listens(begin) and self.problems() == ""):
            assert not self._process.ended, self._process.why()
            assert time.monotonic() < deadline, f"not ready: {self.problems()}\n{self.last_lines()}"
            time.sleep(_PAUSE_SECONDS)

    def kill(self) -> None:
        """End it as kill -9 does."""
        assert self._process is not None
        self._process.end()
        self._process = None

    def close(self) -> None:
        """End it if it runs."""
        if self._process is not None:
            self.kill()
        self._http.close()

    def problems(self) -> str:
        """Return what keeps it from scheduling, "" if nothing does."""
        if not self.reports:
            return "it does not listen"
        try:
            answer = self._http.get(f"http://{self.reports}/readyz")
        except httpx2.TransportError as error:
            return str(error)
        return "" if answer.is_success else answer.text

    def state(self) -> dict[str, Any]:
        """Return its cache."""
        found: dict[str, Any] = self._http.get(f"http://{self.reports}/state").json()
        return found

    def ask(self, path: str) -> Any:
        """Ask the scheduler's REST API; ``path`` is what follows /ws/v1/."""
        return self._answer(path).json()

    def text(self, path: str) -> str:
        """Ask the scheduler's REST API for something that is not JSON."""
        return self._answer(path).text

    def _answer(self, path: str) -> httpx2.Response:
        answer = self._http.get(f"http://{self.rest}/ws/v1/{path}")
        answer.raise_for_status()
        return answer

    def last_lines(self) -> str:
        """Return the end of the log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LAST_LINES:])

    def _listens(self, begin: int) -> bool:
        """Whether it told its addresses; takes them over."""
        told = self.log.read_bytes()[begin:].decode(errors="replace")
        reports = re.search(r"^kubernetes \S+ reports=(\S+)$", told, re.MULTILINE)
        listening = re.search(r"^listening grpc=(\S+) rest=(\S+)$", told, re.MULTILINE)
        if reports is None or listening is None:
            return False
        (self.reports,), (self.grpc, self.rest) = reports.groups(), listening.groups()
        return True
