"""Fifty thousand pods and five thousand nodes are read in bounded time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.serving import environment

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = (sys.executable, "-m", "tests.kubernetes.api.crowd")
PODS, NODES = 50_000, 5_000


@pytest.mark.timed
def test_a_large_cluster_is_synced_in_10_seconds_and_400_megabytes() -> None:
    """Processor time stands for time: on a busy machine other programs take the rest."""
    server = subprocess.Popen(
        [*PROGRAM, "serve", str(PODS), str(NODES)],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        found = subprocess.run(
            [*PROGRAM, "sync", url],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
    finally:
        server.kill()
        server.communicate()
    figures = json.loads(found.stdout)
    assert figures["objects"] == PODS + NODES
    assert figures["seconds"] < 10.0
    assert figures["megabytes"] < 400.0
