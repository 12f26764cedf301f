"""A server with hollow nodes and queues, and nobody who schedules: that is the test's part."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

from remuda_kubernetes.testing.hollow import HollowCluster
from remuda_kubernetes.testing.kubelet import Habits, hollow_node
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.cluster import CONFIG, CONFIG_MAPS, NAMESPACE, QUEUES
from tests.kubernetes.end_to_end.manifests import pod_manifest
from tests.kubernetes.end_to_end.objects import EVENTS, PODS, Object
from tests.kubernetes.end_to_end.process import SECONDS
from tests.kubernetes.end_to_end.servers import Server

_PAUSE_SECONDS: Final = 0.05
_MANY: Final = 10


def wait_until(what: str, done: Callable[[], Any]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline, f"never so: {what}"
        time.sleep(_PAUSE_SECONDS)


class Ground:
    """Nodes with so many cores each, on which pods run as the kubelets' habits say."""

    def __init__(
        self, server: Server, nodes: Mapping[str, str], habits: Habits | None = None
    ) -> None:
        self.server = server
        self.nodes = dict(nodes)
        self.api = Api(server.kubeconfig)
        manifests = [hollow_node(name, cpu=cpu) for name, cpu in nodes.items()]
        self._hollow = HollowCluster(server.kubeconfig, nodes=manifests, habits=habits)
        self.made = 0

    def __enter__(self) -> Self:
        self.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        data = {"queues.yaml": QUEUES}
        self.api.create(CONFIG_MAPS, {"metadata": {"name": CONFIG}, "data": data})
        self._hollow.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        # All at once: there are many, and the next test wants a server without them.
        for collection in (PODS, EVENTS):
            self.api.delete(collection, gracePeriodSeconds=0)
        self._hollow.__exit__()
        self.api.close()

    def pods(self, count: int, *, app: str = "", seconds: float | None = None) -> list[str]:
        """Create pods of one core, ten to an application if none is named; return their names."""
        names = []
        for _ in range(count):
            self.made += 1
            name = f"p-{self.made:04}"
            of = app or f"app-{self.made // _MANY}"
            queue = f"root.q{self.made // _MANY % 3}"
            body = pod_manifest(name, queue=queue, app=of, cpu="1", seconds=seconds)
            self.api.create(PODS, body)
            names.append(name)
        return names

    def pod(self, name: str) -> Object:
        """Return a pod."""
        found: Object = self.api.get(f"{PODS}/{name}")
        return found

    def node_of(self, name: str) -> str:
        """Return the node of a pod, "" if it has none."""
        return str(self.pod(name)["spec"].get("nodeName", ""))

    def delete(self, *names: str) -> None:
        """Delete pods at once."""
        for name in names:
            self.api.delete(f"{PODS}/{name}", gracePeriodSeconds=0)

    def until(self, what: str, done: Callable[[], Any]) -> None:
        """Wait until something is so."""
        wait_until(what, done)
