"""Runs the program as a user does: a process with arguments, environment and pipes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from queue import Queue
from signal import SIGKILL
from types import TracebackType
from typing import Self

import httpx2

from tests.package import PACKAGES

READY_SECONDS = 30.0
FREE_PORTS = ("--grpc-address", "127.0.0.1:0", "--rest-address", "127.0.0.1:0")

# The partition of the demo, and of configurations that name none, in the REST API.
PARTITION = "/ws/v1/partition/default"


def environment(**extra: str) -> dict[str, str]:
    """Return ours without REMUDA_* settings of whoever runs the tests, plus ``extra``."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("REMUDA_")}
    return {**inherited, "REMUDA_STRICT_RECORDS": "1", "PYTHONPATH": str(PACKAGES), **extra}


def run_remuda(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        [sys.executable, "-m", "remuda", *arguments],
        env=environment(**extra),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Served:
    """A running `remuda serve`, ready on entry; its addresses and a client for REST.

    ``grpc`` and ``rest`` are HOST:PORT as announced on stdout. ``log`` is what came on stderr so
    far. ``within``: a command that runs the one after it.
    """

    def __init__(self, *arguments: str, within: Sequence[str] = (), **extra: str) -> None:
        self.process = subprocess.Popen(
            [*within, sys.executable, "-m", "remuda", "serve", *arguments],
            env=environment(**extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log = ""
        self._stdout: Queue[str] = Queue()
        self._stderr: Queue[str] = Queue()
        self._readers = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self.grpc = self.rest = ""
        self.client = httpx2.Client(timeout=60)

    def __enter__(self) -> Self:
        line = self._stdout.get(timeout=READY_SECONDS)
        found = re.fullmatch(r"listening grpc=(\S+:\d+) rest=(\S+:\d+)\n", line)
        if found is None:
            ended = self.end(SIGKILL)
            self.__exit__(None, None, None)
            raise AssertionError(f"not ready: {line!r}, {ended}")
        self.grpc, self.rest = found.groups()
        self.client.base_url = httpx2.URL(f"http://{self.rest}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
        self.end()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def end(self, signal: int | None = None) -> tuple[int, str, str]:
        """Send a signal if given and wait; return exit code, further stdout, stderr."""
        if signal is not None:
            self.process.send_signal(signal)
        code = self.process.wait(READY_SECONDS)
        for reader in self._readers:
            reader.join(READY_SECONDS)
        return code, _drain(self._stdout), _drain(self._stderr)

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._stdout.put(line)
        self._stdout.put("")

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line
            self._stderr.put(line)


def _drain(lines: Queue[str]) -> str:
    text = ""
    while not lines.empty():
        text += lines.get()
    return text
