"""The tutorial's commands do what the page says, on each server."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.examples import blocks_of
from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.manifests import node_manifest
from tests.kubernetes.end_to_end.reading import Reader, kubectl_or_skip
from tests.kubernetes.end_to_end.servers import Server

pytestmark = pytest.mark.kubernetes

PAGE = Path(__file__).resolve().parents[3] / "docs/tutorials/kubernetes.md"


@pytest.fixture
def cluster(server: Server, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(server, tmp_path) as made:
        for number in (1, 2, 3):
            made.api.create("/api/v1/nodes", node_manifest(f"n{number}"))
        yield made


def test_the_tutorial_does_what_it_says(cluster: Cluster, tmp_path: Path) -> None:
    # The page makes the ConfigMap itself.
    cluster.api.delete("/api/v1/namespaces/yunikorn/configmaps/yunikorn-configs")
    reader = Reader(tmp_path, cluster.server.kubeconfig, kubectl_or_skip())
    try:
        for block in blocks_of(PAGE):
            reader.follow(block)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        raise AssertionError(f"{error}\n{cluster.describe('team')}") from None
    # An event of an object of the whole cluster: old servers take it in one namespace only.
    node = reader.run("kubectl describe node n2")
    assert "NodeAccepted" in node, node
    described = reader.output("kubectl describe pod")
    assert "FailedScheduling" in described
    assert "root.team" in described
    placed = reader.output("kubectl get pods --namespace team --output wide")
    workers = [line for line in placed.splitlines() if line.startswith("train")]
    assert len(workers) >= 3, placed
    assert re.search(r"^large\s", placed, re.MULTILINE)
