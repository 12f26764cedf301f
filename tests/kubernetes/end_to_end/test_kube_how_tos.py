"""The kubectl commands of the how-tos, typed in a cluster in which Remuda is installed.

The API server, kubectl, the controllers and the scheduler of the installation's own pods are those
of Kubernetes. The kubelets are hollow, so no program of ours runs in the pods.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from remuda_kubernetes.admission.webhooks import GROUP, NAME, PLURALS
from remuda_kubernetes.testing.hollow import HollowCluster
from remuda_kubernetes.testing.real import RealServer
from remuda_kubernetes.testing.scheduler import KubeScheduler, why_missing
from tests.docs.examples import blocks_of
from tests.kubernetes.end_to_end import sound
from tests.kubernetes.end_to_end.calls import Api, Refused
from tests.kubernetes.end_to_end.manifests import node_manifest, pod_manifest
from tests.kubernetes.end_to_end.objects import PODS
from tests.kubernetes.end_to_end.reading import Reader, kubectl_or_skip
from tests.waiting import wait

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.skipif(why_missing() != "", reason=f"no real cluster: {why_missing()}"),
]

ROOT: Final = Path(__file__).resolve().parents[3]
HOW_TO: Final = ROOT / "docs/how-to"
INSTALL: Final = HOW_TO / "install-on-kubernetes.md"
REMOVING: Final = "## Remove it"
CONTROLLERS: Final = ("deployment", "replicaset", "namespace", "garbagecollector")
# Servers since 1.21 know budgets by this version; the one before had the same fields.
BUDGETS: Final = ("policy/v1", "policy/v1beta1")
WORDS: Final = {"POD_OF_REMUDA": "none", "POD": "ours"}


class Cluster:
    """A cluster, and somebody who reads pages."""

    def __init__(self, server: RealServer, folder: Path) -> None:
        self.folder = folder
        self.reader = Reader(folder, server.kubeconfig, kubectl_or_skip(), WORDS)
        self.known = self.reader.run("kubectl api-versions").split()

    def install(self) -> None:
        """Follow the how-to, until it says how to remove all again."""
        shutil.copytree(ROOT / "deploy", self.folder / "deploy")
        end = INSTALL.read_text().partition(REMOVING)[0].count("\n")
        for block in [each for each in blocks_of(INSTALL) if each.line <= end]:
            for line in block.text.splitlines():
                if line.startswith("remuda kubernetes manifests"):
                    self.reader.remuda(line)
            for path in (self.folder / "remuda.yaml", *self.folder.rglob("deploy/**/*.yaml")):
                self._for_server(path)
            self.reader.follow(block)

    def remove(self) -> None:
        """Follow the rest of the how-to."""
        end = INSTALL.read_text().partition(REMOVING)[0].count("\n")
        for block in [each for each in blocks_of(INSTALL) if each.line > end]:
            self.reader.follow(block)

    def _for_server(self, path: Path) -> None:
        """Name budgets as the server knows them."""
        newest, older = BUDGETS
        if path.exists() and newest not in self.known:
            text = path.read_text()
            path.write_text(text.replace(f"apiVersion: {newest}\n", f"apiVersion: {older}\n"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    folder = tmp_path_factory.mktemp("how-tos")
    nodes = [node_manifest(f"n{number}", memory="32Gi") for number in (1, 2)]
    with (
        RealServer(folder, controllers=CONTROLLERS) as running,
        HollowCluster(running.kubeconfig, nodes=nodes, controllers=("nodes",)),
        KubeScheduler(running.kubeconfig, folder),
    ):
        yield running


@pytest.fixture
def cluster(server: RealServer, tmp_path: Path) -> Iterator[Cluster]:
    """Remuda is installed, with a pod that waits; afterwards it is removed, as the page says."""
    made = Cluster(server, tmp_path)
    with Api(server.kubeconfig) as api:
        made.install()
        api.create(PODS, pod_manifest("ours", queue="root.a", app="a"))
        labels = {"remuda/placeholder": "true"}
        api.create(PODS, pod_manifest("tg-1", queue="root.a", app="a", labels=labels))
        sound.hold(api, 0.0)
        register(api)
        yield made
        register(api)
        made.remove()
        wait(lambda: made.reader.run("kubectl get pods -A -o name").split() == ["pod/ours"])
        made.reader.run("kubectl delete pod ours --wait=false --grace-period=0 --force")
    left = "clusterroles,clusterrolebindings,priorityclasses,mutatingwebhookconfigurations"
    assert "remuda" not in made.reader.run(f"kubectl get {left},namespaces -o name")


def register(api: Api) -> None:
    """Make the configurations of the admission controller, which asks nobody here."""
    for plural, kind in PLURALS.items():
        body = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": NAME}, "webhooks": []}
        with suppress(Refused):
            api.create(f"/apis/{GROUP}/{plural}", body)


def test_the_commands_of_installing_and_finding_out_what_is_wrong_work(cluster: Cluster) -> None:
    rolled = [told for line, told in cluster.reader.told if " rollout status " in line]
    assert [told.count("successfully rolled out") for told in rolled] == [1, 1]
    page = HOW_TO / "find-out-what-is-wrong-on-kubernetes.md"
    for block in blocks_of(page):
        cluster.reader.follow(block)
    typed = re.findall(r"`(kubectl [^`]+)`", " ".join(page.read_text().split()))
    assert len(typed) >= 7
    for line in typed:
        cluster.reader.type(line)
    assert "Node:" in cluster.reader.output("kubectl describe pod ours")
    assert cluster.reader.output("kubectl get pod ours -o jsonpath") == "yunikorn"
    assert "tg-1" in cluster.reader.output("kubectl get pods --selector remuda/placeholder")
    assert "renewTime" in cluster.reader.output("kubectl -n yunikorn get lease")
    gone = cluster.reader.output("kubectl delete mutatingwebhookconfigurations")
    assert "deleted" in gone


def test_the_commands_of_admission_and_of_a_shadow_work(cluster: Cluster) -> None:
    for name in ("check-pods-at-admission.md", "shadow-a-cluster.md"):
        for block in blocks_of(HOW_TO / name):
            cluster.reader.follow(block)
    scaled = cluster.reader.output("kubectl --namespace yunikorn scale")
    assert scaled == "deployment.apps/remuda-admission scaled\n"
    may = "kubectl auth can-i list pods --as=system:serviceaccount:yunikorn:remuda-shadow"
    assert cluster.reader.run(may) == "yes\n"
    cluster.reader.run("kubectl delete -f shadow.yaml")
