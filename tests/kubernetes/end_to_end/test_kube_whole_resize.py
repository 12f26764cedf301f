"""Running pods that want more or less than they were given (in-place resize).

Source: the documentation of Kubernetes, "Resize CPU and Memory Resources assigned to Containers".
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda_kubernetes.testing.kubelet import hollow_node
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.servers import Server
from tests.kubernetes.end_to_end.spaces import Space


@pytest.fixture(scope="module")
def cluster(empty_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with one node of 2 cores, whose kubelet knows its room."""
    with Api(empty_server.kubeconfig) as api:
        resources = {each["name"] for each in api.get("/api/v1")["resources"]}
        if "pods/resize" not in resources:
            version = api.get("/version")["gitVersion"]
            pytest.skip(f"the server is {version}; pods can be resized in place since 1.33")
    nodes = [hollow_node("n1", cpu="2", memory="4Gi")]
    with Cluster(empty_server, tmp_path_factory.mktemp("cluster"), nodes=nodes) as running:
        yield running


def resize(space: Space, name: str, cpu: str) -> None:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}]
    space.api.strategic(f"{space.pods}/{name}/resize", {"spec": {"containers": containers}})


def counts(space: Space, app: str, vcore: int) -> bool:
    found = space.application(app)
    if found is None or len(found["allocations"]) != 1:
        return False
    return bool(found["allocations"][0]["resource"]["vcore"] == vcore)


def test_a_pod_that_grows(space: Space) -> None:
    space.pod("p1", cpu="500m")
    space.running("p1")
    space.until("it counts as it is", lambda: counts(space, "p1", 500))
    resize(space, "p1", "1500m")
    space.until("it counts as it will be", lambda: counts(space, "p1", 1500))
    # There is no room for both any more.
    space.pod("p2", cpu="600m")
    space.waiting("p2", "cpu")


def test_a_pod_that_shrinks(space: Space) -> None:
    space.pod("p1", cpu="1500m")
    space.running("p1")
    space.pod("p2", cpu="1")
    space.waiting("p2", "cpu")
    resize(space, "p1", "500m")
    space.running("p2")
    assert counts(space, "p1", 500)
    used = (space.cluster.queue(space.queue) or {})["allocatedResource"]
    assert used["vcore"] == 1500


def test_a_pod_that_would_be_too_large(space: Space) -> None:
    space.pod("p1", cpu="500m")
    space.running("p1")
    resize(space, "p1", "8")
    space.until(
        "its kubelet refuses",
        lambda: (space.get("p1") or {})["status"].get("resize") == "Infeasible",
    )
    space.until("it counts as it is", lambda: counts(space, "p1", 500))
    space.pod("p2", cpu="1")
    space.running("p2")
