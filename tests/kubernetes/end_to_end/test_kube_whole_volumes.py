"""Pods with volumes: a local one that exists, and one that is made where the pod will run."""

from __future__ import annotations

from tests.kubernetes.end_to_end.manifests import HOST
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.spaces import Space

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
VOLUMES = "/api/v1/persistentvolumes"
SELECTED = "volume.kubernetes.io/selected-node"


def claims(space: Space) -> str:
    return f"/api/v1/namespaces/{space.name}/persistentvolumeclaims"


def storage_class(space: Space, name: str, provisioner: str) -> None:
    body = {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    space.create(CLASSES, body)


def claim(space: Space, name: str, storage_class: str) -> None:
    spec = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    space.create(claims(space), {"metadata": {"name": name}, "spec": spec})


def pod_with(space: Space, name: str, claimed: str) -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claimed}}
    space.pod(name, spec={"volumes": [volume]})


def bound(space: Space, name: str) -> Object | None:
    found: Object = space.api.get(f"{claims(space)}/{name}")
    return found if found["status"].get("phase") == "Bound" else None


def test_a_local_volume_that_exists_decides_the_node(space: Space) -> None:
    for name in ("n1", "n2", "n3"):
        space.node(name)
    storage_class(space, "local", "kubernetes.io/no-provisioner")
    expression = {"key": HOST, "operator": "In", "values": ["n2"]}
    terms = [{"matchExpressions": [expression]}]
    spec = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "local": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    space.create(VOLUMES, {"metadata": {"name": "disk"}, "spec": spec})
    claim(space, "data", "local")
    pod_with(space, "p1", "data")
    space.running("p1")
    assert space.node_of("p1") == "n2"
    found = bound(space, "data")
    assert found is not None
    assert found["spec"]["volumeName"] == "disk"


def test_a_volume_is_made_on_the_node_that_was_chosen(space: Space) -> None:
    space.node("n1")
    space.node("n2")
    # The hollow volume controller makes volumes as soon as the scheduler has chosen a node.
    storage_class(space, "made", "maker.test.example")
    claim(space, "data", "made")
    assert bound(space, "data") is None
    pod_with(space, "p1", "data")
    space.running("p1")
    found = bound(space, "data")
    assert found is not None
    assert found["metadata"]["annotations"][SELECTED] == space.node_of("p1")
    volume = space.api.get(f"{VOLUMES}/{found['spec']['volumeName']}")
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == [space.node_of("p1")]
    space.api.delete(f"{VOLUMES}/{volume['metadata']['name']}")
