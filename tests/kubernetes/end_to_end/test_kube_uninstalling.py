"""An installation that worked is removed as the manual says: nothing of it is left.

The manual: docs/how-to/install-on-kubernetes.md, "Remove it".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from remuda_kubernetes.packaging.objects import included
from remuda_kubernetes.packaging.values import Values
from tests.kubernetes.end_to_end.admitting import CONFIGURATIONS, PLURALS, Controller
from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.kubernetes.end_to_end.clearing import objects
from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.manifests import gang, task_group
from tests.kubernetes.end_to_end.objects import Object
from tests.kubernetes.end_to_end.servers import Server
from tests.kubernetes.end_to_end.spaces import Space

HOW_TO: Final = Path(__file__).resolve().parents[3] / "docs/how-to/install-on-kubernetes.md"
NAMESPACE: Final = "yunikorn"
PLACEHOLDERS: Final = "remuda/placeholder=true"
# The cluster of the test makes these two itself.
_MADE: Final = frozenset({"ConfigMap", "Namespace"})


def plural_of(api: Api, each: Object) -> str | None:
    """The collection of an object of the installation, None if the server has none for it."""
    version = each["apiVersion"]
    served = {
        found["groupVersion"] for group in api.get("/apis")["groups"] for found in group["versions"]
    }
    if "/" in version and version not in served:
        return None
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    for resource in api.get(base)["resources"]:
        if resource["kind"] == each["kind"] and "/" not in resource["name"]:
            space = each["metadata"].get("namespace")
            within = f"/namespaces/{space}" if space else ""
            return f"{base}{within}/{resource['name']}"
    return None


def installed(api: Api) -> list[str]:
    """Create the objects of an installation; return their paths."""
    paths = []
    for each in included(Values(), NAMESPACE):
        collection = plural_of(api, each)
        if each["kind"] in _MADE or collection is None:
            continue
        api.create(collection, each)
        paths.append(f"{collection}/{each['metadata']['name']}")
    return paths


def left(api: Api, kept: dict[str, str]) -> set[str]:
    """Paths of objects that were not there before, but for events, which end by themselves."""
    return {
        path for uid, path in objects(api).items() if uid not in kept and "/events/" not in path
    }


def worked(space: Space) -> None:
    """Have it run a pod, hold room for half a gang, and leave a pod of others alone."""
    space.node("n1", cpu="2")
    space.pod("runs", cpu="500m")
    space.running("runs")
    space.pod("driver", cpu="500m", annotations=gang(task_group("workers", 3, cpu="700m")))
    space.pod("others", cpu="100m", scheduler="another-scheduler")

    def holds_room() -> bool:
        return any(pod["spec"].get("nodeName") for pod in space.placeholders())

    space.until("a placeholder has a node", holds_room)
    assert len(space.placeholders()) == 3
    assert space.node_of("driver") == ""
    # Nobody but its own scheduler may bind it or say anything about it.
    assert space.node_of("others") == ""
    assert not (space.get("others") or {})["status"].get("conditions")


@pytest.fixture
def cluster(server: Server, tmp_path: Path) -> Cluster:
    """A cluster whose shim has a lease, as an installed one."""
    return Cluster(server, tmp_path, options=("--leader-elect",))


@pytest.mark.remuda_rule("EXT-144")
def test_nothing_is_left_of_an_installation_that_worked(
    server: Server, cluster: Cluster, tmp_path: Path
) -> None:
    with Api(server.kubeconfig) as api, cluster:
        api.delete(f"/api/v1/namespaces/{NAMESPACE}/configmaps/yunikorn-configs")
        users = objects(api)
        # Only pods that name the scheduler are its own in this namespace.
        annotations = {"yunikorn.apache.org/namespace.enableYuniKorn": "false"}
        team = {"metadata": {"name": "team", "annotations": annotations}}
        api.create("/api/v1/namespaces", team)
        space = Space(cluster, "team")
        with Controller(server.kubeconfig, tmp_path / "admission.log") as controller:
            paths = installed(api)
            controller.start()
            worked(space)
            made = {path for path in left(api, users) if "/namespaces/team/" not in path}
            for part in ("/leases/remuda-", "/secrets/remuda-admission", *PLURALS):
                assert any(part in path for path in made), part
            remove(api, paths, cluster, controller)
            space.until("its namespace is gone", lambda: gone(api))
            check_users_objects(api, users, space)


def remove(api: Api, paths: list[str], cluster: Cluster, controller: Controller) -> None:
    """Remove it by what the manual says; the processes are those of the two deployments."""
    cluster.shim.kill()
    controller.kill()
    for path in paths:
        api.delete(path)
    for plural in PLURALS:
        api.delete(f"{CONFIGURATIONS}/{plural}/remuda-admission")
    for pod in api.get("/api/v1/pods", labelSelector=PLACEHOLDERS)["items"]:
        metadata = pod["metadata"]
        api.delete(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}")
    api.delete(f"/api/v1/namespaces/{NAMESPACE}")


def gone(api: Api) -> bool:
    try:
        api.get(f"/api/v1/namespaces/{NAMESPACE}")
    except Refused as refused:
        return refused.code == 404
    return False


def check_users_objects(api: Api, users: dict[str, str], space: Space) -> None:
    """Check that only what users made is there, and that nothing of ours holds it."""
    expected = {"runs", "driver", "others"}
    space.until(
        "the placeholders are gone",
        lambda: {pod["metadata"]["name"] for pod in space.all()} == expected,
    )
    found = {path for path in left(api, users) if "/namespaces/team/" not in path}
    # The hollow kubelet has a lease for each node.
    found = {path for path in found if not path.endswith("/leases/n1")}
    assert found == {"/api/v1/namespaces/team", "/api/v1/nodes/n1"}
    for pod in space.all():
        metadata: dict[str, Any] = pod["metadata"]
        assert not metadata.get("finalizers")
        assert not metadata.get("ownerReferences")
        conditions = {each["type"] for each in pod["status"].get("conditions") or ()}
        assert conditions <= {"PodScheduled", "Initialized", "Ready", "ContainersReady"}
    # Pods are created as before: no webhook stands in the way.
    space.pod("after", scheduler="default-scheduler")
    assert (space.get("after") or {})["spec"]["schedulerName"] == "default-scheduler"


def test_the_manual_removes_what_the_test_removes() -> None:
    section = HOW_TO.read_text().partition("## Remove it")[2]
    commands = [line for line in section.splitlines() if line.startswith("kubectl delete")]
    assert commands == [
        "kubectl delete -f remuda.yaml",
        f"kubectl delete {','.join(PLURALS)} remuda-admission",
        f"kubectl delete pods --all-namespaces --selector {PLACEHOLDERS}",
        f"kubectl delete namespace {NAMESPACE}",
    ]
