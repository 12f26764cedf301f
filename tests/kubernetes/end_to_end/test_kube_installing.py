"""A real API server takes what installs remuda, keeps it when asked again, and lets it go."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from remuda_kubernetes.packaging.objects import included
from remuda_kubernetes.packaging.text import yaml_text
from remuda_kubernetes.packaging.values import Admission, Switch, Values
from remuda_kubernetes.testing import binaries
from remuda_kubernetes.testing.real import RealServer

pytestmark = pytest.mark.kubernetes

BASE = Path(__file__).resolve().parents[3] / "deploy/kubernetes"
# Servers from 1.21 on know budgets by this version; the one before had the same fields.
BUDGETS = ("policy/v1", "policy/v1beta1")


class Kubectl:
    """kubectl with a server of its own, which is new."""

    def __init__(self, program: Path, server: RealServer, home: Path) -> None:
        self._command = [str(program), "--kubeconfig", str(server.kubeconfig)]
        self._environment = {**os.environ, "HOME": str(home)}

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*self._command, *arguments],
            input=stdin,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    if reason := binaries.missing():
        pytest.skip(f"no real API server: {reason}")
    program = binaries.find().kubectl
    if program is None:
        pytest.skip(f"no kubectl in {binaries.find().folder}")
    folder = tmp_path_factory.mktemp("installing")
    with RealServer(folder) as server:
        yield Kubectl(program, server, folder)


def for_server(kubectl: Kubectl, text: str) -> str:
    """The manifests, with budgets of the version that the server knows."""
    known = kubectl("api-versions").split()
    newest, older = BUDGETS
    if newest in known:
        return text
    return text.replace(f"apiVersion: {newest}\n", f"apiVersion: {older}\n")


def lines(output: str) -> dict[str, str]:
    """What kubectl says of each object."""
    return dict(line.split(" ", 1) for line in output.splitlines())


def test_kustomize_builds_the_base(kubectl: Kubectl) -> None:
    found = list(yaml.safe_load_all(kubectl("kustomize", str(BASE))))
    assert len(found) == len(included(Values(), "yunikorn")) + 1
    assert found[0]["kind"] == "Namespace"


@pytest.mark.parametrize("admission", [True, False])
def test_what_is_installed_is_taken_stays_and_goes(kubectl: Kubectl, *, admission: bool) -> None:
    space = f"batch-{admission}".lower()
    values = Values(
        admission=Admission(enabled=admission),
        dashboards=Switch(enabled=True),
        service_monitor=Switch(enabled=False),
    )
    text = for_server(kubectl, yaml_text(included(values, space)))
    kubectl("create", "namespace", space)
    count = len(included(values, space))
    tried = lines(kubectl("apply", "--dry-run=server", "-f", "-", stdin=text))
    assert len(tried) == count
    assert set(tried.values()) == {"created (server dry run)"}
    done = lines(kubectl("apply", "-f", "-", stdin=text))
    assert done.keys() == tried.keys()
    assert set(done.values()) == {"created"}
    again = lines(kubectl("apply", "-f", "-", stdin=text))
    assert {name: told for name, told in again.items() if told != "unchanged"} == {}
    kubectl("delete", "-f", "-", stdin=text)
    kubectl("delete", "--wait=false", "namespace", space)
    left = kubectl("get", "clusterroles,clusterrolebindings,priorityclasses", "-o", "name")
    assert "remuda" not in left
