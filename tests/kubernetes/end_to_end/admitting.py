"""Admission controllers as processes, and the objects that they are asked about."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx2

from remuda_kubernetes.testing.kept import free_ports
from tests.kubernetes.end_to_end.process import SECONDS
from tests.kubernetes.end_to_end.replicas import Replica

NAMESPACE: Final = "yunikorn"
USER_INFO: Final = "yunikorn.apache.org/user.info"
APP_ID: Final = "yunikorn.apache.org/app-id"
CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1"
PLURALS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
Object = dict[str, Any]


class Controller(Replica):
    """One `remuda kubernetes admission`; it has the same port after each start.

    ``url_of``: another controller that API servers call in its place.
    """

    def __init__(
        self, kubeconfig: Path, log: Path, *options: str, url_of: Controller | None = None
    ) -> None:
        (self.port,) = free_ports(1)
        called = self.port if url_of is None else url_of.port
        arguments = ["-m", "remuda", "kubernetes", "admission", f"--kubeconfig={kubeconfig}"]
        arguments += [f"--webhook-address=127.0.0.1:{self.port}", "--reports-address=127.0.0.1:0"]
        arguments += [f"--url=https://127.0.0.1:{called}", f"--namespace={NAMESPACE}", *options]
        super().__init__(arguments, log, r"^admission \S+ webhook=(\S+) reports=(\S+)$")

    def start(self) -> None:
        """Start it and wait until the API server asks and trusts it."""
        self.begin()
        self.until("it is registered", lambda: self.figure("registered") == 1)

    def figure(self, name: str) -> float:
        """Return a metric without labels."""
        text = httpx2.get(f"http://{self.addresses[1]}/metrics", timeout=SECONDS).text
        (line,) = [
            each for each in text.splitlines() if each.startswith(f"remuda_admission_{name} ")
        ]
        return float(line.rpartition(" ")[2])

    def until(self, what: str, done: Callable[[], object]) -> None:
        """Wait until something is so; say what it wrote if it is never so."""
        deadline = time.monotonic() + SECONDS
        while not done():
            assert not self.ended, self.words()[-4000:]
            assert time.monotonic() < deadline, f"never so: {what}\n{self.words()[-4000:]}"
            time.sleep(0.05)


def pod(name: str, annotations: Mapping[str, str] | None = None) -> Object:
    """A pod as a user writes it."""
    metadata: Object = {"name": name}
    if annotations is not None:
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "pause"}]}}


def record(user: str) -> str:
    """The user.info of a user."""
    return json.dumps({"user": user})


def user_of(content: Object) -> str | None:
    """Return the user that a pod or a template names, None if it names none."""
    text = (content["metadata"].get("annotations") or {}).get(USER_INFO)
    return None if text is None else json.loads(text)["user"]
