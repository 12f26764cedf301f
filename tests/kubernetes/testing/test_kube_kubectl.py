"""kubectl understands the server: discovery, tables, describe, events, apply, drain."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.testing.settings import Settings
from tests.kubernetes.testing.calls import NODES, PODS, Calls, pod

KUBECTL: Final = shutil.which("kubectl")
pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")
SECONDS: Final = 300


class Kubectl:
    """kubectl with its own configuration and cache."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self._file = server.write_kubeconfig(folder / "kubeconfig")
        self._home = folder

    def __call__(self, *arguments: str, text: str | None = None) -> str:
        """Run and return what it prints; it must succeed."""
        done = subprocess.run(
            [str(KUBECTL), f"--kubeconfig={self._file}", f"--cache-dir={self._home}", *arguments],
            capture_output=True,
            text=True,
            input=text,
            timeout=SECONDS,
            check=False,
            env={"HOME": str(self._home), "PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(name="kubectl")
def _kubectl(server: ApiServer, tmp_path: Path) -> Kubectl:
    return Kubectl(server, tmp_path)


READY: Final = [{"type": "Ready", "status": "True"}]


def node(name: str) -> dict[str, object]:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": READY}
    return {"kind": "Node", "metadata": {"name": name}, "spec": {}, "status": status}


def test_pods_and_nodes_are_listed(server: ApiServer, calls: Calls, kubectl: Kubectl) -> None:
    server.load([node("n1")])
    calls.made(PODS, pod("a"))
    lines = kubectl("get", "pods", "-o", "wide").splitlines()
    assert lines[0].split()[:5] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert lines[1].split()[:4] == ["a", "0/1", "Pending", "0"]
    assert kubectl("get", "nodes").splitlines()[1].split()[:2] == ["n1", "Ready"]
    assert kubectl("get", "pods", "-A", "-o", "name").split() == ["pod/a"]


def test_a_pod_is_described_with_its_events(calls: Calls, kubectl: Kubectl) -> None:
    made = calls.made(PODS, pod("a"))
    regarding = {
        "kind": "Pod",
        "namespace": "default",
        "name": "a",
        "uid": made["metadata"]["uid"],
        "apiVersion": "v1",
    }
    event = {
        "metadata": {"name": "a.1"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "regarding": regarding,
        "reason": "FailedScheduling",
        "note": "no node has room",
        "type": "Warning",
        "reportingController": "remuda",
        "reportingInstance": "remuda-0",
        "action": "Scheduling",
    }
    calls.made("/apis/events.k8s.io/v1/namespaces/default/events", event)
    shown = kubectl("describe", "pod", "a")
    assert "FailedScheduling" in shown
    assert "no node has room" in shown
    assert "no node has room" in kubectl("get", "events")


def test_objects_are_applied_changed_and_deleted(calls: Calls, kubectl: Kubectl) -> None:
    text = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default}
data: {x: "1"}
"""
    assert "created" in kubectl("apply", "-f", "-", text=text)
    assert "configured" in kubectl("apply", "-f", "-", text=text.replace('"1"', '"2"'))
    assert "serverside-applied" in kubectl(
        "apply", "--server-side", "--force-conflicts", "-f", "-", text=text
    )
    assert calls.get("/api/v1/namespaces/default/configmaps/a")[1]["data"] == {"x": "1"}
    kubectl("label", "configmap", "a", "team=b")
    assert kubectl("get", "configmap", "-l", "team=b", "-o", "name").split() == ["configmap/a"]
    kubectl("delete", "configmap", "a")
    assert calls.get("/api/v1/namespaces/default/configmaps/a")[0] == 404


@pytest.mark.parametrize("minor", [20, 32])
def test_a_node_is_drained(tmp_path: Path, minor: int) -> None:
    with ApiServer(Settings(minor=minor)) as server, Calls(server.address) as calls:
        server.load([node("n1")])
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "1"}
        body = pod("a", node="n1", terminationGracePeriodSeconds=0)
        body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        calls.made(PODS, body)
        shown = Kubectl(server, tmp_path)("drain", "n1", "--timeout=120s")
        assert "evict" in shown
        assert calls.get(f"{PODS}/a")[0] == 404
        assert calls.get(f"{NODES}/n1")[1]["spec"]["unschedulable"] is True
