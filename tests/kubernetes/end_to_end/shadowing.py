"""`remuda kubernetes shadow` in a process of its own, and what a test does as the scheduler."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import httpx2

from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.manifests import pod_manifest
from tests.kubernetes.end_to_end.objects import Object

SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.02
PODS: Final = "/api/v1/namespaces/default/pods"
# The schedulerName of the pods that a test binds.
CHARGE: Final = "in-charge"
COMMAND: Final = (sys.executable, "-m", "remuda", "kubernetes", "shadow")


def until(what: str, done: Callable[[], object]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline, f"never so: {what}"
        time.sleep(_PAUSE_SECONDS)


class Shadow:
    """The process, from the start of the context to its end; `end` returns what it printed.

    ``wait``: until it is ready.
    """

    def __init__(self, kubeconfig: Path, folder: Path, *options: str, wait: bool = True) -> None:
        self._command = [*COMMAND, f"--kubeconfig={kubeconfig}", "--http-address=127.0.0.1:0"]
        self._command += ["--output=json", "--examples=100", *options]
        self._log = folder / "shadow.log"
        self._http = httpx2.Client(timeout=SECONDS)
        self._process: subprocess.Popen[str] | None = None
        self._address = self._rest = ""
        self._wait = wait

    def __enter__(self) -> Self:
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True
            )
        until("it listens", self._listens)
        if self._wait:
            until("it is ready", lambda: self.get("/readyz").is_success)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._http.close()

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        told = self._log.read_text()
        reports = re.search(r"^kubernetes \S+ reports=(\S+)$", told, re.MULTILINE)
        listening = re.search(r"^listening grpc=\S+ rest=(\S+)$", told, re.MULTILINE)
        if reports is None or listening is None:
            return False
        self._address, self._rest = reports[1], listening[1]
        return True

    def get(self, path: str) -> httpx2.Response:
        """Ask its HTTP API."""
        return self._http.get(f"http://{self._address}{path}")

    def agreement(self) -> Any:
        """Return what it has found so far."""
        return self.get("/agreement").json()

    def warnings(self) -> list[str]:
        """Return the warnings of now."""
        found: list[str] = self.agreement()["warnings"]
        return found

    def end(self, stop: signal.Signals = signal.SIGTERM) -> Any:
        """Have it end; return the JSON of its summary, which is all that it prints."""
        process, self._process = self._process, None
        assert process is not None
        process.send_signal(stop)
        printed, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, self._log.read_text()
        return json.loads(printed)

    # ------------------------------------------------------------------ of one queue

    def kinds(self, queue: str) -> dict[str, int]:
        """Return how often each kind was found for pods of a queue, without those that were not."""
        counts = self.agreement()["queues"].get(queue, {})
        return {kind: count for kind, count in counts.items() if count}

    def waits(self, queue: str) -> bool:
        """Whether an ask in a queue waits, as the shadow's own scheduler says."""
        path = f"/ws/v1/partition/default/queue/{queue}/applications"
        found = self._http.get(f"http://{self._rest}{path}").json()
        return any(each.get("pendingResource") for each in found)

    def example(self, kind: str, queue: str) -> Any:
        """Return the last example of a kind in a queue."""
        return [each for each in self.agreement()["examples"][kind] if each["queue"] == queue][-1]


class Charge:
    """The scheduler in charge: what a test says."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def pod(self, name: str, queue: str, **what: Any) -> Object:
        """Create a pod; see ``pod_manifest``."""
        body = pod_manifest(name, queue=queue, app=f"{name}-app", scheduler=CHARGE, **what)
        made: Object = self.api.create(PODS, body)
        return made

    def bind(self, name: str, node: str) -> None:
        """Give a pod its node."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        self.api.create(f"{PODS}/{name}/binding", body)
