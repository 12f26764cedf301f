"""The scheduler inside fails on purpose: pods go on, and all of them get a place (SI-15)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remuda.runtime.fault_points import VARIABLE
from tests.kubernetes.end_to_end.cluster import Cluster
from tests.kubernetes.end_to_end.servers import Server
from tests.kubernetes.end_to_end.spaces import Space

PODS = 40


@pytest.fixture(scope="module")
def cluster(empty_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose scheduler fails once, in the middle of its work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "1230:100:1")
        with Cluster(empty_server, tmp_path_factory.mktemp("cluster")) as running:
            yield running


@pytest.mark.remuda_rule("SI-15")
def test_all_pods_run_although_the_scheduler_fails(cluster: Cluster, space: Space) -> None:
    for number in range(4):
        space.node(f"n{number}", cpu="4")
    names = [f"p{number}" for number in range(PODS)]
    for name in names:
        space.pod(name, app="app", cpu="100m")
    space.running(*names)
    log = cluster.shim.log.read_text(errors="replace")
    assert log.count("a fault of the scheduler ends the registration") == 1
    assert sorted(pod["metadata"]["name"] for pod in space.all()) == sorted(names)
    space.until(
        "the scheduler knows all of them",
        lambda: len((space.application("app") or {}).get("allocations") or ()) == PODS,
    )
