"""How much is written for a pod that is placed at once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from remuda_kubernetes.testing.faults import Call
from remuda_kubernetes.testing.kubelet import hollow_node
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.cluster import CONFIG, NAMESPACE, QUEUES
from tests.kubernetes.end_to_end.grounds import wait_until
from tests.kubernetes.end_to_end.manifests import pod_manifest
from tests.kubernetes.end_to_end.objects import PODS
from tests.kubernetes.end_to_end.replicas import ShimReplica
from tests.kubernetes.end_to_end.servers import FakeServer

PLACED = 20
READS = {"", "get", "list", "watch"}


def test_a_pod_that_is_placed_at_once_costs_a_binding_and_three_events(tmp_path: Path) -> None:
    written: Counter[str] = Counter()

    def hear(call: Call) -> float:
        if call.verb not in READS:
            written[f"{call.verb} {call.resource}/{call.subresource}".rstrip("/")] += 1
        return 0.0

    config = {"name": CONFIG, "namespace": NAMESPACE}
    spaces = [{"kind": "Namespace", "metadata": {"name": name}} for name in ("default", NAMESPACE)]
    maps = [{"kind": "ConfigMap", "metadata": config, "data": {"queues.yaml": QUEUES}}]
    nodes = [{"kind": "Node", **hollow_node(name, cpu="64")} for name in ("n1", "n2")]
    with FakeServer(tmp_path) as server:
        server.inner.load([{"apiVersion": "v1", **each} for each in (*spaces, *maps, *nodes)])
        with (
            Api(server.kubeconfig) as api,
            ShimReplica(server.kubeconfig, tmp_path / "log") as replica,
        ):
            replica.start()
            wait_until("both nodes are told", lambda: len(server.inner.objects("events")) == 2)
            server.inner.faults.latency_of = hear
            for number in range(PLACED):
                api.create(PODS, pod_manifest(f"p{number}", queue="root.q", app="app", cpu="1"))
            wait_until("all is told", lambda: written["create events"] >= 3 * PLACED)
            # What is late comes before the next pod is bound.
            api.create(PODS, pod_manifest("last", queue="root.q", app="app", cpu="1"))
            wait_until("all is told", lambda: written["create events"] >= 3 * (PLACED + 1))
    total = PLACED + 1
    assert written == {
        "create pods": total,
        "create pods/binding": total,
        "create events": 3 * total,
    }
