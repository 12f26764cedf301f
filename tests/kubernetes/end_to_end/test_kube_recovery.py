"""Nothing is lost, doubled or started twice, whoever is killed and whenever."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from remuda_kubernetes.testing.faults import Call, Faults
from remuda_kubernetes.testing.kept import free_ports
from remuda_kubernetes.testing.kubelet import Habits
from tests.kubernetes.end_to_end.grounds import Ground
from tests.kubernetes.end_to_end.replicas import Replica, ShimReplica, scheduler
from tests.kubernetes.end_to_end.servers import FakeServer, Server
from tests.kubernetes.end_to_end.watchman import Watchman

NODES = {f"n{number}": "4" for number in range(6)}
PODS = 200
WAVE = 40


@pytest.fixture
def ground(server: Server) -> Iterator[Ground]:
    with Ground(server, NODES, Habits(run_seconds=0.3)) as ground:
        yield ground


@pytest.fixture
def watchman(ground: Ground) -> Iterator[Watchman]:
    with Watchman(ground.server.kubeconfig, ground.nodes) as watchman:
        yield watchman


def trouble(
    ground: Ground, watchman: Watchman, chance: random.Random, victims: list[list[Replica]]
) -> None:
    """Create pods in waves, and kill some replicas somewhere in the middle of each."""
    for killed in victims:
        before = len(watchman.bound)
        ground.pods(WAVE)
        watchman.await_bound(before + chance.randrange(WAVE))
        for each in killed:
            each.kill()
        for each in killed:
            each.begin()
    ground.pods(PODS - ground.made)


def all_went_well(ground: Ground, watchman: Watchman) -> None:
    """Wait for the end of all pods, and see that none was bound twice or had no room."""
    watchman.await_ended(PODS)
    assert watchman.faults == []
    assert len(watchman.bound) == PODS
    assert sorted(watchman.names.values()) == sorted({*watchman.names.values()})


def test_no_pod_is_lost_or_doubled_when_the_shim_is_killed(
    ground: Ground, watchman: Watchman, tmp_path: Path
) -> None:
    chance = random.Random(1)
    with ShimReplica(ground.server.kubeconfig, tmp_path / "shim.log") as shim:
        shim.begin()
        trouble(ground, watchman, chance, [[shim]] * 3)
        all_went_well(ground, watchman)


def test_no_pod_is_lost_or_doubled_while_the_api_server_fails(
    ground: Ground, watchman: Watchman, tmp_path: Path
) -> None:
    with ShimReplica(ground.server.kubeconfig, tmp_path / "shim.log") as shim:
        shim.begin()
        for fault in (ground.server.away, ground.server.silent):
            before = len(watchman.bound)
            ground.pods(WAVE)
            watchman.await_bound(before + WAVE // 4)
            with fault():
                # The shim notices, and goes on trying.
                watchman.await_trouble()
        if isinstance(ground.server, FakeServer):
            _break_watches(ground, watchman, ground.server.inner.faults)
        ground.pods(PODS - ground.made)
        all_went_well(ground, watchman)
        assert "Traceback" not in shim.words()


def _break_watches(ground: Ground, watchman: Watchman, faults: Faults) -> None:
    """Let watches be cut, forgotten (410), late and slow; answers be lost and refused."""
    before = len(watchman.bound)
    # Before there are pods: else most may be bound already.
    lost = faults.fail(_is_binding, status=0, times=5, performed=True)
    refused = faults.fail(_is_binding, status=503, reason="ServiceUnavailable", times=5)
    ground.pods(WAVE)
    faults.hold_watches()
    faults.cut_watches()
    faults.compact()
    faults.release_watches()
    faults.latency = 0.05
    watchman.await_bound(before + WAVE)
    faults.latency = 0.0
    assert lost.seen == refused.seen == 5


def _is_binding(call: Call) -> bool:
    return call.subresource == "binding"


def test_no_pod_is_lost_or_doubled_when_the_scheduler_or_both_are_killed(
    ground: Ground, watchman: Watchman, tmp_path: Path
) -> None:
    chance = random.Random(2)
    (port,) = free_ports(1)
    elsewhere = f"--scheduler=127.0.0.1:{port}"
    with (
        scheduler(tmp_path / "scheduler.log", port) as core,
        ShimReplica(ground.server.kubeconfig, tmp_path / "shim.log", elsewhere) as shim,
    ):
        core.begin()
        shim.begin()
        trouble(ground, watchman, chance, [[core], [core, shim], [shim, core], [core]])
        all_went_well(ground, watchman)
