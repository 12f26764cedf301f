"""The whole program: `remuda kubernetes` with a scheduler in it, as a process of its own.

It is measured from outside: by its metrics, and by what the system says it used.
"""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import remuda_kubernetes
from remuda.base.errors import RemudaError
from remuda.bench.throughput.run import resident_of

_FREE: Final = "127.0.0.1:0"
_ADDRESSES: Final = ("--grpc-address", "--rest-address", "--reports-address")
_LISTENS: Final = re.compile(r"kubernetes \S+ reports=(\S+)\n")
_METRIC: Final = re.compile(r"^remuda_kubernetes_(\S+) (\S+)$", re.MULTILINE)
_PAUSE_SECONDS: Final = 0.1
_PATIENCE_SECONDS: Final = 900.0
_ENDING_SECONDS: Final = 30.0
_BOUND: Final = 'calls_total{result="done",verb="bind"}'
_BUCKET: Final = re.compile(r'pod_seconds_bucket\{le="(\S+)"\}')


@dataclass(frozen=True, slots=True)
class Bound:
    """How pods were bound: so many in so many seconds of the clock.

    ``processor``: of the program, in microseconds for each pod.
    """

    pods: int
    seconds: float
    processor: float

    @property
    def rate(self) -> float:
        """Pods bound in one second."""
        return self.pods / self.seconds


class Program:
    """A running program, ended on exit. Waits for nothing when it starts."""

    def __init__(self, kubeconfig: Path, *options: str) -> None:
        command = [sys.executable, "-m", "remuda", "kubernetes", "--kubeconfig", str(kubeconfig)]
        for name in _ADDRESSES:
            command += [name, _FREE]
        source = str(Path(remuda_kubernetes.__file__).parents[1])
        paths = [*(each for each in sys.path if each), source]
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            [*command, "--namespace", "yunikorn", *options],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reports = ""

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = _LISTENS.fullmatch(line)
            if found is not None:
                self._reports = found.group(1)
                return self
        self.__exit__()
        raise RemudaError("the program did not start; its error output says why")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Ask it to end, and do not wait."""
        self._process.terminate()

    def processor_seconds(self) -> float:
        """Return the processor time that it has used."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii")
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Return the memory that it holds."""
        return resident_of(str(self._process.pid)) / 1e6

    def figures(self) -> dict[str, float]:
        """Return its metrics, without the common beginning of their names."""
        status, text = self._get("/metrics")
        found = _METRIC.findall(text) if status == http.client.OK else []
        return {name: float(value) for name, value in found}

    def bound(self) -> int:
        """Return how many pods it has bound."""
        return int(self.figures().get(_BOUND, 0))

    def wait_ready(self) -> float:
        """Wait until it is ready; return the seconds since it was started. Raises: RemudaError."""
        while self._get("/readyz")[0] != http.client.OK:
            self.pause()
        return time.perf_counter() - self.began

    def wait_leading(self) -> None:
        """Wait until it leads and has told the scheduler all there is. Raises: RemudaError."""
        while not self.figures().get("leads") or self._get("/readyz")[0] != http.client.OK:
            self.pause()

    def wait_bound(self, pods: int) -> Bound:
        """Wait until it has bound so many; the time runs from the first. Raises: RemudaError."""
        before = self.bound()
        while (first := self.bound()) == before:
            self.pause()
        began, used = time.perf_counter(), self.processor_seconds()
        while self.bound() < pods:
            self.pause()
        seconds = time.perf_counter() - began
        used = self.processor_seconds() - used
        return Bound(pods - first, seconds, used * 1e6 / (pods - first))

    def seen_within(self, before: dict[str, float]) -> list[tuple[str, float]]:
        """Return the share of pods by seconds from being seen to their binding being sent.

        ``before``: figures; what was counted then is left out.
        """
        after = self.figures()
        counts = [
            (found.group(1), value - before.get(name, 0.0))
            for name, value in after.items()
            if (found := _BUCKET.fullmatch(name))
        ]
        total = max((count for _, count in counts), default=0.0) or 1.0
        return [(bound, count / total) for bound, count in counts]

    def pause(self) -> None:
        """Wait a moment. Raises: RemudaError if the program ended, or it takes too long."""
        if self._process.poll() is not None:
            raise RemudaError(f"the program ended with code {self._process.returncode}")
        if time.perf_counter() - self.began > _PATIENCE_SECONDS:
            raise RemudaError(f"it takes too long; {self.bound()} pods are bound")
        time.sleep(_PAUSE_SECONDS)

    def _get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self._reports, timeout=60)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()
