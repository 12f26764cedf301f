from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from remuda_kubernetes.api.connection import Connection
from remuda_kubernetes.run import _first_settings
from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.translation.settings import Settings


def first_settings(folder: Path, *maps: dict[str, Any]) -> Settings:
    kubeconfig = folder / "kubeconfig"
    with ApiServer() as server:
        server.load(
            [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "yunikorn"}}, *maps]
        )
        server.write_kubeconfig(kubeconfig)

        async def ask() -> Settings:
            async with Connection.from_kubeconfig(kubeconfig) as connection:
                return await _first_settings(connection, "yunikorn")

        return asyncio.run(ask())


def config_map(name: str, **data: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "yunikorn"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def test_what_the_config_maps_say_counts_from_the_start(tmp_path: Path) -> None:
    found = first_settings(
        tmp_path,
        config_map("yunikorn-defaults", **{"service.clusterId": "one", "kubernetes.qps": "7"}),
        config_map("yunikorn-configs", **{"service.clusterId": "two"}),
    )
    assert (found.cluster_id, found.calls_per_second) == ("two", 7)


def test_without_config_maps_there_are_defaults(tmp_path: Path) -> None:
    assert first_settings(tmp_path) == Settings()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_beside_a_scheduler_elsewhere(
    tmp_path: Path, stop: signal.Signals
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "remuda", "kubernetes", "--reports-address", "127.0.0.1:0"]
    with ApiServer() as server:
        server.write_kubeconfig(kubeconfig)
        with subprocess.Popen(
            # Nobody listens there, and the shim waits for it.
            [*command, "--scheduler", "127.0.0.1:1"],
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("kubernetes ")
            process.send_signal(stop)
            _, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "Traceback" not in errors
