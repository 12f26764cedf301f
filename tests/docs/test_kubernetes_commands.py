"""What the how-tos have readers do on a cluster, done on an API server of tests where it can be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

import pytest
import yaml

from remuda_kubernetes.packaging import rights
from tests.docs.examples import Block, blocks_of
from tests.e2e.serving import run_remuda
from tests.kubernetes.end_to_end import sound
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.reading import FOLLOWED
from tests.kubernetes.end_to_end.servers import FakeServer

HOW_TO: Final = Path(__file__).resolve().parents[2] / "docs/how-to"
CHECK: Final = HOW_TO / "check-a-cluster.md"
SHADOW: Final = HOW_TO / "shadow-a-cluster.md"
ADMISSION: Final = HOW_TO / "check-pods-at-admission.md"


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeServer]:
    """An API server with a sound installation."""
    with FakeServer(tmp_path) as server:
        with Api(server.kubeconfig) as api:
            sound.install(api)
        yield server


def blocks(page: Path, language: str) -> list[Block]:
    """The blocks of a page that need a cluster."""
    found = [
        each
        for each in blocks_of(page)
        if each.language == language and each.value == "needs a cluster"
    ]
    assert found
    return found


def test_all_commands_of_kubectl_are_typed_by_a_test() -> None:
    docs = HOW_TO.parent
    found = {
        (str(page.relative_to(docs)), block.value)
        for page in sorted(docs.rglob("*.md"))
        for block in blocks_of(page)
        if block.language == "sh" and re.search("^kubectl ", block.text, re.MULTILINE)
    }
    assert {page for page, _ in found} == FOLLOWED
    assert [value for _, value in found if "tests/kubernetes/end_to_end runs" not in value] == []


def test_a_cluster_is_checked_as_the_how_to_says(fake: FakeServer) -> None:
    lines = [line for block in blocks(CHECK, "sh") for line in block.text.splitlines()]
    assert len(lines) >= 2
    for line in lines:
        program, *arguments = line.split()
        assert program == "remuda"
        done = run_remuda(*arguments, KUBECONFIG=str(fake.kubeconfig))
        assert (done.returncode, done.stderr) == (0, ""), line
        assert done.stdout.startswith("Kubernetes v")
        assert "0 errors, 0 warnings, " in done.stdout


def test_a_cluster_is_shadowed_as_the_how_to_says(fake: FakeServer, tmp_path: Path) -> None:
    files = {each.value: each.text for each in blocks_of(SHADOW) if each.note == "file"}
    queues = tmp_path / "queues.yaml"
    queues.write_text(files["queues.yaml"])
    lines = [line for block in blocks(SHADOW, "sh") for line in block.text.splitlines()]
    assert len(lines) == 3

    def run(line: str) -> CompletedProcess[str]:
        program, *arguments = line.replace("queues.yaml", str(queues)).split()
        assert program == "remuda"
        # Who follows the page waits for ten minutes; its port may be taken here.
        assert arguments[-1] == "10m"
        arguments[-1:] = ["500ms", "--http-address", "127.0.0.1:0"]
        return run_remuda(*arguments, KUBECONFIG=str(fake.kubeconfig))

    with ThreadPoolExecutor() as together:
        for done in together.map(run, lines):
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith("Kubernetes v")
            assert "no pods compared" in done.stdout


def test_the_rights_of_a_shadow_are_those_that_are_tested() -> None:
    files = {each.value: each.text for each in blocks_of(SHADOW) if each.note == "file"}
    assert list(yaml.safe_load_all(files["shadow.yaml"])) == rights.shadow("yunikorn")


def test_the_settings_of_the_admission_controller_are_known_and_readable(
    fake: FakeServer,
) -> None:
    with Api(fake.kubeconfig) as api:
        for block in blocks(ADMISSION, "yaml"):
            data = yaml.safe_load(block.text)["data"]
            api.merge(f"{sound.MAPS}/yunikorn-configs", {"data": data})
    done = run_remuda("kubernetes", "doctor", KUBECONFIG=str(fake.kubeconfig))
    assert done.returncode == 0
    assert "configuration" not in done.stdout
