"""Two replicas of the shim: one works, and the other takes over however the first one ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.end_to_end.grounds import Ground
from tests.kubernetes.end_to_end.replicas import ShimReplica
from tests.kubernetes.end_to_end.servers import Server
from tests.kubernetes.end_to_end.watchman import Watchman

NODES = {"n1": "8", "n2": "8"}
LEASE = "/apis/coordination.k8s.io/v1/namespaces/yunikorn/leases/remuda-kubernetes"
# Processor time from the end of a leader to the first pods of the next, in a cluster this small.
# How soon the lease changes hands is tried where time is a value: tests/kubernetes/api.
HAND_OVER_SECONDS = 3.0
SCRIPT = Path(__file__).with_name("stepping_clock.py")


@pytest.fixture
def ground(server: Server) -> Iterator[Ground]:
    with Ground(server, NODES) as ground:
        yield ground


@pytest.fixture
def replicas(ground: Ground, tmp_path: Path) -> Iterator[tuple[ShimReplica, ShimReplica]]:
    """One replica that leads and one that stands by. The clock of the second goes astray."""
    config = ground.server.kubeconfig
    with (
        ShimReplica(config, tmp_path / "one.log", "--leader-elect") as one,
        ShimReplica(config, tmp_path / "two.log", "--leader-elect", script=SCRIPT) as two,
    ):
        one.start()
        ground.until("the first leads", lambda: one.ready() == "ok")
        two.start()
        assert two.ready() == "standing by"
        yield one, two


def holder(ground: Ground) -> str:
    found = ground.api.get(LEASE)["spec"].get("holderIdentity") or ""
    return str(found)


def transitions(ground: Ground) -> int:
    return int(ground.api.get(LEASE)["spec"]["leaseTransitions"])


def bound(ground: Ground, names: list[str]) -> bool:
    return all(ground.node_of(name) for name in names)


def test_another_replica_leads_soon_after_the_leader_was_killed(
    ground: Ground, replicas: tuple[ShimReplica, ShimReplica]
) -> None:
    one, two = replicas
    first = ground.pods(2)
    ground.until("the leader binds", lambda: bound(ground, first))
    leader = holder(ground)
    changes = transitions(ground)
    before = two.processor_seconds()
    one.kill()
    second = ground.pods(2)
    ground.until("another leads", lambda: holder(ground) not in {"", leader})
    ground.until("the other binds", lambda: bound(ground, second))
    assert two.processor_seconds() - before < HAND_OVER_SECONDS
    assert transitions(ground) == changes + 1
    assert two.ready() == "ok"


def test_another_replica_leads_at_once_when_the_leader_ends(
    ground: Ground, replicas: tuple[ShimReplica, ShimReplica]
) -> None:
    one, two = replicas
    leader, changes = holder(ground), transitions(ground)
    pods = ground.pods(2)
    before = two.processor_seconds()
    one.finish()
    ground.until("another leads", lambda: holder(ground) not in {"", leader})
    ground.until("the other binds", lambda: bound(ground, pods))
    assert two.processor_seconds() - before < HAND_OVER_SECONDS
    assert ": given back" in one.words()
    assert transitions(ground) == changes + 1


def test_a_former_leader_binds_nothing_when_it_goes_on(
    ground: Ground, replicas: tuple[ShimReplica, ShimReplica]
) -> None:
    one, two = replicas
    first = ground.pods(2)
    ground.until("the leader binds", lambda: bound(ground, first))
    leader = holder(ground)
    one.pause()
    with Watchman(ground.server.kubeconfig, ground.nodes) as watchman:
        # It has not seen these, so it would place them as soon as it goes on.
        names = ground.pods(10)
        ground.until("another leads", lambda: holder(ground) not in {"", leader})
        ground.until("the other binds", lambda: bound(ground, names))
        one.resume()
        ground.until("the former leader ends", lambda: one.ended)
        more = ground.pods(4)
        ground.until("the leader binds", lambda: bound(ground, more))
        assert watchman.faults == []
    assert "Traceback" not in one.words()
    assert two.ready() == "ok"
    for name in names:
        told = ground.api.get(
            "/api/v1/namespaces/default/events", fieldSelector=f"involvedObject.name={name}"
        )["items"]
        # One replica told of each; a second one would have told again.
        assert sum(each["reason"] == "Scheduled" for each in told) <= 1
