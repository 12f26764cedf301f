"""The scheduler of Kubernetes itself, beside an API server of tests.

It works for the pods whose schedulerName is ``default-scheduler``, as long as a context lasts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from remuda_kubernetes.testing.binaries import (
    Binaries,
    BinariesMissingError,
    find,
    missing,
)
from remuda_kubernetes.testing.kept import KeptProcess, free_ports, listens
from remuda_kubernetes.testing.real import NotReadyError, offered

# Long, for the machine may be busy with other things. It takes 2 seconds on 2 cores.
_READY_SECONDS: Final = 120.0
_PAUSE_SECONDS: Final = 0.05
_PROGRAM: Final = "kube-scheduler"


class KubeScheduler:
    """A kube-scheduler as a process; it ends with the context.

    Args:
        kubeconfig: Leads to the API server, which must be a real one: this old version reads kinds
            of objects that the fake server does not have.
        directory: Where its log and its certificate go.
        binaries: The programs; without them those that ``binaries.find`` finds.
        options: More options of it, such as ``--kube-api-qps=500``.
    """

    def __init__(
        self,
        kubeconfig: Path,
        directory: Path,
        *,
        binaries: Binaries | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self._kubeconfig = kubeconfig
        self._directory = directory
        self._binaries = binaries or find()
        self._options = list(options)
        self._process: KeptProcess | None = None

    def __enter__(self) -> Self:
        """Start it; returns when it listens.

        Raises:
            BinariesMissingError: There is no such program.
            NotReadyError: It ended, or does not listen.
        """
        program = self._binaries.scheduler
        if program is None:
            raise BinariesMissingError(lacking(self._binaries))
        (port,) = free_ports(1)
        command: list[str | Path] = [program, f"--kubeconfig={self._kubeconfig}"]
        command += ["--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={port}"]
        command += [f"--cert-dir={self._directory / 'scheduler'}"]
        # Old versions listen on every address of the machine, too.
        command += offered(program, "--port", "=0")
        process = KeptProcess([*command, *self._options], self._directory / f"{_PROGRAM}.log")
        self._process = process
        deadline = time.monotonic() + _READY_SECONDS
        while not listens(port):
            if process.ended or time.monotonic() > deadline:
                told = process.why() if process.ended else f"it is not ready; see {process.log}"
                self.end()
                raise NotReadyError(told)
            time.sleep(_PAUSE_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """Kill it; nothing happens if it does not run."""
        process, self._process = self._process, None
        if process is not None:
            process.end()


def lacking(binaries: Binaries) -> str:
    """Say that a folder of programs has no scheduler, and what to do."""
    return f"{binaries.folder} has no {_PROGRAM}; `make kube` adds it to what it built"


def why_missing() -> str:
    """Say why no kube-scheduler can be started here, "" if one can."""
    reason = missing()
    if reason:
        return reason
    found = find()
    return "" if found.scheduler else lacking(found)
