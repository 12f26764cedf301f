"""A whole cluster for tests: an API server, hollow nodes, controllers, and the shim as a process.

One cluster serves all tests of a module. Each test has a `Space` of its own in it: a namespace, a
queue of the same name, and the nodes that it makes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self

from remuda_kubernetes.testing.hollow import HollowCluster
from remuda_kubernetes.testing.kubelet import Habits
from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.process import SECONDS, Shim
from tests.kubernetes.end_to_end.servers import Server
from tests.kubernetes.end_to_end.spaces import Space

NAMESPACE: Final = "yunikorn"
CONFIG_MAPS: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
CONFIG: Final = "yunikorn-configs"
_PAUSE_SECONDS: Final = 0.05

# Every queue that a pod names is made.
QUEUES: Final = """
partitions:
  - name: default
    placementrules:
      - name: provided
        create: true
    queues:
      - name: root
        submitacl: '*'
"""


class Cluster:
    """The cluster around one server. ``api``: an administrator's client; ``shim``: the process.

    ``nodes``: these are there from the beginning, and pods run on no other; without any the tests
    make their own nodes.
    """

    def __init__(
        self,
        server: Server,
        folder: Path,
        *,
        queues: str = QUEUES,
        settings: Mapping[str, str] | None = None,
        habits: Habits | None = None,
        nodes: Sequence[Object] = (),
        options: tuple[str, ...] = (),
    ) -> None:
        self.server = server
        self.api = Api(server.kubeconfig)
        log = folder / "shim.log"
        self.shim = Shim(server.kubeconfig, log, f"--namespace={NAMESPACE}", *options)
        self.hollow = HollowCluster(server.kubeconfig, habits=habits, nodes=nodes)
        self._data = {"queues.yaml": queues, **(settings or {})}

    def __enter__(self) -> Self:
        with suppress(Refused):
            self.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        self.api.create(CONFIG_MAPS, {"metadata": {"name": CONFIG}, "data": self._data})
        self.hollow.__enter__()
        try:
            self.shim.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.shim.close()
        self.hollow.__exit__()
        self.api.close()

    # ------------------------------------------------------------------ waiting

    def until(self, what: str, done: Callable[[], object], namespace: str = "") -> None:
        """Wait until something is so; if it is never so, say what there is instead."""
        deadline = time.monotonic() + SECONDS
        while not done():
            if time.monotonic() > deadline:
                raise AssertionError(f"never so: {what}\n{self.describe(namespace)}")
            time.sleep(_PAUSE_SECONDS)

    def describe(self, namespace: str = "") -> str:
        """Return pods, events and the end of the shim's log, for a test that failed."""
        within = f"namespaces/{namespace}/" if namespace else ""
        lines = ["pods:"]
        for pod in self.api.get(f"/api/v1/{within}pods")["items"]:
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            lines.append(f"  {name} on {pod['spec'].get('nodeName')}: {json.dumps(pod['status'])}")
        lines.append("events:")
        for event in self.api.get(f"/api/v1/{within}events")["items"]:
            about = event["involvedObject"]
            text = f"  {about['kind']} {about.get('name')}: {event['reason']}: {event['message']}"
            lines.append(text)
        return "\n".join([*lines, f"the shim ({self.shim.log}):", self.shim.last_lines()])

    # ------------------------------------------------------------------ the scheduler

    def queue(self, path: str) -> Object | None:
        """Return a queue as the scheduler's REST API shows it, None if there is none."""
        found: Object | None = self.shim.ask("partition/default/queues")
        for depth in range(1, path.count(".") + 1):
            name = ".".join(path.split(".")[: depth + 1])
            children = (found or {}).get("children") or ()
            found = next((each for each in children if each["queuename"] == name), None)
        return found

    def applications(self, queue: str) -> list[Object]:
        """Return the applications of a queue as the scheduler's REST API shows them."""
        if self.queue(queue) is None:
            return []
        found: list[Object] = self.shim.ask(f"partition/default/queue/{queue}/applications")
        return found

    def events_of(self, kind: str, name: str) -> list[tuple[str, str]]:
        """Return (reason, message) of each event about an object."""
        field = f"involvedObject.kind={kind},involvedObject.name={name}"
        events = self.api.get("/api/v1/events", fieldSelector=field)["items"]
        return [(each["reason"], each["message"]) for each in events]

    # ------------------------------------------------------------------ the configuration

    def configure(
        self, queues: str, settings: Mapping[str, str] | None = None, *, wait: bool = True
    ) -> None:
        """Change the queues, and other keys of the ConfigMap; wait until the queues count."""
        # The scheduler shows the text that is in force.
        mark = f"# change {time.monotonic_ns()}\n"
        self.write_config({"queues.yaml": mark + queues, **(settings or {})})
        if wait:
            self.until("the configuration is in force", lambda: mark in self.configuration())

    def write_config(self, data: Mapping[str, str], name: str = CONFIG, **fields: Any) -> None:
        """Replace the contents of a ConfigMap; ``fields``: others, such as binaryData."""
        body = {"metadata": {"name": name}, "data": dict(data), **fields}
        try:
            self.api.replace(f"{CONFIG_MAPS}/{name}", body)
        except Refused as refusal:
            if refusal.reason != "NotFound":
                raise
            self.api.create(CONFIG_MAPS, body)

    def configuration(self) -> str:
        """Return the queue file that the scheduler uses, as it was written."""
        return self.shim.text("config?raw=true")

    # ------------------------------------------------------------------ tests

    @contextmanager
    def space(self, name: str) -> Iterator[Space]:
        """Give a test a namespace and a queue; take everything away afterwards."""
        space = Space(self, name)
        self.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        yield space
        names = space.clear()
        self.until(
            "the shim forgot the nodes of the test",
            lambda: names.isdisjoint(self.shim.state()["nodes"]),
        )
