"""A scheduler in a process of its own, started as users start it, and what it uses.

It listens on free ports of this machine. The copy of the package that runs here runs there, too,
so that a compiled one is measured when a compiled one measures. Settings of whoever measures do
not reach it.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import remuda
from remuda.base.errors import RemudaError
from remuda.bench.throughput.run import resident_of

_FREE_PORTS: Final = ("--grpc-address", "127.0.0.1:0", "--rest-address", "127.0.0.1:0")
_ENDING_S: Final = 30.0
_READING_S: Final = 120.0

# Places in /proc/PID/stat, counted after the name of the program.
_USER_TICKS: Final = 11
_SYSTEM_TICKS: Final = 12


def _environment() -> dict[str, str]:
    """Return ours without settings of a scheduler."""
    inherited = {name: value for name, value in os.environ.items() if name[:7] != "REMUDA_"}
    return {**inherited, "PYTHONPATH": str(Path(remuda.__file__).parents[1])}


def answer_of(address: str, path: str, timeout: float = _READING_S) -> tuple[int, bytes]:
    """Return the status and the body of what HOST:PORT answers."""
    connection = http.client.HTTPConnection(address, timeout=timeout)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class Served:
    """A running ``remuda serve``; ready on entry, ended on exit.

    ``grpc`` and ``rest``: HOST:PORT as announced.
    """

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - ours
            [sys.executable, "-m", "remuda", "serve", *_FREE_PORTS, *arguments],
            env=_environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        self.grpc = self.rest = ""

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.fullmatch(r"listening grpc=(\S+:\d+) rest=(\S+:\d+)\n", line)
        if found is None:
            self._end()
            raise RemudaError(f"the scheduler to be measured did not start: {line!r}")
        self.grpc, self.rest = found.groups()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def cpu_seconds(self) -> float:
        """Return the CPU time the process has used; 0 where the system does not tell."""
        stat = Path(f"/proc/{self._process.pid}/stat")
        if not stat.exists():
            return 0.0
        fields = stat.read_text(encoding="ascii").rpartition(")")[2].split()
        ticks = int(fields[_USER_TICKS]) + int(fields[_SYSTEM_TICKS])
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self) -> int:
        """Return the memory the process holds; 0 where the system does not tell."""
        return resident_of(str(self._process.pid))

    def read(self, path: str, timeout: float = _READING_S) -> bytes:
        """Return what REST answers. Raises: RemudaError if it refuses."""
        status, text = answer_of(self.rest, path, timeout)
        if status != http.client.OK:
            raise RemudaError(f"{path}: {status} {text.decode(errors='replace')}")
        return text

    def get(self, path: str) -> Any:
        """Return the JSON that REST answers. Raises: RemudaError if it refuses."""
        return json.loads(self.read(path))

    def containers(self) -> int:
        """Return how many allocations it has in all partitions. Raises: RemudaError."""
        return sum(each.get("totalContainers", 0) for each in self.get("/ws/v1/partitions"))

    def judge(self) -> None:
        """Refuse to go on when the scheduler finds itself unhealthy. Raises: RemudaError."""
        health = self.get("/ws/v1/scheduler/healthcheck")
        failed = [each["Name"] for each in health["HealthChecks"] if not each["Succeeded"]]
        if failed:
            raise RemudaError(f"the scheduler is not healthy: {', '.join(failed)}")
