"""What the how-tos have readers do on a cluster, done on an API server of tests where it can be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.docs.examples import Block, blocks_of
from tests.e2e.serving import run_remuda
from tests.kubernetes.end_to_end import sound
from tests.kubernetes.end_to_end.calls import Api
from tests.kubernetes.end_to_end.servers import FakeServer

HOW_TO: Final = Path(__file__).resolve().parents[2] / "docs/how-to"
CHECK: Final = HOW_TO / "check-a-cluster.md"
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
