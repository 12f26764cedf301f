"""The tutorial's commands do what the page says, on each server."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda_kubernetes.testing import binaries
from tests.docs.examples import Block, blocks_of
from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.manifests import node_manifest
from tests.kubernetes.end_to_end.servers import Server

pytestmark = pytest.mark.kubernetes

PAGE = Path(__file__).resolve().parents[3] / "docs/tutorials/kubernetes.md"
SECONDS = 200


class Reader:
    """Saves the page's files and types its kubectl commands."""

    def __init__(self, folder: Path, kubeconfig: Path, kubectl: Path) -> None:
        self._folder = folder
        path = f"{kubectl.parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {
            **os.environ,
            "PATH": path,
            "KUBECONFIG": str(kubeconfig),
            "HOME": str(folder),
        }
        self.told: list[tuple[str, str]] = []

    def follow(self, block: Block) -> None:
        if block.note == "file":
            (self._folder / block.value).write_text(block.text)
        elif block.language == "sh":
            for line in block.text.splitlines():
                if line.startswith("kubectl "):
                    self.told.append((line, self.run(line, f"line {block.line}: ")))

    def run(self, line: str, place: str = "") -> str:
        """Type one line; returns what it prints."""
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{place}{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def output(self, begin: str) -> str:
        """What the last command that begins so printed."""
        return next(text for line, text in reversed(self.told) if line.startswith(begin))


@pytest.fixture
def kubectl() -> Path:
    try:
        program = binaries.find().kubectl
    except binaries.BinariesMissingError as reason:
        pytest.skip(f"no kubectl: {reason}")
    if program is None:
        pytest.skip(f"no kubectl in {binaries.find().folder}")
    return program


@pytest.fixture
def cluster(server: Server, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(server, tmp_path) as made:
        for number in (1, 2, 3):
            made.api.create("/api/v1/nodes", node_manifest(f"n{number}"))
        yield made


def test_the_tutorial_does_what_it_says(cluster: Cluster, kubectl: Path, tmp_path: Path) -> None:
    # The page makes the ConfigMap itself.
    cluster.api.delete("/api/v1/namespaces/yunikorn/configmaps/yunikorn-configs")
    reader = Reader(tmp_path, cluster.server.kubeconfig, kubectl)
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
