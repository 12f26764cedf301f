from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

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
