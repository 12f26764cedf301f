"""What the ConfigMaps say counts from the moment at which the shim begins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from remuda_kubernetes.objects.cluster import ConfigMap
from remuda_kubernetes.objects.kinds import CONFIG_MAP
from remuda_kubernetes.objects.values import convert
from remuda_kubernetes.shim.effects import Register
from remuda_kubernetes.shim.shim import Shim
from remuda_kubernetes.testing.server import ApiServer
from remuda_kubernetes.translation.settings import Settings


def config_map(name: str, **data: str) -> ConfigMap:
    meta = {"name": name, "namespace": "yunikorn", "uid": f"u-{name}"}
    return convert(ConfigMap, {"metadata": meta, "data": data})


def follower(*maps: ConfigMap, rm_id: str = "") -> Shim:
    """Return a shim that knows these ConfigMaps and has not begun."""
    shim = Shim(Settings(), rm_id, "yunikorn")
    for each in maps:
        shim.changed(CONFIG_MAP, None, each)
    return shim


def test_what_the_config_maps_say_counts_from_the_start() -> None:
    shim = follower(
        config_map("yunikorn-defaults", **{"service.clusterId": "one", "kubernetes.qps": "7"}),
        config_map("yunikorn-configs", **{"service.clusterId": "two"}),
    )
    assert shim.take() == []
    rm_id, settings = shim.synced()
    assert (rm_id, settings.cluster_id, settings.calls_per_second) == ("two", "two", 7)
    (effect,) = shim.take()
    assert isinstance(effect, Register)


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


def test_a_replica_that_stood_by_begins_with_the_last_version_of_a_config_map() -> None:
    old = config_map("yunikorn-configs", **{"service.clusterId": "old"})
    shim = follower(old)
    shim.changed(CONFIG_MAP, old, config_map("yunikorn-configs", **{"service.clusterId": "new"}))
    assert shim.take() == []
    assert shim.synced()[0] == "new"


def test_the_command_line_names_the_cluster_before_the_config_map() -> None:
    found = config_map("yunikorn-configs", **{"service.clusterId": "one"})
    shim = follower(found, rm_id="named")
    assert shim.synced()[0] == "named"


def test_without_config_maps_there_are_defaults() -> None:
    assert follower().synced() == ("mycluster", Settings())
