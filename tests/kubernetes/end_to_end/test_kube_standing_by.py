"""A replica that stands by knows all objects, writes nothing, and begins without a new list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from remuda_kubernetes.testing.faults import Call
from remuda_kubernetes.testing.kubelet import hollow_node
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.cluster import CONFIG, NAMESPACE, QUEUES
from tests.kubernetes.end_to_end.grounds import wait_until
from tests.kubernetes.end_to_end.manifests import pod_manifest
from tests.kubernetes.end_to_end.objects import EVENTS, PODS, Object
from tests.kubernetes.end_to_end.replicas import ShimReplica
from tests.kubernetes.end_to_end.servers import FakeServer

LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/remuda-kubernetes"
READS: Final = {"", "get", "list", "watch"}
ODD: Final = "involvedObject.name=odd"


class Standby:
    """A server on which another replica leads, and a replica that stands by.

    ``asked``: how often the server was asked what, by verb and resource; ``of_lease``: the verbs
    of the calls about leases, in order.
    """

    def __init__(self, server: FakeServer, api: Api, replica: ShimReplica) -> None:
        self.server = server.inner
        self.api = api
        self.replica = replica
        self.asked: Counter[tuple[str, str]] = Counter()
        self.of_lease: list[str] = []
        self.server.faults.latency_of = self._hear

    def _hear(self, call: Call) -> float:
        self.asked[call.verb, call.resource] += 1
        if call.resource == "leases":
            self.of_lease.append(call.verb)
        return 0.0

    def known(self, kind: str) -> int:
        return int(self.replica.state()["objects"][kind])

    def figure(self, name: str) -> float:
        text = httpx2.get(f"http://{self.replica.addresses[0]}/metrics").text
        found = re.search(rf"^remuda_kubernetes_{re.escape(name)} (\S+)$", text, re.MULTILINE)
        assert found is not None, text
        return float(found.group(1))

    def node_of(self, name: str) -> str:
        return str(self.api.get(f"{PODS}/{name}")["spec"].get("nodeName", ""))

    def give_back(self) -> None:
        """Let the leader end: its lease is given back."""
        found = self.api.get(LEASE)
        found["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
        self.api.replace(LEASE, found)

    def until(self, what: str, done: Callable[[], Any]) -> None:
        wait_until(what, done)


def pod(number: int) -> Object:
    made = pod_manifest(f"p{number}", queue="root.q", app="app", cpu="1")
    return {"apiVersion": "v1", "kind": "Pod", **made}


def objects() -> Iterator[Object]:
    """Yield two nodes, three pods, a capacity that nobody can read, and the lease of another."""
    for name in ("default", NAMESPACE):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    config = {"name": CONFIG, "namespace": NAMESPACE}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": config,
        "data": {"queues.yaml": QUEUES},
    }
    for name in ("n1", "n2"):
        yield {"apiVersion": "v1", "kind": "Node", **hollow_node(name, cpu="4")}
    yield {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "odd", "namespace": "default"},
        "storageClassName": "fast",
        "capacity": "plenty",
    }
    for number in range(3):
        each = pod(number)
        each["metadata"]["namespace"] = "default"
        yield each
    yield {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "remuda-kubernetes", "namespace": NAMESPACE},
        "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600},
    }


@pytest.fixture
def standby(tmp_path: Path) -> Iterator[Standby]:
    with FakeServer(tmp_path) as server:
        server.inner.load(list(objects()))
        with (
            Api(server.kubeconfig) as api,
            ShimReplica(server.kubeconfig, tmp_path / "log", "--leader-elect") as replica,
        ):
            found = Standby(server, api, replica)
            replica.start()
            yield found


def test_it_keeps_up_with_the_objects_and_writes_nothing(standby: Standby) -> None:
    assert standby.replica.ready() == "standing by"
    assert standby.figure("leads") == 0
    assert (standby.known("Node"), standby.known("Pod")) == (2, 3)
    standby.api.create(PODS, pod(3))
    standby.until("it knows the new pod", lambda: standby.known("Pod") == 4)
    standby.api.delete(f"{PODS}/p0", gracePeriodSeconds=0)
    standby.until("it knows that one has gone", lambda: standby.known("Pod") == 3)
    looked = standby.asked["get", "leases"]
    standby.until("it looks again", lambda: standby.asked["get", "leases"] >= looked + 3)
    written = {each for each in standby.asked if each[0] not in READS}
    # Those of the test.
    assert written == {("create", "pods"), ("delete", "pods")}
    assert standby.api.get(EVENTS)["items"] == []


def test_it_begins_from_what_it_knows_and_tells_what_it_kept_back(standby: Standby) -> None:
    names = [f"p{number}" for number in range(3)]
    standby.give_back()
    standby.until("it binds", lambda: all(standby.node_of(name) for name in names))
    assert standby.figure("leads") == 1
    assert standby.replica.ready() == "ok"
    # It opened each watch twice, the second time when it held the lease, and listed once.
    assert standby.asked["list", "pods"] == standby.asked["list", "nodes"] == 1
    assert standby.asked["watch", "pods"] == standby.asked["watch", "nodes"] == 2
    # The first write is the one that gave it back; it is taken at the first look after that.
    given = standby.of_lease.index("update")
    assert standby.of_lease[given + 1 : given + 3] in (["get", "update"], ["update", "update"])
    spec = standby.api.get(LEASE)["spec"]
    assert spec["leaseTransitions"] == 1

    def told() -> set[str]:
        return {each["reason"] for each in standby.api.get(EVENTS, fieldSelector=ODD)["items"]}

    standby.until("the odd capacity is told", lambda: told() == {"InvalidMetadata"})


def test_what_its_watches_missed_is_known_before_it_places_anything(standby: Standby) -> None:
    faults = standby.server.faults
    faults.hold_watches()
    for number, name in enumerate(("n1", "n2")):
        # The leader fills the nodes; the watches of this replica are silent.
        last = f"last{number}"
        standby.api.create(PODS, pod_manifest(last, queue="root.q", app="last", cpu="4"))
        body = {"metadata": {"name": last}, "target": {"kind": "Node", "name": name}}
        standby.api.create(f"{PODS}/{last}/binding", body)
    standby.server.settle()
    # New watches tell all; those that are open stay silent until the next change.
    faults.stale = False
    assert standby.known("Pod") == 3
    standby.give_back()

    def waits(name: str) -> bool:
        found = standby.api.get(f"{PODS}/{name}")["status"].get("conditions") or ()
        return any("Insufficient cpu" in each.get("message", "") for each in found)

    names = [f"p{number}" for number in range(3)]
    standby.until("it has found no room", lambda: all(waits(name) for name in names))
    assert [standby.node_of(name) for name in names] == ["", "", ""]
