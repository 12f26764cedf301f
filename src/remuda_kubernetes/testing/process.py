"""The server in a process of its own, so that it does not share a processor with its clients."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

import msgspec

from remuda_kubernetes.testing.statuses import Json

_END_SECONDS: Final = 10.0


class ProcessError(RuntimeError):
    """The process did not start; says what it wrote."""


class ApiServerProcess:
    """A server in a process of its own, with some objects at first.

    ``address`` and ``kubeconfig`` (a file) are there while the context lasts. Faults can be asked
    for only in `server.ApiServer`; a process can be killed instead (``process``).
    """

    def __init__(
        self,
        objects: Iterable[Json] = (),
        *,
        minor: int = 32,
        token: str | None = None,
        port: int = 0,
    ) -> None:
        self._objects = objects
        self._arguments = [f"--minor={minor}", f"--port={port}"]
        if token is not None:
            self._arguments.append(f"--token={token}")
        self.address = ""
        self.kubeconfig = Path()
        self.process: subprocess.Popen[str] | None = None
        self._files = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Start; returns when requests are accepted. Raises: ProcessError."""
        folder = Path(self._files.enter_context(tempfile.TemporaryDirectory()))
        objects = folder / "objects.jsonl"
        encode = msgspec.json.Encoder().encode
        with objects.open("wb") as lines:
            for each in self._objects:
                lines.write(encode(each) + b"\n")
        self.kubeconfig = folder / "kubeconfig"
        command = [sys.executable, "-m", "remuda_kubernetes.testing", *self._arguments]
        self.process = subprocess.Popen(  # noqa: S603 - this program
            [*command, f"--kubeconfig={self.kubeconfig}", f"--load={objects}"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            self.__exit__()
            raise ProcessError("the API server did not start; its error output says why")
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        process = self.process
        if process is not None:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self._files.close()
